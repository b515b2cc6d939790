// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/product/multiply.h"

#include <math.h>
#include <string.h>

enum {
    PIECE = 512,  // of k: a packed piece of two blocks and some rows stay in the nearest caches
    ALIASED = 512 // floats: rows at multiples of this distance compete for the same cache lines
};

static int pair_lanes(const struct vector_ops *ops, int columns, int first) {
    int wide = DIRECT_BLOCKS_MAX * ops->block, rest = columns - first;
    return rest > ops->block ? wide : ops->block;
}

int multiply_piece(int k) {
    int pieces = MAX((k + PIECE - 1) / PIECE, 1);
    return (k + pieces - 1) / pieces; // all alike: a short one would be slower
}

size_t multiply_packed_floats(const struct vector_ops *ops, int k, int columns) {
    size_t block = (size_t)ops->block;
    return ((size_t)columns + block - 1) / block * block * (size_t)k;
}

// Two blocks of columns, or one: [k][lanes].
static void pack_pair(const struct vector_ops *ops, const struct matrix *b, int k, int columns,
                      int lanes, float *to) {
    const float *from = b->data;
    if (columns < lanes) {
        memset(to, 0, (size_t)k * (size_t)lanes * sizeof *to);
    }
    if (b->column == 1) {
        for (int i = 0; i < k; i++) {
            memcpy(to + (size_t)i * (size_t)lanes, from + i * b->row, (size_t)columns * sizeof *to);
        }
    } else if (b->row == 1) {
        ops->transpose(to, (size_t)lanes, from, (size_t)b->column, columns, k);
    } else {
        for (int i = 0; i < k; i++) {
            for (int j = 0; j < columns; j++) {
                to[i * lanes + j] = from[i * b->row + j * b->column];
            }
        }
    }
}

void multiply_pack(const struct vector_ops *ops, struct factor *b, float *packed) {
    int wide = DIRECT_BLOCKS_MAX * ops->block;
    b->packed = packed;
    for (int first = 0; first < b->columns; first += wide) {
        struct matrix part = b->matrix;
        part.data += first * part.column;
        pack_pair(ops, &part, b->k, MIN(wide, b->columns - first),
                  pair_lanes(ops, b->columns, first), packed + (size_t)first * (size_t)b->k);
    }
}

static size_t tile_row(int k) {
    return (size_t)(k % ALIASED ? k : k + 16);
}

size_t multiply_tile_floats(int rows, int k) {
    return (size_t)rows * (size_t)(k + 16); /* not tile_row: a smaller k may have a longer row */
}

bool multiply_lines_up(const struct matrix *a, int rows) {
    return a->column != 1 || (a->row % ALIASED == 0 && rows > 1) || a->row < 0;
}

struct matrix multiply_line_up(const struct vector_ops *ops, const struct matrix *a, int rows,
                               int k, float *tile) {
    if (!multiply_lines_up(a, rows)) {
        return *a;
    }
    struct matrix copy = {.data = tile, .row = (int64_t)tile_row(k), .column = 1};
    if (a->row == 1 && a->column > 0) {
        ops->transpose(tile, tile_row(k), a->data, (size_t)a->column, k, rows);
        return copy;
    }
    for (int i = 0; i < rows; i++) {
        const float *from = a->data + i * a->row;
        float *to = tile + (size_t)i * tile_row(k);
        if (a->column == 1) {
            memcpy(to, from, (size_t)k * sizeof *to);
        }
        for (int j = 0; a->column != 1 && j < k; j++) {
            to[j] = from[j * a->column];
        }
    }
    return copy;
}

struct lines multiply_lines(const struct vector_ops *ops, const struct matrix *a, int rows, int k,
                            float *tile) {
    if (a->row == 1 && a->column > 1 && rows > 1) {
        ops->panels(tile, a->data, (size_t)a->column, rows, k);
        return (struct lines){.data = tile, .in_panels = true};
    }
    struct matrix lined = multiply_line_up(ops, a, rows, k, tile);
    return (struct lines){.data = lined.data, .row = (size_t)lined.row};
}

size_t multiply_room_floats(const struct vector_ops *ops, int rows) {
    return (size_t)rows * (size_t)(DIRECT_BLOCKS_MAX * ops->block);
}

