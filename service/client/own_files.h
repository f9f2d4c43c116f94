// Files that this process opened by itself, which a command that it becomes must not get.
#pragma once

// Notes what is open already: that is the caller's. To be called first.
void own_files_begin(void);

// Closes the sockets that were opened since, which libraries may have left to be inherited. For a child,
// before it becomes another program.
void own_files_close_sockets(void);
