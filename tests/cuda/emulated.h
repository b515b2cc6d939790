/* emulated.h: how tests control and inspect the emulated GPU. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The requests to libraries since the last call, one per line; valid until the next call. */
const char *emulated_notes(void);
/* Allocations beyond this total in bytes fail; 0: none fails. Initially EMULATED_LIMIT of the
 * environment. */
void emulated_limit(size_t bytes);
/* The numbers of launched graphs and of launched kernels (those of graphs included). */
size_t emulated_graphs(void);
size_t emulated_kernels(void);
/* Sets the driver's answers: GPUs, its CUDA version (13000 is 13.0; 0: none), a cudaError_t.
 * Initially one GPU, or EMULATED_CARDS of the environment, of 13.0. */
void emulated_cards(int count, int driver, int code);
size_t emulated_allocated(void); /* bytes, at present */
/* What the emulation sees of memory (watch.h) ends the program, except between these two calls:
 * then the first fault is kept; "" if there was none. Valid until the next call. */
void emulated_record_faults(void);
const char *emulated_fault(void);
/* What the work that is asked for from now on may touch of the allocations that have these
 * operands; NULL, 0: everything. */
struct emulated_operand {
    const void *at;
    size_t size;
};
void emulated_operands(const struct emulated_operand *operands, size_t count);

#ifdef __cplusplus
}
#endif
