/* onednn.h: oneDNN, for steps that fast/ has not taken and for which oneDNN has an implementation
 * better than a plain loop. This folder alone includes its headers. */
#pragma once

#include "agent/engine/device/cpu/isa.h"
#include "agent/engine/graph/schedule.h"
#include "lib/error.h"

struct onednn;

/* isa: the best instruction set that it may use. The library is opened with the first step that it
 * may take (onednn_library.h); where it does not work on this machine no step gets a kernel. */
struct onednn *onednn_new(enum isa isa);
void onednn_free(struct onednn *onednn);

/* Marks the convolutions, and gradients of convolutions, that oneDNN will take and whose
 * activations may be in blocks of `block` channels, as in vector/vector.h. They have the kernel
 * onednn_planned until onednn_step_try is called for them. UNSUPPORTED: the library is missing. */
extern const struct kernel onednn_planned;
NODISCARD int onednn_plan(struct onednn *onednn, int block, struct schedule *schedule,
                          struct error *err);

/* Gives the step a kernel if oneDNN has a good one for its operator and shapes; else does not
 * change it. Lasting constants are reordered once and kept. UNSUPPORTED: the library is missing. */
NODISCARD int onednn_step_try(struct onednn *onednn, struct schedule *schedule, struct step *step,
                              struct error *err);
