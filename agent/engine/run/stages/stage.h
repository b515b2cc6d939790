/* stage.h: a part of a network in stages: a stage, which has plans, or a late node. */
#pragma once

#include "agent/engine/graph/node.h"
#include "agent/engine/run/execution_plan.h"
#include "agent/engine/run/stages/parcel.h"

enum { STAGE_PLANS = 4 }; /* of one stage, for the shapes it has seen */

/* What all stages of a network, and of its bodies, share. */
struct stages_common {
    struct device *device;
    void *block;
    size_t block_bytes;
    double work, work_max, flops; /* of the present run */
    uint64_t runs;
};

struct stage_part {
    struct stage_part *next;
    const struct node *late;     /* NULL: a stage */
    struct stages **bodies;      /* of a late node: one per attribute; NULL: none yet */
    struct graph graph;          /* of a stage */
    bool is_typed, is_rewritten; /* the graph: its inputs have types; it is as devices want it */
    /* Values of the whole network, in the order of the graph's inputs and outputs. */
    size_t input_count, output_count;
    int *inputs, *outputs;
    struct execution_plan *plans[STAGE_PLANS];
};

/* Makes a graph of some nodes (their indices, ascending). is_wanted: values of `from` that become
 * outputs, if these nodes make them. part->inputs and outputs are the values of `from`. */
struct stage_part *stage_new(const struct graph *from, const size_t *nodes, size_t count,
                             const bool *is_wanted);
void stage_free(struct stage_part *part);
void stage_forget(struct stage_part *part); /* frees its plans */

/* Makes or finds the plan for these inputs. *ret_cut: the number of the node before which the stage
 * must be cut first (then there is no plan); SIZE_MAX: none. */
NODISCARD int stage_plan(struct stage_part *part, struct stages_common *common,
                         const struct tensor *inputs, struct execution_plan **ret_plan,
                         size_t *ret_cut, struct error *err);
/* Runs the plan and copies its outputs. */
NODISCARD int stage_run(const struct stage_part *part, struct stages_common *common,
                        struct execution_plan *plan, const struct tensor *inputs,
                        struct parcel **outputs, struct error *err);

/* Two stages: what the nodes that do not need node `cut` make, and the others. Their inputs and
 * outputs are values of part->graph; the second has the next of `part`, which the caller frees. */
struct stage_part *stage_cut(const struct stage_part *part, size_t cut);
