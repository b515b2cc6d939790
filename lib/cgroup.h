/* cgroup.h: what this process' container may use, by its cgroup (version 2, or 1), whose files a
 * container sees at the root of the mount.
 * https://docs.kernel.org/admin-guide/cgroup-v2.html (cpu.max, memory.max)
 * https://docs.kernel.org/scheduler/sched-bwc.html (cpu.cfs_quota_us) */
#pragma once

#include "lib/base.h"

/* folder: where it is mounted; NULL: /sys/fs/cgroup. What cannot be read is no limit. */

/* Whole processors, rounded up, at least 1; 0: no limit. */
int cgroup_processors(const char *folder);
/* 0: no limit. */
int64_t cgroup_memory_bytes(const char *folder);
/* The processors that this process may run on, by its affinity and its cgroup: at least 1. */
int cgroup_usable_processors(const char *folder);
