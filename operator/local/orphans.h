/* orphans.h: processes left behind by programs of ended pods. When a container ends, the kernel
 * ends all its processes. Here this process adopts the orphaned descendants of a pod's process (of
 * a killed agent, or mpirun's ranks) and ends them. A living agent adopts its own orphans
 * (agent/launch/pod/process.h), so a child of ours that is not a pod belongs to a dead pod. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Call it once, before any pod is started. */
void orphans_adopt(void);

/* Kills and reaps every child of this process except these pods, and the processes that are adopted
 * when those die. Processes that do not die within a second (because their storage hangs) are left
 * for the next call. */
void orphans_end(const pid_t *pods, size_t count);
