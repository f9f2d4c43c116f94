// A scrape adds up the counts of all workers; nothing is asked of the database for it.
#include "handlers/metrics.h"

#include "handlers/context.h"
#include "handlers/health.h"
#include "observe/metrics.h"

void metrics_get(struct request *request)
{
    const struct context *context = context_of(request);
    struct buffer text = {0};
    if (!context->metrics) {
        reply_simple_problem(request, PROBLEM_NOT_FOUND, "there is no such path");
        return;
    }
    metrics_write(&text, context->metrics, health_is_ready(context));
    struct bytes body = arena_copy(&request->arena, buffer_view(&text));
    buffer_free(&text);
    reply_header(request, "Content-Type", "text/plain; version=0.0.4; charset=utf-8");
    reply_send(request, 200, body);
}
