// Grants: every operation of the document against every kind of grant, and every name that a request can
// hold.
#include "token_steps.h"

#include <ctype.h>

enum need { PUBLIC, ANY, READ, WRITE, ADMIN, ADMINISTRATOR };
enum about { NOTHING, NAME, BRANCH, DROP };

static const char *const actions[] = {[READ] = "read", [WRITE] = "write", [ADMIN] = "admin"};
static const char *const kinds[] = {"buckets", "counters", "rate-limits", "rate-gates",
                                    "quotas",  "once",     "sessions",    "forks"};
enum { BUCKETS, COUNTERS, RATE_LIMITS, RATE_GATES, QUOTAS, ONCE, SESSIONS, FORKS, KINDS };

// What each operation needs: written down once more, apart from the service's own table. The name is always
// `app`.
static const struct rule {
    const char *operation;
    enum need need;
    int kind;
    enum about about;
    const char *body; // NULL: none
} rules[] = {
    {"listBuckets", ANY, 0, NOTHING, NULL},
    {"putBucket", ADMIN, BUCKETS, NAME, "{}"},
    {"getBucket", READ, BUCKETS, NAME, NULL},
    {"deleteBucket", ADMIN, BUCKETS, NAME, NULL},
    {"putEntry", WRITE, BUCKETS, BRANCH, "v"},
    {"getEntry", READ, BUCKETS, BRANCH, NULL},
    {"headEntry", READ, BUCKETS, BRANCH, NULL},
    {"deleteEntry", WRITE, BUCKETS, BRANCH, NULL},
    {"patchEntry", WRITE, BUCKETS, BRANCH, "{}"},
    {"compareAndSetEntry", WRITE, BUCKETS, BRANCH, "{\"expected\":1,\"value\":2}"},
    {"upsertEntry", WRITE, BUCKETS, BRANCH, "{\"insert\":{},\"update\":{}}"},
    {"addToEntry", WRITE, BUCKETS, BRANCH, "{}"},
    {"putEntryExpiry", WRITE, BUCKETS, BRANCH, "{\"ttl\":\"1m\"}"},
    {"deleteEntryExpiry", WRITE, BUCKETS, BRANCH, NULL},
    {"takeEntry", WRITE, BUCKETS, BRANCH, NULL},
    {"exchangeEntry", WRITE, BUCKETS, BRANCH, "v"},
    {"copyEntry", WRITE, BUCKETS, BRANCH, "{\"to_key\":\"c\"}"},
    {"moveEntry", WRITE, BUCKETS, BRANCH, "{\"to_key\":\"m\"}"},
    {"listEntries", READ, BUCKETS, BRANCH, NULL},
    {"clearEntries", WRITE, BUCKETS, BRANCH, NULL},
    {"batchGetEntries", READ, BUCKETS, NAME, "{\"keys\":[\"k\"]}"},
    {"acquireLease", WRITE, BUCKETS, BRANCH, "{\"holder\":\"h\",\"ttl\":\"1m\"}"},
    {"renewLease", WRITE, BUCKETS, BRANCH, "{\"holder\":\"h\",\"token\":\"1\",\"ttl\":\"1m\"}"},
    {"releaseLease", WRITE, BUCKETS, BRANCH, NULL},
    {"getLease", READ, BUCKETS, BRANCH, NULL},
    {"putCounter", ADMIN, COUNTERS, NAME, "{}"},
    {"getCounter", READ, COUNTERS, NAME, NULL},
    {"deleteCounter", WRITE, COUNTERS, DROP, NULL},
    {"addToCounter", WRITE, COUNTERS, BRANCH, "{}"},
    {"liftCounter", WRITE, COUNTERS, BRANCH, "{\"value\":1}"},
    {"getCounterValue", READ, COUNTERS, BRANCH, NULL},
    {"resetCounterValue", WRITE, COUNTERS, BRANCH, NULL},
    {"putRateLimit", ADMIN, RATE_LIMITS, NAME, "{\"rate\":\"1/s\",\"burst\":1}"},
    {"getRateLimit", READ, RATE_LIMITS, NAME, NULL},
    {"deleteRateLimit", WRITE, RATE_LIMITS, DROP, NULL},
    {"allowRateLimitKey", WRITE, RATE_LIMITS, BRANCH, "{}"},
    {"getRateLimitKey", READ, RATE_LIMITS, BRANCH, NULL},
    {"resetRateLimitKey", WRITE, RATE_LIMITS, BRANCH, NULL},
    {"deleteRateGate", WRITE, RATE_GATES, DROP, NULL},
    {"checkRateGate", WRITE, RATE_GATES, BRANCH, "{\"max\":3,\"window\":\"10s\"}"},
    {"getRateGateKey", READ, RATE_GATES, BRANCH, NULL},
    {"resetRateGateKey", WRITE, RATE_GATES, BRANCH, NULL},
    {"putQuota", ADMIN, QUOTAS, NAME, "{\"windows\":{\"a\":\"1/1h\"}}"},
    {"getQuota", READ, QUOTAS, NAME, NULL},
    {"deleteQuota", WRITE, QUOTAS, DROP, NULL},
    {"allowQuotaKey", WRITE, QUOTAS, BRANCH, "{}"},
    {"refundQuotaKey", WRITE, QUOTAS, BRANCH, "{}"},
    {"getQuotaKey", READ, QUOTAS, BRANCH, NULL},
    {"resetQuotaKey", WRITE, QUOTAS, BRANCH, NULL},
    {"putOnce", ADMIN, ONCE, NAME, "{}"},
    {"getOnce", READ, ONCE, NAME, NULL},
    {"deleteOnce", WRITE, ONCE, DROP, NULL},
    {"beginOnce", WRITE, ONCE, BRANCH, NULL},
    {"getOnceAnswer", READ, ONCE, BRANCH, NULL},
    {"deleteOnceAnswer", WRITE, ONCE, BRANCH, NULL},
    {"answerOnce", WRITE, ONCE, BRANCH, "v"},
    {"renewOnceRun", WRITE, ONCE, BRANCH, "{}"},
    {"failOnceRun", WRITE, ONCE, BRANCH, NULL},
    {"runTransaction", WRITE, BUCKETS, NAME,
     "{\"operations\":[{\"op\":\"put\",\"bucket\":\"app\",\"key\":\"k\",\"text\":\"x\"}]}"},
    {"readView", READ, BUCKETS, NAME, "{\"reads\":[{\"bucket\":\"app\",\"key\":\"k\"}]}"},
    {"listSessionWrites", READ, SESSIONS, NAME, NULL},
    {"listForks", ANY, 0, NOTHING, NULL},
    {"createFork", WRITE, FORKS, NAME, "{\"kind\":\"severed\"}"},
    {"getFork", READ, FORKS, NAME, NULL},
    {"discardFork", WRITE, FORKS, NAME, NULL},
    {"promoteFork", WRITE, FORKS, NAME, NULL},
    {"listTokens", ADMINISTRATOR, 0, NOTHING, NULL},
    {"createToken", ADMINISTRATOR, 0, NOTHING, "{\"name\":\"app\",\"grants\":[\"read:app\"]}"},
    {"getToken", ADMINISTRATOR, 0, NOTHING, NULL},
    {"revokeToken", ADMINISTRATOR, 0, NOTHING, NULL},
    {"getCapabilities", PUBLIC, 0, NOTHING, NULL},
    {"getLiveness", PUBLIC, 0, NOTHING, NULL},
    {"headLiveness", PUBLIC, 0, NOTHING, NULL},
    {"getReadiness", PUBLIC, 0, NOTHING, NULL},
    {"headReadiness", PUBLIC, 0, NOTHING, NULL},
    {"getMetrics", PUBLIC, 0, NOTHING, NULL},
    {"getOpenapiJson", PUBLIC, 0, NOTHING, NULL},
    {"getOpenapiYaml", PUBLIC, 0, NOTHING, NULL},
    {"getDocs", PUBLIC, 0, NOTHING, NULL},
    {"getDocsFile", PUBLIC, 0, NOTHING, NULL},
    {"getConsole", PUBLIC, 0, NOTHING, NULL},
    {"getConsoleFile", PUBLIC, 0, NOTHING, NULL},
};

