// Checking names, and encoding branch and key into the stored path.
#include "handlers/address.h"

#include "base/path.h"
#include "base/text.h"
#include "handlers/fork.h"
#include "handlers/json_input.h"

bool bucket_name_valid(struct bytes name)
{
    return name.size && name.size <= ADDRESS_NAME_BYTES && text_is_utf8(name) && !text_has_control(name);
}

bool name_check(struct request *request, const char *parameter, struct bytes name)
{
    if (bucket_name_valid(name))
        return true;
    reply_invalid(request, parameter, "a name is 1 to %d bytes of UTF-8 without control characters",
                  ADDRESS_NAME_BYTES);
    return false;
}

bool bucket_name_check(struct request *request, struct bytes name)
{
    return name_check(request, "bucket", name);
}

bool branch_read(struct request *request, struct bytes *branch)
{
    struct bytes owners[PATH_MAX_OWNERS];
    size_t count = request_arguments(request, "under", owners, PATH_MAX_OWNERS);
    if (count > PATH_MAX_OWNERS) {
        reply_too_many_owners(request, "under");
        return false;
    }
    switch (path_encode_branch(&request->arena, owners, count, branch)) {
    case PATH_OK:
        return true;
    case PATH_EMPTY:
        reply_invalid(request, "under", "an owner has at least one byte");
        return false;
    case PATH_TOO_LONG:
        break;
    }
    reply_path_too_long(request, "under");
    return false;
}

static bool read_address(struct request *request, const char *parameter, struct address *address)
{
    struct bytes owners[PATH_MAX_OWNERS];
    address->bucket = request->parameters[0];
    if (!name_check(request, parameter, address->bucket) || !fork_read(request, &address->fork))
        return false;
    size_t count = request_arguments(request, "under", owners, PATH_MAX_OWNERS);
    if (count > PATH_MAX_OWNERS) {
        reply_too_many_owners(request, "under");
        return false;
    }
    return input_path(request, owners, count, request->parameters[1], &address->path);
}

bool address_read(struct request *request, struct address *address)
{
    return read_address(request, "bucket", address);
}

bool address_read_named(struct request *request, struct address *address)
{
    return read_address(request, "name", address);
}
