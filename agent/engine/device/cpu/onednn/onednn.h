/* onednn.h: oneDNN, for steps that fast/ has not taken and for which oneDNN has an implementation
 * better than a plain loop. This folder alone includes its headers. */
#pragma once

#include "agent/engine/device/cpu/isa.h"
#include "agent/engine/graph/schedule.h"

struct onednn;

/* isa: the best instruction set that it may use. NULL if oneDNN does not work on this machine. */
struct onednn *onednn_new(enum isa isa);
void onednn_free(struct onednn *onednn);

/* Marks the convolutions, and gradients of convolutions, that oneDNN will take and whose
 * activations may be in blocks of `block` channels, as in fast/vector.h. They have the kernel
 * onednn_planned until onednn_step_try is called for them. */
extern const struct kernel onednn_planned;
void onednn_plan(struct onednn *onednn, int block, struct schedule *schedule);

/* Gives the step a kernel if oneDNN has a good one for its operator and shapes; else does not
 * change it. Lasting constants are reordered once and kept. onednn NULL: does nothing. */
void onednn_step_try(struct onednn *onednn, struct schedule *schedule, struct step *step);
