// The client's table of commands.
#include "client/commands.h"

#include "client/arguments.h"
#include "client/entry_commands.h"
#include "client/exit_code.h"
#include "client/held_commands.h"
#include "client/many_commands.h"
#include "client/own_files.h"

#include <string.h>

const char command_codes[] =
    "HOLDFAST_TOKEN has the token that the service wants.\n"
    "\n"
    "Exit codes: 0 done; 1 failed; 2 called wrongly; 3 there is no such entry, bucket, lease or answer; 4 a "
    "condition\n"
    "failed, or the name is of another kind; 5 another holds it, or the time is up; 6 the service is "
    "unavailable, or what\n"
    "became of a write is not known; 7 a lease or run was lost and its command ended.\n";

static const struct command commands[] = {
    {"get", COMMAND_GET, "BUCKET/KEY [flags]", "read an entry",
     "Writes the entry's value to standard output, byte for byte; with -o json the whole entry.\n"
     "The first slash ends the bucket's name; all behind it is the key, with any bytes.\n"
     "\n"
     "Examples:\n"
     "  holdfast get drafts/letter\n"
     "  holdfast get pictures/2026/01/cat.png >cat.png\n"
     "  holdfast get drafts/letter --under ann -o json\n"
     "  holdfast get jobs/7 --wait 30s            # comes as soon as it is written\n",
     1, 1, false, get_command},
    {"put", COMMAND_PUT, "BUCKET/KEY [VALUE] [flags]", "write an entry",
     "Writes VALUE, or --file, or standard input, and prints the version that it got.\n"
     "\n"
     "Examples:\n"
     "  holdfast put drafts/letter 'Dear Ann' --content-type text/plain\n"
     "  holdfast put pictures/cat.png --content-type image/png <cat.png\n"
     "  holdfast put codes/804211 --ttl 10m '{\"for\":\"a new password\"}'\n"
     "  V=$(holdfast put drafts/letter one)       # and only if nobody wrote since:\n"
     "  holdfast put drafts/letter two --if-match \"$V\"\n"
     "  holdfast put leaders/mail \"$HOSTNAME\" --if-absent\n",
     1, 2, false, put_command},
    {"delete", COMMAND_DELETE, "BUCKET/KEY [flags]", "delete an entry",
     "Deletes the entry; exit code 3 when there was none.\n"
     "\n"
     "Examples:\n"
     "  holdfast delete drafts/letter\n"
     "  holdfast delete drafts/letter --if-match \"$V\"\n",
     1, 1, false, delete_command},
    {"list", COMMAND_LIST, "[BUCKET[/PREFIX]] [flags]", "list buckets, or the keys of one",
     "Prints the names of all buckets, or the keys of a branch, a line each, in byte order; with -o json an "
     "object a\n"
     "line, with the values when --values asks for them.\n"
     "\n"
     "Examples:\n"
     "  holdfast list\n"
     "  holdfast list drafts/2026-\n"
     "  holdfast list sessions --under ann -o json --values\n"
     "  holdfast list drafts --start m --end n --limit 10\n",
     0, 1, false, list_command},
    {"watch", COMMAND_WATCH, "BUCKET/KEY [flags]", "follow an entry",
     "Prints the entry's value, and each further one as soon as it is written, a line each; with -o json the "
     "whole entry\n"
     "a line, and a line with \"version\":null when it went away. A service that is away for a while is "
     "asked again.\n"
     "Of values that follow each other quickly only the last may be seen.\n"
     "\n"
     "Examples:\n"
     "  holdfast watch jobs/7\n"
     "  holdfast watch settings/theme -o json | while read -r entry; do apply \"$entry\"; done\n"
     "  holdfast watch jobs/7 --count 2 --wait 10m   # what it is, and the next change\n",
     1, 1, false, watch_command},
    {"lease", COMMAND_LEASE, "acquire|renew|release|show BUCKET/KEY [flags]",
     "take, renew, release or see a lease",
     "acquire prints the token that renew and release take, and that other stores can fence writes with: of "
     "one lease\n"
     "tokens only grow. show prints the holder. holdfast lock does all of it around a command.\n"
     "\n"
     "Examples:\n"
     "  TOKEN=$(holdfast lease acquire jobs/nightly --ttl 1m --wait 10m) || exit\n"
     "  holdfast lease renew jobs/nightly --ttl 1m --token \"$TOKEN\"\n"
     "  holdfast lease show jobs/nightly -o json\n"
     "  holdfast lease release jobs/nightly --token \"$TOKEN\"\n",
     2, 2, false, lease_command},
    {"lock", COMMAND_LOCK, "BUCKET/KEY [flags] -- COMMAND [ARGUMENT]...",
     "run a command while holding a lease",
     "Acquires the lease, runs the command, renews the lease meanwhile, and gives it back. The exit code is "
     "the command's.\n"
     "Without --wait it ends with 5 when another has the lease. When the lease is lost, or cannot be "
     "renewed, the command\n"
     "is told by SIGTERM while there is some of the term left, and is ended by SIGKILL when it is over, with "
     "all that it\n"
     "started in its process group; exit code 7. That happens on time even when this process is stopped or "
     "killed.\n"
     "Signals are passed on to the command. In its environment are HOLDFAST_FENCE (the token), "
     "HOLDFAST_HOLDER, and what\n"
     "holdfast put --fenced takes to write only while the lease is live.\n"
     "\n"
     "Examples:\n"
     "  holdfast lock jobs/nightly -- ./nightly.sh\n"
     "  holdfast lock deploy/web --wait 10m --ttl 1m -- make deploy\n"
     "  holdfast lock jobs/nightly -- sh -c 'holdfast put jobs/last \"$(date)\" --fenced --if-match \"*\"'\n",
     1, 1, true, lock_command},
    {"once", COMMAND_ONCE, "NAME/KEY [flags] [-- COMMAND [ARGUMENT]...]",
     "run a command once, and keep what it prints",
     "Of any number of callers, on any machines, one runs the command; what it prints is kept as the answer, "
     "and all who\n"
     "ask meanwhile (with --wait) or later get it. A command that fails keeps nothing, and the next caller "
     "runs it. While\n"
     "another runs it the exit code is 5. Without a command the kept answer is printed, 3 when there is "
     "none.\n"
     "\n"
     "Examples:\n"
     "  holdfast once payments/order-1748 --wait 1m -- ./charge.sh order-1748\n"
     "  holdfast once payments/order-1748\n"
     "  holdfast once payments/order-1748 --forget\n",
     1, 1, true, once_command},
    {"dump", COMMAND_DUMP, "[BUCKET] [flags]", "write all buckets and entries as lines of JSON",
     "Writes a line of JSON for each name with its configuration, and for each entry of each bucket and "
     "branch with its\n"
     "value, version, expiry, content type and metadata; values that are no text of one line are in base64. "
     "Of counters,\n"
     "limits, quotas and once the configuration is written, not what was counted or kept, and no leases, "
     "tokens and forks:\n"
     "the HTTP interface has no lists of them. For a copy of everything use pg_dump. Each page of entries is "
     "as it is when it\n"
     "is read. With --file and --resume a dump that broke off goes on where it stood.\n"
     "\n"
     "Examples:\n"
     "  holdfast dump | gzip >everything.ndjson.gz\n"
     "  holdfast dump drafts --file drafts.ndjson\n"
     "  holdfast dump --file everything.ndjson --resume\n",
     0, 1, false, dump_command},
    {"load", COMMAND_LOAD, "[FILE] [flags]", "declare and write what a dump has",
     "Declares the names of a dump and writes its entries, from FILE or standard input; entries that are "
     "there already are\n"
     "overwritten, others stay. Versions are new, since a version is never used twice. What had expired is "
     "left out; entries\n"
     "of buckets with an idle term begin it anew. Entries that the service refuses are told one by one, and "
     "the exit code is\n"
     "1 then. With --state a load that broke off goes on where it stood when it is called so again;\n"
     "the state of another input or address is refused.\n"
     "\n"
     "Examples:\n"
     "  zcat everything.ndjson.gz | holdfast load\n"
     "  holdfast load everything.ndjson --state load.state --url http://other:7070\n",
     0, 1, false, load_command},
    {"bench", COMMAND_BENCH, "[flags]", "measure a deployment",
     "Fills a bucket of its own, reads and writes it with so many connections that each wait for their "
     "answer, prints the\n"
     "requests per second and how long they took, and drops the bucket.\n"
     "\n"
     "Examples:\n"
     "  holdfast bench\n"
     "  holdfast bench --connections 64 --reads 50 --duration 30s --size 1000 -o json\n",
     0, 0, false, bench_command},
    {"completion", COMMAND_COMPLETION, "bash|zsh|fish", "print what a shell needs to complete commands",
     "Examples:\n"
     "  source <(holdfast completion bash)\n"
     "  holdfast completion zsh >\"${fpath[1]}/_holdfast\"\n"
     "  holdfast completion fish >~/.config/fish/completions/holdfast.fish\n",
     1, 1, false, completion_command},
};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

const struct command *command_find(const char *name)
{
    for (int i = 0; i < COMMANDS; i++)
        if (!strcmp(commands[i].name, name))
            return &commands[i];
    return NULL;
}

const struct command *command_at(size_t number)
{
    return number < COMMANDS ? &commands[number] : NULL;
}

int command_run(const struct command *command, int argc, char **argv)
{
    struct arguments arguments;
    own_files_begin();
    switch (arguments_read(command, argc, argv, &arguments)) {
    case ARGUMENTS_HELP:
        return EXIT_DONE;
    case ARGUMENTS_BAD:
        return EXIT_USAGE;
    case ARGUMENTS_OK:
        break;
    }
    return command->run(&arguments);
}
