// The program's commands.
#include "client/answer.h"
#include "client/commands.h"
#include "key_command.h"
#include "options.h"
#include "serve.h"
#include "store/embedded.h"
#include "store/migrate.h"
#include "token_command.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

static const char help[] = "holdfast: an application's state over HTTP, kept on PostgreSQL\n"
                           "\n"
                           "The service:\n"
                           "  serve       serve the HTTP interface\n"
                           "  migrate     bring the database's schema up to date and end\n"
                           "  token       make, list and revoke tokens\n"
                           "  key         make keys that seal values, and change to another\n"
                           "  version     print the version\n"
                           "\n"
                           "A client of it (at HOLDFAST_URL):\n";

static void print_help(void)
{
    fputs(help, stdout);
    const struct command *command;
    for (size_t i = 0; (command = command_at(i)); i++)
        printf("  %-11s %s\n", command->name, command->summary);
    fputs("\nholdfast COMMAND --help says more.\n", stdout);
}

static int run_serve(int argc, char **argv)
{
    struct options options;
    enum options_verdict verdict = options_read(OPTIONS_SERVE, argc, argv, 2, &options);
    if (verdict != OPTIONS_OK)
        return verdict == OPTIONS_HELP ? 0 : 2;
    log_set_level(options.log_level);
    return serve(&options);
}

static int migrate_database(const char *connection, const char *role)
{
    char error[1024];
    int number = migrate(connection, error, sizeof error);
    if (number && (!role || migrate_grant(connection, role, error, sizeof error))) {
        printf("the schema is at migration %d%s\n", number,
               number > migrate_latest() ? ", of a later release beside which this one serves" : "");
        return 0;
    }
    fprintf(stderr, "holdfast: %s\n", error);
    return 1;
}

static int run_migrate(int argc, char **argv)
{
    struct options options;
    enum options_verdict verdict = options_read(OPTIONS_MIGRATE, argc, argv, 2, &options);
    if (verdict != OPTIONS_OK)
        return verdict == OPTIONS_HELP ? 0 : 2;
    log_set_level(options.log_level);
    if (options.database)
        return migrate_database(options_session_database(&options), options.grant_to);
    char error[1024];
    struct embedded *embedded = embedded_start(options.data, error, sizeof error);
    if (!embedded) {
        fprintf(stderr, "holdfast: %s\n", error);
        return 1;
    }
    int code = migrate_database(embedded_connection(embedded), options.grant_to);
    embedded_stop(embedded);
    return code;
}

static int run_version(int argc, char **argv)
{
    if (argc > 2 && (!strcmp(argv[2], "--help") || !strcmp(argv[2], "-h"))) {
        puts("holdfast version: prints the version and ends.");
        return 0;
    }
    if (argc > 2) {
        fprintf(stderr, "holdfast: unexpected argument %s\n", argv[2]);
        return 2;
    }
    puts("holdfast " HOLDFAST_VERSION);
    return 0;
}

// A socket that got the number of a standard stream that is closed would be written to or read as that. What
// takes its place refuses both, as the closed one did.
static void occupy_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

static int run(int argc, char **argv)
{
    const char *command = argc > 1 ? argv[1] : "";
    if (!strcmp(command, "migrate"))
        return run_migrate(argc, argv);
    if (!strcmp(command, "token"))
        return token_command(argc, argv);
    if (!strcmp(command, "key"))
        return key_command(argc, argv);
    if (!strcmp(command, "version") || !strcmp(command, "--version"))
        return run_version(argc, argv);
    if (!strcmp(command, "--help") || !strcmp(command, "-h") || !strcmp(command, "help")) {
        print_help();
        return 0;
    }
    const struct command *client = command_find(command);
    if (client)
        return command_run(client, argc, argv);
    if (*command)
        fprintf(stderr, "holdfast: there is no command %s (see holdfast --help)\n", command);
    else
        fputs("holdfast: a command is missing (see holdfast --help)\n", stderr);
    return 2;
}

// `help COMMAND` is `COMMAND --help`.
static void read_help(int argc, char **argv)
{
    static char flag[] = "--help";
    if (argc == 3 && !strcmp(argv[1], "help") && argv[2][0] != '-') {
        argv[1] = argv[2];
        argv[2] = flag;
    }
}

int main(int argc, char **argv)
{
    read_help(argc, argv);
    occupy_standard_streams();
    if (sodium_init() < 0) {
        fputs("holdfast: libsodium cannot start\n", stderr);
        return 1;
    }
    if (argc > 1 && !strcmp(argv[1], "serve"))
        return run_serve(argc, argv);
    int code = run(argc, argv);
    return print_end() || code ? code : 1; // what was asked for did not arrive
}