// What is added to each row of two blocks of columns, as whole blocks; NULL: nothing.
static const float *pair_row(const struct factor *b, int first, int lanes, float *room) {
    int left = b->columns - first;
    if (!b->row || left >= lanes) {
        return b->row ? b->row + first : NULL;
    }
    memset(room, 0, (size_t)lanes * sizeof *room);
    memcpy(room, b->row + first, (size_t)left * sizeof *room);
    return room;
}

// Like write_pair, for sums.
static void add_pair(const struct vector_ops *ops, const float *room, int rows, int columns,
                     const struct matrix *out) {
    int b = ops->block;
    for (int j = 0; j < columns; j++) {
        const float *from = room + (size_t)(j / b * b) * (size_t)rows + j % b;
        float *to = out->data + j * out->column;
        for (int i = 0; i < rows; i++) {
            to[i * out->row] += from[i * b];
        }
    }
}

// From [blocks][rows][lanes of a block].
static void write_pair(const struct vector_ops *ops, const float *room, int rows, int columns,
                       const struct matrix *out) {
    int b = ops->block;
    for (int first = 0; first < columns; first += b) {
        const float *from = room + (size_t)first * (size_t)rows;
        float *to = out->data + first * out->column;
        int lanes = MIN(b, columns - first);
        if (out->row == 1) {
            ops->transpose(to, (size_t)out->column, from, (size_t)b, rows, lanes);
            continue;
        }
        for (int i = 0; i < rows; i++) {
            if (out->column == 1) {
                memcpy(to + i * out->row, from + (size_t)(i * b), (size_t)lanes * sizeof *to);
            }
            for (int j = 0; out->column != 1 && j < lanes; j++) {
                to[i * out->row + j * out->column] = from[i * b + j];
            }
        }
    }
}

// The job, whose output is at the first row, for all rows of a, and for its columns from `at` on.
static void run_rows(const struct vector_ops *ops, struct direct_job *job, const struct lines *a,
                     int rows, int k, int at) {
    size_t step = job->out_pixel ? job->out_pixel : (size_t)ops->block;
    if (!a->in_panels) {
        job->in = a->data + at;
        job->width = rows;
        ops->direct(job);
        return;
    }
    job->in_panel = true;
    for (int row = 0; row < rows; row += job->width) {
        job->width = vector_panel_rows(rows - row, ops->pixels);
        job->in = a->data + (size_t)row * (size_t)k + (size_t)at * (size_t)job->width;
        ops->direct(job);
        job->out += (size_t)job->width * step;
        job->add = job->add ? job->out : NULL;
    }
}

void multiply_rows(const struct vector_ops *ops, const struct lines *a, int rows,
                   const struct factor *b, const struct matrix *out, float *room) {
    static const ptrdiff_t runs[1] = {0};
    int wide = DIRECT_BLOCKS_MAX * ops->block, piece = multiply_piece(b->k);
    for (int first = 0; first < b->columns; first += wide) {
        int lanes = pair_lanes(ops, b->columns, first), left = b->columns - first;
        const float *weights = b->packed + (size_t)first * (size_t)b->k;
        struct matrix part = *out;
        part.data += first * out->column;
        bool in_place = out->column == 1 && out->row > 0 && left >= lanes;
        float whole[DIRECT_BLOCKS_MAX * VECTOR_LANES_MAX];
        const float *row = pair_row(b, first, lanes, whole);
        for (int at = 0; at < b->k; at += piece) {
            struct direct_job job = {.rows = 1,
                                     .blocks = lanes / ops->block,
                                     .pixel = a->row,
                                     .runs = runs,
                                     .run_count = 1,
                                     .run_length = MIN(piece, b->k - at),
                                     .weights = weights + (size_t)at * (size_t)lanes,
                                     .bias = at ? NULL : row,
                                     .low = -INFINITY,
                                     .high = INFINITY};
            job.out = in_place ? part.data : room;
            job.out_block = (size_t)(in_place ? ops->block : rows * ops->block);
            job.out_pixel = in_place ? (size_t)out->row : 0;
            job.add = at || (in_place && b->adds) ? job.out : NULL;
            run_rows(ops, &job, a, rows, b->k, at);
        }
        if (!in_place && b->adds) {
            add_pair(ops, room, rows, MIN(wide, left), &part);
        } else if (!in_place) {
            write_pair(ops, room, rows, MIN(wide, left), &part);
        }
    }
}

