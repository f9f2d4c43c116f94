// Loaded before all else into a test's PostgreSQL (LD_PRELOAD): its disk is full, or its fsync fails, as long
// as a word in a file says so.
#include "chaos/disk/disk.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

// Mapped, so that every process of the server sees a change at once and asks without a system call.
static struct disk_control *control;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv(DISK_CONTROL);
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    struct disk_control *mapped = mmap(NULL, sizeof *mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (mapped == MAP_FAILED)
        return;
    int expected = DISK_NOT_WATCHED;
    atomic_compare_exchange_strong(&mapped->disk, &expected, DISK_GOOD);
    control = mapped;
    // A server that panics need not leave an image of its memory.
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
}

// The server works in the folder of its data: what it says, and memory that it shares, is elsewhere.
static bool is_data(int fd)
{
    char link[64], path[PATH_MAX], folder[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path);
    if (!getcwd(folder, sizeof folder))
        return false;
    size_t wanted = strlen(folder);
    return size > (ssize_t)wanted && memcmp(path, folder, wanted) == 0 && path[wanted] == '/';
}

static bool disk_is(enum disk disk)
{
    return control && atomic_load_explicit(&control->disk, memory_order_relaxed) == (int)disk;
}

// Room that a file already has stays its own when the disk is full.
static bool has_no_room(int fd, off_t end)
{
    struct stat status;
    return disk_is(DISK_FULL) && is_data(fd) && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
           end > status.st_size;
}

// Where a write without an offset begins.
static off_t position_of(int fd)
{
    struct stat status;
    bool appends = (fcntl(fd, F_GETFL) & O_APPEND) != 0;
    return appends && fstat(fd, &status) == 0 ? status.st_size : lseek(fd, 0, SEEK_CUR);
}

static off_t size_of(const struct iovec *parts, int count)
{
    off_t size = 0;
    for (int i = 0; i < count; i++)
        size += (off_t)parts[i].iov_len;
    return size;
}

static int fail_with(int reason)
{
    atomic_fetch_add(&control->failed, 1);
    errno = reason;
    return -1;
}

// --- writing ----------------------------------------------------------------------------------------------

ssize_t write(int fd, const void *data, size_t size)
{
    // Nothing but a full disk is worth another look at where the file stands.
    if (disk_is(DISK_FULL) && has_no_room(fd, position_of(fd) + (off_t)size))
        return fail_with(ENOSPC);
    return syscall(SYS_write, fd, data, size);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    if (disk_is(DISK_FULL) && has_no_room(fd, position_of(fd) + size_of(parts, count)))
        return fail_with(ENOSPC);
    return syscall(SYS_writev, fd, parts, count);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    if (has_no_room(fd, offset + (off_t)size))
        return fail_with(ENOSPC);
    return syscall(SYS_pwrite64, fd, data, size, offset);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
    if (has_no_room(fd, offset + size_of(parts, count)))
        return fail_with(ENOSPC);
    return syscall(SYS_pwritev, fd, parts, count, offset, 0L);
}

int posix_fallocate(int fd, off_t offset, off_t size)
{
    int (*real)(int, off_t, off_t);
    if (has_no_room(fd, offset + size)) {
        fail_with(ENOSPC);
        return ENOSPC;
    }
    *(void **)&real = dlsym(RTLD_NEXT, "posix_fallocate");
    return real(fd, offset, size);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) __attribute__((alias("pwrite")));
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset)
    __attribute__((alias("pwritev")));
int posix_fallocate64(int fd, off64_t offset, off64_t size) __attribute__((alias("posix_fallocate")));

// --- making it last ---------------------------------------------------------------------------------------

static int make_last(long call, int fd)
{
    if (disk_is(DISK_FSYNC_FAILS) && is_data(fd))
        return fail_with(EIO);
    return (int)syscall(call, fd);
}

int fsync(int fd)
{
    return make_last(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    return make_last(SYS_fdatasync, fd);
}
