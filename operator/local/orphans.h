/* orphans.h: what programs of ended pods have left behind. Where a pod's container ends, the kernel
 * ends all that is in it; here this process adopts what a pod's process has started and not
 * outlived (an agent that is killed, mpirun's ranks), and ends it. Agents adopt what is theirs
 * while they live (agent/launch/pod/process.h), so a child of ours that is not a pod belongs to a
 * dead pod. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Once, before any pod is started. */
void orphans_adopt(void);

/* Kills and reaps every child of this process but these pods, and what comes to us when they die;
 * those that do not die within a second (they wait for storage that hangs) are left to next time.
 */
void orphans_end(const pid_t *pods, size_t count);