enum scope { OF_APP, OF_BEGINNING, OF_BRANCH, OF_APP2, OF_CASE, OF_ALL };

struct bearer {
    const char *grant;
    const char *header;
    enum need level;
    int kind; // KINDS: every one
    enum scope scope;
};

enum { BEARERS_MOST = 160 };
static struct bearer bearers[BEARERS_MOST];
static size_t bearer_count;

static void add_bearer(const char *grant, enum need level, int kind, enum scope scope)
{
    bearers[bearer_count++] = (struct bearer){grant, BEARER(grant), level, kind, scope};
}

static void make_bearers(void)
{
    static const char *const names[] = {[OF_APP] = "app",
                                        [OF_BEGINNING] = "ap*",
                                        [OF_BRANCH] = "app/under=b",
                                        [OF_APP2] = "app2",
                                        [OF_CASE] = "App"};
    bearer_count = 0;
    for (int level = READ; level <= ADMIN; level++) {
        for (int kind = 0; kind < KINDS; kind++)
            for (int scope = OF_APP; scope <= OF_CASE; scope++)
                if (scope != OF_BRANCH || kind < SESSIONS)
                    add_bearer(TEXT("%s:%s:%s", actions[level], kinds[kind], names[scope]), (enum need)level,
                               kind, (enum scope)scope);
        add_bearer(TEXT("%s:*", actions[level]), (enum need)level, KINDS, OF_ALL);
    }
}

