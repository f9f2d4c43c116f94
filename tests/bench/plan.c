// The load generator's command line, and the request that it describes.
#include "plan.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char USAGE[] =
    "usage: bench-load --connect ADDR:PORT --request 'METHOD PATH' --status NNN [options]\n"
    "Sends one request over and over on keep-alive connections, each waiting for its reply, checks every "
    "reply\n"
    "and prints: requests, seconds, rate (a second), mean_us, median_us, p99_us. Exit 1 when a reply was not "
    "as asked.\n"
    "  --connect ADDR:PORT   IPv4\n"
    "  --request TEXT        method and path; {key} {value} {key64} {value64} stand for a key, its value, "
    "both in base64\n"
    "  --header TEXT         a header line; may be repeated\n"
    "  --body TEXT           the body, with the same placeholders\n"
    "  --status NNN          the status a reply must have; repeated: one of them\n"
    "  --reply TEXT          the body a reply must have, with the same placeholders\n"
    "  --reply-has TEXT      a text that the body must contain\n"
    "  --then TEXT           a second request after each reply; both count as one\n"
    "  --take TEXT           what stands behind it in the first reply is {answer} in the second request\n"
    "  --then-reply TEXT     the body that the second reply must have\n"
    "  --apart               no two connections draw the same key\n"
    "  --connections N       default 64\n"
    "  --seconds S           default 5\n"
    "  --warmup S            default 0.3, not counted\n"
    "  --keys N              default 100000, drawn at random\n"
    "  --first N             index of the first key, default 0\n"
    "  --each-key            every key once, in order, then stop\n"
    "  --value-size N        default 200, at most 1048576\n"
    "  --show-value          prints the value of the first key and does nothing else\n";

enum option_code {
    OPTION_CONNECT = 1,
    OPTION_REQUEST,
    OPTION_HEADER,
    OPTION_BODY,
    OPTION_STATUS,
    OPTION_REPLY,
    OPTION_REPLY_HAS,
    OPTION_THEN,
    OPTION_TAKE,
    OPTION_THEN_REPLY,
    OPTION_APART,
    OPTION_CONNECTIONS,
    OPTION_SECONDS,
    OPTION_WARMUP,
    OPTION_KEYS,
    OPTION_FIRST,
    OPTION_EACH_KEY,
    OPTION_VALUE_SIZE,
    OPTION_SHOW_VALUE,
    OPTION_HELP,
};

