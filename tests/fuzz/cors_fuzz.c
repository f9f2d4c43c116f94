// Requests of pages: only an origin that is listed is let in, and a reply says of itself no more than that.
#include "fake_request.h"
#include "json_values.h"

#include "base/text.h"
#include "http/cors.h"
#include "option_values.h"

static bool is_listed(const char *origins, struct bytes origin)
{
    for (const char *at = origins; *at; at += strspn(at, ",")) {
        size_t size = strcspn(at, ",");
        if (bytes_equal(bytes_make(at, size), origin))
            return true;
        at += size;
    }
    return false;
}

static struct bytes header_of(struct request *request, struct bytes text)
{
    return text_has_control(text) ? (struct bytes){0} : arena_copy(&request->arena, text);
}

static void check_page(struct fake *fake, const char *origins)
{
    struct request *request = &fake->request;
    struct bytes origin = request->headers[HEADER_ORIGIN];
    bool all = strcmp(origins, "*") == 0, allowed = origin.data && (all || is_listed(origins, origin));
    cors_allow(request, origins);
    const char *told = fake_header(fake, "Access-Control-Allow-Origin");
    must((told != NULL) == allowed && (!told || bytes_is(all ? bytes_of("*") : origin, told)));
    must((fake_header(fake, "Vary") != NULL) == !all);
    fake->server.options.cors_origins = origins;
    must(!cors_is_foreign(request) || (origin.data && !allowed));
}

static void check_preflight(struct fake *fake, const char *origins)
{
    struct request *request = &fake->request;
    request->reply_header_count = 0;
    request->method = bytes_of("OPTIONS");
    if (!cors_is_preflight(request, origins))
        return;
    cors_reply_preflight(request, origins, "GET, PUT");
    const char *names = fake_header(fake, "Access-Control-Allow-Headers");
    must(fake->replies == 1 && (request->reply.status == 204 || request->reply.status == 403));
    must(!names || (request->reply.status == 204 &&
                    strspn(names, "-_, 0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") ==
                        strlen(names)));
}

// A page of the very host that the request names is not a foreign one, listed or not.
static void check_own(struct fake *fake)
{
    struct request *request = &fake->request;
    struct bytes host = request->headers[HEADER_HOST];
    fake->server.options.cors_origins = NULL;
    if (!host.data)
        return;
    request->headers[HEADER_ORIGIN] =
        bytes_of(arena_printf(&request->arena, "http://%s", (const char *)host.data));
    must(!cors_is_foreign(request));
    request->headers[HEADER_ORIGIN] =
        bytes_of(arena_printf(&request->arena, "http://x%s", (const char *)host.data));
    must(cors_is_foreign(request));
    const char *text = (const char *)host.data, *colon = text + strspn(text, "0123456789.");
    if (!*colon || (*colon == ':' && !strchr(colon + 1, ':'))) // an address, with or without a port
        must(!cors_names_public_host(request));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fake fake;
    struct request *request = fake_begin(&fake);
    struct bytes rest = bytes_make(data, size);
    const char *origins = (const char *)arena_copy(&request->arena, take_text(&rest)).data, *field;
    request->headers[HEADER_ORIGIN] = header_of(request, take_text(&rest));
    request->headers[HEADER_HOST] = header_of(request, take_text(&rest));
    request->headers[HEADER_CORS_METHOD] = bytes_of("PUT");
    request->headers[HEADER_CORS_HEADERS] = header_of(request, take_text(&rest));
    if (option_origins(origins, &field)) {
        check_page(&fake, origins);
        check_preflight(&fake, origins);
        check_own(&fake);
    }
    fake_end(&fake);
    return 0;
}