static bool is_allowed(const struct rule *rule, const struct bearer *bearer, bool under)
{
    enum need need = rule->about == DROP && !under ? ADMIN : rule->need;
    if (need <= ANY)
        return true;
    if (need == ADMINISTRATOR)
        return bearer->scope == OF_ALL && bearer->level == ADMIN;
    if (bearer->level < need || (bearer->kind != rule->kind && bearer->kind != KINDS))
        return false;
    switch (bearer->scope) {
    case OF_APP:
    case OF_BEGINNING:
    case OF_ALL:
        return true;
    case OF_BRANCH:
        return under;
    case OF_APP2:
    case OF_CASE:
        return false;
    }
    return false;
}

// Of its own kind every grant, of the others those of administrators.
static bool is_of_interest(const struct rule *rule, const struct bearer *bearer)
{
    return bearer->kind == rule->kind || bearer->kind == KINDS ||
           (bearer->level == ADMIN && bearer->scope == OF_BEGINNING);
}

static const struct rule *rule_of(const char *operation)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (strcmp(rules[i].operation, operation) == 0)
            return &rules[i];
    ck_abort_msg("%s has no rule here: say who may call it, and what it needs", operation);
    return NULL;
}

// The path with `app` for every name of an object.
static const char *target_of(const char *template, bool under)
{
    const char *path = "";
    for (const char *at = template; *at;) {
        const char *open = strchr(at, '{');
        size_t size = open ? (size_t)(open - at) : strlen(at);
        path = TEXT("%s%.*s%s", path, (int)size, at,
                    !open                             ? ""
                    : strncmp(open, "{key}", 5) == 0  ? "k"
                    : strncmp(open, "{file}", 6) == 0 ? "page.js"
                                                      : "app");
        at = open ? strchr(open, '}') + 1 : at + size;
    }
    return TEXT("%s%s", path, under ? "?under=b" : "");
}

static struct answer *call(const char *method, const char *target, const struct rule *rule,
                           const char *header)
{
    const char *headers[] = {
        header,
        strcmp(rule->operation, "patchEntry") == 0 ? "Content-Type: application/merge-patch+json" : NULL,
        NULL};
    const char *const *given = header ? headers : headers + 1;
    struct answer *answer =
        http_send(api.client, method, target, rule->body ? bytes_of(rule->body) : NO_BODY, given);
    return answer;
}

static void for_operations(void (*check)(const char *method, const char *template, const struct rule *rule))
{
    struct answer *document = GET("/openapi.json");
    const char *path, *method;
    json_t *item, *operation;
    size_t seen = 0;
    json_object_foreach(json_object_get(document->json, "paths"), path, item)
        json_object_foreach(item, method, operation)
    {
        const char *id = json_string_value(json_object_get(operation, "operationId"));
        if (!id)
            continue;
        char upper[8] = "";
        for (size_t i = 0; method[i] && i < sizeof upper - 1; i++)
            upper[i] = (char)toupper((unsigned char)method[i]);
        check(upper, path, rule_of(id));
        seen++;
    }
    ck_assert_uint_eq(seen, sizeof rules / sizeof rules[0]);
}

static bool takes_under(const struct rule *rule)
{
    return rule->about == BRANCH || rule->about == DROP;
}

