// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/training/exporter_constant.h"

#include "agent/engine/ops/table.h"

#include <string.h>

static const char folded[] = "onnx::";

bool exporter_constant_is_folded(const char *name) {
    return strncmp(name, folded, strlen(folded)) == 0;
}

bool exporter_constant_has_name(const char *name) {
    static const char *const begins[] = {"/", "_", "val_", "const", "Const", folded};
    for (size_t i = 0; i < ARRAY_LEN(begins); i++) {
        if (strncmp(name, begins[i], strlen(begins[i])) == 0) {
            return true;
        }
    }
    return strchr(name, ':') || strchr(name, '/');
}

static bool is_one_number(const struct value *value) {
    const float *numbers = value->constant.data;
    for (int64_t i = 1; i < shape_count(&value->shape); i++) {
        if (numbers[i] != numbers[0]) {
            return false;
        }
    }
    return true;
}

bool exporter_constant_fills_norm(const struct graph *network, const struct node *node, int input) {
    int id = node->op->id;
    bool is_norm = id == OP_BATCH_NORMALIZATION || id == OP_GROUP_NORMALIZATION ||
                   id == OP_INSTANCE_NORMALIZATION || id == OP_LAYER_NORMALIZATION;
    int index = is_norm && (input == 1 || input == 2) ? node->inputs[input] : -1;
    const struct value *value = index < 0 ? NULL : &network->values[index];
    return value && value->is_constant && value->type == TENSOR_FLOAT32 && value->name &&
           exporter_constant_has_name(value->name) && is_one_number(value);
}
