// The bar fills as bytes of a whole that is known go by.
#include "client/progress.h"

#include "base/timestamp.h"

#include <stdio.h>
#include <unistd.h>

enum { STEP = 200 * 1000, BAR = 30 };

void progress_begin(struct progress *progress, int64_t whole)
{
    *progress = (struct progress){
        .shown = isatty(STDERR_FILENO) != 0, .begun_at = timestamp_monotonic(), .whole = whole};
}

static void draw(const struct progress *progress, int64_t now, int64_t entries, int64_t bytes)
{
    double seconds = (double)(now - progress->begun_at) / 1e6;
    double rate = seconds > 0 ? (double)entries / seconds : 0;
    fputc('\r', stderr);
    if (progress->whole > 0) {
        int64_t filled = bytes >= progress->whole ? BAR : bytes * BAR / progress->whole;
        fputc('[', stderr);
        for (int i = 0; i < BAR; i++)
            fputc(i < filled ? '#' : '.', stderr);
        fprintf(stderr, "] %3d%% ", (int)(bytes >= progress->whole ? 100 : bytes * 100 / progress->whole));
    }
    fprintf(stderr, "%lld entries, %lld MB, %.0f/s  ", (long long)entries, (long long)(bytes >> 20), rate);
    fflush(stderr);
}

void progress_show(struct progress *progress, int64_t entries, int64_t bytes)
{
    int64_t now = progress->shown ? timestamp_monotonic() : 0;
    if (!progress->shown || now < progress->next_at)
        return;
    progress->next_at = now + STEP;
    draw(progress, now, entries, bytes);
}

void progress_end(struct progress *progress, int64_t entries, int64_t bytes)
{
    if (!progress->shown)
        return;
    draw(progress, timestamp_monotonic(), entries, bytes);
    fputc('\n', stderr);
}