static void expect_as_granted(const char *method, const char *template, const struct rule *rule, bool allowed)
{
    for (int under = 0; under <= takes_under(rule); under++)
        for (size_t i = 0; i < bearer_count; i++) {
            if (!is_of_interest(rule, &bearers[i]) || is_allowed(rule, &bearers[i], under) != allowed)
                continue;
            struct answer *answer = call(method, target_of(template, under), rule, bearers[i].header);
            bool refused = answer->status == 401 || answer->status == 403;
            if (refused == allowed || answer_header(answer, "ETag"))
                ck_abort_msg("%s with %s%s: %s", rule->operation, bearers[i].grant, under ? " under b" : "",
                             answer_describe(answer));
        }
}

static void expect_refused(const char *method, const char *template, const struct rule *rule)
{
    expect_as_granted(method, template, rule, false);
}

static void expect_granted(const char *method, const char *template, const struct rule *rule)
{
    for (int under = 0; under <= takes_under(rule); under++)
        for (size_t i = 0; i < bearer_count; i++)
            if (is_of_interest(rule, &bearers[i]) && is_allowed(rule, &bearers[i], under)) {
                struct answer *answer = call(method, target_of(template, under), rule, bearers[i].header);
                if (answer->status == 401 || answer->status == 403 || answer->status >= 500)
                    ck_abort_msg("%s with %s%s: %s", rule->operation, bearers[i].grant,
                                 under ? " under b" : "", answer_describe(answer));
            }
}

