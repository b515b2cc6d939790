// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/product/product.h"

#include <stdlib.h>
#include <string.h>

#include "agent/engine/device/cpu/product/strided.h"
#include "agent/engine/ops/infer/matmul.h"
#include "agent/engine/ops/infer/move.h"
#include "agent/engine/ops/table.h"

enum {
    BLOCK_ROWS = 84,             // a multiple of the rows that vector_ops.direct computes at once
    BFLOAT_BLOCK_ROWS = 96,      // the same of bfloat_ops.multiply
    PACKED_FLOATS_MAX = 1 << 17, // of a part, so that it stays in the second-level cache
    K_MAX = 1 << 17, // a thread holds two blocks of columns and a tile of rows, each of length k
    TILE_FLOATS_MAX = 1 << 16,
    UNITS_PER_THREAD = 4,      // of several threads
    COPY_COST = 3,             // of a number that is copied; 1: it is only read
    UNIT_MULTIPLIES = 1 << 16, // a smaller part is not worth a unit of work
    ROWS_FEW = 6,              // for which b is not worth packing
    K_FEW = 256,               // for which a sum of products is not worth its reads and writes
    M_FEW = 64,                // for which b is not worth packing once for each matrix
    K_SUMMED_MAX = 1 << 12,    // of summed products as one; more would not stay in the caches
};

/* ---- operands -------------------------------------------------------------------------------- */

// The last two dimensions are the matrix; the others are aligned with those of the batch.
static void side_of(const struct strided *from, const struct product *product,
                    struct product_side *ret_side) {
    int rank = from->shape.rank, shift = product->batch_rank - (rank - 2);
    *ret_side = (struct product_side){
        .offset = from->offset, .row = from->strides[rank - 2], .column = from->strides[rank - 1]};
    for (int i = 0; i < rank - 2; i++) {
        ret_side->batch[i + shift] = from->shape.dims[i] == 1 ? 0 : from->strides[i];
    }
}

// The operands of a product, whose rows and columns are exchanged if they are turned.
struct operands {
    int inputs[2]; // indices of the step's
    bool turned[2];
    bool shares_b; // the right one has no batch: the rows of all products are those of one
    int64_t m, k, n;
    struct shape batch;
};

static void adjacent(const struct shape *shape, struct strided *ret_strided) {
    *ret_strided = (struct strided){.shape = *shape};
    int64_t stride = 1;
    for (int i = shape->rank - 1; i >= 0; i--) {
        ret_strided->strides[i] = stride;
        stride *= shape->dims[i];
    }
}

// in_place: the operand is read before the nodes that only move its elements. Returns its slot.
static int read_operand(const struct schedule *schedule, int slot, bool in_place,
                        const struct product *product, struct product_side *ret_side) {
    struct strided from;
    if (in_place) {
        strided_find(schedule, slot, &from);
    } else {
        adjacent(&schedule->slots[slot].shape, &from);
        from.slot = slot;
    }
    side_of(&from, product, ret_side);
    return from.slot;
}

static void turn(struct product_side *side) {
    int64_t row = side->row;
    side->row = side->column;
    side->column = row;
}

// The result may be written in the order of a Transpose that is its only reader: it is returned.
static struct step *write_in_place(const struct schedule *schedule, const struct step *step,
                                   struct product *product) {
    const struct shape *shape = &schedule->slots[step->outputs[0]].shape;
    struct strided to;
    int order[TENSOR_RANK_MAX];
    struct step *user = schedule_only_user(schedule, step->outputs[0]);
    struct error err = {0};
    if (!user || user->kernel || user->node->op->id != OP_TRANSPOSE ||
        move_transpose_order(user->node, shape->rank, order, &err) < 0) {
        return NULL;
    }
    adjacent(shape, &to);
    int64_t stride = 1;
    for (int i = shape->rank - 1; i >= 0; i--) {
        to.strides[order[i]] = stride;
        stride *= shape->dims[order[i]];
    }
    side_of(&to, product, &product->y);
    return user;
}

static bool is_before_softmax(const struct schedule *schedule, const struct step *step) {
    const struct step *user = schedule_only_user(schedule, step->outputs[0]);
    return user && !user->kernel && user->node->op->id == OP_SOFTMAX;
}

