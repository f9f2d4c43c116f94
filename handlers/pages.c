// What a browser gets of the pages: their files, told to load nothing from elsewhere and to run nothing that
// came as data.
#include "handlers/pages.h"

#include "handlers/context.h"
#include "handlers/page_files.h"

#include <sodium.h>

enum { TAG_BYTES = 16 };

static const char self[] = "index.html";

// What a script may do here is said once for both pages: `require-trusted-types-for` makes the browser refuse
// text that would become markup.
static const char policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

static const char *content_type(const char *name)
{
    static const struct {
        const char *ending;
        const char *type;
    } rows[] = {
        {".html", "text/html; charset=utf-8"},
        {".js", "text/javascript; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},
        {".svg", "image/svg+xml"},
    };
    const char *ending = strrchr(name, '.');
    for (size_t i = 0; ending && i < sizeof rows / sizeof rows[0]; i++)
        if (!strcmp(ending, rows[i].ending))
            return rows[i].type;
    return "application/octet-stream";
}

static const struct page_file *find(const char *page, struct bytes name)
{
    for (const struct page_file *file = page_files; file->page; file++)
        if (!strcmp(file->page, page) && bytes_is(name, file->name))
            return file;
    return NULL;
}

// The same bytes have the same tag on every replica, and other bytes another one.
static const char *tag_of(struct request *request, const struct page_file *file)
{
    unsigned char hash[TAG_BYTES];
    char hex[2 * TAG_BYTES + 1];
    crypto_generichash(hash, sizeof hash, file->bytes, *file->size, NULL, 0);
    sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
    return arena_printf(&request->arena, "%s", hex);
}

static void reply_file(struct request *request, const struct page_file *file)
{
    const char *tag = tag_of(request, file);
    const struct conditions *conditions = &request->conditions;
    if (conditions->if_match.given) {
        reply_invalid(request, "If-Match", "a page is not written, so this has no meaning here");
        return;
    }
    reply_header(request, "Content-Type", content_type(file->name));
    reply_header(request, "ETag", arena_printf(&request->arena, "\"%s\"", tag));
    reply_header(request, "Cache-Control", "no-cache");
    reply_header(request, "Content-Security-Policy", policy);
    reply_header(request, "X-Content-Type-Options", "nosniff");
    reply_header(request, "Referrer-Policy", "no-referrer");
    reply_header(request, "Cross-Origin-Opener-Policy", "same-origin");
    reply_header(request, "Cross-Origin-Resource-Policy", "same-origin");
    if (conditions->if_none_match.given && condition_matches(&conditions->if_none_match, bytes_of(tag)))
        reply_without_body(request, 304, *file->size);
    else
        reply_send(request, 200, bytes_make(file->bytes, *file->size));
}

static void reply_named(struct request *request, const char *page)
{
    const struct page_file *file = find(page, request->parameters[0]);
    if (file && strcmp(file->name, self) != 0)
        reply_file(request, file);
    else
        reply_simple_problem(request, PROBLEM_NOT_FOUND, "the page has no such file");
}

// Replies and gives false when the console was switched off.
static bool console_offered(struct request *request)
{
    if (context_of(request)->console)
        return true;
    struct problem problem = {.kind = PROBLEM_UNSUPPORTED,
                              .detail = "the console is switched off (--no-ui)",
                              .extra = "\"capability\":\"ui\""};
    reply_problem(request, &problem);
    return false;
}

void page_docs(struct request *request)
{
    reply_file(request, find("docs", bytes_of(self)));
}

void page_ui(struct request *request)
{
    if (console_offered(request))
        reply_file(request, find("ui", bytes_of(self)));
}

void page_docs_file(struct request *request)
{
    reply_named(request, "docs");
}

void page_ui_file(struct request *request)
{
    if (console_offered(request))
        reply_named(request, "ui");
}