static void expect_no_nobody(const char *method, const char *template, const struct rule *rule)
{
    static const char *const headers[] = {
        NULL, "Authorization: Bearer hf_0123456789abcdef_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "Authorization: Basic YTpi"};
    for (size_t i = 0; i < 3; i++) {
        struct answer *answer = call(method, target_of(template, false), rule, headers[i]);
        if (rule->need == PUBLIC ? answer->status != 200 : answer->status != 401)
            ck_abort_msg("%s without a token: %s", rule->operation, answer_describe(answer));
        ck_reply(answer, rule->need == PUBLIC || answer_header(answer, "WWW-Authenticate"));
    }
}

static int64_t rows_of_everything(void)
{
    PGconn *connection = database_connect(&api.database);
    int64_t rows = sql_number(
        connection, "select (select count(*) from holdfast.buckets) + (select count(*) from holdfast.entries)"
                    " + (select count(*) from holdfast.leases) + (select count(*) from holdfast.forks)"
                    " + (select count(*) from holdfast.tokens where name = 'app')");
    PQfinish(connection);
    return rows;
}

// AUTH-1
START_TEST(every_operation_with_every_grant)
{
    make_bearers();
    for_operations(expect_refused);
    ck_assert_int_eq(rows_of_everything(), 0);
    for_operations(expect_no_nobody);
    ck_assert_int_eq(rows_of_everything(), 0);
    for_operations(expect_granted);
}
END_TEST

// --- names that are not in the path
// -----------------------------------------------------------------------------------

// 403 with nothing told, whether or not what was named is there.
static void expect_forbidden(struct answer *answer)
{
    ck_problem(answer, 403, "forbidden");
    ck_header(answer, "ETag", NULL);
    ck_header(answer, "Holdfast-Position", NULL);
}

static const char *mine, *other, *absent;
static const char *bearer, *root;

// A bucket with an entry that the bearer may write, one with an entry that it may not, and one that is not
// there.
static void set_up(void)
{
    root = root_bearer();
    mine = api_bucket();
    other = api_bucket();
    absent = api_bucket();
    bearer = BEARER(TEXT("write:%s", mine), "write:sessions:mine", "write:forks:mine-*");
    ck_status(PUT(api_entry(mine, "k"), BODY("1"), bearer), 201);
    ck_status(PUT(api_entry(other, "k"), BODY("1"), root), 201);
}

static struct answer *post(const char *target, const char *body)
{
    return http(api.client, "POST", target, bytes_of(body), bearer);
}

START_TEST(names_of_items_are_checked)
{
    set_up();
    for (int i = 0; i < 2; i++) {
        const char *b = i ? absent : other;
        const char *item = TEXT("{\"bucket\":\"%s\",\"key\":\"k\"", b);
        const char *own = TEXT("{\"bucket\":\"%s\",\"key\":\"k\"", mine);
        expect_forbidden(post("/v1/views", TEXT("{\"reads\":[%s},%s}]}", own, item)));
        expect_forbidden(post(
            "/v1/transactions",
            TEXT("{\"checks\":[%s,\"absent\":true}],\"operations\":[%s,\"op\":\"delete\"}]}", item, own)));
        static const char *const operations[] = {
            "\"op\":\"put\",\"text\":\"x\"", "\"op\":\"delete\"", "\"op\":\"take\"",
            "\"op\":\"patch\",\"value\":{}", "\"op\":\"add\"",    "\"op\":\"expiry\",\"ttl\":\"1m\""};
        for (size_t j = 0; j < 6; j++)
            expect_forbidden(post("/v1/transactions", TEXT("{\"operations\":[%s,\"op\":\"add\"},%s,%s}]}",
                                                           own, item, operations[j])));
        expect_forbidden(post(TEXT("%s/copy", api_entry(mine, "k")), TEXT("{\"to_bucket\":\"%s\"}", b)));
        expect_forbidden(post(TEXT("%s/move", api_entry(mine, "k")), TEXT("{\"to_bucket\":\"%s\"}", b)));
        expect_forbidden(post(TEXT("%s/copy", api_entry(b, "k")), TEXT("{\"to_bucket\":\"%s\"}", mine)));
        expect_forbidden(PUT(TEXT("%s?fence_bucket=%s&fence_key=k&fence_token=1", api_entry(mine, "k"), b),
                             BODY("2"), bearer, "If-Match: *"));
        expect_forbidden(http(api.client, "PUT", "/v1/forks/mine-x",
                              bytes_of(TEXT("{\"kind\":\"severed\",\"buckets\":[\"%s\"]}", b)), bearer));
    }
    expect_forbidden(http(api.client, "PUT", "/v1/forks/mine-x",
                          BODY("{\"kind\":\"severed\",\"parent\":\"others\"}"), bearer));
    ck_body(GET(api_entry(mine, "k"), root), BODY("1"));
    ck_body(GET(api_entry(other, "k"), root), BODY("1"));
    ck_status(GET(TEXT("/v1/buckets/%s", absent), root), 404);
}
END_TEST

START_TEST(a_reader_of_checks_and_a_writer_of_operations_is_enough)
{
    set_up();
    const char *reader = BEARER(TEXT("read:%s", other), TEXT("write:%s", mine));
    const char *body = TEXT("{\"checks\":[{\"bucket\":\"%s\",\"key\":\"none\",\"absent\":true}],"
                            "\"operations\":[{\"bucket\":\"%s\","
                            "\"key\":\"k\",\"op\":\"add\"}]}",
                            other, mine);
    ck_status(http(api.client, "POST", "/v1/transactions", bytes_of(body), reader), 200);
    ck_status(http(api.client, "POST", TEXT("%s/copy", api_entry(other, "k")),
                   bytes_of(TEXT("{\"to_bucket\":\"%s\",\"to_key\":\"c\"}", mine)), reader),
              200);
    expect_forbidden(http(api.client, "POST", TEXT("%s/move", api_entry(other, "k")),
                          bytes_of(TEXT("{\"to_bucket\":\"%s\",\"to_key\":\"m\"}", mine)), reader));
}
END_TEST

START_TEST(sessions_are_checked)
{
    set_up();
    ck_status(PUT(api_entry(mine, "s"), BODY("1"), bearer, "Holdfast-Session: mine/1"), 201);
    expect_forbidden(PUT(api_entry(mine, "s"), BODY("2"), bearer, "Holdfast-Session: others/1"));
    ck_body(GET(api_entry(mine, "s"), bearer), BODY("1"));
    ck_status(PUT(api_entry(other, "s"), BODY("1"), root, "Holdfast-Session: mine/1"), 201);
    // Its reader sees of the session what it may read.
    struct answer *all = GET("/v1/sessions/mine/1/writes", root);
    struct answer *some = GET("/v1/sessions/mine/1/writes", bearer);
    ck_reply(all, json_array_size(json_object_get(all->json, "writes")) == 2);
    ck_reply(some, json_array_size(json_object_get(some->json, "writes")) == 1);
    json_t *entry =
        json_array_get(entries_of(GET(TEXT("/v1/buckets/%s/entries?source=true&start=s", mine), bearer)), 0);
    json_t *source = json_object_get(entry, "source");
    ck_assert_ptr_nonnull(json_string_value(json_object_get(source, "token")));
}
END_TEST

START_TEST(forks_belong_to_who_made_them)
{
    set_up();
    const char *fork = TEXT("mine-%s", mine);
    const char *path = TEXT("%s?fork=%s", api_entry(mine, "k"), fork);
    const char *stranger = BEARER(TEXT("write:%s", mine), "write:forks:*");
    const char *keeper = BEARER(TEXT("write:%s", mine), "admin:forks:mine-*");
    struct answer *made =
        http(api.client, "PUT", TEXT("/v1/forks/%s", fork), BODY("{\"kind\":\"severed\"}"), bearer);
    ck_status(made, 201);
    ck_reply(made, answer_text(made, "owner"));
    ck_status(PUT(path, BODY("2"), bearer), 204);
    ck_body(GET(path, bearer), BODY("2"));
    ck_body(GET(path, keeper), BODY("2"));
    ck_body(GET(path, root), BODY("2"));
    // To others it is as one that never was.
    const char *never = TEXT("%s?fork=never", api_entry(mine, "k"));
    const struct {
        const char *method;
        const char *suffix;
        const char *body;
    } calls[] = {{"GET", "", NULL},       {"PUT", "", "3"},       {"DELETE", "", NULL},
                 {"POST", "/take", NULL}, {"POST", "/add", "{}"}, {"PATCH", "", "{}"}};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        struct bytes body = calls[i].body ? bytes_of(calls[i].body) : NO_BODY;
        struct answer *answers[2];
        for (int j = 0; j < 2; j++)
            answers[j] = http(api.client, calls[i].method,
                              TEXT("%s%s?fork=%s", api_entry(mine, "k"), calls[i].suffix, j ? "never" : fork),
                              body, stranger, "Content-Type: application/merge-patch+json");
        ck_assert_int_eq(answers[0]->status, answers[1]->status);
        ck_reply(answers[0], answer_is(answers[1], answers[0]->body));
    }
    ck_status(GET(never, stranger), 404);
    ck_status(GET(path, stranger), 404);
    ck_status(GET(TEXT("/v1/buckets/%s/entries?fork=%s", mine, fork), stranger), 404);
    ck_status(http(api.client, "POST", TEXT("/v1/buckets/%s/batch-get?fork=%s", mine, fork),
                   BODY("{\"keys\":[\"k\"]}"), stranger),
              404);
    ck_status(GET(TEXT("/v1/forks/%s", fork), stranger), 404);
    ck_status(http(api.client, "POST", TEXT("/v1/forks/%s/promote", fork), NO_BODY, stranger), 404);
    ck_body(DELETE(TEXT("/v1/forks/%s", fork), stranger), BODY("{\"discarded\":false}\n"));
    struct answer *list = GET("/v1/forks", stranger);
    ck_reply(list, json_array_size(json_object_get(list->json, "forks")) == 0);
    ck_reply(GET("/v1/forks", keeper),
             json_array_size(json_object_get(GET("/v1/forks", keeper)->json, "forks")) == 1);
    ck_reply(GET("/v1/forks", bearer),
             json_array_size(json_object_get(GET("/v1/forks", bearer)->json, "forks")) == 1);
    ck_status(GET(TEXT("/v1/forks/%s", fork), keeper), 200);
    ck_status(http(api.client, "POST", TEXT("/v1/forks/%s/promote", fork), NO_BODY, bearer), 200);
    ck_body(GET(api_entry(mine, "k"), bearer), BODY("2"));
}
END_TEST

