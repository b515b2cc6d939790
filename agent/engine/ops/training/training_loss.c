// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/training/training_loss.h"

#include "agent/engine/ops/infer/loss.h"
#include "agent/engine/ops/table.h"

bool training_graph_has_classes(enum training_loss loss) {
    return loss == TRAINING_CROSS_ENTROPY || loss == TRAINING_CTC;
}

static int add(struct builder *builder, enum op_id id, int a, int b,
               const struct attribute *attribute) {
    const int inputs[] = {a, b};
    const struct builder_new_node node = {.op = op_of_id(id),
                                          .name = "loss",
                                          .inputs = inputs,
                                          .input_count = b < 0 ? 1 : 2,
                                          .output_count = 1,
                                          .attribute_count = attribute != NULL,
                                          .attributes = attribute};
    return builder_node(builder, &node);
}

static int node(struct builder *builder, enum op_id id, int a, int b) {
    const struct attribute to = {.name = "to", .kind = ATTRIBUTE_INTEGER, .integer = 1};
    const struct attribute keeps = {.name = "keepdims", .kind = ATTRIBUTE_INTEGER, .integer = 0};
    return add(builder, id, a, b, id == OP_CAST ? &to : id == OP_REDUCE_SUM ? &keeps : NULL);
}

/* The node that reads output and target: it must not broadcast. */
static int add_same_shape(struct builder *builder, enum op_id id, int y, int target) {
    const struct attribute alike = {
        .name = ATTRIBUTE_ALIKE, .kind = ATTRIBUTE_INTEGER, .integer = 1};
    return add(builder, id, y, target, &alike);
}

/* q a - q^2 / 2, where a = |y - t| and q is the smaller one of a and 1. */
static int huber(struct builder *builder, int y, int target) {
    int difference = node(builder, OP_ABS, add_same_shape(builder, OP_SUB, y, target), -1);
    int near = node(builder, OP_MIN, difference, builder_number(builder, 1));
    int square =
        node(builder, OP_MUL, node(builder, OP_MUL, near, near), builder_number(builder, 0.5f));
    return node(builder, OP_SUB, node(builder, OP_MUL, near, difference), square);
}

/* log(1 + e^y) - t y, which no y lets overflow. */
static int binary(struct builder *builder, int y, int target) {
    return node(builder, OP_SUB, node(builder, OP_SOFTPLUS, y, -1),
                add_same_shape(builder, OP_MUL, y, target));
}

/* (y, target, scale) -> loss: the formula of a loss without an internal operator. */
static int add_formula(struct builder *builder, enum training_loss loss, const int *inputs) {
    int y = inputs[0], target = inputs[1], scale = inputs[2];
    int each = loss == TRAINING_HUBER ? huber(builder, y, target) : binary(builder, y, target);
    int sum = node(builder, OP_REDUCE_SUM, each, -1);
    int shape = node(builder, OP_SHAPE, y, -1);
    int samples = node(builder, OP_GATHER, shape, builder_integers(builder, (int64_t[]){0}, 1));
    samples = node(builder, OP_CAST, node(builder, OP_REDUCE_SUM, samples, -1), -1);
    int elements = node(builder, OP_CAST, node(builder, OP_SIZE, y, -1), -1);
    int share = node(builder, OP_DIV, node(builder, OP_MUL, samples, scale), elements);
    return node(builder, OP_MUL, sum, share);
}

/* The losses that are one internal operator: (y, target, scale) -> loss, dy[, correct]. */
static const struct own_loss {
    enum training_loss loss;
    enum op_id op;
    int outputs;
} own_losses[] = {{TRAINING_CROSS_ENTROPY, OP_SOFTMAX_CROSS_ENTROPY, 3},
                  {TRAINING_CTC, OP_CTC_LOSS, 3},
                  {TRAINING_MEAN_SQUARED, OP_MEAN_SQUARED, 2}};

static const struct own_loss *find_own_loss(enum training_loss loss) {
    for (size_t i = 0; i < ARRAY_LEN(own_losses); i++) {
        if (own_losses[i].loss == loss) {
            return &own_losses[i];
        }
    }
    return NULL;
}

struct loss_values training_loss_add(struct builder *builder,
                                     const struct training_options *options,
                                     const int inputs[static 3]) {
    const struct own_loss *own = find_own_loss(options->loss);
    struct attribute attributes[4];
    size_t count = 0;
    if (!own) {
        return (struct loss_values){add_formula(builder, options->loss, inputs), -1};
    }
    if (options->loss == TRAINING_CTC) {
        attributes[count++] = (struct attribute){
            .name = "blank", .kind = ATTRIBUTE_INTEGER, .integer = options->blank};
    }
    if (options->loss == TRAINING_CROSS_ENTROPY) {
        attributes[count++] = (struct attribute){
            .name = "smoothing", .kind = ATTRIBUTE_NUMBER, .number = options->smoothing};
    }
    if (options->loss == TRAINING_CROSS_ENTROPY && options->class_weight_count > 0) {
        attributes[count++] = (struct attribute){.name = "weights",
                                                 .kind = ATTRIBUTE_NUMBERS,
                                                 .count = options->class_weight_count,
                                                 .numbers = options->class_weights};
    }
    if (own->outputs == 3 && options->has_ignored) {
        attributes[count++] = (struct attribute){
            .name = "ignored", .kind = ATTRIBUTE_INTEGER, .integer = options->ignored};
    }
    const struct builder_new_node node = {.op = op_of_id(own->op),
                                          .name = "loss",
                                          .inputs = inputs,
                                          .input_count = 3,
                                          .output_count = own->outputs,
                                          .attribute_count = count,
                                          .attributes = attributes};
    int loss = builder_node(builder, &node);
    return (struct loss_values){loss, own->outputs == 3 ? loss + 2 : -1};
}

int training_loss_sum(struct builder *builder, int a, int b) {
    return node(builder, OP_ADD, a, b);
}
