// Checking names, and encoding branch and key into the stored path.
#include "handlers/address.h"

#include "base/path.h"
#include "base/text.h"

enum { BUCKET_NAME_BYTES = 128 };

bool bucket_name_check(struct request *request, struct bytes name)
{
    if (name.size && name.size <= BUCKET_NAME_BYTES && text_is_utf8(name) && !text_has_control(name))
        return true;
    reply_invalid(request, "bucket", "a bucket's name is 1 to %d bytes of UTF-8 without control characters",
                  BUCKET_NAME_BYTES);
    return false;
}

bool address_read(struct request *request, struct address *address)
{
    struct bytes owners[PATH_MAX_OWNERS];
    address->bucket = request->parameters[0];
    if (!bucket_name_check(request, address->bucket))
        return false;
    size_t count = request_arguments(request, "under", owners, PATH_MAX_OWNERS);
    if (count > PATH_MAX_OWNERS) {
        reply_invalid(request, "under", "a branch has at most %d owners", PATH_MAX_OWNERS);
        return false;
    }
    switch (path_encode(&request->arena, owners, count, request->parameters[1], &address->path)) {
    case PATH_OK:
        return true;
    case PATH_EMPTY:
        reply_invalid(request, request->parameters[1].size ? "under" : "key", "a key or owner has at least one byte");
        return false;
    case PATH_TOO_LONG:
        break;
    }
    reply_invalid(request, "key",
                  "the key with its branch is longer than %d bytes as stored (an owner costs 3 bytes beside its own)",
                  PATH_MAX_STORED);
    return false;
}
