// Key files are opened first and judged by what was opened, so that nothing can be exchanged in between.
#include "security/key_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool complain(char *error, size_t size, const char *path, const char *what)
{
    snprintf(error, size, "%s: %s", path, what);
    return false;
}

// --- reading
// ----------------------------------------------------------------------------------------------------------

static bool private_enough(const struct stat *state)
{
    return (state->st_mode & (S_IWGRP | S_IRWXO)) == 0;
}

static bool read_text(int file, struct key *key)
{
    char text[2 * KEY_TEXT_BYTES];
    size_t size = 0;
    ssize_t got;
    while ((got = read(file, text + size, sizeof text - size)) > 0)
        size += (size_t)got;
    bool fits = got == 0 && size < sizeof text && key_parse(bytes_make(text, size), key);
    sodium_memzero(text, sizeof text);
    return fits;
}

static bool read_open_file(int file, const char *path, struct key *key, char *error, size_t size)
{
    struct stat state;
    if (fstat(file, &state) != 0 || !S_ISREG(state.st_mode))
        return complain(error, size, path, "is no regular file");
    if (!private_enough(&state))
        return complain(
            error, size, path,
            "is open to others: a key file is readable by its owner, at most by its group (0440)");
    if (!read_text(file, key))
        return complain(error, size, path, "holds no key, or a damaged one (see holdfast key create)");
    return true;
}

static bool add_file(struct keys *keys, int folder, const char *name, const char *path, char *error,
                     size_t size)
{
    if (keys->count == KEYS_MOST)
        return complain(error, size, path, "is one key too many");
    int file = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return complain(error, size, path, strerror(errno));
    struct key *key = &keys->key[keys->count];
    bool read = read_open_file(file, path, key, error, size);
    close(file);
    if (!read)
        return false;
    if (keys_find(keys, key->id))
        return complain(error, size, path, "holds a key that another file has too");
    keys->count++;
    return true;
}

static bool only_opens(const char *name)
{
    static const char ending[] = ".next";
    size_t length = strlen(name);
    return length >= sizeof ending - 1 && strcmp(name + length - (sizeof ending - 1), ending) == 0;
}

static bool is_folder(int folder, const char *name)
{
    struct stat state;
    return fstatat(folder, name, &state, 0) == 0 && S_ISDIR(state.st_mode);
}

static bool add_named(struct keys *keys, int folder, const char *path, struct dirent **names, int count,
                      char *error, size_t size)
{
    char whole[PATH_MAX];
    keys->current = -1;
    for (int i = 0; i < count; i++) {
        const char *name = names[i]->d_name;
        if (name[0] == '.' || is_folder(folder, name))
            continue;
        snprintf(whole, sizeof whole, "%s/%s", path, name);
        if (!add_file(keys, folder, name, whole, error, size))
            return false;
        if (!only_opens(name))
            keys->current = keys->count - 1;
    }
    return keys->current >= 0 || complain(error, size, path, "is a folder without a key that may seal");
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static bool add_folder(struct keys *keys, int folder, const char *path, char *error, size_t size)
{
    struct dirent **names;
    int count = scandirat(folder, ".", &names, NULL, by_bytes);
    if (count < 0)
        return complain(error, size, path, strerror(errno));
    bool added = add_named(keys, folder, path, names, count, error, size);
    for (int i = 0; i < count; i++)
        free(names[i]);
    free(names);
    return added;
}

static bool add_path(struct keys *keys, const char *path, char *error, size_t size)
{
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return errno == ENOTDIR ? add_file(keys, AT_FDCWD, path, path, error, size)
                                : complain(error, size, path, strerror(errno));
    bool added = add_folder(keys, folder, path, error, size);
    close(folder);
    return added;
}

struct keys *key_files_read(const char *path, char *error, size_t size)
{
    struct keys *keys = keys_new();
    if (add_path(keys, path, error, size))
        return keys;
    keys_free(keys);
    return NULL;
}

// --- making
// -----------------------------------------------------------------------------------------------------------

static bool write_whole(int file, const char *text)
{
    size_t size = strlen(text);
    return write(file, text, size) == (ssize_t)size && fsync(file) == 0;
}

static bool write_new(const char *path, const struct key *key)
{
    char text[KEY_TEXT_BYTES];
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0)
        return false;
    key_format(key, text);
    bool written = write_whole(file, text);
    sodium_memzero(text, sizeof text);
    close(file);
    if (!written)
        unlink(path);
    return written;
}

bool key_file_create(const char *path, char id[KEY_ID_TEXT + 1], char *error, size_t size)
{
    struct key key;
    struct stat state;
    char whole[PATH_MAX], moment[32];
    key_random(&key);
    key_id_format(key.id, id);
    snprintf(whole, sizeof whole, "%s", path);
    if (stat(path, &state) == 0 && S_ISDIR(state.st_mode)) {
        time_t now = time(NULL);
        struct tm utc;
        strftime(moment, sizeof moment, "%Y%m%dT%H%M%SZ", gmtime_r(&now, &utc));
        snprintf(whole, sizeof whole, "%s/%s-%s.key", path, moment, id);
    }
    bool written = write_new(whole, &key);
    sodium_memzero(&key, sizeof key);
    return written || complain(error, size, whole, strerror(errno));
}