// --- names and branches
// -----------------------------------------------------------------------------------------------

// AUTH-1
START_TEST(a_bucket_is_not_its_neighbours)
{
    set_up();
    const char *reader = BEARER(TEXT("read:%s", mine));
    ck_status(GET(api_entry(mine, "k"), reader), 200);
    ck_status(HEAD(api_entry(mine, "k"), reader), 200);
    ck_status(GET(TEXT("/v1/buckets/%%62%s/entries/k", mine + 1), reader), 200); // %62 is b
    const char *const others[] = {TEXT("%s2", mine),    TEXT("B%s", mine + 1), TEXT("%s%%2F..", mine),
                                  TEXT("%s%%00", mine), TEXT("%s%%20", mine),  TEXT("..%%2F%s", mine),
                                  TEXT("%%2A"),         TEXT("%.*s", 2, mine), TEXT("%s%%2Funder=b", mine)};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        expect_forbidden(GET(api_entry(others[i], "k"), reader));
        ck_status(HEAD(api_entry(others[i], "k"), reader), 403);
        expect_forbidden(PUT(api_entry(others[i], "k"), BODY("x"), reader));
    }
    expect_forbidden(PUT(api_entry(mine, "k"), BODY("x"), reader));
    ck_status(GET(TEXT("/v1/buckets//entries/k"), reader), 403);
}
END_TEST

