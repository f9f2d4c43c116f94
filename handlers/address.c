// Checking names, and encoding branch and key into the stored path.
#include "handlers/address.h"

#include "base/path.h"
#include "base/text.h"
#include "handlers/json_input.h"

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
    return input_path(request, owners, count, request->parameters[1], &address->path);
}
