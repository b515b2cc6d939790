// SPDX-License-Identifier: Apache-2.0
/* What exporters write for training, in the form of inference. Facts: PyTorch's
 * torch/onnx/symbolic_opset9.py and 14 (batch_norm), symbolic_opset12.py (dropout) and
 * utils.py (deduplicated initializers, folded norms). */
#include "agent/engine/training_graph.h"

#include "agent/engine/graph/builder.h"
#include "agent/engine/ops/table.h"
#include "agent/engine/ops/training/aliases.h"
#include "agent/engine/ops/training/frozen.h"
#include "agent/engine/ops/training/module_buffers.h"

#include <string.h>

struct pass {
    const struct graph *network;
    struct builder builder;
    struct forms forms;
    struct arena scratch;
    bool *read;  /* by value: a node reads it */
    bool *gone;  /* by value: made by an output that the form of inference does not have */
    int *copies; /* by value: the constant of which it is an Identity; -1: none */
};

static void find_reads(struct pass *pass) {
    const struct graph *network = pass->network;
    pass->read = arena_array(&pass->scratch, network->value_count, sizeof *pass->read);
    pass->gone = arena_array(&pass->scratch, network->value_count, sizeof *pass->gone);
    pass->copies = arena_array(&pass->scratch, network->value_count, sizeof *pass->copies);
    for (size_t i = 0; i < network->value_count; i++) {
        pass->copies[i] = network->values[i].is_constant ? (int)i : -1;
    }
    for (size_t n = 0; n < network->node_count; n++) {
        const struct node *node = &network->nodes[n];
        for (int i = 0; i < node->input_count; i++) {
            if (node->inputs[i] >= 0) {
                pass->read[node->inputs[i]] = true;
            }
        }
        bool is_copy = node->op->id == OP_IDENTITY || node->op->id == OP_CAST;
        if (is_copy && node->inputs[0] >= 0 && node->outputs[0] >= 0) {
            pass->copies[node->outputs[0]] = pass->copies[node->inputs[0]];
        }
    }
}

/* The node without these two attributes. */
static void drop_attributes(struct pass *pass, struct node *node, const char *a, const char *b) {
    struct attribute *kept =
        arena_array(&pass->builder.graph.arena, node->attribute_count + 1, sizeof *kept);
    size_t count = 0;
    for (size_t i = 0; i < node->attribute_count; i++) {
        const char *name = node->attributes[i].name;
        if (strcmp(name, a) != 0 && strcmp(name, b) != 0) {
            kept[count++] = node->attributes[i];
        }
    }
    node->attributes = kept;
    node->attribute_count = count;
}

/* Removes the outputs from `first` on, which no node may read. Returns the one that is read; -1:
 * none. */
static int drop_outputs(struct pass *pass, struct node *node, int first) {
    for (int i = first; i < node->output_count; i++) {
        int value = node->outputs[i];
        if (value >= 0 && pass->read[value]) {
            return value;
        }
        if (value >= 0) {
            pass->gone[value] = true;
        }
    }
    node->output_count = MIN(node->output_count, first);
    return -1;
}

/* ---- BatchNormalization --------------------------------------------------------------------- */

static int norm(struct pass *pass, const struct node *old, struct error *err) {
    struct node node = *old;
    bool is_old = node.opset < 7;
    if (frozen_norm(old)) {
        builder_append(&pass->builder, old);
        return 0;
    }
    int read = drop_outputs(pass, &node, 1);
    if (read >= 0) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "BatchNormalization node \"%.64s\": its output \"%.64s\" (statistics of a "
                         "batch) is read by another node, so rows would depend on their batch: "
                         "export the network with training=torch.onnx.TrainingMode.PRESERVE after "
                         "model.eval()",
                         node.name, pass->network->values[read].name);
    }
    drop_attributes(pass, &node, "training_mode", "is_test");
    if (is_old) {
        struct attribute *attributes = (struct attribute *)(uintptr_t)node.attributes;
        attributes[node.attribute_count++] =
            (struct attribute){.name = "is_test", .kind = ATTRIBUTE_INTEGER, .integer = 1};
    }
    pass->forms.norms++;
    builder_append(&pass->builder, &node);
    return 0;
}

/* ---- Dropout -------------------------------------------------------------------------------- */

/* The ratio as a constant of one float32, whatever it was; -1: it is computed. */
static int find_ratio(struct pass *pass, int value) {
    int source = pass->copies[value];
    if (source < 0 || shape_count(&pass->network->values[source].shape) != 1) {
        return -1;
    }
    const struct value *constant = &pass->network->values[source];
    if (source == value && constant->type == TENSOR_FLOAT32) {
        return value;
    }
    int made = builder_number(&pass->builder, (float)tensor_number(&constant->constant, 0));
    pass->builder.graph.values[made].is_literal = true;
    return made;
}

static const int *one(struct pass *pass, int value) {
    int *list = arena_array(&pass->builder.graph.arena, 1, sizeof *list);
    *list = value;
    return list;
}

