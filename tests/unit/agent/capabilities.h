/* capabilities.h: for tests of what may not be read, which root may without them. */
#pragma once

#include "tests/test.h"

#include <linux/capability.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CAPABILITIES_OF_FILES (1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH)

/* Takes these effective capabilities, of the first 32, from this thread and those that it starts;
 * returns what it had, for capabilities_set. */
UNUSED static uint32_t capabilities_drop(uint32_t dropped) {
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[2] = {0};
    CHECK(syscall(SYS_capget, &head, sets) == 0);
    uint32_t before = sets[0].effective;
    sets[0].effective &= ~dropped;
    CHECK(syscall(SYS_capset, &head, sets) == 0);
    return before;
}

UNUSED static void capabilities_set(uint32_t effective) {
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[2] = {0};
    CHECK(syscall(SYS_capget, &head, sets) == 0);
    sets[0].effective = effective;
    CHECK(syscall(SYS_capset, &head, sets) == 0);
}
