// The cluster in the data folder: which version wrote it, how it is made, how it is set up for this service.
#pragma once

#include "store/embedded/folder.h"
#include "store/embedded/programs.h"

// The major version that wrote the cluster, 0 when there is none yet. False with a line when something else
// is there.
bool cluster_version(const struct folder *folder, int *major, struct refusal *refusal);

// Makes the cluster: whole, or not at all when it is interrupted.
bool cluster_initialise(const struct folder *folder, const struct account *account,
                        const struct programs *programs, struct refusal *refusal);

// Writes the settings for this machine and this version. What must hold is given to the server at its start
// instead, so that nothing written later undoes it.
bool cluster_configure(const struct folder *folder, const struct account *account,
                       const struct programs *programs, struct refusal *refusal);
