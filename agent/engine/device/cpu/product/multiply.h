/* multiply.h: the product of two matrices in memory, with any strides, on one thread. The right
 * one is packed first, as vector_ops.direct reads weights; then blocks of rows are multiplied. */
#pragma once

#include "agent/engine/device/cpu/vector/vector.h"
#include "agent/engine/device/cpu/vector/vector_bfloat.h"

/* Element (r, c) is at data + r * row + c * column, in floats. */
struct matrix {
    float *data;
    int64_t row, column;
};

/* The right operand [k, columns]. */
struct factor {
    struct matrix matrix;
    int k, columns;
    const float *packed;   /* from multiply_pack */
    const uint16_t *tiles; /* from multiply_bfloat_pack */
    bool adds;             /* the product is added to what `out` has */
    const float *row;      /* is added to each row of the product; NULL: none */
};

/* The floats of a packed matrix [k, columns]. */
size_t multiply_packed_floats(const struct vector_ops *ops, int k, int columns);
/* Packs b to `packed`, which b borrows. */
void multiply_pack(const struct vector_ops *ops, struct factor *b, float *packed);

/* The part of k that multiply_rows takes at once. */
int multiply_piece(int k);

/* The floats of `tile` for the next function, for this k and smaller ones. */
size_t multiply_tile_floats(int rows, int k);
/* Whether it copies. */
bool multiply_lines_up(const struct matrix *a, int rows);
/* a [rows, k] with adjacent columns: itself, or a copy in `tile`. For multiply_unpacked. */
struct matrix multiply_line_up(const struct vector_ops *ops, const struct matrix *a, int rows,
                               int k, float *tile);

/* The left operand [rows, k] of multiply_rows. */
struct lines {
    const float *data;
    size_t row;     /* the distance of rows, whose columns are adjacent */
    bool in_panels; /* instead: as vector_ops.panels makes them */
};
/* a itself, or a copy in `tile`: panels if its rows are adjacent. */
struct lines multiply_lines(const struct vector_ops *ops, const struct matrix *a, int rows, int k,
                            float *tile);

/* The floats of `room` for the next function. */
size_t multiply_room_floats(const struct vector_ops *ops, int rows);
/* out = a [rows, k] times the packed b. Sums are in the same order for each `rows`, but for
 * rows = 1. */
void multiply_rows(const struct vector_ops *ops, const struct lines *a, int rows,
                   const struct factor *b, const struct matrix *out, float *room);
/* The same of a with adjacent columns, and of b as it is in memory, with adjacent rows or columns.
 * out->column is 1. For a few rows. */
void multiply_unpacked(const struct vector_ops *ops, const struct matrix *a, int rows,
                       const struct factor *b, const struct matrix *out);

/* In bfloat16: both operands are rounded, sums are float32. */
struct multiply_bfloat {
    const struct vector_ops *ops;
    const struct bfloat_ops *bfloat;
};
/* The floats of memory for a packed matrix, and of `tile`; of `room`: as multiply_room_floats. */
size_t multiply_bfloat_packed_floats(const struct vector_ops *ops, int k, int columns);
size_t multiply_bfloat_tile_floats(int rows, int k);
void multiply_bfloat_pack(const struct multiply_bfloat *with, struct factor *b, float *packed);
/* Where the rounded rows, and those that it writes before they are turned, are in memory. */
struct multiply_bfloat_memory {
    float *tile, *room;
};
/* As multiply_rows. */
void multiply_bfloat_rows(const struct multiply_bfloat *with, const struct matrix *a, int rows,
                          const struct factor *b, const struct matrix *out,
                          const struct multiply_bfloat_memory *memory);
