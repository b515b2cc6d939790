/* emulated.h: what tests ask of the emulated GPU. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What libraries were asked for since the last call, a line each; valid until the next call. */
const char *emulated_notes(void);
/* Allocations in all that fail beyond this many bytes; 0: none does. At first: EMULATED_LIMIT of
 * the environment. */
void emulated_limit(size_t bytes);
/* Graphs that were launched, kernels that were (those of graphs included). */
size_t emulated_graphs(void);
size_t emulated_kernels(void);
/* What the driver says: GPUs, the CUDA it is for (13000 is 13.0; 0: there is none), a cudaError_t.
 At first one of
 * 13.0, or EMULATED_CARDS of the environment. */
void emulated_cards(int count, int driver, int code);
size_t emulated_allocated(void); /* bytes, at present */

#ifdef __cplusplus
}
#endif
