// `holdfast completion`: what a shell needs to complete commands and flags, from the same table as the help.
#include "client/arguments.h"
#include "client/commands.h"
#include "client/exit_code.h"
#include "client/many_commands.h"

#include <stdio.h>
#include <string.h>

static const char *const others[] = {"serve", "migrate", "token", "key", "version"};

enum { OTHERS = sizeof others / sizeof others[0] };

static void print_commands(void)
{
    const struct command *command;
    for (size_t i = 0; i < OTHERS; i++)
        printf("%s ", others[i]);
    for (size_t i = 0; (command = command_at(i)); i++)
        printf("%s ", command->name);
}

static void print_flags(const struct command *command)
{
    struct flag flag;
    for (int at = 0; arguments_next_flag(command, &at, &flag);)
        printf("--%s ", flag.name);
    fputs("--help", stdout);
}

// Behind `--` it is another command's turn.
static void print_bash(void)
{
    const struct command *command;
    fputs("_holdfast() {\n"
          "    local current=${COMP_WORDS[COMP_CWORD]} words=\n"
          "    if ((COMP_CWORD == 1)); then\n"
          "        words='",
          stdout);
    print_commands();
    fputs("'\n    else\n        case ${COMP_WORDS[1]} in\n", stdout);
    for (size_t i = 0; (command = command_at(i)); i++) {
        printf("        %s) words='", command->name);
        print_flags(command);
        fputs("' ;;\n", stdout);
    }
    fputs("        esac\n"
          "    fi\n"
          "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
          "}\n"
          "complete -o default -F _holdfast holdfast\n",
          stdout);
}

// As zsh reads it: a colon parts, and quotes are its own.
static void print_escaped(const char *text)
{
    for (; *text; text++) {
        if (strchr(":[]\\", *text))
            putchar('\\');
        if (*text == '\'')
            fputs("'\\'", stdout);
        putchar(*text);
    }
}

static void print_zsh(void)
{
    const struct command *command;
    struct flag flag;
    fputs("#compdef holdfast\n"
          "_holdfast() {\n"
          "    if ((CURRENT == 2)); then\n"
          "        local -a commands=(",
          stdout);
    for (size_t i = 0; i < OTHERS; i++)
        printf("%s ", others[i]);
    for (size_t i = 0; (command = command_at(i)); i++) {
        printf("'%s:", command->name);
        print_escaped(command->summary);
        fputs("' ", stdout);
    }
    fputs(")\n        _describe command commands\n        return\n    fi\n    case $words[2] in\n", stdout);
    for (size_t i = 0; (command = command_at(i)); i++) {
        printf("    %s) _arguments", command->name);
        for (int at = 0; arguments_next_flag(command, &at, &flag);) {
            printf(" '*--%s[", flag.name);
            print_escaped(flag.help);
            fputs("]", stdout);
            if (flag.takes) {
                putchar(':');
                print_escaped(flag.takes);
                fputs(strstr(flag.takes, "FILE") ? ":_files" : ":", stdout);
            }
            putchar('\'');
        }
        fputs(" '*::argument:_default' ;;\n", stdout);
    }
    fputs("    esac\n}\nif [ \"$funcstack[1]\" = _holdfast ]; then _holdfast \"$@\"; else compdef _holdfast "
          "holdfast; fi\n",
          stdout);
}

static void print_quoted(const char *text)
{
    putchar('\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            putchar('\\');
        putchar(*text);
    }
    putchar('\'');
}

static void print_fish(void)
{
    const struct command *command;
    struct flag flag;
    fputs("complete -c holdfast -n __fish_use_subcommand -f -a '", stdout);
    for (size_t i = 0; i < OTHERS; i++)
        printf("%s ", others[i]);
    fputs("'\n", stdout);
    for (size_t i = 0; (command = command_at(i)); i++) {
        printf("complete -c holdfast -n __fish_use_subcommand -f -a %s -d ", command->name);
        print_quoted(command->summary);
        putchar('\n');
        for (int at = 0; arguments_next_flag(command, &at, &flag);) {
            printf("complete -c holdfast -n '__fish_seen_subcommand_from %s' -l %s %s-d ", command->name,
                   flag.name, flag.takes ? "-r " : "");
            print_quoted(flag.help);
            putchar('\n');
        }
    }
}

int completion_command(const struct arguments *arguments)
{
    static const struct {
        const char *shell;
        void (*print)(void);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    for (int i = 0; i < 3; i++) {
        if (strcmp(arguments->alone[0], shells[i].shell) != 0)
            continue;
        shells[i].print();
        return EXIT_DONE;
    }
    fputs("holdfast: completion takes bash, zsh or fish\n", stderr);
    return EXIT_USAGE;
}