START_TEST(a_branch_is_that_branch)
{
    set_up();
    const char *tenant = BEARER(TEXT("write:%s/under=t-7", mine));
    const char *k = api_entry(mine, "k");
    ck_status(PUT(TEXT("%s?under=t-7", k), BODY("1"), tenant), 201);
    ck_status(PUT(TEXT("%s?under=t-7&under=a", k), BODY("2"), tenant), 201);
    ck_body(GET(TEXT("%s?under=t-7", k), tenant), BODY("1"));
    const char *const outside[] = {"",           "?under=t-70",   "?under=a", "?under=a&under=t-7",
                                   "?under=T-7", "?under=t-7%2Fa"};
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
        expect_forbidden(GET(TEXT("%s%s", k, outside[i]), tenant));
        expect_forbidden(PUT(TEXT("%s%s", k, outside[i]), BODY("x"), tenant));
        expect_forbidden(GET(TEXT("/v1/buckets/%s/entries%s", mine, outside[i]), tenant));
        expect_forbidden(DELETE(TEXT("/v1/buckets/%s/entries%s", mine, outside[i]), tenant));
        expect_forbidden(http(api.client, "POST", TEXT("/v1/buckets/%s/leases/k%s", mine, outside[i]),
                              BODY("{\"holder\":\"h\",\"ttl\":\"1m\"}"), tenant));
    }
    const char *batch = TEXT("/v1/buckets/%s/batch-get", mine);
    ck_status(http(api.client, "POST", batch, BODY("{\"keys\":[\"k\"],\"under\":[\"t-7\"]}"), tenant), 200);
    expect_forbidden(http(api.client, "POST", batch, BODY("{\"keys\":[\"k\"],\"under\":[\"t-8\"]}"), tenant));
    expect_forbidden(http(api.client, "POST", batch, BODY("{\"keys\":[]}"), tenant));
    const char *item = TEXT("{\"bucket\":\"%s\",\"key\":\"k\",\"under\":[\"t-7\"]", mine);
    const char *beside = TEXT("{\"bucket\":\"%s\",\"key\":\"k\",\"under\":[\"t\"]", mine);
    ck_status(http(api.client, "POST", "/v1/views", bytes_of(TEXT("{\"reads\":[%s}]}", item)), tenant), 200);
    expect_forbidden(
        http(api.client, "POST", "/v1/views", bytes_of(TEXT("{\"reads\":[%s}]}", beside)), tenant));
    expect_forbidden(http(api.client, "POST", "/v1/transactions",
                          bytes_of(TEXT("{\"operations\":[%s,\"op\":\"delete\"}]}", beside)), tenant));
    expect_forbidden(
        http(api.client, "POST", TEXT("%s/copy?under=t-7", k), BODY("{\"to_under\":[\"t\"]}"), tenant));
    ck_status(http(api.client, "POST", TEXT("%s/copy?under=t-7", k), BODY("{\"to_under\":[\"t-7\",\"b\"]}"),
                   tenant),
              200);
    expect_forbidden(PUT(TEXT("%s?under=t-7&fence_bucket=%s&fence_key=k&fence_token=1", k, mine), BODY("2"),
                         tenant, "If-Match: *"));
    expect_forbidden(GET(TEXT("/v1/buckets/%s", mine), tenant));
    expect_forbidden(DELETE(TEXT("/v1/buckets/%s", mine), tenant));
    ck_body(GET(k, root), BODY("1"));
    struct answer *cleared = DELETE(TEXT("/v1/buckets/%s/entries?under=t-7", mine), tenant);
    ck_reply(cleared, json_integer_value(json_object_get(cleared->json, "removed")) == 3);
}
END_TEST

