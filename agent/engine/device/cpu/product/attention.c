// SPDX-License-Identifier: Apache-2.0
// Attention: softmax(q k, with any scale, bias and mask) v, as one step. The chain between the two
// products is what the network has there. For each pair of matrices k and v, which are packed once,
// a block of rows of the scores is made, goes through the chain, and is multiplied while it is in
// the second-level cache; so the scores are never in memory.
#include <stdlib.h>
#include <string.h>

#include "agent/engine/device/cpu/chain/chain.h"
#include "agent/engine/device/cpu/fast/parallel.h"
#include "agent/engine/device/cpu/product/product.h"

enum {
    ROWS_MIN = 14, // as many as vector_ops.direct computes at once
    ROWS_MAX = 84,
    BFLOAT_ROWS_MAX = 128,
    SCORES_MAX = 1 << 14, // floats of a block
    PACKED_MAX = 1 << 20, // floats of k, and of v
    UNITS_PER_THREAD = 2,
};

struct attention {
    struct product scores, values;
    struct multiply_bfloat bfloat; // without bfloat_ops: it computes in float32
    void *chain;
    int chain_input; // the scores, among the chain's inputs
    int block_rows, parts, part_rows;
    size_t keys_floats, values_floats, scores_floats, tile_floats, room_floats, lane_floats;
};

enum { INPUT_Q, INPUT_K, INPUT_V, INPUTS_OF_CHAIN };

static void attention_free(void *state) {
    struct attention *attention = state;
    chain_free(attention->chain);
    free(attention);
}

/* ---- preparing ------------------------------------------------------------------------------- */

// Whether all matrices of this side are one after the other.
static bool is_adjacent(const struct product *p, const struct product_side *side, int columns) {
    int64_t step = (int64_t)p->m * columns;
    bool adjacent = side->offset == 0 && side->column == 1 && (side->row == columns || p->m == 1);
    for (int i = p->batch_rank - 1; i >= 0; i--) {
        adjacent = adjacent && (p->batch[i] == 1 || side->batch[i] == step);
        step *= p->batch[i];
    }
    return adjacent;
}

static bool are_alike(const struct product *first, const struct product *second) {
    bool alike =
        first->m == second->m && first->n == second->k && first->batch_rank == second->batch_rank;
    for (int i = 0; i < first->batch_rank && alike; i++) {
        alike = first->batch[i] == second->batch[i];
    }
    return alike && first->packs && second->packs && first->row < 0 && second->row < 0;
}

static bool is_modest(const struct product *first, const struct product *second) {
    return first->n * ROWS_MIN <= SCORES_MAX * 4 && (int64_t)first->k * first->n <= PACKED_MAX &&
           (int64_t)second->k * second->n <= PACKED_MAX;
}

// The step of the scores that the chain reads; NULL: none fits. *ret_input: the chain's input.
static struct step *find_scores(const struct schedule *schedule, const struct step *chain,
                                const struct product *values, int *ret_input) {
    for (int i = 0; i < chain->input_count; i++) {
        int slot = chain->inputs[i];
        struct step *maker = slot < 0 ? NULL : schedule_producer(schedule, slot);
        if (maker && maker->kernel == &fast_product && schedule_only_user(schedule, slot) &&
            chain_has_rows(schedule, chain, slot)) {
            const struct product *scores = maker->state;
            if (are_alike(scores, values) && is_modest(scores, values) &&
                is_adjacent(scores, &scores->y, scores->n)) {
                *ret_input = i;
                return maker;
            }
        }
    }
    return NULL;
}

static size_t whole_lines(size_t floats) {
    return (floats + 15) / 16 * 16;
}

