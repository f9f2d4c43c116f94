// Reading holders, tokens and terms: what is doubtful is refused, since a lease that somebody else can renew
// or that never ends is worse than none.
#include "handlers/lease_input.h"

#include "base/text.h"
#include "handlers/json_input.h"

bool lease_holder_check(struct request *request, struct bytes holder)
{
    if (holder.size && holder.size <= LEASE_HOLDER_BYTES && text_is_utf8(holder) && !text_has_control(holder))
        return true;
    reply_invalid(request, "holder", "a holder is 1 to %d bytes of UTF-8 without control characters",
                  LEASE_HOLDER_BYTES);
    return false;
}

bool lease_token_parse(struct request *request, const char *parameter, struct bytes text, int64_t *token)
{
    if (text_int64(text, token) && *token > 0)
        return true;
    reply_invalid(request, parameter, "a token is the decimal text that the lease was granted with");
    return false;
}

bool lease_holder_member(struct request *request, json_t *object, struct bytes *holder)
{
    return input_text(request, object, "holder", true, holder) && lease_holder_check(request, *holder);
}

bool lease_token_member(struct request *request, json_t *object, int64_t *token)
{
    struct bytes text;
    return input_text(request, object, "token", true, &text) &&
           lease_token_parse(request, "token", text, token);
}

bool lease_ttl_member(struct request *request, json_t *object, int64_t *ttl)
{
    struct value asked;
    if (!input_duration(request, object, "ttl", &asked))
        return false;
    if (!asked.given || asked.number < LEASE_SHORTEST) {
        reply_invalid(request, "ttl", "a lease has a ttl of at least %dms", LEASE_SHORTEST / 1000);
        return false;
    }
    int64_t most = context_of(request)->max_lease_ttl;
    *ttl = asked.number < most ? asked.number : most;
    return true;
}
