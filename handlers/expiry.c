// Reading expiry parameters; a term of zero, below it or beyond 3650 days is an error, never "for ever".
#include "handlers/expiry.h"

#include "base/duration.h"
#include "base/timestamp.h"

bool expiry_read(struct request *request, struct expiry *expiry)
{
    *expiry = (struct expiry){0};
    bool has_ttl, has_until, has_persist;
    struct bytes ttl = request_argument(request, "ttl", &has_ttl);
    struct bytes until = request_argument(request, "expires_at", &has_until);
    struct bytes persist = request_argument(request, "persist", &has_persist);
    if (has_ttl + has_until + has_persist > 1) {
        reply_invalid(request, has_ttl ? "ttl" : "expires_at",
                      "only one of ttl, expires_at and persist may be given");
        return false;
    }
    int64_t us;
    if (has_ttl) {
        if (!duration_parse(ttl, &us)) {
            reply_invalid(request, "ttl",
                          "a duration is an integer above 0 and a unit (ms s m h d), at most 3650d");
            return false;
        }
        expiry->ttl = value_number(us);
    }
    if (has_until) {
        if (!timestamp_parse(until, &us)) {
            reply_invalid(request, "expires_at", "not an RFC 3339 time");
            return false;
        }
        expiry->until = value_number(us);
    }
    if (has_persist) {
        if (!bytes_is(persist, "true")) {
            reply_invalid(request, "persist", "only persist=true has a meaning");
            return false;
        }
        expiry->ttl = value_number(TTL_PERSIST);
    }
    return true;
}
