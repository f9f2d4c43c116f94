// One folder a run, made by the first who needs it and removed when that process exits.
#include "support/scratch.h"

#include "support/failure.h"

#include <errno.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *root;
static pid_t root_owner;

char *scratch_printf(const char *format, ...)
{
    char *text;
    va_list args;
    va_start(args, format);
    int size = vasprintf(&text, format, args);
    va_end(args);
    if (size < 0)
        support_fail("no memory for a text");
    return text;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    remove(path); // what a dying server still writes is left to the next look
    return 0;
}

void scratch_remove(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void remove_root(void)
{
    if (root_owner == getpid())
        scratch_remove(root);
}

static char *make_folder(const char *parent, const char *purpose)
{
    char *path = scratch_printf("%s/%s-XXXXXX", parent, purpose);
    if (!mkdtemp(path) || chmod(path, 0711) != 0)
        support_fail("%s: %s", path, strerror(errno));
    return path;
}

char *scratch_folder(const char *purpose)
{
    if (!root) {
        const char *parent = getenv("TMPDIR");
        root = make_folder(parent && *parent ? parent : "/tmp", "holdfast-test");
        root_owner = getpid();
        atexit(remove_root);
    }
    return make_folder(root, purpose);
}

char *scratch_read(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t used = 0, room = 0;
    do {
        room = room ? room * 2 : 64 * 1024;
        text = realloc(text, room);
        if (!text)
            support_fail("no memory for %s", path);
        if (file)
            used += fread(text + used, 1, room - used - 1, file);
    } while (used == room - 1);
    if (file)
        fclose(file);
    text[used] = 0;
    if (size)
        *size = used;
    return text;
}
