// The commands that move or make much at once, a file each.
#pragma once

struct arguments;

int dump_command(const struct arguments *arguments);
int load_command(const struct arguments *arguments);
int bench_command(const struct arguments *arguments);
int completion_command(const struct arguments *arguments);
