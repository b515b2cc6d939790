/* gate.h: activation functions and the product of a matrix and a vector for one step of a recurrent
 * operator (RNN, GRU, LSTM), for its kernel and its gradient's. */
#pragma once

#include "agent/engine/ops/infer/recurrent.h"

float gate_apply(enum recurrent_function function, float value);
/* The derivative at `value`. */
float gate_slope(enum recurrent_function function, float value);
/* to[row] = matrix[row, :] * vector + bias[row] (NULL: without) */
void gate_multiply(const float *matrix, const float *vector, const float *bias, int64_t rows,
                   int64_t columns, float *to);
