/* onednn.h: oneDNN behind our own kernels: it gets the steps that fast/ left, as far as it has
 * something better than a plain loop for them. This folder alone includes its headers. */
#pragma once

#include "agent/engine/device/cpu/isa.h"
#include "agent/engine/graph/schedule.h"

struct onednn;

/* isa: the best instructions it may use. NULL when oneDNN does not work here. */
struct onednn *onednn_new(enum isa isa);
void onednn_free(struct onednn *onednn);

/* Marks the convolutions, and gradients of such, that oneDNN will take and whose pictures may be
 * in blocks of so many channels, as fast/vector.h has them; they are this kernel's until
 * onednn_step_try has been called for them. */
extern const struct kernel onednn_planned;
void onednn_plan(struct onednn *onednn, int block, struct schedule *schedule);

/* Gives the step a kernel if oneDNN has a good one for its operator and shapes; else leaves it as
 * it is. Lasting constants are reordered once and kept. NULL: does nothing. */
void onednn_step_try(struct onednn *onednn, struct schedule *schedule, struct step *step);
