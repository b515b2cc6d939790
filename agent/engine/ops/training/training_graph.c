// SPDX-License-Identifier: Apache-2.0
/* Builds the graph of a training: network, losses, gradients, evaluation. */
#include "agent/engine/training_graph.h"

#include "agent/engine/ops/rewrite/bfloat.h"
#include "agent/engine/ops/training/decompose.h"
#include "agent/engine/ops/training/final_scores.h"
#include "agent/engine/ops/training/gradient.h"
#include "agent/engine/ops/training/refuse.h"
#include "agent/engine/ops/training/roles.h"
#include "agent/engine/ops/training/sync_norm.h"
#include "agent/engine/ops/training/training_loss.h"

#include <string.h>

struct build {
    const struct graph *network;
    size_t own_values; /* those before decomposition; further ones belong to formulas */
    const struct training_options *options;
    struct builder builder;
    struct arena scratch;
    int *makers; /* by value of the network: the node that makes it; -1: none */
    struct roles roles;
    int *variables;
    size_t variable_count, norm_count;
    struct training_norm *norms; /* `output` is the value of the mean until the outputs are made */
    int keys;                    /* for dropout; -1: none */
    int share;                   /* for synced norms; -1: none */
    enum training_ending endings[TRAINING_LOSSES_MAX];
};

/* ---- which constants are weights ---- */

static int find_variables(struct build *build, struct error *err) {
    const struct role_options options = {build->network, build->makers, build->options->freeze,
                                         build->options->freeze_count};
    if (roles_find(&options, &build->builder.graph.arena, &build->roles, err) < 0) {
        return -1;
    }
    size_t count = 0;
    for (size_t i = 0; i < build->roles.count; i++) {
        struct role_of_constant constant = build->roles.constants[i];
        if ((size_t)constant.value >= build->own_values) {
            continue;
        }
        build->roles.constants[count++] = constant;
        if (constant.role == ROLE_VARIABLE) {
            build->variables[build->variable_count++] = constant.value;
        }
    }
    build->roles.count = count;
    return build->variable_count > 0
               ? 0
               : error_set(err, ERROR_INVALID, "the network has no weights that could be trained");
}

static bool has_role(const struct build *build, int value, enum role role) {
    for (size_t i = 0; value >= 0 && i < build->roles.count; i++) {
        const struct role_of_constant *constant = &build->roles.constants[i];
        if (constant->value == value) {
            return constant->role == role;
        }
    }
    return false;
}

/* It uses its running statistics, and does not change them. */
static bool is_frozen_norm(const struct build *build, const struct node *node) {
    int scale = roles_constant_of(build->network, build->makers, node->inputs[1]);
    return has_role(build, scale, ROLE_FROZEN) || has_role(build, node->inputs[3], ROLE_LITERAL) ||
           has_role(build, node->inputs[4], ROLE_LITERAL);
}

/* ---- training forms ---- */

/* The probability that an element is dropped; -1: not known. */
static float dropout_ratio(const struct build *build, const struct node *node) {
    int input = node->input_count > 1 ? node->inputs[1] : -1;
    if (input < 0) {
        return node_number(node, "ratio", 0.5f);
    }
    const struct value *value = &build->network->values[input];
    bool known = value->is_constant && value->type == TENSOR_FLOAT32 &&
                 shape_count(&value->constant.shape) == 1;
    return known ? *(const float *)value->constant.data : -1;
}

static bool is_read(const struct graph *network, int value) {
    bool found = false;
    for (size_t i = 0; i < network->output_count; i++) {
        found |= network->outputs[i] == value;
    }
    for (size_t n = 0; !found && n < network->node_count; n++) {
        for (int i = 0; i < network->nodes[n].input_count; i++) {
            found |= network->nodes[n].inputs[i] == value;
        }
    }
    return found;
}

/* Replaces the node by DropoutTraining. The salt distinguishes it from other nodes, which have the
 * same keys. */
