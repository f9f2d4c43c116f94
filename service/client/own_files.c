// A command may pass on files that it was given, so that not all can be closed.
#include "client/own_files.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_FILES = 1024 };

static bool given[MOST_FILES];

void own_files_begin(void)
{
    for (int fd = 0; fd < MOST_FILES; fd++)
        given[fd] = fcntl(fd, F_GETFD) >= 0;
}

void own_files_close_sockets(void)
{
    struct stat status;
    for (int fd = 0; fd < MOST_FILES; fd++)
        if (!given[fd] && fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode))
            close(fd);
}
