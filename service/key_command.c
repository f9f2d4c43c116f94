// The key itself is shown only when no file is named for it.
#include "key_command.h"

#include "key_rotate.h"
#include "security/key_files.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "holdfast key: keys that the values of encrypted buckets are sealed with\n"
    "\n"
    "  key create [--out PATH]   make a key: print it, or write it to the new file PATH,\n"
    "                            or to a new file in the folder PATH\n"
    "  key rotate                have a running service seal everything with the current key;\n"
    "                            key rotate --help lists its options\n"
    "\n"
    "A key file holds one key and is open to nobody but its owner, at most readable by its group. In a "
    "folder the\n"
    "key whose file name is last in byte order seals, the others only open; one whose name ends with .next "
    "only\n"
    "opens, too. The service reads its keys at start and on SIGHUP.\n";

static int print_key(void)
{
    struct key key;
    char text[KEY_TEXT_BYTES];
    key_random(&key);
    key_format(&key, text);
    int code = fputs(text, stdout) >= 0 && fflush(stdout) == 0 ? 0 : 1;
    sodium_memzero(text, sizeof text);
    sodium_memzero(&key, sizeof key);
    return code;
}

static int create_file(const char *path)
{
    char error[512], id[KEY_ID_TEXT + 1];
    if (!key_file_create(path, id, error, sizeof error)) {
        fprintf(stderr, "holdfast: %s\n", error);
        return 1;
    }
    printf("made key %s\n", id);
    return 0;
}

static int create(int argc, char **argv)
{
    if (argc == 3)
        return print_key();
    if (argc == 5 && !strcmp(argv[3], "--out"))
        return create_file(argv[4]);
    if (argc == 4 && !strncmp(argv[3], "--out=", 6))
        return create_file(argv[3] + 6);
    fputs("holdfast: key create takes --out PATH or nothing (see holdfast key --help)\n", stderr);
    return 2;
}

int key_command(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[2] : "";
    if (!strcmp(what, "create"))
        return create(argc, argv);
    if (!strcmp(what, "rotate"))
        return key_rotate(argc, argv);
    if (!strcmp(what, "--help") || !strcmp(what, "-h")) {
        fputs(help, stdout);
        return 0;
    }
    fputs("holdfast: key takes create or rotate (see holdfast key --help)\n", stderr);
    return 2;
}
