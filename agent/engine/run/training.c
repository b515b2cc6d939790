// SPDX-License-Identifier: Apache-2.0
/* A training step prepared on a device: weights, gradients, outputs. */
#include "agent/engine/training.h"

#include "agent/engine/ops/table.h"
#include "agent/engine/run/execution_plan.h"

#include <assert.h>
#include <stdlib.h>

struct training {
    struct device *device;
    struct execution_plan *plan;
    void *block;
};

int training_open(struct device *device, struct graph *graph, const struct tensor *inputs,
                  const bool *is_bound, struct training **ret_training, struct error *err) {
    AUTO(training_freep) struct training *training = x_calloc(1, sizeof *training);
    training->device = device;
    if (execution_plan_new_bound(device, graph, inputs, is_bound, &training->plan, err) < 0 ||
        device->ops->alloc(device, training->plan->schedule->block_bytes, &training->block, err) <
            0) {
        return -1;
    }
    *ret_training = TAKE(training);
    return 0;
}

void training_free(struct training *training) {
    if (!training) {
        return;
    }
    execution_plan_free(training->plan);
    if (training->block) {
        training->device->ops->free(training->device, training->block);
    }
    free(training);
}

void training_freep(struct training **training) {
    training_free(*training);
    *training = NULL;
}

struct tensor training_output(const struct training *training, size_t output) {
    struct tensor tensor = training->plan->tensors[training->plan->graph->outputs[output]];
    tensor.data = NULL;
    return tensor;
}

struct tensor training_scores(const struct training *training, size_t loss) {
    const struct graph *graph = training->plan->graph;
    size_t n = 0;
    while (graph->nodes[n].outputs[0] != graph->outputs[loss]) {
        n++;
        assert(n < graph->node_count);
    }
    struct tensor tensor = training->plan->tensors[graph->nodes[n].inputs[0]];
    tensor.data = NULL;
    return tensor;
}

size_t training_ready_step(const struct training *training, size_t output) {
    return training->plan->bound[output].ready_after_step;
}

bool training_step_node(const struct training *training, size_t step, const char **ret_operator,
                        const char **ret_name) {
    const struct node *node = training->plan->schedule->steps[step].node;
    if (!node) {
        return false;
    }
    *ret_operator = node->op->name;
    *ret_name = node->name;
    return true;
}

size_t training_step_count(const struct training *training) {
    return training->plan->schedule->step_count;
}

bool training_is_rank_sum(const struct training *training, size_t step, struct tensor *ret_sum) {
    const struct step *made = &training->plan->schedule->steps[step];
    if (!made->node || made->node->op->id != OP_RANK_SUM) {
        return false;
    }
    *ret_sum = training->plan->tensors[made->outputs[0]];
    return true;
}

void training_bind(struct training *training, size_t output, void *memory) {
    execution_plan_bind_output(training->plan, output, memory);
}

void training_bind_input(struct training *training, size_t input, void *memory) {
    execution_plan_bind_input(training->plan, input, memory);
}

int training_run(struct training *training, const struct tensor *inputs, struct tensor *outputs,
                 const struct training_hook *hook, struct error *err) {
    const struct execution_plan *plan = training->plan;
    for (size_t i = 0; i < plan->graph->output_count; i++) {
        if (plan->bound[i].is_bound && !plan->bound[i].memory) {
            return error_set(err, ERROR_BUG, "output %zu is bound and has no memory", i);
        }
    }
    if (!execution_plan_fits(plan, inputs)) {
        return error_set(err, ERROR_BUG,
                         "the shapes of the inputs differ from those of training_open");
    }
    return execution_plan_run(training->plan, training->block, inputs, outputs, hook, err);
}
