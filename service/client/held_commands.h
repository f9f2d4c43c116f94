// The commands for leases and for what is done once, a file each.
#pragma once

struct arguments;

int lease_command(const struct arguments *arguments);
int lock_command(const struct arguments *arguments);
int once_command(const struct arguments *arguments);
