/* rnn.h: LSTM, GRU and RNN with packed weights.
 *
 * The products of the input with W are made for many time steps at once, those of the state with R
 * step by step on top of them, in place. All values are in blocks of lanes (vector/vector.h),
 * [blocks of hidden][rows][lanes] for each gate, so that the gates are computed by the loops of
 * chains (chain/chain_loops.h). Threads share directions and sequences. */
#pragma once

#include "agent/engine/device/cpu/cpu.h"

extern const struct kernel fast_recurrent;

/* Gives the step this kernel if it can: float32, all sequences of full length, no peepholes, no
 * clip, sequences in the second dimension, activations Sigmoid, Tanh, Relu, HardSigmoid. Weights
 * that nodes compute (in training) are packed anew in each run. */
void rnn_step_try(struct cpu_device *cpu, const struct schedule *schedule, struct step *step);
/* Whether the step, which has this kernel, has packed W and R for all its runs. */
bool rnn_step_has_packed(const struct step *step);
