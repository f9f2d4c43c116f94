// As root the service works in a folder that another user owns, so no name in it is followed to somewhere
// else.
#include "store/embedded/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define LOCK_FILE   "holdfast.lock"
#define LOG_FILE    "postgres.log"
#define SOCKET_FILE "/" FOLDER_SOCKET "/.s.PGSQL.5432"

enum { LARGE_LOG = 16 * 1024 * 1024 };

// mkdir -p; the last folder for its owner alone.
static bool make_folders(const char *data)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s", data) >= sizeof path) {
        errno = ENAMETOOLONG;
        return false;
    }
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0755) != 0 && errno != EEXIST)
            return false;
        *slash = '/';
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

static bool exists_in(int fd, const char *name, struct stat *info)
{
    return fstatat(fd, name, info, AT_SYMLINK_NOFOLLOW) == 0;
}

// Whether the folder holds nothing of anybody else's: it is empty (but for what a file system puts there) or
// was used by this program before.
static bool is_ours(int fd)
{
    struct stat info;
    if (exists_in(fd, LOCK_FILE, &info) || exists_in(fd, FOLDER_CLUSTER "/PG_VERSION", &info))
        return true;
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = copy < 0 ? NULL : fdopendir(copy);
    if (listing == NULL) {
        if (copy >= 0)
            close(copy);
        return false;
    }
    bool empty = true;
    for (struct dirent *entry; empty && (entry = readdir(listing)) != NULL;)
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
                strcmp(entry->d_name, "lost+found") == 0;
    closedir(listing);
    return empty;
}

// Data keeps its owner, whoever `postgres` is on this machine.
static void follow_owner(int fd, struct account *account)
{
    struct stat info;
    if (account->switches && exists_in(fd, FOLDER_CLUSTER, &info) && info.st_uid != 0)
        account_take(account, info.st_uid, info.st_gid);
}

// The folder may be a volume whose owner this process cannot change; what matters, the cluster and the
// socket, lies in folders of the account's own below.
static bool hand_over(int fd, const struct account *account)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return false;
    if (info.st_uid != account->uid && account->switches && fchown(fd, account->uid, account->gid) != 0)
        return false;
    if ((info.st_mode & 07777) != 0700 && (info.st_uid == account->uid || account->switches))
        return fchmod(fd, 0700) == 0;
    return true;
}

static bool refuse_second(int lock, const char *path, struct refusal *refusal)
{
    char text[16] = "";
    ssize_t got = pread(lock, text, sizeof text - 1, 0);
    long holder = got > 0 ? strtol(text, NULL, 10) : 0;
    if (holder > 0)
        return refuse(refusal, "the data folder %s is in use by another holdfast (process %ld)", path,
                      holder);
    return refuse(refusal, "the data folder %s is in use by another holdfast", path);
}

static bool write_holder(int lock)
{
    char text[16];
    int size = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    return ftruncate(lock, 0) == 0 && pwrite(lock, text, (size_t)size, 0) == size;
}

// The lock goes with the process however it ends, and is not inherited by programs it starts.
static bool lock_folder(struct folder *folder, const struct account *account, struct refusal *refusal)
{
    folder->lock = openat(folder->fd, LOCK_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (folder->lock < 0)
        return refuse(refusal, "cannot open %s/%s: %s", folder->path, LOCK_FILE, strerror(errno));
    if (flock(folder->lock, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK
                   ? refuse_second(folder->lock, folder->path, refusal)
                   : refuse(refusal, "cannot lock %s/%s: %s", folder->path, LOCK_FILE, strerror(errno));
    if (!write_holder(folder->lock) ||
        (account->switches && fchown(folder->lock, account->uid, account->gid) != 0))
        return refuse(refusal, "cannot write %s/%s: %s", folder->path, LOCK_FILE, strerror(errno));
    return true;
}

// Settings take lists apart at commas and quotes, connection strings at spaces; a socket's path has little
// room; and root's data may lie below folders that the account cannot pass. The open descriptor is a name
// without all that.
static void name_base(struct folder *folder, const struct account *account)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-";
    size_t room = sizeof((struct sockaddr_un *)0)->sun_path - sizeof SOCKET_FILE;
    size_t size = strlen(folder->path);
    if (size < room && folder->path[strspn(folder->path, plain)] == '\0' &&
        (!account->switches || account_can_enter(account, folder->path)))
        memcpy(folder->base, folder->path, size + 1);
    else
        snprintf(folder->base, sizeof folder->base, "/proc/self/fd/%d", folder->fd);
}

static bool open_parts(struct folder *folder, const char *data, struct account *account,
                       struct refusal *refusal)
{
    if (!make_folders(data))
        return refuse(refusal, "cannot make the data folder %s: %s", data, strerror(errno));
    if (realpath(data, folder->path) == NULL)
        return refuse(refusal, "cannot find the data folder %s: %s", data, strerror(errno));
    folder->fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder->fd < 0)
        return refuse(refusal, "cannot open the data folder %s: %s", folder->path, strerror(errno));
    if (!is_ours(folder->fd))
        return refuse(refusal, "the data folder %s holds files that are not holdfast's: name an empty one",
                      folder->path);
    follow_owner(folder->fd, account);
    if (!lock_folder(folder, account, refusal))
        return false;
    if (!hand_over(folder->fd, account))
        return refuse(refusal, "cannot give the data folder %s to the user %s: %s", folder->path,
                      account->name, strerror(errno));
    name_base(folder, account);
    return true;
}

bool folder_open(struct folder *folder, const char *data, struct account *account, struct refusal *refusal)
{
    folder->fd = folder->lock = -1;
    if (open_parts(folder, data, account, refusal))
        return true;
    folder_close(folder);
    return false;
}

void folder_close(struct folder *folder)
{
    if (folder->lock >= 0)
        close(folder->lock);
    if (folder->fd >= 0)
        close(folder->fd);
    folder->fd = folder->lock = -1;
}

bool folder_make_socket(const struct folder *folder, const struct account *account, struct refusal *refusal)
{
    if (mkdirat(folder->fd, FOLDER_SOCKET, 0700) != 0 && errno != EEXIST)
        return refuse(refusal, "cannot make %s/%s: %s", folder->path, FOLDER_SOCKET, strerror(errno));
    int fd = openat(folder->fd, FOLDER_SOCKET, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool ok = fd >= 0 && (!account->switches || fchown(fd, account->uid, account->gid) == 0) &&
              fchmod(fd, 0700) == 0;
    if (!ok)
        refuse(refusal, "cannot use %s/%s: %s", folder->path, FOLDER_SOCKET, strerror(errno));
    if (fd >= 0)
        close(fd);
    return ok;
}

int folder_open_log(const struct folder *folder, const struct account *account, struct refusal *refusal)
{
    struct stat info;
    if (exists_in(folder->fd, LOG_FILE, &info) && info.st_size > LARGE_LOG)
        renameat(folder->fd, LOG_FILE, folder->fd, LOG_FILE ".1"); // when it fails the log only grows on
    int fd = openat(folder->fd, LOG_FILE, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0 && (!account->switches || fchown(fd, account->uid, account->gid) == 0))
        return fd;
    refuse(refusal, "cannot open %s/%s: %s", folder->path, LOG_FILE, strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}
