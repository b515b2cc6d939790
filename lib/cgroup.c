// SPDX-License-Identifier: Apache-2.0
#include "lib/cgroup.h"

#include <sched.h>
#include <stdio.h>

/* Reads up to `count` numbers from the start of the file; returns how many ("max 100000": 0). */
static int read_numbers(const char *folder, const char *name, long long *ret_numbers, int count) {
    AUTO(text_freep) char *path = x_printf("%s/%s", folder ? folder : "/sys/fs/cgroup", name);
    FILE *file = fopen(path, "re");
    int found = 0;
    while (file && found < count && fscanf(file, "%lld", &ret_numbers[found]) == 1) {
        found++;
    }
    if (file) {
        fclose(file);
    }
    return found;
}

/* Version 1 names a folder after all controllers mounted there; most machines also have the link
 * "cpu". */
static bool read_quota(const char *folder, long long *ret_numbers) {
    static const char *const names[][2] = {
        {"cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"},
        {"cpu,cpuacct/cpu.cfs_quota_us", "cpu,cpuacct/cpu.cfs_period_us"}};
    bool found = read_numbers(folder, "cpu.max", ret_numbers, 2) == 2;
    for (size_t i = 0; i < ARRAY_LEN(names) && !found; i++) {
        found = read_numbers(folder, names[i][0], &ret_numbers[0], 1) == 1 &&
                read_numbers(folder, names[i][1], &ret_numbers[1], 1) == 1;
    }
    return found && ret_numbers[0] > 0 && ret_numbers[1] > 0; /* -1: none */
}

int cgroup_processors(const char *folder) {
    long long numbers[2];
    if (!read_quota(folder, numbers)) {
        return 0;
    }
    long long whole = (numbers[0] - 1) / numbers[1] + 1;
    return (int)MIN(whole, (long long)CPU_SETSIZE);
}

int64_t cgroup_memory_bytes(const char *folder) {
    long long bytes = 0;
    bool found = read_numbers(folder, "memory.max", &bytes, 1) == 1 ||
                 read_numbers(folder, "memory/memory.limit_in_bytes", &bytes, 1) == 1;
    return found && bytes > 0 ? bytes : 0;
}

/* "oom_kill 3" on a line of its own. */
int64_t cgroup_memory_kills(const char *folder) {
    static const char *const names[] = {"memory.events", "memory/memory.oom_control"};
    int64_t kills = 0;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        AUTO(text_freep)
        char *path = x_printf("%s/%s", folder ? folder : "/sys/fs/cgroup", names[i]);
        FILE *file = fopen(path, "re");
        char line[100];
        long long number = 0;
        while (file && fgets(line, sizeof line, file)) {
            if (sscanf(line, "oom_kill %lld", &number) == 1) {
                kills = number;
            }
        }
        if (file) {
            fclose(file);
        }
    }
    return kills;
}

int cgroup_usable_processors(const char *folder) {
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? MAX(CPU_COUNT(&set), 1) : 1;
    int quota = cgroup_processors(folder);
    return quota ? MIN(quota, count) : count;
}
