// The steps: requests made of their parts.
#include "transaction_steps.h"

struct answer *transact(const char *checks, const char *operations)
{
    const char *body =
        TEXT("{%s%s%s%s%s%s%s}", checks ? "\"checks\":[" : "", checks ? checks : "", checks ? "]" : "",
             checks && operations ? "," : "", operations ? "\"operations\":[" : "",
             operations ? operations : "", operations ? "]" : "");
    return POST("/v1/transactions", bytes_of(body));
}

const char *result_text(const struct answer *answer, size_t i, const char *member)
{
    return json_string_value(
        json_object_get(json_array_get(json_object_get(answer->json, "results"), i), member));
}

const char *item_at(const char *bucket, const char *key)
{
    return TEXT("{\"bucket\":\"%s\",\"key\":\"%s\"", bucket, key);
}
