/* cgroup.h: the CPU and memory limits of this container, read from its cgroup (version 2 or 1). In
 * a container the cgroup's files are at the root of the mount.
 * https://docs.kernel.org/admin-guide/cgroup-v2.html (cpu.max, memory.max)
 * https://docs.kernel.org/scheduler/sched-bwc.html (cpu.cfs_quota_us) */
#pragma once

#include "lib/base.h"

/* folder: the mount point; NULL: /sys/fs/cgroup. A limit that cannot be read counts as none. */

/* The limit in whole processors, rounded up, at least 1; 0: no limit. */
int cgroup_processors(const char *folder);
/* The limit in bytes; 0: no limit. */
int64_t cgroup_memory_bytes(const char *folder);
/* How many processes of this container the kernel has killed because the limit of memory was
 * reached; 0: none, or it does not say. */
int64_t cgroup_memory_kills(const char *folder);
/* The processors this process may use: the smaller of its affinity and its limit, at least 1. */
int cgroup_usable_processors(const char *folder);