static void plan(const struct cpu_device *cpu, struct attention *a, struct step *step) {
    const struct vector_ops *ops = cpu->vectors;
    const struct product *s = &a->scores, *v = &a->values;
    int threads = threads_count(cpu->threads);
    a->bfloat = (struct multiply_bfloat){ops, cpu->bfloat};
    a->block_rows = MIN(MAX(SCORES_MAX / s->n / ROWS_MIN * ROWS_MIN, ROWS_MIN), ROWS_MAX);
    if (cpu->bfloat) {
        const int pair = 2 * BFLOAT_ROWS; // which is multiplied at once
        a->block_rows = MIN(MAX(SCORES_MAX / s->n / pair * pair, pair), BFLOAT_ROWS_MAX);
    }
    int blocks = (s->m + a->block_rows - 1) / a->block_rows;
    int wanted = (UNITS_PER_THREAD * threads + s->batch_count - 1) / s->batch_count;
    int parts = MIN(blocks, wanted);
    a->part_rows = (blocks + parts - 1) / parts * a->block_rows;
    a->parts = (s->m + a->part_rows - 1) / a->part_rows;
    a->keys_floats = whole_lines(multiply_packed_floats(ops, s->k, s->n));
    a->values_floats = whole_lines(multiply_packed_floats(ops, v->k, v->n));
    a->scores_floats = whole_lines((size_t)a->block_rows * (size_t)s->n);
    a->tile_floats = whole_lines(
        MAX(multiply_tile_floats(a->block_rows, s->k), multiply_tile_floats(a->block_rows, v->k)));
    if (cpu->bfloat) {
        a->keys_floats = whole_lines(multiply_bfloat_packed_floats(ops, s->k, s->n));
        a->values_floats = whole_lines(multiply_bfloat_packed_floats(ops, v->k, v->n));
        a->tile_floats = whole_lines(multiply_bfloat_tile_floats(a->block_rows, MAX(s->k, v->k)));
    }
    a->room_floats = whole_lines(multiply_room_floats(ops, a->block_rows));
    a->lane_floats = a->keys_floats + a->values_floats + a->scores_floats + a->tile_floats +
                     a->room_floats + whole_lines(chain_register_floats(a->chain));
    step->scratch_bytes = (size_t)threads * a->lane_floats * sizeof(float);
}

static void empty(struct schedule *schedule, struct step *step) {
    schedule->slots[step->outputs[0]].place = PLACE_NONE;
    *step = (struct step){0};
}

static void fuse(const struct cpu_device *cpu, struct schedule *schedule, struct step *step) {
    struct product *values = step->state;
    struct step *chain = schedule_producer(schedule, step->inputs[0]);
    int input;
    if (!chain || chain->kernel != &fast_chain ||
        schedule_only_user(schedule, step->inputs[0]) != step ||
        !is_adjacent(values, &values->a, values->k)) {
        return;
    }
    struct step *scores = find_scores(schedule, chain, values, &input);
    if (!scores) {
        return;
    }
    struct attention *a = x_calloc(1, sizeof *a);
    *a = (struct attention){.scores = *(struct product *)scores->state,
                            .values = *values,
                            .chain = chain->state,
                            .chain_input = input};
    int inputs = INPUTS_OF_CHAIN + chain->input_count;
    int *slots = arena_array(&schedule->arena, (size_t)inputs, sizeof *slots);
    slots[INPUT_Q] = scores->inputs[0];
    slots[INPUT_K] = scores->inputs[1];
    slots[INPUT_V] = step->inputs[1];
    memcpy(slots + INPUTS_OF_CHAIN, chain->inputs, (size_t)chain->input_count * sizeof *slots);
    slots[INPUTS_OF_CHAIN + input] = -1;
    free(values);
    free(scores->state);
    empty(schedule, scores);
    empty(schedule, chain);
    step->inputs = slots;
    step->input_count = inputs;
    step->state = a;
    step->release = attention_free;
    step->kernel = &fast_attention;
    plan(cpu, a, step);
}

