// The decisions: what PATCH, exchange, compare-and-set and upsert make of an entry.
#include "handlers/entry_rewrite.h"

#include "base/json_equal.h"
#include "base/json_member.h"
#include "base/json_merge.h"
#include "base/json_text.h"
#include "base/json_upsert.h"
#include "base/text.h"
#include "handlers/entry_json.h"
#include "handlers/entry_reply.h"
#include "handlers/outcome.h"
#include "handlers/rewrite.h"
#include "handlers/text_input.h"
#include "http/prefer.h"

static struct rewrite *rewrite_new(struct request *request)
{
    struct rewrite *rewrite = arena_zalloc(&request->arena, sizeof *rewrite);
    rewrite->request = request;
    return rewrite;
}

// A new value keeps the content type and metadata of the entry it replaces; a new entry gets `standard`.
static void keep_rest(const struct current *current, const char *standard, struct content *content)
{
    if (!current->live) {
        content->content_type = value_bytes(bytes_of(standard));
        return;
    }
    content->content_type = current->content_type.size ? value_bytes(current->content_type) : value_null();
    content->metadata = current->metadata.size ? value_bytes(current->metadata) : value_null();
}

static void reply_version(struct request *request, int status, int64_t version)
{
    reply_json(request, status,
               bytes_of(arena_printf(&request->arena, "{\"version\":\"%lld\"}\n", (long long)version)));
}

// --- PATCH
// ------------------------------------------------------------------------------------------------------------

struct patch {
    bool upserts;
    bool represents; // Prefer: return=representation
};

static bool refuse_merge(struct request *request, enum json_merge_verdict verdict)
{
    switch (verdict) {
    case JSON_MERGED:
        return true;
    case JSON_MERGE_INVALID_TARGET:
        reply_simple_problem(request, PROBLEM_UNPROCESSABLE, "the stored value is not JSON");
        return false;
    case JSON_MERGE_INVALID_PATCH:
        reply_invalid(request, "body", "the patch is not a JSON document");
        return false;
    case JSON_MERGE_DUPLICATE:
        reply_simple_problem(request, PROBLEM_UNPROCESSABLE,
                             "a member occurs twice in the patch or the stored value");
        return false;
    case JSON_MERGE_TOO_DEEP:
        reply_too_deep(request, JSON_STORED_DEPTH);
        return false;
    case JSON_MERGE_TOO_LARGE:
        break;
    }
    reply_value_too_large(request, VALUE_LIMIT);
    return false;
}

static bool patch_decide(struct rewrite *rewrite, const struct current *current, struct content *content)
{
    struct request *request = rewrite->request;
    const struct patch *patch = rewrite->state;
    if (!current->live && !patch->upserts) {
        reply_absent(request);
        return false;
    }
    struct bytes target = current->live ? current->value : bytes_of("{}");
    if (json_check(target, JSON_STORED_DEPTH) != JSON_VALID)
        return refuse_merge(request, JSON_MERGE_INVALID_TARGET);
    if (!refuse_merge(request, json_merge_patch(target, request->body, VALUE_LIMIT, &rewrite->made)))
        return false;
    content->value = buffer_view(&rewrite->made);
    keep_rest(current, "application/json", content);
    return true;
}

static void patch_written(struct rewrite *rewrite, const struct current *current, int64_t version)
{
    (void)version;
    struct request *request = rewrite->request;
    const struct patch *patch = rewrite->state;
    if (!patch->represents) {
        reply_empty(request, 204);
        return;
    }
    reply_header(request, "Preference-Applied", "return=representation");
    reply_content_type(request, current->live ? current->content_type : bytes_of("application/json"));
    reply_metadata(request, current->metadata);
    reply_send(request, 200, arena_copy(&request->arena, buffer_view(&rewrite->made)));
}

static bool is_merge_patch(struct bytes type)
{
    size_t end = 0;
    while (end < type.size && type.data[end] != ';')
        end++;
    return text_equals_lower(text_trim(bytes_make(type.data, end)), "application/merge-patch+json");
}

static bool prefers_representation(struct bytes prefer)
{
    struct bytes wanted;
    return prefer_find(prefer, "return", &wanted) && text_equals_lower(wanted, "representation");
}

