// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/reference/gate.h"

#include <math.h>

void gate_multiply(const float *matrix, const float *vector, const float *bias, int64_t rows,
                   int64_t columns, float *to) {
    for (int64_t row = 0; row < rows; row++) {
        const float *line = matrix + row * columns;
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < columns; i++) {
            sum += line[i] * vector[i];
        }
        to[row] = sum + (bias ? bias[row] : 0);
    }
}

float gate_apply(enum recurrent_function function, float value) {
    switch (function) {
    case RECURRENT_SIGMOID:
        return 1 / (1 + expf(-value));
    case RECURRENT_RELU:
        return value < 0 ? 0 : value;
    case RECURRENT_SOFTSIGN:
        return value / (1 + fabsf(value));
    case RECURRENT_SOFTPLUS:
        return value > 20 ? value : log1pf(expf(value));
    case RECURRENT_HARD_SIGMOID:
        return fmaxf(0, fminf(1, 0.2F * value + 0.5F));
    default:
        return tanhf(value);
    }
}

float gate_slope(enum recurrent_function function, float value) {
    float y = gate_apply(function, value);
    switch (function) {
    case RECURRENT_SIGMOID:
        return y * (1 - y);
    case RECURRENT_RELU:
        return value > 0;
    case RECURRENT_SOFTSIGN:
        return 1 / ((1 + fabsf(value)) * (1 + fabsf(value)));
    case RECURRENT_SOFTPLUS:
        return 1 / (1 + expf(-value));
    case RECURRENT_HARD_SIGMOID:
        return y > 0 && y < 1 ? 0.2F : 0;
    default:
        return 1 - y * y;
    }
}
