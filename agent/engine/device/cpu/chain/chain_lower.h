/* chain_lower.h: what the operators of chain_operators.c and chain_row_operators.c are written
 * with: values (by their index in the chain), and functions that append instructions. Lowering
 * turns a node into instructions. After a failure (lower.failed) all functions accept any value,
 * append nothing and return 0. */
#pragma once

#include "agent/engine/device/cpu/chain/chain_state.h"

struct lower {
    const struct schedule *schedule;
    const struct step *step;
    struct chain *chain;
    bool failed; /* too many instructions or values, or an operand that does not fit */
};

/* The step's input `index`: a value of an earlier node of this chain, a constant number, or a
 * tensor in memory. */
int lower_value(struct lower *l, int index);
int lower_number(struct lower *l, float number);
/* A tensor in memory that is broadcast with this shape: of a slot, or with slot -1 `owned`, which
 * the chain frees if this call has added a value, and which is still the caller's otherwise. */
int lower_input(struct lower *l, int slot, const struct shape *shape, float *owned);
/* The shape of one number per row of the domain. */
struct shape lower_row_shape(const struct chain *chain);
/* Whether an input's elements along the reduced dimensions are adjacent, or one number: registers
 * hold a row as one run of elements. */
bool lower_is_one_run(const struct chain *chain, const struct shape *shape);
/* Whether it is one number for each row, or for all. */
bool lower_is_narrow(const struct lower *l, int value);

/* Append an instruction and return its result. */
int lower_emit(struct lower *l, struct chain_instruction instruction);
int lower_one(struct lower *l, enum chain_op op, int a);
int lower_two(struct lower *l, enum chain_op op, int a, int b);
int lower_with_number(struct lower *l, enum chain_op op, int a, float number);
int lower_affine(struct lower *l, int a, float p, float q); /* a * p + q */
int lower_clip_to(struct lower *l, int a, float low, float high);
int lower_pick(struct lower *l, int condition, int a, int b); /* condition ? a : b */

/* How a row of the table becomes instructions. */
enum form {
    FORM_ONE,      /* `op` of one operand */
    FORM_TWO,      /* `op` of two */
    FORM_FUNCTION, /* `function` of each element */
    FORM_OWN,      /* `own` appends them */
    FORM_REDUCE,   /* `own`; the node reduces last dimensions */
    FORM_ROWS,     /* `own`; the node normalizes over last dimensions */
    FORM_CHANNELS, /* `own`; [n, c, ...] with numbers for channels, or reduced from the third on */
};

struct lower_row {
    int id; /* enum op_id */
    enum form form;
    enum chain_op op;
    float (*function)(float x);
    int (*own)(struct lower *l);
};

/* The row of an operator; NULL: none. */
const struct lower_row *lower_row_find(int id);

/* The limits of Clip, of the constants at inputs `input` and the next one, or of attributes. */
void chain_clip_bounds(struct lower *l, int input, float bounds[static 2]);
/* chain_gradient.c */
int lower_unary_gradient(struct lower *l);
/* chain_row_operators.c */
int lower_reduce(struct lower *l);
int lower_softmax(struct lower *l);
int lower_log_softmax(struct lower *l);
int lower_softmax_gradient(struct lower *l);
int lower_layer_norm(struct lower *l);
int lower_instance_norm(struct lower *l);
int lower_batch_norm(struct lower *l);
/* The number of last dimensions that the node reduces, or normalizes over; 0: it is not these. */
int lower_reduced_dims(const struct lower *l);
int lower_normalized_dims(const struct lower *l);
