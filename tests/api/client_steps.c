// Runs through the shell, which connects the files.
#include "client_steps.h"

#include "support/process.h"
#include "support/scratch.h"

#include <stdio.h>

enum { MOST_ARGUMENTS = 40, LIMIT_MS = 30 * 1000 };

static char *folder;
static struct client_end last;

const char *client_folder(void)
{
    if (!folder)
        folder = scratch_folder("client");
    return folder;
}

static void write_file(const char *path, struct bytes content)
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(content.data ? content.data : (const uint8_t *)"", 1, content.size, file),
                      content.size);
    ck_assert_int_eq(fclose(file), 0);
}

const struct client_end *client_run(struct bytes input, const char *const *arguments)
{
    const char *all[MOST_ARGUMENTS] = {"/bin/sh", "-c", "exec \"$0\" \"$@\" <in >out 2>err",
                                       service_binary()};
    size_t count = 4;
    for (; *arguments; arguments++)
        all[count++] = *arguments;
    char *url = scratch_printf("HOLDFAST_URL=%s", service_url(api.service));
    char *in = scratch_printf("%s/in", client_folder()), *out = scratch_printf("%s/out", folder);
    char *err = scratch_printf("%s/err", folder);
    write_file(in, input);
    free((void *)(uintptr_t)last.out.data);
    free((void *)(uintptr_t)last.err);
    last.code = process_run(&(struct process_options){.arguments = all,
                                                      .environment = (const char *const[]){url, NULL},
                                                      .directory = folder,
                                                      .stdout_fd = -1},
                            LIMIT_MS);
    size_t size;
    last.out.data = (const uint8_t *)scratch_read(out, &size);
    last.out.size = size;
    last.err = scratch_read(err, NULL);
    free(url);
    free(in);
    free(out);
    free(err);
    return &last;
}

pid_t client_start_script(const char *script, const char *directory, const char *url)
{
    char *setting = scratch_printf("HOLDFAST_URL=%s", url), *log = scratch_printf("%s/log", directory);
    char *text = scratch_printf("holdfast() { \"$0\" \"$@\"; }\n%s", script);
    const char *arguments[] = {"/bin/sh", "-c", text, service_binary(), NULL};
    pid_t pid = process_start(&(struct process_options){.arguments = arguments,
                                                        .environment = (const char *const[]){setting, NULL},
                                                        .output = log,
                                                        .directory = directory,
                                                        .stdout_fd = -1});
    free(setting);
    free(log);
    free(text);
    return pid;
}