void entry_patch(struct request *request)
{
    struct rewrite *rewrite = rewrite_new(request);
    struct patch *patch = arena_zalloc(&request->arena, sizeof *patch);
    bool given;
    if (!is_merge_patch(request->headers[HEADER_CONTENT_TYPE])) {
        reply_header(request, "Accept-Patch", "application/merge-patch+json");
        reply_simple_problem(request, PROBLEM_UNSUPPORTED_MEDIA, "PATCH takes application/merge-patch+json");
        return;
    }
    struct bytes upsert = request_argument(request, "upsert", &given);
    if (given && !bytes_is(upsert, "true") && !bytes_is(upsert, "false")) {
        reply_invalid(request, "upsert", "true or false");
        return;
    }
    patch->upserts = given && bytes_is(upsert, "true");
    patch->represents = prefers_representation(request->headers[HEADER_PREFER]);
    if (!address_read(request, &rewrite->address) || !expiry_read(request, &rewrite->expiry) ||
        !fence_read(request, &rewrite->fence))
        return;
    switch (json_check(request->body, REQUEST_JSON_DEPTH)) {
    case JSON_VALID:
        break;
    case JSON_TOO_DEEP:
        reply_too_deep(request, REQUEST_JSON_DEPTH);
        return;
    case JSON_MALFORMED:
        refuse_merge(request, JSON_MERGE_INVALID_PATCH);
        return;
    }
    rewrite->decide = patch_decide;
    rewrite->written = patch_written;
    rewrite->state = patch;
    rewrite_start(rewrite);
}

// --- exchange
// ---------------------------------------------------------------------------------------------------------

static bool exchange_decide(struct rewrite *rewrite, const struct current *current, struct content *content)
{
    (void)current;
    struct request *request = rewrite->request;
    struct bytes type = request->headers[HEADER_CONTENT_TYPE];
    content->value = request->body;
    content->content_type = type.size ? value_bytes(type) : value_null();
    content->metadata = metadata_encode(request);
    return true;
}

static void exchange_written(struct rewrite *rewrite, const struct current *current, int64_t version)
{
    (void)version;
    struct request *request = rewrite->request;
    if (!current->live) {
        reply_empty(request, 204);
        return;
    }
    reply_header(request, "Holdfast-Previous-Version",
                 arena_printf(&request->arena, "%lld", (long long)current->version));
    rewrite_reply_current(rewrite, 200);
}

void entry_exchange(struct request *request)
{
    struct rewrite *rewrite = rewrite_new(request);
    if (!address_read(request, &rewrite->address) || !expiry_read(request, &rewrite->expiry))
        return;
    rewrite->decide = exchange_decide;
    rewrite->written = exchange_written;
    rewrite_start(rewrite);
}

// --- compare-and-set
// --------------------------------------------------------------------------------------------------

struct comparison {
    bool as_json;
    struct bytes expected;
    struct bytes value;
    const char *content_type; // of the new value by the form it was given in
    struct bytes stored_type; // what is written in the end
};

static bool matches(const struct comparison *comparison, const struct current *current)
{
    if (!current->live)
        return false;
    if (comparison->as_json && json_check(current->value, JSON_STORED_DEPTH) == JSON_VALID)
        return json_text_equal(comparison->expected, current->value);
    return bytes_equal(comparison->expected, current->value);
}

static void reply_swapped(struct request *request, bool swapped, const struct current *current)
{
    static const char *const names[3] = {"current", "current_text", "current_base64"};
    request->effectless = !swapped;
    struct buffer json = {0};
    buffer_printf(&json, "{\"swapped\":%s,\"version\":", swapped ? "true" : "false");
    if (current->live) {
        buffer_printf(&json, "\"%lld\",", (long long)current->version);
        entry_json_value(&json, &request->arena, names, current->content_type, current->type, current->value);
    } else {
        buffer_add_text(&json, "null,\"current\":null");
    }
    buffer_add_text(&json, "}\n");
    reply_json_buffer(request, 200, &json);
}

static bool compare_decide(struct rewrite *rewrite, const struct current *current, struct content *content)
{
    struct comparison *comparison = rewrite->state;
    if (!matches(comparison, current)) {
        if (current->live)
            reply_etag(rewrite->request, current->version);
        reply_swapped(rewrite->request, false, current);
        return false;
    }
    // The stored content type stays where the new value's form does not contradict it.
    struct bytes given = bytes_of(comparison->content_type);
    bool fits = content_is_json(given)   ? content_is_json(current->content_type)
                : content_is_text(given) ? content_is_text(current->content_type)
                                         : true;
    comparison->stored_type = fits ? current->content_type : given;
    content->value = comparison->value;
    content->content_type =
        comparison->stored_type.size ? value_bytes(comparison->stored_type) : value_null();
    content->metadata = current->metadata.size ? value_bytes(current->metadata) : value_null();
    return true;
}

static void compare_written(struct rewrite *rewrite, const struct current *current, int64_t version)
{
    const struct comparison *comparison = rewrite->state;
    struct current written = {.live = true,
                              .version = version,
                              .value = comparison->value,
                              .content_type = comparison->stored_type,
                              .type = current->type};
    reply_swapped(rewrite->request, true, &written);
}

