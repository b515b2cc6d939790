// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/types.h"

#include "agent/engine/ops/infer/params.h"
#include "agent/engine/ops/ml/ml.h"
#include "agent/engine/ops/table.h"

/* The type is given by an attribute with ONNX's number of it. */
static int named(const struct node *node, const char *name, enum tensor_type fallback,
                 enum tensor_type *ret_type, struct error *err) {
    *ret_type = fallback;
    return node_attribute(node, name) ? param_type(node_integer(node, name, 0), ret_type, err) : 0;
}

static enum tensor_type type_of_value(const struct node *node) {
    const struct attribute *value = node_attribute(node, "value");
    return value ? value->tensor.type : TENSOR_FLOAT32;
}

/* The type of the zero point; without one that of the attribute of opset 21. */
static int type_of_quantized(const struct node *node, const enum tensor_type *inputs,
                             enum tensor_type *ret_type, struct error *err) {
    bool has_zero = node->input_count > 2 && node->inputs[2] >= 0;
    int64_t said = node_integer(node, "output_dtype", 0);
    *ret_type = has_zero ? inputs[2] : TENSOR_UINT8;
    return said ? param_type(said, ret_type, err) : 0;
}

/* For com.microsoft: the type of the result's zero point; without one that of input 0. */
static enum tensor_type type_of_zero(const struct node *node, const enum tensor_type *inputs,
                                     int index) {
    return node->input_count > index && node->inputs[index] >= 0 ? inputs[index] : inputs[0];
}

static int type_of_microsoft(const struct node *node, const enum tensor_type *inputs,
                             enum tensor_type *ret_type, struct error *err) {
    bool is_quantized = node->input_count > 7 && node->inputs[7] >= 0;
    switch (node->op->id) {
    case OP_MS_QATTENTION:              /* of the bias */
    case OP_MS_MATMUL_INTEGER_TO_FLOAT: /* of a scale */
        *ret_type = inputs[2];
        return 0;
    case OP_MS_DEQUANTIZE_LINEAR:
    case OP_MS_QLINEAR_CONCAT: /* of the result's zero point */
        *ret_type = inputs[1];
        return 0;
    case OP_MS_QLINEAR_WHERE:
        *ret_type = inputs[8];
        return 0;
    case OP_MS_QGEMM:
        *ret_type = is_quantized ? type_of_zero(node, inputs, 8) : TENSOR_FLOAT32;
        return 0;
    case OP_MS_QLINEAR_ADD:
    case OP_MS_QLINEAR_MUL:
        *ret_type = type_of_zero(node, inputs, 7);
        return 0;
    case OP_MS_QLINEAR_AVERAGE_POOL:
    case OP_MS_QLINEAR_GLOBAL_AVERAGE_POOL:
    case OP_MS_QLINEAR_LEAKY_RELU:
    case OP_MS_QLINEAR_SIGMOID:
    case OP_MS_QLINEAR_SOFTMAX:
        *ret_type = type_of_zero(node, inputs, 4);
        return 0;
    case OP_MS_QUANTIZE_LINEAR:
        return type_of_quantized(node, inputs, ret_type, err);
    default:
        return 0;
    }
}

/* For ai.onnx.ml. */
static enum tensor_type type_of_ml(const struct node *node, enum tensor_type first, int output) {
    switch (node->op->id) {
    case OP_ML_LINEAR_CLASSIFIER:
    case OP_ML_SVM_CLASSIFIER:
    case OP_ML_TREE_ENSEMBLE_CLASSIFIER:
        return output ? TENSOR_FLOAT32 : TENSOR_INT64;
    case OP_ML_LABEL_ENCODER:
        return ml_label_type(node);
    case OP_ML_ARRAY_FEATURE_EXTRACTOR:
    case OP_ML_BINARIZER:
    case OP_ML_IMPUTER:
    case OP_IDENTITY: /* ZipMap */
        return first;
    default:
        return TENSOR_FLOAT32;
    }
}

/* Of operators whose outputs, or those behind the first, have one type whatever the inputs have. */
static enum tensor_type fixed_type(enum op_id id, int output, enum tensor_type first) {
    switch (id) {
    case OP_AND:
    case OP_EQUAL:
    case OP_GREATER:
    case OP_GREATER_OR_EQUAL:
    case OP_IS_INF:
    case OP_IS_NAN:
    case OP_LESS:
    case OP_LESS_OR_EQUAL:
    case OP_NOT:
    case OP_OR:
    case OP_XOR:
        return TENSOR_BOOL;
    case OP_ARG_MAX:
    case OP_ARG_MIN:
    case OP_SHAPE:
    case OP_SIZE:
        return TENSOR_INT64;
    case OP_DROPOUT:
        return output ? TENSOR_BOOL : first;
    case OP_LAYER_NORMALIZATION:
        return output ? TENSOR_FLOAT32 : first;
    case OP_MAX_POOL:
    case OP_MAX_POOL_INDICES:
    case OP_TOP_K:
        return output ? TENSOR_INT64 : first;
    default:
        return first;
    }
}

int types_output(const struct node *node, const enum tensor_type *inputs, int output,
                 enum tensor_type *ret_type, struct error *err) {
    enum tensor_type first = node->input_count ? inputs[0] : TENSOR_FLOAT32;
    *ret_type = first;
    if (node->op->flags & OP_ML) {
        *ret_type = type_of_ml(node, first, output);
        return 0;
    }
    if (node->op->flags & OP_MICROSOFT) {
        return type_of_microsoft(node, inputs, ret_type, err);
    }
    switch (node->op->id) {
    case OP_CAST:
        return named(node, "to", TENSOR_FLOAT32, ret_type, err);
    case OP_BLACKMAN_WINDOW:
    case OP_HAMMING_WINDOW:
    case OP_HANN_WINDOW:
    case OP_MEL_WEIGHTS:
        return named(node, "output_datatype", TENSOR_FLOAT32, ret_type, err);
    case OP_EYE_LIKE:
        return named(node, "dtype", first, ret_type, err);
    case OP_CONSTANT_OF_SHAPE:
        *ret_type = type_of_value(node);
        return 0;
    case OP_CAST_LIKE:
    case OP_WHERE:
        *ret_type = inputs[1];
        return 0;
    case OP_DEQUANTIZE_LINEAR: /* from opset 19 on the type of the scale */
        *ret_type = node->opset < 19 ? TENSOR_FLOAT32 : inputs[1];
        return 0;
    case OP_QUANTIZE_LINEAR:
        return type_of_quantized(node, inputs, ret_type, err);
    case OP_ONE_HOT:
        *ret_type = inputs[2];
        return 0;
    default:
        *ret_type = fixed_type(node->op->id, output, first);
        return 0;
    }
}
