// A handler of one entry need not know of links: what it wrote stands in its route, its path and its reply.
#include "handlers/session_links.h"

#include "base/text.h"
#include "handlers/access.h"
#include "handlers/address.h"

enum {
    LINK_PATH,
    LINK_VERSION,
    LINK_OPERATION,
    LINK_STREAM,
    LINK_SESSION,
    LINK_REQUEST,
    LINK_TOKEN,
    LINK_FORK,
    LINK_COLUMNS
};

static const struct statement link_writes = {
    .name = "link_writes",
    .sql = "select * from holdfast.link_writes($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
    .form = STATEMENT_GROUPED,
    .role = ROLE_TRANSACTION,
    .writes = true,
    .keys = KEYS_ANY,
    .columns = LINK_COLUMNS,
    .column = {COLUMN_BYTEA, COLUMN_INT8, COLUMN_TEXT, COLUMN_TEXT, COLUMN_TEXT, COLUMN_TEXT, COLUMN_TEXT,
               COLUMN_TEXT},
};

struct session_links *session_links_new(struct request *request)
{
    struct session_links *links = arena_zalloc(&request->arena, sizeof *links);
    struct bytes both = request->headers[HEADER_SESSION];
    const uint8_t *slash = memchr(both.data, '/', both.size);
    size_t size = (size_t)(slash - both.data);
    links->request = request;
    links->stream = name_enter(request, bytes_make(both.data, size));
    links->session = bytes_make(slash + 1, both.size - size - 1);
    return links;
}

static void add(struct session_links *links, struct session_link link)
{
    if (links->count == links->room) {
        size_t room = links->room ? 2 * links->room : 8;
        struct session_link *more = arena_alloc(&links->request->arena, room * sizeof *more);
        if (links->count)
            memcpy(more, links->links, links->count * sizeof *more);
        links->links = more;
        links->room = room;
    }
    links->links[links->count++] = link;
}

void session_link(struct request *request, struct bytes bucket, struct bytes path, int64_t version,
                  const char *operation)
{
    struct session_links *links = context_of(request)->links;
    if (links)
        add(links, (struct session_link){
                       .bucket = bucket, .path = path, .version = version, .operation = operation});
}

// What the route does to the entry: its last segment, or else its method.
static const char *operation_of(const struct request *request)
{
    const char *last = strrchr(request->route->template, '/') + 1;
    if (*last != '{')
        return last;
    return bytes_is(request->method, "PUT") ? "put" : bytes_is(request->method, "PATCH") ? "patch" : "delete";
}

// A reply without position changed nothing.
static bool written_at(const struct request *request, int64_t *position)
{
    for (int i = 0; i < request->reply_header_count; i++)
        if (strcmp(request->reply_headers[i].name, "Holdfast-Position") == 0)
            return text_int64(bytes_of(request->reply_headers[i].value), position);
    return false;
}

static void add_own(struct session_links *links)
{
    struct address address;
    int64_t position;
    if (!links->count && links->request->parameters[1].data && written_at(links->request, &position) &&
        address_read(links->request, &address))
        add(links, (struct session_link){.bucket = address.bucket,
                                         .path = address.path,
                                         .fork = address.fork,
                                         .version = position,
                                         .operation = operation_of(links->request)});
}

bool session_links_submit(struct session_links *links, struct store *store,
                          void (*done)(struct operation *, const struct outcome *), void *owner)
{
    struct request *request = links->request;
    const struct token *token = token_of(request);
    add_own(links);
    if (!links->count)
        return false;
    struct item *items = arena_alloc(&request->arena, links->count * sizeof *items);
    struct value *values = arena_alloc(&request->arena, links->count * LINK_COLUMNS * sizeof *values);
    for (size_t i = 0; i < links->count; i++) {
        const struct session_link *link = &links->links[i];
        struct value *row = values + i * LINK_COLUMNS;
        items[i] = (struct item){.bucket = link->bucket, .key = link->path};
        row[LINK_PATH] = value_bytes(link->path);
        row[LINK_VERSION] = value_number(link->version);
        row[LINK_OPERATION] = value_bytes(bytes_of(link->operation));
        row[LINK_STREAM] = value_bytes(links->stream);
        row[LINK_SESSION] = value_bytes(links->session);
        row[LINK_REQUEST] = value_bytes(bytes_of(request->id));
        row[LINK_TOKEN] = token ? value_bytes(token->name) : value_null();
        row[LINK_FORK] = link->fork.data ? value_bytes(link->fork) : value_null();
    }
    links->operation = (struct operation){.statement = &link_writes,
                                          .values = values,
                                          .items = items,
                                          .item_count = (uint16_t)links->count,
                                          .done = done,
                                          .owner = owner,
                                          .account = &request->account};
    store_submit(store, &links->operation);
    return true;
}
