// `holdfast key`: making keys, and changing to another one.
#pragma once

// Runs `holdfast key …`; gives the exit code.
int key_command(int argc, char **argv);
