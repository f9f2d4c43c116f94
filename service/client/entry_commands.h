// The commands for entries, a file each; commands.h says how they are called.
#pragma once

struct arguments;

int get_command(const struct arguments *arguments);
int put_command(const struct arguments *arguments);
int delete_command(const struct arguments *arguments);
int list_command(const struct arguments *arguments);
int watch_command(const struct arguments *arguments);
