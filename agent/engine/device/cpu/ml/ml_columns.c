// SPDX-License-Identifier: Apache-2.0
/* Preprocessing of the columns of a table. */
#include "agent/engine/device/cpu/ml/ml.h"

#include "agent/engine/ops/infer/params.h"

#include <math.h>
#include <string.h>

static int64_t columns_of(const struct tensor *tensor) {
    return tensor->shape.rank ? tensor->shape.dims[tensor->shape.rank - 1] : 1;
}

/* Float64 is scaled in float64 and rounded at the end, other types in float32. */
static int scaler_run(const struct call *call, struct error *err UNUSED) {
    const struct tensor *x = call->inputs[0];
    float *y = call->outputs[0]->data;
    int64_t count = shape_count(&x->shape), columns = columns_of(x);
    size_t offsets, scales;
    const float *offset = ml_numbers(call->node, "offset", &offsets);
    const float *scale = ml_numbers(call->node, "scale", &scales);
    for (int64_t i = 0; i < count; i++) {
        int64_t column = i % columns;
        float minus = offset ? offset[offsets == 1 ? 0 : column] : 0;
        float times = scale ? scale[scales == 1 ? 0 : column] : 1;
        double value;
        cpu_ml_read(x, i, 1, &value);
        y[i] = x->type == TENSOR_FLOAT64 ? (float)((value - (double)minus) * (double)times)
                                         : ((float)value - minus) * times;
    }
    return 0;
}
const struct kernel reference_ml_scaler = {"reference ml_scaler", scaler_run};

/* Divides a row by its largest value, by the sum of absolute values, or by the root of the sum of
 * squares; if that is 0, the row is not changed. */
static int normalizer_run(const struct call *call, struct error *err UNUSED) {
    const struct tensor *x = call->inputs[0];
    const char *norm = node_text(call->node, "norm", "MAX");
    int64_t columns = columns_of(x), count = shape_count(&x->shape);
    for (int64_t first = 0; first < count; first += columns) {
        double size = *norm == 'M' ? -INFINITY : 0, value;
        for (int64_t i = first; i < first + columns; i++) {
            cpu_ml_read(x, i, 1, &value);
            size = *norm == 'M'              ? fmax(size, value)
                   : strcmp(norm, "L1") == 0 ? size + fabs(value)
                                             : size + value * value;
        }
        size = strcmp(norm, "L2") == 0 ? sqrt(size) : size;
        for (int64_t i = first; i < first + columns; i++) {
            cpu_ml_read(x, i, 1, &value);
            ((float *)call->outputs[0]->data)[i] = (float)(size == 0 ? value : value / size);
        }
    }
    return 0;
}
const struct kernel reference_ml_normalizer = {"reference ml_normalizer", normalizer_run};

static int binarizer_run(const struct call *call, struct error *err UNUSED) {
    const struct tensor *x = call->inputs[0];
    int64_t count = shape_count(&x->shape);
    double threshold = (double)node_number(call->node, "threshold", 0);
    for (int64_t i = 0; i < count; i++) {
        tensor_put_number(call->outputs[0], i, tensor_number(x, i) > threshold);
    }
    return 0;
}
const struct kernel reference_ml_binarizer = {"reference ml_binarizer", binarizer_run};

/* NaN equals NaN here. */
static int imputer_run(const struct call *call, struct error *err UNUSED) {
    const struct tensor *x = call->inputs[0];
    int64_t count = shape_count(&x->shape), columns = columns_of(x);
    bool is_real = tensor_type_is_real(x->type);
    size_t values;
    const float *floats = ml_numbers(call->node, "imputed_value_floats", &values);
    const int64_t *integers =
        is_real ? NULL : node_integers(call->node, "imputed_value_int64s", &values);
    float missing = node_number(call->node, "replaced_value_float", 0);
    int64_t missing_integer = node_integer(call->node, "replaced_value_int64", 0);
    memcpy(call->outputs[0]->data, x->data, (size_t)count * tensor_type_size(x->type));
    for (int64_t i = 0; i < count; i++) {
        size_t at = values == 1 ? 0 : (size_t)(i % columns);
        if (!is_real && (int64_t)tensor_whole(x, i) == missing_integer) {
            tensor_put_whole(call->outputs[0], i, (uint64_t)integers[at]);
        } else if (is_real) {
            double value = tensor_number(x, i);
            if (value == (double)missing || (isnan(value) && isnan(missing))) {
                tensor_put_number(call->outputs[0], i, (double)floats[at]);
            }
        }
    }
    return 0;
}
const struct kernel reference_ml_imputer = {"reference ml_imputer", imputer_run};