void attention_fuse(const struct cpu_device *cpu, struct schedule *schedule) {
    for (size_t i = 0; i < schedule->step_count; i++) {
        if (schedule->steps[i].node && schedule->steps[i].kernel == &fast_product) {
            fuse(cpu, schedule, &schedule->steps[i]);
        }
    }
}

/* ---- running --------------------------------------------------------------------------------- */

struct run {
    const struct attention *attention;
    const struct call *call;
    const struct vector_ops *ops;
};

// Memory of a thread.
struct lane {
    float *keys, *values, *scores, *tile, *room, *registers;
};

static struct lane lane_at(const struct run *run, int lane) {
    const struct attention *a = run->attention;
    struct lane at = {.keys = (float *)run->call->scratch + (size_t)lane * a->lane_floats};
    at.values = at.keys + a->keys_floats;
    at.scores = at.values + a->values_floats;
    at.tile = at.scores + a->scores_floats;
    at.room = at.tile + a->tile_floats;
    at.registers = at.room + a->room_floats;
    return at;
}

static void pack(const struct run *run, struct factor *b, float *packed) {
    const struct multiply_bfloat *bfloat = &run->attention->bfloat;
    if (bfloat->bfloat) {
        multiply_bfloat_pack(bfloat, b, packed);
    } else {
        multiply_pack(run->ops, b, packed);
    }
}

static void multiply(const struct run *run, const struct lane *at, const struct matrix *from,
                     int rows, const struct factor *b, const struct matrix *to) {
    const struct multiply_bfloat *bfloat = &run->attention->bfloat;
    if (bfloat->bfloat) {
        const struct multiply_bfloat_memory memory = {at->tile, at->room};
        multiply_bfloat_rows(bfloat, from, rows, b, to, &memory);
        return;
    }
    struct lines lines = multiply_lines(run->ops, from, rows, b->k, at->tile);
    multiply_rows(run->ops, &lines, rows, b, to, at->room);
}

static void run_unit(void *context, int index, int lane) {
    const struct run *run = context;
    const struct attention *a = run->attention;
    const struct product *s = &a->scores, *v = &a->values;
    const struct tensor *const *inputs = run->call->inputs;
    int pair = index / a->parts, first = index % a->parts * a->part_rows;
    struct lane at = lane_at(run, lane);
    struct matrix q = product_matrix(s, &s->a, inputs[INPUT_Q], pair);
    struct factor k = {
        .matrix = product_matrix(s, &s->b, inputs[INPUT_K], pair), .k = s->k, .columns = s->n};
    struct factor b = {
        .matrix = product_matrix(v, &v->b, inputs[INPUT_V], pair), .k = v->k, .columns = v->n};
    struct matrix y = product_matrix(v, &v->y, run->call->outputs[0], pair);
    struct matrix scores = {at.scores, s->n, 1};
    struct chain_rows rows = {.inputs = inputs + INPUTS_OF_CHAIN,
                              .input = a->chain_input,
                              .in = at.scores,
                              .out = at.scores,
                              .registers = at.registers};
    pack(run, &k, at.keys);
    pack(run, &b, at.values);
    int last = MIN(first + a->part_rows, s->m);
    for (int row = first; row < last; row += a->block_rows) {
        rows.count = MIN(a->block_rows, last - row);
        rows.first = (int64_t)pair * s->m + row;
        struct matrix from = product_part(q, row, 0), to = product_part(y, row, 0);
        multiply(run, &at, &from, rows.count, &k, &scores);
        chain_run_rows(a->chain, &rows);
        multiply(run, &at, &scores, rows.count, &b, &to);
    }
}

static int attention_run(const struct call *call, struct error *err UNUSED) {
    const struct cpu_device *cpu = (const struct cpu_device *)call->device;
    const struct attention *a = call->state;
    struct run run = {a, call, cpu->vectors};
    parallel_for(cpu->threads, a->scores.batch_count * a->parts, run_unit, &run);
    return 0;
}
const struct kernel fast_attention = {"fast attention", attention_run};