void multiply_unpacked(const struct vector_ops *ops, const struct matrix *a, int rows,
                       const struct factor *b, const struct matrix *out) {
    const struct matrix *m = &b->matrix;
    for (int i = 0; i < rows; i++) {
        const float *from = a->data + i * a->row;
        float *to = out->data + i * out->row;
        if (m->row == 1) {
            ops->dots(to, from, b->k, m->data, (size_t)m->column, b->columns);
        } else {
            ops->weighted(to, from, b->k, m->data, (size_t)m->row, b->columns);
        }
        for (int j = 0; b->row && j < b->columns; j++) {
            to[j] += b->row[j];
        }
    }
}

/* ---- in bfloat16 ----------------------------------------------------------------------------- */

size_t multiply_bfloat_packed_floats(const struct vector_ops *ops, int k, int columns) {
    size_t blocks = ((size_t)columns + (size_t)ops->block - 1) / (size_t)ops->block;
    return blocks * vector_bfloat_block_count(vector_bfloat_steps(k)) / 2;
}

size_t multiply_bfloat_tile_floats(int rows, int k) {
    return multiply_tile_floats(rows, k) +
           vector_bfloat_rows_count(rows, vector_bfloat_steps(k)) / 2 + 16;
}

void multiply_bfloat_pack(const struct multiply_bfloat *with, struct factor *b, float *packed) {
    int block = with->ops->block, wide = DIRECT_BLOCKS_MAX * block;
    uint16_t *to = (uint16_t *)(void *)packed;
    b->tiles = to;
    for (int first = 0; first < b->columns; first += wide) {
        const struct bfloat_matrix part = {.data = b->matrix.data + first * b->matrix.column,
                                           .row = b->matrix.row,
                                           .column = b->matrix.column,
                                           .k = b->k,
                                           .columns = MIN(wide, b->columns - first)};
        with->bfloat->pack(to, &part, block);
        to += DIRECT_BLOCKS_MAX * vector_bfloat_block_count(vector_bfloat_steps(b->k));
    }
}

// Rounds the rows to tiles behind a copy of them, if they are copied.
static const uint16_t *round_rows(const struct multiply_bfloat *with, const struct matrix *a,
                                  int rows, int k, float *tile) {
    static const ptrdiff_t runs[1] = {0};
    bool turned = a->column != 1 || a->row < 0;
    const struct matrix from = turned ? multiply_line_up(with->ops, a, rows, k, tile) : *a;
    float *tiles = tile + (multiply_tile_floats(rows, k) + 15) / 16 * 16;
    const struct bfloat_rows values = {.in = from.data,
                                       .row = (size_t)from.row,
                                       .runs = runs,
                                       .count = rows,
                                       .run_count = 1,
                                       .run_length = k};
    with->bfloat->gather((uint16_t *)(void *)tiles, vector_bfloat_steps(k), &values);
    return (const uint16_t *)(const void *)tiles;
}

void multiply_bfloat_rows(const struct multiply_bfloat *with, const struct matrix *a, int rows,
                          const struct factor *b, const struct matrix *out,
                          const struct multiply_bfloat_memory *memory) {
    int block = with->ops->block, wide = DIRECT_BLOCKS_MAX * block,
        steps = vector_bfloat_steps(b->k);
    const uint16_t *tiles = round_rows(with, a, rows, b->k, memory->tile);
    bool in_place = out->column == 1 && out->row > 0;
    for (int first = 0; first < b->columns; first += wide) {
        int columns = MIN(wide, b->columns - first);
        struct matrix part = *out;
        part.data += first * out->column;
        float whole[DIRECT_BLOCKS_MAX * VECTOR_LANES_MAX];
        struct bfloat_job job = {.a = tiles,
                                 .rows = rows,
                                 .steps = steps,
                                 .weights = b->tiles + (size_t)(first / block) *
                                                           vector_bfloat_block_count(steps),
                                 .block = block,
                                 .columns = columns,
                                 .bias = pair_row(b, first, wide, whole),
                                 .low = -INFINITY,
                                 .high = INFINITY,
                                 .out = in_place ? part.data : memory->room,
                                 .row = (size_t)(in_place ? out->row : block),
                                 .out_block = (size_t)(in_place ? block : rows * block),
                                 .add = in_place && b->adds ? part.data : NULL};
        with->bfloat->multiply(&job);
        if (!in_place && b->adds) {
            add_pair(with->ops, memory->room, rows, columns, &part);
        } else if (!in_place) {
            write_pair(with->ops, memory->room, rows, columns, &part);
        }
    }
}
