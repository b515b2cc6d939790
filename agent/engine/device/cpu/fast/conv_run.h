/* conv_run.h: state and functions of a running convolution. Private to conv*.c, winograd.c and
 * depthwise.c. */
#pragma once

#include "agent/engine/device/cpu/fast/conv.h"

/* A phase of the outputs (conv_shape.h); sizes in floats. */
struct conv_phase {
    const ptrdiff_t *runs;
    int run_count, run_length;
    int part_runs;  /* runs whose weights stay in the cache while all pixels of a unit are computed
                     */
    size_t weights; /* values of an output pixel that the phases before sum */
    size_t out;     /* its first output */
};

/* One run of a convolution. */
struct conv_pass {
    const struct conv *conv;
    const struct conv_operand *in, *add, *out;
    const void *context; /* of conv->after */
    double *moments;     /* [units, conv->blocks * b, 2]: mean, sum of squared deviations from it */
    float *shared;       /* the transformed input for Winograd, if all threads share it */
    float *scratch;      /* one piece per thread */
    int *held; /* per thread: the rows and columns that its window, or Winograd's matrices, hold
                  completely; -1: none */
};

/* A unit of work: some rows, columns and channel blocks of the output, and the groups of input
 * channels that are read (blocks; single channels of planar inputs). */
struct conv_unit {
    int n, row, row_end, column, column_end, block, block_end, group, group_end, thread;
    /* Parts of this thread's scratch: input rows, one row, Winograd, rounded pixels. */
    float *window, *line, *matrices;
    uint16_t *rounded;
};

/* The number of blocks for `channels` channels. */
static inline int conv_blocks(const struct conv *conv, int channels) {
    return (channels + conv->ops->block - 1) / conv->ops->block;
}
/* Sets sample (n), rows, columns and blocks of unit `index`, of conv->units. */
void conv_unit_bounds(const struct conv *conv, int index, struct conv_unit *unit);
/* The unit with the rows and columns of its outputs; the others count the pixels of a phase. */
struct conv_unit conv_unit_outputs(const struct conv *conv, const struct conv_unit *unit);
/* Fills window rows [first, last) with rows y, y + 1, ... of the padded source, from the unit's
 * first column on. Not if conv->first makes the input (depthwise_make). */
void conv_window_load(const struct conv_pass *run, const struct conv_unit *unit, int n, int first,
                      int last, int y);
/* Sets the fields that all algorithms need to write outputs: bias, clamp and the addresses for
 * block, row and column of the output. */
void conv_target(const struct conv_pass *run, struct direct_job *job, int n, int block, int row,
                 int column);
/* Calls conv->after, if there is one, for `rows` rows of the unit's columns, which are complete;
 * rows and columns of the output. */
void conv_complete(const struct conv_pass *run, const struct conv_unit *unit, int n, int block,
                   int row, int rows);
/* conv_bfloat.c: sets bfloat_pixels and bfloat_floats. */
void conv_bfloat_plan(struct conv *conv);
/* Computes `rows` grid rows from `row` on, for the unit's blocks, from input rows that begin at
 * `in`. */
void conv_bfloat_rows(const struct conv_pass *run, const struct conv_unit *unit, int row, int rows,
                      const float *in, size_t in_row);
/* held: the thread's matrices already hold this unit's rows, from a unit with other blocks. */
void winograd_unit(const struct conv_pass *run, const struct conv_unit *unit, bool held);
/* If the input is shared: transforms its block unit->group, before any winograd_unit. */
void winograd_share(const struct conv_pass *run, const struct conv_unit *unit);

/* depthwise.c: computes `rows` output rows from `row` on, for the unit's blocks, from window rows
 * that begin at `in`. */
void depthwise_rows(const struct conv_pass *run, const struct conv_unit *unit, int row, int rows,
                    const float *in, size_t in_row);
/* Like conv_window_load, if conv->first makes the input. */
void depthwise_make(const struct conv_pass *run, const struct conv_unit *unit, int n, int first,
                    int last, int y);
