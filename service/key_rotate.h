// `holdfast key rotate`: asks the running service, through its database, to seal everything with the current
// key.
#pragma once

// Gives the exit code: 0 when everything is.
int key_rotate(int argc, char **argv);
