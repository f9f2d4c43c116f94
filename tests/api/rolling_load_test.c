// A rolling update: three replicas are replaced one after the other under load and a thousand waits, behind a
// real nginx and without it, and no client that obeys `Connection: close` sees a request fail.
#include "traffic_steps.h"
#include "wait_steps.h"

#include "support/clock.h"
#include "support/process.h"
#include "support/scrape.h"
#include "support/scratch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { REPLICAS = 3, WAITS = 1000, PATIENCE = 60 * 1000, END_MS = 30 * 1000, WAIT_SECONDS = 250 };

// --- replicas ---------------------------------------------------------------------------------------------

struct replica {
    struct service *service;
    uint16_t port;
    char url[40];
};

static void replica_start(struct replica *replica)
{
    char listen[40];
    snprintf(listen, sizeof listen, "127.0.0.1:%u", (unsigned)replica->port);
    replica->service = service_start(&(struct service_options){
        .database = api.database.url,
        .listen = listen,
        .flags = (const char *const[]){"--drain", "700ms", "--no-migrate", "--metrics", NULL}});
    replica->port = service_port(replica->service);
    snprintf(replica->url, sizeof replica->url, "%s", service_url(replica->service));
}

static double waits_of(const struct replica *replica)
{
    struct http_client *client = http_client_new(replica->url);
    struct answer *answer = http(client, "GET", "/metrics", NO_BODY);
    struct scrape *scrape = scrape_read((const char *)answer->body.data, answer->body.size);
    double waits = scrape_value(scrape, "holdfast_waits");
    scrape_free(scrape);
    http_client_free(client);
    return waits;
}

static bool all_wait(void *user)
{
    const struct replica *replicas = user;
    double waits = 0;
    for (int i = 0; i < REPLICAS; i++)
        waits += waits_of(&replicas[i]);
    return waits == WAITS;
}

// --- nginx ------------------------------------------------------------------------------------------------

struct nginx {
    pid_t pid;
    uint16_t port;
    char url[40];
    char *folder;
};

static char *replaced(char *text, const char *what, const char *with)
{
    char *found = strstr(text, what);
    ck_assert_msg(found != NULL, "there is no %s in %s", what, text);
    char *all = scratch_printf("%.*s%s%s", (int)(found - text), text, with, found + strlen(what));
    free(text);
    return all;
}

static uint16_t free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
              getsockname(fd, (struct sockaddr *)&address, &size) == 0);
    close(fd);
    return ntohs(address.sin_port);
}

// The file that deploy/ has, with these replicas and a free port.
static void write_settings(const struct nginx *nginx, const struct replica *replicas)
{
    char *text = scratch_read(HOLDFAST_CHECKOUT "/deploy/nginx/replicas.conf", NULL);
    char *servers = scratch_printf("server 127.0.0.1:%u", (unsigned)replicas[REPLICAS - 1].port);
    for (int i = 0; i < REPLICAS - 1; i++) {
        char *more =
            scratch_printf("server 127.0.0.1:%u max_fails=0; %s", (unsigned)replicas[i].port, servers);
        free(servers);
        servers = more;
    }
    char *listen = scratch_printf("listen 127.0.0.1:%u", (unsigned)nginx->port);
    text = replaced(replaced(text, "server holdfast:7070", servers), "listen 8080", listen);
    char *path = scratch_printf("%s/nginx.conf", nginx->folder);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file,
            "daemon off; master_process off; pid %s/pid; error_log %s/error.log; worker_rlimit_nofile 8192;\n"
            "events { worker_connections 4096; }\nhttp { access_log off; client_body_temp_path %s/body;\n"
            "proxy_temp_path %s/proxy; fastcgi_temp_path %s/fastcgi; uwsgi_temp_path %s/uwsgi;\n"
            "scgi_temp_path %s/scgi;\n%s}\n",
            nginx->folder, nginx->folder, nginx->folder, nginx->folder, nginx->folder, nginx->folder,
            nginx->folder, text);
    ck_assert_int_eq(fclose(file), 0);
    free(path);
    free(listen);
    free(servers);
    free(text);
}