// The step that adds a row of n numbers to each row of the product, and nothing else reads that;
// NULL: none. *ret_row: the slot of the row. The mask of an attention is left to the chain of its
// softmax.
static struct step *row_behind(const struct schedule *schedule, const struct step *step, int64_t n,
                               int *ret_row) {
    int slot = step->outputs[0];
    struct step *user = schedule_only_user(schedule, slot);
    if (!user || user->kernel || user->node->op->id != OP_ADD ||
        is_before_softmax(schedule, user)) {
        return NULL;
    }
    *ret_row = user->inputs[user->inputs[0] == slot];
    const struct schedule_slot *row = *ret_row < 0 ? NULL : &schedule->slots[*ret_row];
    const struct shape *y = &schedule->slots[user->outputs[0]].shape;
    bool is_row = row && row->type == TENSOR_FLOAT32 && row->shape.rank > 0 &&
                  row->shape.dims[row->shape.rank - 1] == n && shape_count(&row->shape) == n;
    return is_row && shape_equal(y, &schedule->slots[slot].shape) ? user : NULL;
}

/* ---- dimensions of the batch ----------------------------------------------------------------- */

static void drop_dimension(struct product *p, int at) {
    int64_t *lists[] = {p->batch, p->a.batch, p->b.batch, p->y.batch};
    p->batch_rank--;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        memmove(&lists[i][at], &lists[i][at + 1], (size_t)(p->batch_rank - at) * sizeof **lists);
    }
}

// Sums over dimension i, as a longer k or as one more product. False: strides cannot say it.
static bool sum_over(struct product *p, int i) {
    int64_t count = p->batch[i], a = p->a.batch[i], b = p->b.batch[i];
    if (a == p->a.column * p->k && b == p->b.row * p->k && p->k * count <= K_SUMMED_MAX) {
        p->k *= (int)count;
    } else if (p->sum_count == 1 ||
               (a == p->a.sum * p->sum_count && b == p->b.sum * p->sum_count)) {
        p->a.sum = p->sum_count == 1 ? a : p->a.sum;
        p->b.sum = p->sum_count == 1 ? b : p->b.sum;
        p->sum_count *= (int)count;
    } else {
        return false;
    }
    drop_dimension(p, i);
    return true;
}

static bool is_summed(const struct product *p, int i) {
    return p->batch[i] > 1 && p->y.batch[i] == 0;
}

static bool take_sums(struct product *p) {
    bool taken = true;
    for (int i = p->batch_rank - 1; i >= 0 && taken; i--) {
        taken = !is_summed(p, i) || sum_over(p, i);
    }
    return taken;
}

// Matrices that are one below the other, times the same b, are one matrix.
static void merge_rows(struct product *p) {
    for (int i = p->batch_rank - 1; i >= 0; i--) {
        int64_t rows = p->m * p->batch[i];
        bool merges = p->batch[i] > 1 && p->a.batch[i] == p->a.row * p->m &&
                      p->y.batch[i] == p->y.row * p->m && rows <= INT32_MAX;
        for (int k = 0; k < p->batch_rank && merges; k++) {
            merges = p->b.batch[k] == 0 || p->batch[k] == 1;
        }
        if (merges) {
            p->m = (int)rows;
            drop_dimension(p, i);
        }
    }
}

/* ---- units of work --------------------------------------------------------------------------- */

static int ceil_div(int64_t a, int64_t b) {
    return (int)((a + b - 1) / b);
}

static int units_wanted(const struct cpu_device *cpu, const struct product *p) {
    int threads = threads_count(cpu->threads), units = threads > 1 ? UNITS_PER_THREAD * threads : 1;
    int64_t multiplies = (int64_t)p->m * p->k * p->n;
    return (int)MIN(MAX(multiplies / UNIT_MULTIPLIES, 1), ceil_div(units, p->batch_count));
}

// Each part of columns reads all of a, and each part of rows packs all of b: the numbers that this
// moves, a copy counting as COPY_COST.
static int64_t moved(const struct product *p, int column_parts, int row_parts) {
    const struct matrix a = {.row = p->a.row, .column = p->a.column};
    int64_t cost_of_a = multiply_lines_up(&a, p->m) ? COPY_COST : 1;
    return p->k * (cost_of_a * p->m * column_parts + (int64_t)COPY_COST * p->n * row_parts);
}

// Into how many parts of columns, of `least` at least, so that `wanted` parts move the fewest
// numbers.
static int best_column_parts(const struct product *p, int least, int most, int blocks, int wanted) {
    int best = most;
    for (int parts = most - 1; parts >= least; parts--) {
        int rows = ceil_div(wanted, parts);
        if (rows <= blocks && moved(p, parts, rows) < moved(p, best, ceil_div(wanted, best))) {
            best = parts;
        }
    }
    return best;
}