void entry_compare_and_set(struct request *request)
{
    static const char *const members[] = {
        "expected", "expected_text", "expected_base64", "value", "value_text", "value_base64", NULL};
    struct rewrite *rewrite = rewrite_new(request);
    struct comparison *comparison = arena_zalloc(&request->arena, sizeof *comparison);
    bool value_is_json;
    if (!address_read(request, &rewrite->address) || !expiry_read(request, &rewrite->expiry))
        return;
    if (!text_request(request, members) ||
        !text_value(request, "expected", &comparison->expected, &comparison->as_json,
                    &comparison->content_type) ||
        !text_value(request, "value", &comparison->value, &value_is_json, &comparison->content_type))
        return;
    if (comparison->value.size > VALUE_LIMIT) {
        reply_value_too_large(request, VALUE_LIMIT);
        return;
    }
    rewrite->decide = compare_decide;
    rewrite->written = compare_written;
    rewrite->state = comparison;
    rewrite_start(rewrite);
}

// --- upsert
// -----------------------------------------------------------------------------------------------------------

struct upsert {
    struct bytes insert;
    struct bytes set;
    struct bytes increment;
};

static bool refuse_upsert(struct request *request, enum json_upsert_verdict verdict)
{
    switch (verdict) {
    case JSON_UPSERT_DONE:
        return true;
    case JSON_UPSERT_INVALID:
    case JSON_UPSERT_BAD_INCREMENT:
        reply_invalid(request, "update", "set is an object, increment an object of numbers");
        return false;
    case JSON_UPSERT_NOT_OBJECT:
        reply_simple_problem(request, PROBLEM_UNPROCESSABLE, "the stored value is not a JSON object");
        return false;
    case JSON_UPSERT_DUPLICATE:
        reply_simple_problem(request, PROBLEM_UNPROCESSABLE,
                             "a member occurs twice in the stored value, or in both set and increment");
        return false;
    case JSON_UPSERT_NOT_NUMBER:
        reply_simple_problem(request, PROBLEM_UNPROCESSABLE, "a member to increment is not a number");
        return false;
    case JSON_UPSERT_OVERFLOW:
        reply_simple_problem(request, PROBLEM_OVERFLOW, "a sum is out of range; the value is unchanged");
        return false;
    case JSON_UPSERT_TOO_LARGE:
        break;
    }
    reply_value_too_large(request, VALUE_LIMIT);
    return false;
}

static bool upsert_decide(struct rewrite *rewrite, const struct current *current, struct content *content)
{
    const struct upsert *upsert = rewrite->state;
    keep_rest(current, "application/json", content);
    if (!current->live) {
        content->value = upsert->insert;
        return true;
    }
    enum json_upsert_verdict verdict = JSON_UPSERT_NOT_OBJECT;
    if (json_check(current->value, JSON_STORED_DEPTH) == JSON_VALID)
        verdict =
            json_upsert_update(current->value, upsert->set, upsert->increment, VALUE_LIMIT, &rewrite->made);
    if (!refuse_upsert(rewrite->request, verdict))
        return false;
    content->value = buffer_view(&rewrite->made);
    return true;
}

static void upsert_written(struct rewrite *rewrite, const struct current *current, int64_t version)
{
    reply_version(rewrite->request, current->live ? 200 : 201, version);
}

static bool check_update(struct request *request, struct bytes update, struct upsert *upsert)
{
    static const char *const members[] = {"set", "increment", NULL};
    if (!text_object(request, update, "update", members))
        return false;
    json_member(update, "set", &upsert->set);
    json_member(update, "increment", &upsert->increment);
    // Tried on an empty object, so that a malformed update is refused also when the insert is what applies.
    struct buffer scrap = {0};
    enum json_upsert_verdict verdict =
        json_upsert_update(bytes_of("{}"), upsert->set, upsert->increment, VALUE_LIMIT, &scrap);
    buffer_free(&scrap);
    return refuse_upsert(request, verdict);
}

void entry_upsert(struct request *request)
{
    static const char *const members[] = {"insert", "update", NULL};
    struct rewrite *rewrite = rewrite_new(request);
    struct upsert *upsert = arena_zalloc(&request->arena, sizeof *upsert);
    struct bytes update;
    if (!address_read(request, &rewrite->address) || !expiry_read(request, &rewrite->expiry))
        return;
    if (!text_request(request, members))
        return;
    if (!json_member(request->body, "insert", &upsert->insert) || upsert->insert.data[0] != '{') {
        reply_invalid(request, "insert", "insert is the object to start with");
        return;
    }
    if (!json_member(request->body, "update", &update)) {
        reply_invalid(request, "update", "update is an object with set and increment");
        return;
    }
    if (!check_update(request, update, upsert))
        return;
    rewrite->decide = upsert_decide;
    rewrite->written = upsert_written;
    rewrite->state = upsert;
    rewrite_start(rewrite);
}