static const struct option OPTIONS[] = {
    {"connect", required_argument, NULL, OPTION_CONNECT},
    {"request", required_argument, NULL, OPTION_REQUEST},
    {"header", required_argument, NULL, OPTION_HEADER},
    {"body", required_argument, NULL, OPTION_BODY},
    {"status", required_argument, NULL, OPTION_STATUS},
    {"reply", required_argument, NULL, OPTION_REPLY},
    {"reply-has", required_argument, NULL, OPTION_REPLY_HAS},
    {"then", required_argument, NULL, OPTION_THEN},
    {"take", required_argument, NULL, OPTION_TAKE},
    {"then-reply", required_argument, NULL, OPTION_THEN_REPLY},
    {"apart", no_argument, NULL, OPTION_APART},
    {"connections", required_argument, NULL, OPTION_CONNECTIONS},
    {"seconds", required_argument, NULL, OPTION_SECONDS},
    {"warmup", required_argument, NULL, OPTION_WARMUP},
    {"keys", required_argument, NULL, OPTION_KEYS},
    {"first", required_argument, NULL, OPTION_FIRST},
    {"each-key", no_argument, NULL, OPTION_EACH_KEY},
    {"value-size", required_argument, NULL, OPTION_VALUE_SIZE},
    {"show-value", no_argument, NULL, OPTION_SHOW_VALUE},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

// The texts of the command line, before they are compiled.
struct texts {
    const char *connect, *request, *body, *reply, *part, *then, *then_reply;
    char *headers; // lines with their ends
    size_t value_size;
    bool show_value;
};

__attribute__((noreturn, format(printf, 1, 2))) static void refuse(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("bench-load: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(2);
}

static void *kept(void *memory)
{
    if (!memory)
        refuse("out of memory");
    return memory;
}

static uint32_t whole_number(const char *name, const char *text, uint32_t least, uint32_t most)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    if (*end || end == text || *text == '-' || number < least || number > most)
        refuse("--%s takes a whole number from %u to %u", name, least, most);
    return (uint32_t)number;
}

static double duration(const char *name, const char *text)
{
    char *end;
    double seconds = strtod(text, &end);
    if (*end || end == text || !(seconds >= 0 && seconds <= 86400))
        refuse("--%s takes seconds, at most a day", name);
    return seconds;
}

static void header_add(struct texts *texts, const char *line)
{
    char *joined;
    if (asprintf(&joined, "%s%s\r\n", texts->headers, line) < 0)
        refuse("out of memory");
    free(texts->headers);
    texts->headers = joined;
}

static void status_add(struct plan *plan, const char *text)
{
    if (plan->status_count == PLAN_STATUSES)
        refuse("--status may be given %d times at most", PLAN_STATUSES);
    plan->statuses[plan->status_count++] = (int)whole_number("status", text, 200, 599);
}

static void option_take(struct plan *plan, struct texts *texts, enum option_code code, const char *name)
{
    switch (code) {
    case OPTION_CONNECT:
        texts->connect = optarg;
        break;
    case OPTION_REQUEST:
        texts->request = optarg;
        break;
    case OPTION_HEADER:
        header_add(texts, optarg);
        break;
    case OPTION_BODY:
        texts->body = optarg;
        break;
    case OPTION_STATUS:
        status_add(plan, optarg);
        break;
    case OPTION_REPLY:
        texts->reply = optarg;
        break;
    case OPTION_REPLY_HAS:
        texts->part = optarg;
        break;
    case OPTION_THEN:
        texts->then = optarg;
        break;
    case OPTION_TAKE:
        plan->take = optarg;
        break;
    case OPTION_THEN_REPLY:
        texts->then_reply = optarg;
        break;
    case OPTION_APART:
        plan->apart = true;
        break;
    case OPTION_CONNECTIONS:
        plan->connections = whole_number(name, optarg, 1, 60000);
        break;
    case OPTION_SECONDS:
        plan->seconds = duration(name, optarg);
        break;
    case OPTION_WARMUP:
        plan->warmup = duration(name, optarg);
        break;
    case OPTION_KEYS:
        plan->keys = whole_number(name, optarg, 1, KEY_LIMIT);
        break;
    case OPTION_FIRST:
        plan->first = whole_number(name, optarg, 0, KEY_LIMIT - 1);
        break;
    case OPTION_EACH_KEY:
        plan->each_key = true;
        break;
    case OPTION_VALUE_SIZE:
        texts->value_size = whole_number(name, optarg, KEY_DIGITS, VALUE_LIMIT);
        break;
    case OPTION_SHOW_VALUE:
        texts->show_value = true;
        break;
    case OPTION_HELP:
        fputs(USAGE, stdout);
        exit(0);
    }
}

static void address_read(struct plan *plan, const char *text)
{
    char host[INET_ADDRSTRLEN];
    const char *colon = strrchr(text, ':');
    size_t size = colon ? (size_t)(colon - text) : 0;
    if (!size || size >= sizeof host)
        refuse("--connect takes ADDR:PORT");
    memcpy(host, text, size);
    host[size] = 0;
    plan->address.sin_family = AF_INET;
    plan->address.sin_port = htons((uint16_t)whole_number("connect", colon + 1, 1, 65535));
    if (inet_pton(AF_INET, host, &plan->address.sin_addr) != 1)
        refuse("--connect takes an IPv4 address: %s", host);
}

static void compile(struct template *template, const char *source, size_t value_size)
{
    if (!template_compile(template, source, value_size))
        refuse("more than %d placeholders in a text", TEMPLATE_HOLES);
}

static size_t compiled_size(const char *source, size_t value_size)
{
    struct template template;
    compile(&template, source, value_size);
    size_t size = template.size;
    template_free(&template);
    return size;
}

static void request_compile(struct plan *plan, const struct texts *texts)
{
    char length[48] = "";
    char *source;
    if (!strchr(texts->request, ' '))
        refuse("--request takes 'METHOD PATH'");
    if (texts->body)
        snprintf(length, sizeof length, "Content-Length: %zu\r\n",
                 compiled_size(texts->body, texts->value_size));
    if (asprintf(&source, "%s HTTP/1.1\r\nHost: %s\r\n%s%s\r\n%s", texts->request, texts->connect,
                 texts->headers, length, texts->body ? texts->body : "") < 0)
        refuse("out of memory");
    compile(&plan->request, source, texts->value_size);
    free(source);
}

// It has no body.
static void then_compile(struct plan *plan, const struct texts *texts)
{
    char *source;
    if (!strchr(texts->then, ' '))
        refuse("--then takes 'METHOD PATH'");
    if (asprintf(&source, "%s HTTP/1.1\r\nHost: %s\r\n\r\n", texts->then, texts->connect) < 0)
        refuse("out of memory");
    compile(&plan->then, source, texts->value_size);
    free(source);
}

// For those who put the same entries there in another way.
__attribute__((noreturn)) static void value_show(const struct plan *plan, const struct texts *texts)
{
    struct template template;
    struct key key;
    compile(&template, "{value}", texts->value_size);
    key_write(&key, plan->first, false);
    template_fill(&template, &key);
    fwrite(template.text, 1, template.size, stdout);
    template_free(&template);
    exit(0);
}

static void check_whole(const struct plan *plan, const struct texts *texts)
{
    if (!texts->connect || !texts->request || !plan->status_count)
        refuse("--connect, --request and --status are needed (see --help)");
    if (plan->keys > KEY_LIMIT - plan->first)
        refuse("--first and --keys together exceed %d keys", KEY_LIMIT);
    if (texts->then && !plan->take)
        refuse("--then needs --take");
    if (plan->apart && plan->keys < plan->connections)
        refuse("--apart needs a key for each connection");
}

void plan_read(struct plan *plan, int count, char **arguments)
{
    struct texts texts = {.headers = kept(strdup("")), .value_size = 200};
    int code, index;
    *plan = (struct plan){.connections = 64, .seconds = 5, .warmup = 0.3, .keys = 100000};
    while ((code = getopt_long(count, arguments, "", OPTIONS, &index)) != -1) {
        if (code == '?')
            exit(2);
        option_take(plan, &texts, (enum option_code)code, OPTIONS[index].name);
    }
    if (optind < count)
        refuse("unexpected argument: %s", arguments[optind]);
    if (texts.show_value)
        value_show(plan, &texts);
    check_whole(plan, &texts);
    address_read(plan, texts.connect);
    request_compile(plan, &texts);
    if (texts.reply)
        compile(&plan->reply, texts.reply, texts.value_size);
    if (texts.part)
        compile(&plan->part, texts.part, texts.value_size);
    if (texts.then)
        then_compile(plan, &texts);
    if (texts.then_reply)
        compile(&plan->then_reply, texts.then_reply, texts.value_size);
    plan->base64 = template_base64(&plan->request) || template_base64(&plan->reply) ||
                   template_base64(&plan->part) || template_base64(&plan->then);
    free(texts.headers);
}

void plan_free(struct plan *plan)
{
    template_free(&plan->request);
    template_free(&plan->reply);
    template_free(&plan->part);
    template_free(&plan->then);
    template_free(&plan->then_reply);
}