START_TEST(lists_show_what_may_be_read)
{
    set_up();
    const char *counter = api_bucket();
    ck_status(http(api.client, "PUT", TEXT("/v1/counters/%s", counter), BODY("{}"), root), 201);
    const struct {
        const char *grant;
        bool sees[3]; // mine, other, counter
    } cases[] = {{TEXT("read:%s", mine), {true, false, false}},
                 {TEXT("admin:%s", other), {false, true, false}},
                 {TEXT("read:counters:%s", counter), {false, false, true}},
                 {TEXT("read:counters:%s", mine), {false, false, false}},
                 {TEXT("read:%.*s*", 3, mine), {true, true, false}},
                 {TEXT("read:%s/under=t", mine), {false, false, false}},
                 {"read:*", {true, true, true}}};
    const char *names[] = {mine, other, counter};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct answer *list = GET("/v1/buckets?limit=1000", BEARER(cases[i].grant));
        ck_status(list, 200);
        for (int j = 0; j < 3; j++)
            ck_reply(list, (strstr((const char *)list->body.data, TEXT("\"%s\"", names[j])) != NULL) ==
                               cases[i].sees[j]);
    }
    // Pages are as long as asked for, whatever lies between.
    const char *both = BEARER(TEXT("read:%s", mine), TEXT("read:counters:%s", counter));
    struct answer *page = GET("/v1/buckets?limit=1", both);
    ck_reply(page, json_array_size(json_object_get(page->json, "buckets")) == 1);
    page = GET(TEXT("/v1/buckets?limit=1&cursor=%s", answer_text(page, "cursor")), both);
    ck_reply(page, json_array_size(json_object_get(page->json, "buckets")) == 1);
    ck_reply(page, json_is_null(json_object_get(page->json, "cursor")));
}
END_TEST

// What a fork has from others must not get into buckets that its maker may not write.
START_TEST(promote_needs_a_grant_for_all_that_the_fork_wrote)
{
    const char *admin = root_bearer(), *own = api_bucket(), *theirs = api_bucket();
    const char *const paths[] = {api_entry(own, "k"), api_entry(theirs, "k")};
    const char *const makers[] = {
        BEARER("write:forks:*", TEXT("write:%s", own)),
        BEARER("write:forks:*", TEXT("write:%s", own), TEXT("read:%s", theirs)),
        BEARER("write:forks:*", TEXT("write:%s", own), TEXT("write:%s/under=b", theirs)),
    };
    for (int i = 0; i < 2; i++)
        ck_status(PUT(paths[i], BODY("main"), admin), 201);
    for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++) {
        const char *fork = TEXT("%s-%zu", own, i);
        ck_status(PUT(TEXT("/v1/forks/%s", fork), BODY("{\"kind\":\"continuous\"}"), makers[i]), 201);
        ck_status(PUT(TEXT("%s?fork=%s", paths[0], fork), BODY("1"), makers[i]), 204);
        ck_status(PUT(TEXT("%s?fork=%s", paths[1], fork), BODY("2"), admin), 204);
        ck_problem(POST(TEXT("/v1/forks/%s/promote", fork), NO_BODY, makers[i]), 403, "forbidden");
        ck_problem(POST(TEXT("/v1/forks/%s/promote?if_unchanged=true", fork), NO_BODY, makers[i]), 403,
                   "forbidden");
        ck_body(GET(paths[1], admin), BODY("main"));
    }
    const char *both = BEARER("write:forks:*", TEXT("write:%s", own), TEXT("write:%s", theirs));
    ck_status(PUT(TEXT("/v1/forks/%s", own), BODY("{\"kind\":\"continuous\"}"), both), 201);
    for (int i = 0; i < 2; i++)
        ck_status(PUT(TEXT("%s?fork=%s", paths[i], own), BODY("fork"), both), 204);
    ck_status(POST(TEXT("/v1/forks/%s/promote", own), NO_BODY, both), 200);
    ck_body(GET(paths[1], admin), BODY("fork"));
}
END_TEST

Suite *grants_suite(void)
{
    const TTest *tests[] = {
        every_operation_with_every_grant,
        names_of_items_are_checked,
        a_reader_of_checks_and_a_writer_of_operations_is_enough,
        sessions_are_checked,
        forks_belong_to_who_made_them,
        promote_needs_a_grant_for_all_that_the_fork_wrote,
        a_bucket_is_not_its_neighbours,
        a_branch_is_that_branch,
        lists_show_what_may_be_read,
        NULL,
    };
    static const char *const flags[] = {"--metrics", NULL};
    return api_suite("grants", flags, tests);
}
