// The control file, and the library, copied to where the server's user may read it.
#include "chaos/bad_disk.h"

#include "support/failure.h"
#include "support/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VARIABLES = 2 };

struct bad_disk {
    char *folder;
    char *variables[VARIABLES + 1];
    struct disk_control *control;
};

static void copy_library(const char *to)
{
    size_t size;
    char *bytes = scratch_read(HOLDFAST_DISK_LIBRARY, &size);
    FILE *file = fopen(to, "wb");
    if (!size || !file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0 || chmod(to, 0755) != 0)
        support_fail("%s cannot be copied to %s", HOLDFAST_DISK_LIBRARY, to);
    free(bytes);
}

static struct disk_control *map_control(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    struct disk_control *control = MAP_FAILED;
    if (fd >= 0 && fchmod(fd, 0666) == 0 && ftruncate(fd, sizeof *control) == 0)
        control = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (control == MAP_FAILED)
        support_fail("%s: %s", path, strerror(errno));
    close(fd);
    return control;
}

struct bad_disk *bad_disk_new(void)
{
    struct bad_disk *disk = calloc(1, sizeof *disk);
    if (!disk)
        support_fail("no memory");
    disk->folder = scratch_folder("disk");
    char *library = scratch_printf("%s/disk.so", disk->folder);
    char *control = scratch_printf("%s/control", disk->folder);
    copy_library(library);
    disk->control = map_control(control);
    atomic_store(&disk->control->disk, DISK_NOT_WATCHED);
    disk->variables[0] = scratch_printf("LD_PRELOAD=%s", library);
    disk->variables[1] = scratch_printf(DISK_CONTROL "=%s", control);
    free(library);
    free(control);
    return disk;
}

void bad_disk_free(struct bad_disk *disk)
{
    munmap(disk->control, sizeof *disk->control);
    for (int i = 0; i < VARIABLES; i++)
        free(disk->variables[i]);
    free(disk->folder);
    free(disk);
}

const char *const *bad_disk_environment(const struct bad_disk *disk)
{
    return (const char *const *)disk->variables;
}

void bad_disk_turn(struct bad_disk *disk, enum disk to)
{
    if (atomic_exchange(&disk->control->disk, (int)to) == DISK_NOT_WATCHED)
        support_fail("PostgreSQL was started without the library that spoils its disk");
}

unsigned long bad_disk_failures(const struct bad_disk *disk)
{
    return atomic_load(&disk->control->failed);
}
