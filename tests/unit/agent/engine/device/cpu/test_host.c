// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/cpu.h"

#include "tests/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The flags of the mapping that has this address ("VmFlags: rd wr ... hg"). */
static void flags_of(const void *address, char *ret_flags, size_t size) {
    FILE *file = fopen("/proc/self/smaps", "re");
    uint64_t first, end, at = (uintptr_t)address;
    bool is_there = false;
    char line[512];
    ret_flags[0] = 0;
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &first, &end) == 2) {
            is_there = at >= first && at < end;
        } else if (is_there && strncmp(line, "VmFlags:", 8) == 0) {
            snprintf(ret_flags, size, "%s", line);
        }
    }
    if (file) {
        fclose(file);
    }
}

static void test_blocks_are_in_large_pages(void) {
    if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0) {
        SKIP("this system has no large pages");
    }
    struct error err = {0};
    struct device *device = NULL;
    void *block = NULL;
    CHECK_OK(device_open("cpu", 1, &device, &err), &err);
    CHECK_OK(device->ops->alloc(device, (size_t)9 << 20, &block, &err), &err);
    char first[512], last[512];
    flags_of(block, first, sizeof first);
    flags_of((char *)block + ((size_t)7 << 20), last, sizeof last);
    CHECK(strstr(first, " hg") && strstr(last, " hg"));
    device->ops->free(device, block);
    device_close(device);
}

static void test_memory_of_any_size_is_aligned(void) {
    static const size_t sizes[] = {0, 1, 64, 65, (2 << 20) - 1, 2 << 20, (2 << 20) + 1};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        char *memory = host_memory_new(sizes[i]);
        CHECK(memory && (uintptr_t)memory % 64 == 0);
        if (memory) {
            memset(memory, 1, sizes[i]);
        }
        free(memory);
    }
}

int main(void) {
    TEST(test_blocks_are_in_large_pages);
    TEST(test_memory_of_any_size_is_aligned);
    return TEST_END();
}