static bool answers(void *user)
{
    const struct nginx *nginx = user;
    struct http_client *client = http_client_new(nginx->url);
    http_client_through_proxy(client);
    struct answer *answer = http_try(client, "GET", "/livez", NO_BODY, (const char *const[]){NULL}, 1000);
    bool fine = answer && answer->status == 200;
    http_client_free(client);
    return fine;
}

static char *error_log(const struct nginx *nginx)
{
    char *path = scratch_printf("%s/error.log", nginx->folder);
    char *text = scratch_read(path, NULL);
    free(path);
    return text;
}

static void nginx_start(struct nginx *nginx, const struct replica *replicas)
{
    const char *given = getenv("HOLDFAST_NGINX");
    nginx->folder = scratch_folder("nginx");
    nginx->port = free_port();
    snprintf(nginx->url, sizeof nginx->url, "http://127.0.0.1:%u", (unsigned)nginx->port);
    write_settings(nginx, replicas);
    char *settings = scratch_printf("%s/nginx.conf", nginx->folder);
    char *log = scratch_printf("%s/error.log", nginx->folder);
    nginx->pid = process_start(&(struct process_options){
        .arguments = (const char *const[]){given && *given ? given : "/usr/sbin/nginx", "-p", nginx->folder,
                                           "-c", settings, NULL},
        .output = log,
        .stdout_fd = -1});
    bool fine = clock_wait(answers, nginx, PATIENCE);
    char *text = error_log(nginx);
    ck_assert_msg(fine, "nginx does not answer: %s", text);
    free(text);
    free(log);
    free(settings);
}

static void nginx_stop(struct nginx *nginx)
{
    kill(nginx->pid, SIGTERM);
    process_wait(nginx->pid, END_MS);
    free(nginx->folder);
}

// --- waits ------------------------------------------------------------------------------------------------

struct crowd {
    uint16_t ports[REPLICAS];
    int places;
    atomic_int away; // the place that is being replaced
    const char *request;
    pthread_t thread;
    struct raw *waits[WAITS];
    atomic_int answered, woken, lost;
    char fault[300];
};

// Asks at a place that is there, as who knows several addresses does.
static void ask(struct crowd *crowd, int i)
{
    int place = i % crowd->places;
    if (place == atomic_load(&crowd->away))
        place = (place + 1) % crowd->places;
    if (!crowd->waits[i])
        crowd->waits[i] = raw_connect(crowd->ports[place]);
    raw_text(crowd->waits[i], "%s", crowd->request);
}

static void lose(struct crowd *crowd, int i, const struct answer *answer)
{
    if (!atomic_fetch_add(&crowd->lost, 1))
        snprintf(crowd->fault, sizeof crowd->fault, "%s", answer ? answer_describe(answer) : "no answer");
    raw_close(crowd->waits[i]);
    crowd->waits[i] = NULL;
}

// A wait that says nothing changed is asked again, until it tells of the write.
static void take_answer(struct crowd *crowd, int i)
{
    struct answer *answer = raw_read(crowd->waits[i], false, WAIT_PATIENCE);
    bool told = answer && answer->status == 200 && answer_is(answer, BODY("new"));
    if (!told && (!answer || answer->status != 304)) {
        lose(crowd, i, answer);
        return;
    }
    const char *connection = answer_header(answer, "Connection");
    if (told || (connection && strcmp(connection, "close") == 0)) {
        raw_close(crowd->waits[i]);
        crowd->waits[i] = NULL;
    }
    atomic_fetch_add(told ? &crowd->woken : &crowd->answered, 1);
    if (!told)
        ask(crowd, i);
}

static void *wait_for_the_write(void *user)
{
    struct crowd *crowd = user;
    struct pollfd watched[WAITS];
    for (int i = 0; i < WAITS; i++)
        ask(crowd, i);
    while (crowd->woken + crowd->lost < WAITS) {
        for (int i = 0; i < WAITS; i++)
            watched[i] = (struct pollfd){crowd->waits[i] ? raw_fd(crowd->waits[i]) : -1, POLLIN, 0};
        poll(watched, WAITS, 1000);
        for (int i = 0; i < WAITS; i++)
            if (watched[i].fd >= 0 && watched[i].revents)
                take_answer(crowd, i);
    }
    return NULL;
}

static bool all_are_told(void *user)
{
    struct crowd *crowd = user;
    return crowd->woken + crowd->lost == WAITS;
}

// --- the update -------------------------------------------------------------------------------------------