static void divide(const struct cpu_device *cpu, struct product *p) {
    int wide = DIRECT_BLOCKS_MAX * cpu->vectors->block, wanted = units_wanted(cpu, p);
    int pairs = ceil_div(p->n, wide);
    int fit = (int)MAX(PACKED_FLOATS_MAX / ((int64_t)p->piece * wide), 1);
    p->block_rows = p->bfloat
                        ? MIN(BFLOAT_BLOCK_ROWS, MAX(TILE_FLOATS_MAX / p->piece / 32 * 32, 32))
                        : MIN(BLOCK_ROWS, MAX(TILE_FLOATS_MAX / p->piece / 14 * 14, 14));
    int blocks = ceil_div(p->m, p->block_rows);
    int least = p->packs ? ceil_div(pairs, fit) : 1, most = MAX(MIN(wanted, pairs), least);
    int column_parts = p->packs ? best_column_parts(p, least, most, blocks, wanted) : most;
    p->part_columns = ceil_div(pairs, column_parts) * wide;
    p->column_parts = ceil_div(p->n, p->part_columns);
    int row_parts = MIN(ceil_div(wanted, p->column_parts), blocks);
    p->part_rows = ceil_div(blocks, row_parts) * p->block_rows;
    p->row_parts = ceil_div(p->m, p->part_rows);
}

static void plan(const struct cpu_device *cpu, struct product *p, struct step *step) {
    bool in_place = (p->b.row == 1 || p->b.column == 1) && p->y.column == 1;
    p->packs = p->m >= ROWS_FEW || !in_place || p->sum_count > 1;
    // What is not written in place is complete when it is written.
    p->bfloat = p->packs ? cpu->bfloat : NULL;
    p->piece = p->packs && p->y.column == 1 && p->y.row > 0 ? multiply_piece(p->k) : p->k;
    divide(cpu, p);
    int rows = MIN(p->block_rows, p->m);
    p->packed_floats =
        p->packs ? multiply_packed_floats(cpu->vectors, p->piece, MIN(p->part_columns, p->n)) : 0;
    p->tile_floats = (multiply_tile_floats(rows, p->piece) + 15) / 16 * 16;
    if (p->bfloat) {
        int columns = MIN(p->part_columns, p->n);
        p->packed_floats = multiply_bfloat_packed_floats(cpu->vectors, p->piece, columns);
        p->tile_floats = (multiply_bfloat_tile_floats(rows, p->piece) + 15) / 16 * 16;
    }
    p->lane_floats = p->packed_floats + p->tile_floats + multiply_room_floats(cpu->vectors, rows);
    step->scratch_bytes = (size_t)threads_count(cpu->threads) * p->lane_floats * sizeof(float);
}

static bool is_computed(const struct schedule_slot *slot) {
    return slot->type == TENSOR_FLOAT32 && slot->shape.rank >= 2 && !slot->is_lasting;
}

static bool is_operand(const struct schedule_slot *slot) {
    return slot->type == TENSOR_FLOAT32 && slot->shape.rank >= 2 &&
           shape_count(&slot->shape) <= INT32_MAX;
}

// False: another operator, or operands that this kernel does not take.
static bool find_operands(const struct schedule *schedule, const struct step *step,
                          struct operands *ret) {
    bool is_gradient = step->node->op->id == OP_MATMUL_GRADIENT;
    int first = is_gradient ? 1 : 0; // of the forward product's operands
    if (!is_gradient && step->node->op->id != OP_MATMUL) {
        return false;
    }
    const struct schedule_slot *a = &schedule->slots[step->inputs[first]];
    const struct schedule_slot *b = &schedule->slots[step->inputs[first + 1]];
    struct matmul matmul;
    struct error err = {0};
    if (!is_operand(a) || !is_operand(b) || !(is_gradient || is_computed(a) || is_computed(b)) ||
        matmul_params(&a->shape, &b->shape, &matmul, &err) < 0 ||
        shape_count(&matmul.output) > INT32_MAX) {
        error_clear(&err);
        return false;
    }
    *ret = (struct operands){.batch = matmul.batch, .shares_b = b->shape.rank == 2};
    if (!is_gradient) {
        ret->inputs[1] = 1;
    } else if (node_integer(step->node, "side", 0)) { // a' dy
        ret->inputs[0] = 1;
        ret->turned[0] = true;
        ret->shares_b = false;
    } else { // dy b'
        ret->inputs[1] = 2;
        ret->turned[1] = true;
    }
    ret->m = ret->turned[0] ? matmul.k : matmul.m;
    ret->k = ret->turned[0] ? matmul.m : ret->turned[1] ? matmul.n : matmul.k;
    ret->n = ret->turned[1] ? matmul.k : matmul.n;
    return ret->m > 0 && ret->n > 0 && ret->k > 0 && ret->k <= K_MAX &&
           shape_count(&matmul.batch) > 0;
}

