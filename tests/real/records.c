// A growing list of records and the memory they point into.
#include "real/records.h"

#include <stdio.h>
#include <stdlib.h>

static void *grow(void *memory, size_t size)
{
    void *grown = realloc(memory, size);
    if (grown == NULL) {
        abort();
    }
    return grown;
}

void records_add(struct records *records, const struct record *record)
{
    if (records->count == records->room) {
        records->room = records->room == 0 ? 1024 : records->room * 2;
        records->items = grow(records->items, records->room * sizeof *records->items);
    }
    records->items[records->count++] = *record;
}

static char *keep(struct records *records, size_t size)
{
    if (records->kept_count % 1024 == 0) {
        records->kept = grow(records->kept, (records->kept_count + 1024) * sizeof *records->kept);
    }
    char *kept = grow(NULL, size + 1);
    kept[size] = '\0';
    records->kept[records->kept_count++] = kept;
    return kept;
}

struct bytes records_keep(struct records *records, const void *data, size_t size)
{
    char *kept = keep(records, size);
    memcpy(kept, data, size);
    return bytes_make(kept, size);
}

bool records_read_file(struct records *records, const char *path, struct bytes *content)
{
    FILE *file = fopen(path, "rb");
    long size = -1;
    if (file != NULL && fseek(file, 0, SEEK_END) == 0) {
        size = ftell(file);
        rewind(file);
    }
    bool good = size > 0;
    if (good) {
        char *kept = keep(records, (size_t)size);
        good = fread(kept, 1, (size_t)size, file) == (size_t)size;
        *content = bytes_make(kept, (size_t)size);
    }
    if (file != NULL) {
        fclose(file);
    }
    if (!good) {
        fprintf(stderr, "cannot read %s\n", path);
    }
    return good;
}

void records_free(struct records *records)
{
    for (size_t i = 0; i < records->kept_count; i++) {
        free(records->kept[i]);
    }
    free(records->kept);
    free(records->items);
    *records = (struct records){0};
}