static void begin(struct replica *replicas, struct crowd *crowd)
{
    api.database = database_new(api.postgres, DATABASE_MIGRATED);
    for (int i = 0; i < REPLICAS; i++)
        replica_start(&replicas[i]);
    api.client = http_client_new(replicas[0].url);
    struct answer *put = PUT("/v1/buckets/watched/entries/k", BODY("old"));
    ck_status(put, 201);
    crowd->request = TEXT("GET /v1/buckets/watched/entries/k HTTP/1.1\r\nHost: h\r\n%s\r\n",
                          wait_headers(put, WAIT_SECONDS));
    atomic_store(&crowd->away, -1);
}

static void wait_all(struct crowd *crowd, struct replica *replicas)
{
    ck_assert_int_eq(pthread_create(&crowd->thread, NULL, wait_for_the_write, crowd), 0);
    ck_assert_msg(clock_wait(all_wait, replicas, PATIENCE), "the waits are not all parked");
}

// Replaces one after the other, with a write that all wait for before the last one goes.
static void roll(struct replica *replicas, struct crowd *crowd, struct traffic *traffic, const char *at)
{
    struct http_client *writer = http_client_new(at);
    http_client_through_proxy(writer);
    for (int i = 0; i < REPLICAS; i++) {
        traffic_goes_on(traffic, 100);
        atomic_store(&crowd->away, i);
        ck_assert_int_eq(service_stop(replicas[i].service, END_MS), 0);
        traffic_goes_on(traffic, 50);
        replica_start(&replicas[i]);
        atomic_store(&crowd->away, -1);
        if (i < REPLICAS - 1)
            ck_assert_msg(clock_wait(all_wait, replicas, PATIENCE), "waits were lost: %s", crowd->fault);
        else
            ck_status(http(writer, "PUT", "/v1/buckets/watched/entries/k", BODY("new")), 204);
    }
    traffic_goes_on(traffic, 100);
    http_client_free(writer);
}

static void end(struct replica *replicas, struct crowd *crowd)
{
    ck_assert_msg(clock_wait(all_are_told, crowd, PATIENCE), "%d of %d waits saw the write", crowd->woken,
                  WAITS);
    pthread_join(crowd->thread, NULL);
    ck_assert_msg(crowd->lost == 0, "%d waits were lost, one by %s", crowd->lost, crowd->fault);
    ck_assert_int_gt(crowd->answered, 0); // each replica had some, and let them go when it went
    http_client_free(api.client);
    for (int i = 0; i < REPLICAS; i++)
        service_end(replicas[i].service);
    database_drop(api.postgres, &api.database);
}

START_TEST(rolling_update_behind_nginx)
{
    struct replica replicas[REPLICAS] = {0};
    struct crowd *crowd = calloc(1, sizeof *crowd);
    struct nginx nginx;
    begin(replicas, crowd);
    nginx_start(&nginx, replicas);
    crowd->places = 1;
    crowd->ports[0] = nginx.port;
    struct traffic traffic = {.urls = {nginx.url}, .places = 1, .proxied = true};
    wait_all(crowd, replicas);
    traffic_begin(&traffic);
    roll(replicas, crowd, &traffic, nginx.url);
    traffic_end(&traffic);
    end(replicas, crowd);
    nginx_stop(&nginx);
    free(crowd);
}
END_TEST

START_TEST(rolling_update_of_known_addresses)
{
    struct replica replicas[REPLICAS] = {0};
    struct crowd *crowd = calloc(1, sizeof *crowd);
    begin(replicas, crowd);
    crowd->places = REPLICAS;
    struct traffic traffic = {.places = REPLICAS};
    for (int i = 0; i < REPLICAS; i++) {
        crowd->ports[i] = replicas[i].port;
        traffic.urls[i] = replicas[i].url;
    }
    wait_all(crowd, replicas);
    traffic_begin(&traffic);
    roll(replicas, crowd, &traffic, replicas[0].url);
    traffic_end(&traffic);
    end(replicas, crowd);
    free(crowd);
}
END_TEST

Suite *rolling_load_suite(void)
{
    const TTest *const tests[] = {rolling_update_behind_nginx, rolling_update_of_known_addresses, NULL};
    return api_suite_bare("rolling_load", tests);
}
