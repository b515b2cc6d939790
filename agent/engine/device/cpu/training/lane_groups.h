/* lane_groups.h: the gradient of LSTM, GRU and RNN with products of matrices. */
#pragma once

#include "agent/engine/device/cpu/training/lane.h"

/* Computes all gradients with products of many sequences or steps. False: the call is one that it
 * does not take (sequences of different lengths, a GRU that resets first), or memory is short
 * for it. */
bool lane_groups_run(const struct lane_work *work, const struct cpu_device *cpu);