/* An element of a ratio of 0 is never dropped: the mask is true everywhere. */
static void give_mask(struct pass *pass, const struct node *node) {
    static const uint8_t yes = 1;
    const struct builder_new_node shape = {.op = op_of_id(OP_SHAPE),
                                           .name = node->name,
                                           .opset = node->opset,
                                           .input_count = 1,
                                           .inputs = node->inputs,
                                           .output_count = 1};
    struct attribute *value = arena_array(&pass->builder.graph.arena, 1, sizeof *value);
    *value = (struct attribute){
        .name = "value",
        .kind = ATTRIBUTE_TENSOR,
        .tensor = {.type = TENSOR_BOOL, .shape = {1, {1}}, .data = (void *)(uintptr_t)&yes}};
    struct node mask = {.op = op_of_id(OP_CONSTANT_OF_SHAPE),
                        .name = node->name,
                        .opset = node->opset,
                        .input_count = 1,
                        .inputs = one(pass, builder_node(&pass->builder, &shape)),
                        .output_count = 1,
                        .outputs = one(pass, node->outputs[1]),
                        .attribute_count = 1,
                        .attributes = value};
    builder_append(&pass->builder, &mask);
}

static void dropout(struct pass *pass, const struct node *old) {
    struct node node = *old;
    bool has_mask = node.output_count > 1 && node.outputs[1] >= 0 && pass->read[node.outputs[1]];
    int ratio = node.input_count > 1 && node.inputs[1] >= 0 ? find_ratio(pass, node.inputs[1]) : -1;
    bool is_zero = ratio >= 0 ? tensor_number(&pass->builder.graph.values[ratio].constant, 0) == 0
                              : node.input_count < 2 && node_number(&node, "ratio", 0.5f) == 0;
    if (!has_mask) {
        (void)drop_outputs(pass, &node, 1);
    } else if (is_zero) {
        give_mask(pass, &node);
    }
    pass->forms.dropouts += node.input_count > 2 || is_zero;
    if (is_zero) {
        node.op = op_of_id(OP_IDENTITY);
        node.input_count = node.output_count = 1;
        node.attribute_count = 0;
        builder_append(&pass->builder, &node);
        return;
    }
    if (ratio >= 0) {
        int *inputs = arena_array(&pass->builder.graph.arena, 2, sizeof *inputs);
        inputs[0] = node.inputs[0];
        inputs[1] = ratio;
        node.inputs = inputs;
    }
    node.input_count = MIN(node.input_count, 2); /* without training_mode */
    builder_append(&pass->builder, &node);
}

/* ---- folded norms --------------------------------------------------------------------------- */

static bool ends_with(const char *name, const char *end) {
    size_t length = strlen(name), more = strlen(end);
    return length >= more && strcmp(name + length - more, end) == 0;
}

/* A bias that the module of the weight cannot have: PyTorch's exporter numbers both tensors when it
 * folds a norm into them, and onnxscript's names the bias after the convolution's input. */
static bool is_folded(const struct graph *network, const struct node *node) {
    bool is_conv = node->op->id == OP_CONV || node->op->id == OP_CONV_TRANSPOSE;
    if (!is_conv || node->input_count < 3 || node->inputs[2] < 0) {
        return false;
    }
    const struct value *weight = &network->values[node->inputs[1]];
    const struct value *bias = &network->values[node->inputs[2]];
    if (!weight->is_constant || !bias->is_constant || !weight->name || !bias->name) {
        return false;
    }
    bool is_numbered =
        strncmp(weight->name, "onnx::Conv", 10) == 0 && strncmp(bias->name, "onnx::Conv", 10) == 0;
    return is_numbered || (ends_with(weight->name, ".weight") && ends_with(bias->name, "_bias") &&
                           !ends_with(bias->name, ".bias"));
}

/* ---- the whole ------------------------------------------------------------------------------ */

static int visit(struct pass *pass, const struct node *node, struct error *err) {
    if (is_folded(pass->network, node)) {
        aliases_note(&pass->builder.graph.arena, &pass->forms.folded, node->name);
    }
    switch (node->op->id) {
    case OP_BATCH_NORMALIZATION:
        return norm(pass, node, err);
    case OP_DROPOUT:
        dropout(pass, node);
        return 0;
    default:
        builder_append(&pass->builder, node);
        return 0;
    }
}

static void drop_graph_outputs(struct pass *pass) {
    struct graph *graph = &pass->builder.graph;
    size_t count = 0;
    for (size_t i = 0; i < graph->output_count; i++) {
        int value = graph->outputs[i];
        bool is_gone = (size_t)value < pass->network->value_count && pass->gone[value];
        pass->forms.outputs += is_gone;
        if (!is_gone) {
            graph->outputs[count++] = value;
        }
    }
    graph->output_count = count;
}

int forms_normalize(const struct graph *from, struct graph *ret_graph, struct forms *ret_forms,
                    struct error *err) {
    struct graph own;
    struct pass pass = {.network = &own};
    aliases_resolve(from, &pass.forms, &own);
    frozen_mark(&own, &pass.forms.kept);
    module_buffers_note(&own, &pass.forms.buffers);
    find_reads(&pass);
    builder_init(&pass.builder, &own);
    builder_clear_nodes(&pass.builder);
    int result = 0;
    for (size_t n = 0; result == 0 && n < own.node_count; n++) {
        result = visit(&pass, &own.nodes[n], err);
    }
    drop_graph_outputs(&pass);
    if (result == 0) {
        builder_take(&pass.builder, ret_graph);
        arena_join(&ret_graph->arena, &own.arena);
        *ret_forms = pass.forms;
    }
    builder_release(&pass.builder);
    graph_release(&own);
    arena_release(&pass.scratch);
    return result;
}
