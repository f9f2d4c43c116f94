// Key files from hostile hands: a file gives the key that its text is, or a line that says why not and
// nothing of it.
#include "fuzz.h"

#include "security/key_files.h"

#include <sodium.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHOWN = 8 }; // so many bytes of a secret that are told are too many

// What the message says of itself, whatever the file holds.
static const char own_words[] = ": holds no key, or a damaged one (see holdfast key create)";

static void must_not_tell(const char *error, struct bytes text)
{
    for (size_t i = 0; i + SHOWN <= text.size; i++)
        if (text.data[i] > ' ' && text.data[i] != '/')
            must(!memmem(error, strlen(error), text.data + i, SHOWN) ||
                 memmem(own_words, strlen(own_words), text.data + i, SHOWN));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int file = -1;
    char path[64], error[256] = "";
    struct key key;
    if (file < 0) {
        must(sodium_init() >= 0);
        file = memfd_create("key", MFD_CLOEXEC);
        must(file >= 0 && fchmod(file, 0400) == 0);
    }
    must(ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    struct keys *keys = key_files_read(path, error, sizeof error);
    bool good = size < 2 * KEY_TEXT_BYTES && key_parse(bytes_make(data, size), &key);
    must((keys != NULL) == good);
    if (keys)
        must(keys->count == 1 && keys->current == 0 && memcmp(&keys->key[0], &key, sizeof key) == 0);
    else
        must(strncmp(error, path, strlen(path)) == 0 && !strchr(error, '\n'));
    must_not_tell(error + (keys ? 0 : strlen(path)), bytes_make(data, size));
    keys_free(keys);
    return 0;
}
