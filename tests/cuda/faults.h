/* faults.h: small programs for a GPU, each with a fault and without it (test_faults.c). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fault {
    const char *name;
    const char *says; /* what the emulation reports */
    void (*run)(bool is_planted);
};
extern const struct fault faults[];
extern const size_t fault_count;

#ifdef __cplusplus
}
#endif
