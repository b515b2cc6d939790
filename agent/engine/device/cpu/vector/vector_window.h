/* vector_window.h: the jobs of vector.h's inner loops for pools and resizing. */
#pragma once

#include "agent/engine/device/cpu/vector/vector.h"

/* As direct_job, for at most THIN_OUTPUTS_MAX output channels: here lanes are input channels. The
 * input is blocked; a run is run_length whole pixels. The output is planar. */
struct thin_job {
    int width, outputs;
    const float *in;
    const ptrdiff_t *runs;
    int run_count, run_length;
    size_t pixel;
    const float *weights; /* [run_count * run_length, outputs, b] */
    const float *bias;    /* [outputs] or NULL */
    float low, high;
    float *out;
    size_t out_plane;
};

/* A row of a pool: out[x] = the maximum, or the sum / cells[x], over the window of pixel x; `in`
 * points at the window of pixel 0. */
struct pool_row_job {
    float *out;
    const float *in, *cells;
    size_t in_row; /* floats */
    int kernel_h, kernel_w, stride, count;
};

/* A row of pixels: out[x] = the sum over k < taps of weights[x * taps + k] in[pixels[x * taps +
 * k]].
 */
struct resample_job {
    float *out;
    const float *in;
    int taps, count; /* count: of out */
    const int *pixels;
    const float *weights;
};
