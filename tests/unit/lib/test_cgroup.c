// SPDX-License-Identifier: Apache-2.0
#include "lib/cgroup.h"

#include "lib/file.h"
#include "tests/test.h"

#include <sched.h>
#include <stdlib.h>

static char folder[] = "/tmp/test-cgroup-XXXXXX";

static void put(const char *name, const char *text) {
    struct error err = {0};
    AUTO(text_freep) char *path = file_join(folder, name);
    AUTO(text_freep) char *parent = x_strdup(path);
    *strrchr(parent, '/') = 0;
    CHECK_OK(file_make_folders(parent, &err), &err);
    CHECK_OK(file_write(path, text, strlen(text), &err), &err);
}

static void clear(void) {
    struct error err = {0};
    CHECK_OK(file_remove_tree(folder, &err), &err);
}

static int may_run_on(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

static void test_version_2(void) {
    static const struct {
        const char *text;
        int wanted;
    } rows[] = {{"max 100000\n", 0},
                {"100000 100000\n", 1},
                {"150000 100000\n", 2},
                {"10000 100000\n", 1},
                {"400000 100000\n", 4},
                {"3000 1000\n", 3},
                {"", 0},
                {"max\n", 0},
                {"100000\n", 0},
                {"100000 0\n", 0},
                {"-5 100000\n", 0},
                {"9223372036854775807 1\n", 1024}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        put("cpu.max", rows[i].text);
        CHECK_INT(cgroup_processors(folder), rows[i].wanted);
    }
    put("memory.max", "max\n");
    CHECK_INT(cgroup_memory_bytes(folder), 0);
    put("memory.max", "1073741824\n");
    CHECK_INT(cgroup_memory_bytes(folder), 1073741824);
    put("memory.events", "low 0\noom 7\noom_kill 3\noom_group_kill 1\n");
    CHECK_INT(cgroup_memory_kills(folder), 3);
    clear();
}

static void test_version_1(void) {
    put("cpu/cpu.cfs_quota_us", "-1\n");
    put("cpu/cpu.cfs_period_us", "100000\n");
    CHECK_INT(cgroup_processors(folder), 0);
    put("cpu/cpu.cfs_quota_us", "250000\n");
    CHECK_INT(cgroup_processors(folder), 3);
    put("memory/memory.limit_in_bytes", "536870912\n");
    CHECK_INT(cgroup_memory_bytes(folder), 536870912);
    put("memory/memory.oom_control", "oom_kill_disable 5\nunder_oom 0\noom_kill 2\n");
    CHECK_INT(cgroup_memory_kills(folder), 2);
    clear();
    put("cpu,cpuacct/cpu.cfs_quota_us", "200000\n"); /* without the link */
    put("cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    CHECK_INT(cgroup_processors(folder), 2);
    clear();
}

static void test_usable(void) {
    CHECK_INT(cgroup_processors(folder), 0); /* no files */
    CHECK_INT(cgroup_memory_kills(folder), 0);
    CHECK_INT(cgroup_memory_bytes(folder), 0);
    CHECK_INT(cgroup_usable_processors(folder), may_run_on());
    put("cpu.max", "50000 100000\n");
    CHECK_INT(cgroup_usable_processors(folder), 1);
    put("cpu.max", "102400000 100000\n"); /* more than the machine has */
    CHECK_INT(cgroup_usable_processors(folder), may_run_on());
    clear();
}

int main(void) {
    CHECK(mkdtemp(folder) != NULL);
    TEST(test_version_2);
    TEST(test_version_1);
    TEST(test_usable);
    return TEST_END();
}