/* The index of the first key that equals the value; -1: none. */
static int64_t find_key(const struct node *node, const struct tensor *x, int64_t index) {
    size_t floats, integers;
    const float *numbers = ml_numbers(node, "keys_floats", &floats);
    const int64_t *wholes = node_integers(node, "keys_int64s", &integers);
    double value = tensor_number(x, index);
    for (size_t i = 0; i < floats + integers; i++) {
        bool is_it = numbers ? (double)numbers[i] == value || (isnan(numbers[i]) && isnan(value))
                             : (uint64_t)wholes[i] == tensor_whole(x, index);
        if (is_it) {
            return (int64_t)i;
        }
    }
    return -1;
}

static int label_encoder_run(const struct call *call, struct error *err UNUSED) {
    const struct node *node = call->node;
    int64_t count = shape_count(&call->inputs[0]->shape);
    size_t floats, integers;
    const float *numbers = ml_numbers(node, "values_floats", &floats);
    const int64_t *wholes = node_integers(node, "values_int64s", &integers);
    for (int64_t i = 0; i < count; i++) {
        int64_t at = find_key(node, call->inputs[0], i);
        if (numbers) {
            ((float *)call->outputs[0]->data)[i] =
                at < 0 ? node_number(node, "default_float", -0.0f) : numbers[at];
        } else {
            ((int64_t *)call->outputs[0]->data)[i] =
                at < 0 ? node_integer(node, "default_int64", -1) : wholes[at];
        }
    }
    return 0;
}
const struct kernel reference_ml_label_encoder = {"reference ml_label_encoder", label_encoder_run};

static int one_hot_run(const struct call *call, struct error *err) {
    const struct tensor *x = call->inputs[0];
    float *y = call->outputs[0]->data;
    int64_t count = shape_count(&x->shape);
    size_t categories;
    const int64_t *category = node_integers(call->node, "cats_int64s", &categories);
    bool takes_others = node_integer(call->node, "zeros", 1);
    for (int64_t i = 0; i < count; i++, y += categories) {
        double value = trunc(tensor_number(x, i)); /* floats are truncated */
        bool found = false;
        for (size_t k = 0; k < categories; k++) {
            bool is_it = tensor_type_is_real(x->type) ? value == (double)category[k]
                                                      : tensor_whole(x, i) == (uint64_t)category[k];
            y[k] = is_it && !found;
            found = found || is_it;
        }
        if (!found && !takes_others) {
            bool is_string = node_attribute(call->node, "cats_strings") != NULL;
            return is_string
                       ? error_set(err, ERROR_INVALID,
                                   "a text is not among the node's categories (cats_strings)")
                       : error_set(err, ERROR_INVALID,
                                   "%g is not among the node's categories (cats_int64s)", value);
        }
    }
    return 0;
}
const struct kernel reference_ml_one_hot = {"reference ml_one_hot", one_hot_run};

/* Concatenates the inputs, each truncated or filled with zeros to its size. */
static int vectorizer_run(const struct call *call, struct error *err UNUSED) {
    const struct tensor *y = call->outputs[0];
    size_t count;
    const int64_t *sizes = node_integers(call->node, "inputdimensions", &count);
    int64_t rows = y->shape.dims[0], total = y->shape.dims[1], at = 0;
    memset(y->data, 0, (size_t)(rows * total) * sizeof(float));
    for (size_t n = 0; n < count; n++) {
        const struct tensor *x = call->inputs[n];
        int64_t columns = columns_of(x);
        for (int64_t i = 0; i < rows; i++) {
            for (int64_t k = 0; k < MIN(columns, sizes[n]); k++) {
                double value;
                cpu_ml_read(x, i * columns + k, 1, &value);
                ((float *)y->data)[i * total + at + k] = (float)value;
            }
        }
        at += sizes[n];
    }
    return 0;
}
const struct kernel reference_ml_vectorizer = {"reference ml_vectorizer", vectorizer_run};

static int extractor_run(const struct call *call, struct error *err) {
    const struct tensor *x = call->inputs[0];
    const int64_t *indices = call->inputs[1]->data;
    int64_t columns = columns_of(x), wanted = shape_count(&call->inputs[1]->shape);
    int64_t count = shape_count(&x->shape);
    size_t size = tensor_type_size(x->type);
    char *to = call->outputs[0]->data;
    for (int64_t k = 0; k < wanted; k++) {
        if (indices[k] < 0 || indices[k] >= columns) {
            return error_set(err, ERROR_INVALID, "column %lld does not exist, the input has %lld",
                             (long long)indices[k], (long long)columns);
        }
    }
    for (int64_t first = 0; first < count; first += columns) {
        for (int64_t k = 0; k < wanted; k++, to += size) {
            memcpy(to, (const char *)x->data + (size_t)(first + indices[k]) * size, size);
        }
    }
    return 0;
}
const struct kernel reference_ml_extractor = {"reference ml_extractor", extractor_run};
