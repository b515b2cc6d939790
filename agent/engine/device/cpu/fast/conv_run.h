/* conv_run.h: what the parts of a running convolution share. Private to conv*.c,
 * winograd.c and depthwise.c. */
#pragma once

#include "agent/engine/device/cpu/fast/conv.h"

struct conv_pass {
    const struct conv *conv;
    const struct operand *in, *add, *out;
    double *moments; /* [units, conv->blocks * b, 2]: mean, squares about it */
    float *shared;   /* Winograd's input of all threads, where they share it */
    float *scratch;  /* one piece per thread */
    int *held;       /* per thread: which rows and columns its window, or Winograd's matrices, hold
                      * whole; -1: none */
};

/* A unit of work: some rows and columns of the output, some blocks of its channels, and which
 * groups of channels (blocks; single ones of planar inputs) are read. */
struct conv_unit {
    int n, row, row_end, column, column_end, block, block_end, group, group_end;
    float *window, *line, *matrices; /* this thread's */
};

/* Blocks of so many channels. */
static inline int conv_blocks(const struct conv *conv, int channels) {
    return (channels + conv->ops->block - 1) / conv->ops->block;
}
/* Sets unit number `index` of the plan's conv->units: its picture, rows, columns and blocks. */
void conv_unit_bounds(const struct conv *conv, int index, struct conv_unit *unit);
/* Fills window rows [first, last) with the padded source's rows y, y + 1, ... from column x. Not
 * where conv->first makes the input (depthwise_make). */
void conv_window_load(const struct conv_pass *run, const struct conv_unit *unit, int n, int first,
                      int last, int y);
/* Sets what all algorithms write: bias, clamp and the addresses for block, row and column. */
void conv_target(const struct conv_pass *run, struct direct_job *job, int n, int block, int row,
                 int column);
/* held: the thread's matrices are those of this unit's rows already, of other blocks. */
void winograd_unit(const struct conv_pass *run, const struct conv_unit *unit, bool held);
/* Where the input is shared: transforms block unit->group of it, before any winograd_unit. */
void winograd_share(const struct conv_pass *run, const struct conv_unit *unit);

/* depthwise.c: output rows from `row` on of the unit's blocks, from window rows that begin at `in`.
 */
void depthwise_rows(const struct conv_pass *run, const struct conv_unit *unit, int row, int rows,
                    const float *in, size_t in_row);
/* Does what conv_window_load does where the input is made by conv->first. */
void depthwise_make(const struct conv_pass *run, const struct conv_unit *unit, int n, int first,
                    int last, int y);
