// Distributions keep the server's programs out of PATH and side by side by version, so several places are
// looked at.
#include "store/embedded/programs.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PACKAGED_FOLDERS "/usr/lib/postgresql/*/bin"

struct search {
    int wanted; // 0 for any
    const struct account *account;
    struct programs *found;
    int other; // a version that was found and is not the wanted one; 0 for none
};

static bool is_program(const char *folder, const char *name)
{
    char path[PATH_MAX];
    int size = snprintf(path, sizeof path, "%s/%s", folder, name);
    return size > 0 && (size_t)size < sizeof path && access(path, X_OK) == 0;
}

// The major version of `folder`/postgres by its own word; 0 when it does not say.
static int version_of(const char *folder, const struct account *account)
{
    char path[PATH_MAX];
    char output[256];
    struct refusal unheard = {(char[256]){0}, 256};
    snprintf(path, sizeof path, "%s/postgres", folder);
    const char *arguments[] = {path, "--version", NULL};
    struct program program = {.arguments = arguments, .account = account, .keep = -1};
    if (program_run(&program, output, sizeof output, &unheard) != 0)
        return 0;
    const char *number = strstr(output, "(PostgreSQL) ");
    return number == NULL ? 0 : (int)strtol(number + strlen("(PostgreSQL) "), NULL, 10);
}

static bool has_programs(const char *folder)
{
    return strlen(folder) < PATH_MAX - 16 && is_program(folder, "postgres") && is_program(folder, "initdb");
}

static void take(struct search *search, const char *folder, int major)
{
    snprintf(search->found->folder, sizeof search->found->folder, "%s", folder);
    search->found->major = major;
}

// Takes `folder` when its programs can serve the data.
static bool try_folder(struct search *search, const char *folder)
{
    if (!has_programs(folder))
        return false;
    int major = version_of(folder, search->account);
    if (search->wanted != 0 ? major != search->wanted : major < OLDEST_POSTGRES) {
        if (major > search->other)
            search->other = major;
        return false;
    }
    take(search, folder, major);
    return true;
}

// The first folder of PATH that holds the program, into `folder`.
static bool folder_in_path(const char *name, char folder[PATH_MAX])
{
    const char *path = getenv("PATH");
    for (const char *part = path; part != NULL && *part != '\0';) {
        size_t size = strcspn(part, ":");
        if (size > 0 && size < PATH_MAX) {
            snprintf(folder, PATH_MAX, "%.*s", (int)size, part);
            if (is_program(folder, name))
                return true;
        }
        part += size + (part[size] == ':');
    }
    return false;
}

static bool try_pg_config(struct search *search)
{
    char folder[PATH_MAX];
    char path[PATH_MAX + 16];
    char output[PATH_MAX];
    struct refusal unheard = {(char[256]){0}, 256};
    if (!folder_in_path("pg_config", folder))
        return false;
    snprintf(path, sizeof path, "%s/pg_config", folder);
    const char *arguments[] = {path, "--bindir", NULL};
    struct program program = {.arguments = arguments, .account = search->account, .keep = -1};
    if (program_run(&program, output, sizeof output, &unheard) != 0)
        return false;
    refusal_flatten(output, ' ');
    return try_folder(search, output);
}

static bool try_path(struct search *search)
{
    char folder[PATH_MAX];
    return folder_in_path("postgres", folder) && try_folder(search, folder);
}

// The version in a folder's name, as in /usr/lib/postgresql/15/bin.
static long named_version(const char *folder)
{
    return strtol(folder + strcspn(folder, "0123456789"), NULL, 10);
}

static int newest_first(const void *a, const void *b)
{
    long left = named_version(*(char *const *)a);
    long right = named_version(*(char *const *)b);
    return (left < right) - (left > right);
}

static bool try_packaged(struct search *search)
{
    glob_t folders;
    bool found = false;
    if (glob(PACKAGED_FOLDERS, GLOB_ONLYDIR, NULL, &folders) == 0) {
        qsort(folders.gl_pathv, folders.gl_pathc, sizeof *folders.gl_pathv, newest_first);
        for (size_t i = 0; i < folders.gl_pathc && !found; i++)
            found = try_folder(search, folders.gl_pathv[i]);
    }
    globfree(&folders);
    return found;
}

// A packaged server of exactly the wanted version needs no search and, since its folder says the version, no
// question: to start it twice would be a good part of the time a start takes.
static bool try_packaged_version(struct search *search)
{
    char folder[64];
    snprintf(folder, sizeof folder, "/usr/lib/postgresql/%d/bin", search->wanted);
    if (search->wanted == 0 || !has_programs(folder))
        return false;
    take(search, folder, search->wanted);
    return true;
}

bool programs_find(int major, const struct account *account, struct programs *programs,
                   struct refusal *refusal)
{
    struct search search = {.wanted = major, .account = account, .found = programs};
    if (try_packaged_version(&search) || try_pg_config(&search) || try_path(&search) || try_packaged(&search))
        return true;
    if (search.other == 0)
        return refuse(refusal,
                      "found no PostgreSQL server (looked in the folder of pg_config, in PATH and in %s): "
                      "install postgresql, or name a server with --database",
                      PACKAGED_FOLDERS);
    if (major == 0)
        return refuse(refusal, "found only PostgreSQL %d; %d or newer is needed", search.other,
                      OLDEST_POSTGRES);
    return refuse(refusal,
                  "the data was written by PostgreSQL %d and only PostgreSQL %d is installed: install "
                  "postgresql-%d, or bring the data over with pg_upgrade",
                  major, search.other, major);
}
