/* onednn.h: oneDNN behind our own kernels: it gets the steps that fast/ left, as far as it has
 * something better than a plain loop for them. This folder alone includes its headers. */
#pragma once

#include "agent/device/cpu/fast/isa.h"
#include "agent/graph/schedule.h"

struct onednn;

/* isa: the best instructions it may use. NULL when oneDNN does not work here. */
struct onednn *onednn_new(enum isa isa);
void onednn_free(struct onednn *onednn);

/* Gives the step a kernel if oneDNN has a good one for its operator and shapes; else leaves it as
 * it is. Lasting constants are reordered once and kept. NULL: does nothing. */
void onednn_step_try(struct onednn *onednn, struct schedule *schedule, struct step *step);
