// The commands `holdfast token create`, `list` and `revoke`.
#pragma once

// Runs `holdfast token …` with the arguments of main. Gives the exit code.
int token_command(int argc, char **argv);