// Where operands and result are in memory.
struct placed {
    int slots[2];
    struct step *adding; // a row to the product; NULL: none
    int row;             // slot
    struct step *user;   // whose result the product writes; NULL: its own
};

// A result whose columns are adjacent is that of b' a' with adjacent rows, which is written in
// place. So the gradient of a weight is that PyTorch reads transposed.
static void exchange(struct product *p, struct placed *placed) {
    struct product_side a = p->a;
    int m = p->m, slot = placed->slots[0];
    p->a = p->b;
    p->b = a;
    p->m = p->n;
    p->n = m;
    placed->slots[0] = placed->slots[1];
    placed->slots[1] = slot;
    turn(&p->a);
    turn(&p->b);
    turn(&p->y);
}

// False: the products to be summed are not at regular distances.
static bool place(const struct schedule *schedule, const struct step *step,
                  const struct operands *operands, bool in_place, struct product *p,
                  struct placed *ret_placed) {
    *p = (struct product){.row = -1,
                          .m = (int)operands->m,
                          .k = (int)operands->k,
                          .n = (int)operands->n,
                          .batch_rank = operands->batch.rank,
                          .batch_count = 1,
                          .sum_count = 1};
    memcpy(p->batch, operands->batch.dims, sizeof p->batch);
    *ret_placed = (struct placed){.user = NULL};
    if (operands->shares_b) { // a layer; other products become an attention
        ret_placed->adding = row_behind(schedule, step, operands->n, &ret_placed->row);
    }
    struct product_side *sides[] = {&p->a, &p->b};
    for (int i = 0; i < 2; i++) {
        int slot = step->inputs[operands->inputs[i]];
        ret_placed->slots[i] = read_operand(schedule, slot, in_place, p, sides[i]);
        if (operands->turned[i]) {
            turn(sides[i]);
        }
    }
    read_operand(schedule, step->outputs[0], false, p, &p->y);
    if (!take_sums(p)) {
        return false;
    }
    if (in_place && p->batch_rank == operands->batch.rank) {
        const struct step *last = ret_placed->adding ? ret_placed->adding : step;
        ret_placed->user = write_in_place(schedule, last, p);
    }
    if (operands->shares_b) {
        merge_rows(p);
    } else if (p->y.row == 1 && p->y.column != 1) {
        exchange(p, ret_placed);
    }
    for (int i = 0; i < p->batch_rank; i++) {
        p->batch_count *= (int)p->batch[i];
    }
    return true;
}

// Whether its products are so small that packing or adding takes longer than multiplying.
static bool is_scattered(const struct product *p, const struct operands *operands) {
    return (p->sum_count > 1 && p->k < K_FEW) ||
           (operands->shares_b && p->batch_count > 1 && p->m < M_FEW);
}

void product_try(const struct cpu_device *cpu, struct schedule *schedule, struct step *step) {
    struct operands operands;
    struct placed placed;
    struct product product;
    if (!find_operands(schedule, step, &operands)) {
        return;
    }
    if ((!place(schedule, step, &operands, true, &product, &placed) ||
         is_scattered(&product, &operands)) &&
        !place(schedule, step, &operands, false, &product, &placed)) {
        return;
    }
    struct product *p = x_calloc(1, sizeof *p);
    *p = product;
    memcpy(step->inputs, placed.slots, sizeof placed.slots);
    step->input_count = 2;
    if (placed.adding) {
        step = schedule_absorb(schedule, step, placed.adding);
        p->row = schedule_add_input(schedule, step, placed.row);
    }
    step = placed.user ? schedule_absorb(schedule, step, placed.user) : step;
    plan(cpu, p, step);
    step->state = p;
    step->release = free;
    step->kernel = &fast_product;
}