static int train_dropout(struct build *build, size_t index, struct error *err) {
    struct graph *graph = &build->builder.graph;
    const struct node *old = &build->network->nodes[index];
    float ratio = dropout_ratio(build, old);
    if (ratio == 0) {
        return 0;
    }
    bool has_mask =
        old->output_count > 1 && old->outputs[1] >= 0 && is_read(build->network, old->outputs[1]);
    if (!(ratio > 0 && ratio < 1) || has_mask) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "Dropout node \"%.64s\" cannot be trained: its ratio must be a constant "
                         "from 0 to below 1, and its output mask unused",
                         old->name);
    }
    if (build->keys < 0) {
        build->keys = builder_input(&build->builder, "keys", TENSOR_INT64, NULL);
        graph->input_count--; /* inputs are ordered later */
    }
    struct node *node = &graph->nodes[index];
    int *inputs = arena_array(&graph->arena, 2, sizeof *inputs);
    struct attribute *attributes = arena_array(&graph->arena, 2, sizeof *attributes);
    attributes[0] = (struct attribute){.name = "ratio", .kind = ATTRIBUTE_NUMBER, .number = ratio};
    attributes[1] =
        (struct attribute){.name = "salt", .kind = ATTRIBUTE_INTEGER, .integer = (int64_t)index};
    inputs[0] = node->inputs[0];
    inputs[1] = build->keys;
    node->op = op_of_id(OP_DROPOUT_TRAINING);
    node->inputs = inputs;
    node->input_count = 2;
    node->output_count = 1;
    node->attributes = attributes;
    node->attribute_count = 2;
    return 0;
}

/* Replaces the node by NormTraining, which also makes the batch's statistics. */
static int train_norm(struct build *build, size_t index, struct error *err) {
    struct graph *graph = &build->builder.graph;
    struct node *node = &graph->nodes[index];
    for (int i = 3; i < 5; i++) {
        if (!graph->values[node->inputs[i]].is_constant) {
            return error_set(err, ERROR_UNSUPPORTED,
                             "BatchNormalization node \"%.64s\" cannot be trained: its running "
                             "%s is computed by a node, and an initializer is expected",
                             node->name, i == 3 ? "mean" : "variance");
        }
    }
    int *outputs = arena_array(&graph->arena, 3, sizeof *outputs);
    outputs[0] = node->outputs[0];
    build->norms[build->norm_count++] =
        (struct training_norm){.mean = node->inputs[3],
                               .variance = node->inputs[4],
                               .output = graph->value_count,
                               .momentum = node_number(node, "momentum", 0.9f),
                               .name = node->name};
    outputs[1] = builder_value(&build->builder, node->name);
    outputs[2] = builder_value(&build->builder, node->name);
    node->op = op_of_id(OP_NORM_TRAINING);
    node->input_count = node->output_count = 3;
    node->outputs = outputs;
    return 0;
}

