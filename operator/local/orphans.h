/* orphans.h: what programs of ended pods have left behind. Where a pod's container ends, the kernel
 * ends all that is in it; here this process adopts what a pod's process has started and not
 * outlived (an agent that is killed, mpirun's ranks), and ends it. Agents adopt what is theirs
 * while they live (launch/process.h), so whoever has become a child of ours and is no pod is a dead
 * pod's. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Once, before any pod is started. */
void orphans_adopt(void);

/* Kills and reaps every child of this process but these pods, and what comes to us when they die;
 * those that do not die within a second (they wait for storage that hangs) are left to next time.
 */
void orphans_end(const pid_t *pods, size_t count);
