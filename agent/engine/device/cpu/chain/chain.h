/* chain.h: chains of elementwise nodes, broadcasts and reductions of rows, in one pass over memory.
 *
 * Nodes that depend on each other and compute over the same shape become one step: a list of
 * instructions (chain_loops.h), which are executed for one block of a few thousand elements after
 * the other. Values between the nodes are in registers: buffers of a block that stay in the nearest
 * cache. So a chain reads each input and writes each output once, on all threads. LayerNorm, GELU,
 * SiLU, a softmax with its mask are chains, as exporters write them or as one node.
 *
 * chain_group.c decides which steps become one chain, chain_lower.c writes a node as instructions,
 * chain_plan.c assigns registers and addresses, chain_run.c executes. */
#pragma once

#include "agent/engine/device/cpu/cpu.h"

extern const struct kernel fast_chain;

/* Makes chains of the steps that have no kernel yet. The step of the last node of a chain is the
 * chain's. allows_blocks: layouts are still to be chosen. */
void chain_fuse(struct schedule *schedule, bool allows_blocks);

/* Layouts: a chain without reductions can compute on blocked values (vector/vector.h): all its
 * values of four dimensions with the full shape are blocked then, or none. */
bool chain_takes_blocks(const struct step *step);
/* Whether this slot of the chain is blocked then. */
bool chain_slot_is_blocked(const struct schedule *schedule, const struct step *step, int slot);
/* Whether the layouts chosen so far are possible: all full values blocked, and channels for whole
 * blocks of `block` lanes where an operand has one number per channel and is row-major. */
bool chain_blocks_fit(const struct schedule *schedule, const struct step *step, int block);
void chain_refuse_blocks(struct step *step);

/* A prepared chain whose rows another kernel makes and takes (product/attention.c). */
struct chain_rows {
    const struct tensor *const *inputs; /* of the chain's step */
    int input;                          /* the one that is in `in` instead */
    const float *in;                    /* rows first .. first + count - 1 of it */
    float *out;                         /* the same rows of the result; may be `in` */
    int64_t first;                      /* counted over all dimensions but the last */
    int count;
    float *registers;
};
/* Whether this can be: the chain reduces the last dimension, has one result of float32 of the full
 * shape, and reads the slot only as one of the full shape. */
bool chain_has_rows(const struct schedule *schedule, const struct step *step, int slot);
size_t chain_register_floats(const void *state);
void chain_run_rows(const void *state, const struct chain_rows *rows);
/* A prepared chain that completes blocked values another kernel has just written (conv_chain.c). */
struct chain_piece {
    const struct tensor *const *inputs; /* of the chain's step; NULL for what is completed */
    struct tensor *output;              /* what is completed: read and replaced */
    int64_t plane, first;               /* block of channels, counted over all samples; a pixel */
    int count;                          /* of pixels */
    float *registers;
};
/* Whether this can be: the chain reduces nothing, its values are blocked, it has one result of
 * float32 of the full shape, and reads the slot only as one of the full shape. */
bool chain_has_pieces(const struct schedule *schedule, const struct step *step, int slot);
void chain_run_piece(const void *state, const struct chain_piece *piece);
/* Whether the chain, whose layouts are chosen and which is prepared, only multiplies a blocked
 * value by one computed number for each sample and channel, as in squeeze and excite: sets their
 * slots. */
bool chain_is_gate(const struct schedule *schedule, const struct step *step, int *ret_full,
                   int *ret_gate);
void chain_free(void *state);

/* Completes the step's state once layouts are chosen, and sets step->scratch_bytes. */
void chain_prepare(const struct cpu_device *cpu, const struct schedule *schedule,
                   struct step *step);