static int prepare_nodes(struct build *build, struct error *err) {
    for (size_t n = 0; n < build->network->node_count; n++) {
        const struct node *node = &build->network->nodes[n];
        if (node->op->id == OP_DROPOUT && train_dropout(build, n, err) < 0) {
            return -1;
        }
        if (node->op->id == OP_BATCH_NORMALIZATION && !is_frozen_norm(build, node) &&
            train_norm(build, n, err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- the loss ---- */

/* What the loss of an output is computed from: logits, where it can be. */
static int find_scores(struct build *build, size_t which, const struct training_options *options,
                       int *ret_y, struct error *err) {
    int y = build->network->outputs[which];
    const char *name = build->network->values[y].name;
    struct final_scores ending;
    final_scores_find(build->network, build->makers, y, &ending);
    if (final_scores_check(&ending, options->loss, name ? name : "", err) < 0) {
        return -1;
    }
    bool has_classes = training_graph_has_classes(options->loss);
    bool is_whole =
        has_classes
            ? ending.scores == TRAINING_PROBABILITIES || ending.scores == TRAINING_LOG_PROBABILITIES
            : options->loss == TRAINING_BINARY_CROSS_ENTROPY && ending.scores == TRAINING_SIGMOIDS;
    *ret_y = is_whole ? final_scores_logits(&ending, &build->builder) : y;
    build->endings[which] = ending.scores;
    return 0;
}

/* Of the output `which`. */
static int add_loss(struct build *build, size_t which, struct loss_values *ret_values,
                    struct error *err) {
    const struct training_options *options =
        which > 0 ? &build->options->further[which - 1] : build->options;
    struct builder *builder = &build->builder;
    bool has_classes = training_graph_has_classes(options->loss);
    int y;
    if (find_scores(build, which, options, &y, err) < 0) {
        return -1;
    }
    int target =
        builder_input(builder, "target", has_classes ? TENSOR_INT64 : TENSOR_FLOAT32, NULL);
    const struct shape one = {0};
    int scale = builder_input(builder, "scale", TENSOR_FLOAT32, &one);
    size_t first = builder->graph.node_count;
    *ret_values = training_loss_add(builder, options, (int[]){y, target, scale});
    /* Of several, messages name the output. */
    for (size_t n = first; build->network->output_count > 1 && n < builder->graph.node_count; n++) {
        builder->graph.nodes[n].name = build->network->values[build->network->outputs[which]].name;
    }
    return 0;
}

/* The sum of several losses is a value of its own. -1: an error. */
static int add_losses(struct build *build, struct loss_values values[static TRAINING_LOSSES_MAX],
                      struct error *err) {
    int sum = -1;
    for (size_t i = 0; i < build->network->output_count; i++) {
        if (add_loss(build, i, &values[i], err) < 0) {
            return -1;
        }
        sum = i > 0 ? training_loss_sum(&build->builder, sum, values[i].loss) : values[i].loss;
    }
    return sum;
}

/* ---- inputs and outputs ---- */

/* The order of inputs: the network's inputs, the variables, target and scale of each loss, keys. */
static void order_inputs(struct build *build, struct training_graph *training) {
    struct builder *builder = &build->builder;
    size_t own = build->network->input_count;
    int given[2 * TRAINING_LOSSES_MAX]; /* target and scale by turns */
    training->loss_count = build->network->output_count;
    memcpy(given, builder->graph.inputs + own, 2 * training->loss_count * sizeof *given);
    builder->graph.input_count = own;
    training->first_variable = own;
    for (size_t i = 0; i < build->variable_count; i++) {
        builder_make_input(builder, build->variables[i]);
    }
    training->target = builder->graph.input_count;
    training->scale = training->target + 1;
    for (size_t i = 0; i < training->loss_count; i++) {
        training->losses[i].target = builder->graph.input_count;
        training->losses[i].scale = builder->graph.input_count + 1;
        training->losses[i].ending = build->endings[i];
        builder_add_input(builder, given[2 * i]);
        builder_add_input(builder, given[2 * i + 1]);
    }
    if (build->keys >= 0) {
        training->keys = builder->graph.input_count;
        builder_add_input(builder, build->keys);
    }
    if (build->share >= 0) {
        training->share = builder->graph.input_count;
        builder_add_input(builder, build->share);
    }
}

static int add_kept(struct build *build, struct error *err) {
    const struct graph *graph = &build->builder.graph;
    for (size_t i = 0; i < build->options->keep_count; i++) {
        const char *name = build->options->keep[i];
        int found = -1;
        for (size_t value = 0; found < 0 && value < build->network->value_count; value++) {
            bool is_same = strcmp(graph->values[value].name, name) == 0;
            found = is_same ? (int)value : -1;
        }
        if (found < 0) {
            return error_set(err, ERROR_INVALID, "the network has no value \"%.64s\"", name);
        }
        builder_output(&build->builder, found);
    }
    return 0;
}

static size_t add_output(struct builder *builder, int value) {
    builder_output(builder, value);
    return builder->graph.output_count - 1;
}

/* The first loss's number of correct samples is before the losses of several. */
static void add_loss_outputs(struct build *build, int loss, const struct loss_values *values,
                             struct training_graph *training) {
    struct builder *builder = &build->builder;
    builder->graph.output_count = 0;
    builder_output(builder, loss);
    training->correct = values[0].correct >= 0 ? add_output(builder, values[0].correct) : 0;
    training->losses[0].correct = training->correct;
    for (size_t i = 0; i < training->loss_count; i++) {
        training->losses[i].loss =
            training->loss_count > 1 ? add_output(builder, values[i].loss) : 0;
        if (i > 0) {
            training->losses[i].correct =
                values[i].correct >= 0 ? add_output(builder, values[i].correct) : 0;
        }
    }
}

static int add_outputs(struct build *build, const int *gradients, struct training_graph *training,
                       struct error *err) {
    struct builder *builder = &build->builder;
    training->first_gradient = builder->graph.output_count;
    for (size_t i = 0; i < build->variable_count; i++) {
        builder_output(builder, gradients[i]);
    }
    for (size_t i = 0; i < build->norm_count; i++) {
        struct training_norm *norm = &build->norms[i];
        int mean = (int)norm->output;
        norm->output = builder->graph.output_count;
        builder_output(builder, mean);
        builder_output(builder, mean + 1);
    }
    training->first_kept = builder->graph.output_count;
    return add_kept(build, err);
}

static int build_graph(struct build *build, struct training_graph *training, struct error *err) {
    const struct graph *network = build->network;
    if (network->output_count != 1 + build->options->further_count ||
        network->output_count > TRAINING_LOSSES_MAX) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "the network has %zu outputs, and losses are given for %zu: training "
                         "wants one for each, at most %d (spec.trainer.losses); or export the "
                         "network without the others",
                         network->output_count, 1 + build->options->further_count,
                         TRAINING_LOSSES_MAX);
    }
    if (refuse_late(network, err) < 0 || find_variables(build, err) < 0) {
        return -1;
    }
    const struct refuse_scope scope = {network, build->makers, build->variables,
                                       build->variable_count};
    if (refuse_operators(&scope, err) < 0 || prepare_nodes(build, err) < 0) {
        return -1;
    }
    if (build->options->is_synced && build->norm_count > 0) {
        build->share = sync_norms(&build->builder);
    }
    struct loss_values values[TRAINING_LOSSES_MAX];
    int loss = add_losses(build, values, err);
    if (loss < 0) {
        return -1;
    }
    int *gradients = arena_array(&build->scratch, build->variable_count, sizeof *gradients);
    if (gradient_build(&build->builder, loss, build->variables, build->variable_count, gradients,
                       err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < build->variable_count; i++) {
        if (gradients[i] < 0) {
            return refuse_weight(network, build->variables[i], err);
        }
    }
    order_inputs(build, training);
    add_loss_outputs(build, loss, values, training);
    return add_outputs(build, gradients, training, err);
}

static void move_lists(struct build *build, struct training_graph *training) {
    struct arena *arena = &build->builder.graph.arena;
    training->variable_count = build->variable_count;
    training->norm_count = build->norm_count;
    training->variables = arena_array(arena, build->variable_count, sizeof(int));
    training->norms = arena_array(arena, build->norm_count, sizeof(struct training_norm));
    memcpy(training->variables, build->variables, build->variable_count * sizeof(int));
    if (build->norm_count) {
        memcpy(training->norms, build->norms, build->norm_count * sizeof *build->norms);
    }
    training->roles = build->roles; /* in the same arena */
    builder_take(&build->builder, &training->graph);
}

int training_graph_build(const struct graph *network, const struct training_options *options,
                         struct training_graph *ret_training, struct error *err) {
    struct training_graph training = {.correct = 0};
    struct build build = {
        .own_values = network->value_count, .options = options, .keys = -1, .share = -1};
    if (decompose(network, &training.decomposed, err) < 0) {
        return -1;
    }
    network = &training.decomposed;
    if (options->is_bfloat) {
        if (bfloat_graph(network, &training.rounded, err) < 0) {
            graph_release(&training.decomposed);
            return -1;
        }
        network = &training.rounded;
    }
    build.network = network;
    size_t values = network->value_count;
    build.makers = arena_array(&build.scratch, values, sizeof *build.makers);
    build.variables = arena_array(&build.scratch, values, sizeof *build.variables);
    build.norms = arena_array(&build.scratch, network->node_count, sizeof *build.norms);
    memset(build.makers, -1, values * sizeof *build.makers);
    for (size_t n = 0; n < network->node_count; n++) {
        for (int i = 0; i < network->nodes[n].output_count; i++) {
            if (network->nodes[n].outputs[i] >= 0) {
                build.makers[network->nodes[n].outputs[i]] = (int)n;
            }
        }
    }
    builder_init(&build.builder, network);
    int result = build_graph(&build, &training, err);
    if (result == 0) {
        move_lists(&build, &training);
        *ret_training = training;
    } else {
        training_graph_release(&training);
    }
    builder_release(&build.builder);
    arena_release(&build.scratch);
    return result;
}

void training_graph_release(struct training_graph *training) {
    graph_release(&training->graph);
    graph_release(&training->rounded);
    graph_release(&training->decomposed);
    *training = (struct training_graph){.correct = 0};
}

void training_graph_evaluation(const struct training_graph *training, struct graph *ret_graph) {
    struct builder builder;
    builder_init(&builder, &training->decomposed);
    for (size_t i = 0; i < training->variable_count; i++) {
        builder_make_input(&builder, training->variables[i]);
    }
    for (size_t i = 0; i < training->norm_count; i++) {
        builder_make_input(&builder, training->norms[i].mean);
        builder_make_input(&builder, training->norms[i].variance);
    }
    builder_take(&builder, ret_graph);
}
