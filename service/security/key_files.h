// Keys on disk: a file, or a folder of files as Kubernetes mounts a secret.
#pragma once

#include "security/keys.h"

// Reads the key in the file `path`; or, when it is a folder, that of every regular file in it (links are
// followed, names that begin with a dot passed over). The key of the last name in byte order is the current
// one; one whose name ends with `.next` only opens. Gives NULL with one line in `error`, which holds nothing
// of a key, when the path is unreadable, open to others, or holds anything but keys.
struct keys *key_files_read(const char *path, char *error, size_t size);

// Makes a key and writes it to a new file that only its owner reads; into a folder under a name that sorts
// after those made before. `id` gets its id as text. False with a line in `error` when it cannot be written.
bool key_file_create(const char *path, char id[KEY_ID_TEXT + 1], char *error, size_t size);
