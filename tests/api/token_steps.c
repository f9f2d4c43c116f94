// Tokens for tests: the first one by the command, as its users make it, the others over HTTP.
#include "token_steps.h"

#include "support/clock.h"
#include "support/failure.h"
#include "support/process.h"
#include "support/scratch.h"

#include <stdio.h>
#include <unistd.h>

int token_command(char **output, const char *const *arguments)
{
    const char *all[24] = {service_binary(), "token"};
    size_t count = 2;
    for (; *arguments; arguments++)
        all[count++] = *arguments;
    all[count++] = "--database";
    all[count] = api.database.url;
    char *folder = scratch_folder("token");
    char *log = scratch_printf("%s/out", folder);
    int code = process_run(
        &(struct process_options){.arguments = all, .output = log, .directory = folder, .stdout_fd = -1},
        20 * 1000);
    if (output)
        *output = scratch_read(log, NULL);
    free(log);
    free(folder);
    return code;
}

const char *token_name(void)
{
    return api_bucket();
}

// The token in a text that has one.
static const char *header_of(const char *text)
{
    const char *token = strstr(text, "hf_");
    if (!token)
        support_fail("there is no token in: %s", text);
    return TEXT("Authorization: Bearer %.*s", 63, token);
}

const char *root_bearer(void)
{
    static const char *root;
    static struct http_client *owner; // whose memory it lies in
    char *output;
    if (root && owner == api.client)
        return root;
    const char *arguments[] = {"create", "--name", token_name(), "--grant", "admin:*", NULL};
    if (token_command(&output, arguments) != 0)
        support_fail("no token was made: %s", output);
    owner = api.client;
    root = header_of(output);
    free(output);
    // The service is told of its first token, which takes a moment.
    expect_within_a_second(api.client, "GET", "/v1/buckets", "Accept: */*", 401);
    return root;
}

const char *bearer_of(const char *prefix, const char *const *grants)
{
    const char *list = "";
    for (; *grants; grants++)
        list = TEXT("%s%s\"%s\"", list, *list ? "," : "", *grants);
    const char *quoted = prefix ? TEXT("\"%s\"", prefix) : "null";
    struct answer *made =
        http(api.client, "POST", "/v1/tokens",
             bytes_of(TEXT("{\"name\":\"%s\",\"grants\":[%s],\"prefix\":%s}", token_name(), list, quoted)),
             root_bearer());
    ck_status(made, 201);
    return TEXT("Authorization: Bearer %s", answer_text(made, "token"));
}

void expect_within_a_second(struct http_client *client, const char *method, const char *target,
                            const char *bearer, int status)
{
    int64_t until = clock_ms() + 1000;
    struct answer *answer = http(client, method, target, NO_BODY, bearer);
    while (answer->status != status && clock_ms() < until) {
        usleep(5000);
        answer = http(client, method, target, NO_BODY, bearer);
    }
    ck_status(answer, status);
}
