// SPDX-License-Identifier: Apache-2.0
/* Embedding: a vector for each item: {"file": name, "embedding": [0.12, ...]}. The output [n, d,
 * ...1] is the vector; of [n, tokens, d] the vectors of the item's tokens, without padding, become
 * one by `pooling`, as Reimers and Gurevych, "Sentence-BERT", 2019, section 3, name the ways. An
 * item that is not a text has no padding. */
#include "agent/score/post/one_axis.h"
#include "agent/score/post/post_kind.h"
#include "agent/score/post/row_text.h"
#include "lib/number/half.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIELD "scorer.onnx.postprocess."

enum pooling { POOL_BY_SHAPE, POOL_MEAN, POOL_CLS, POOL_MAX, POOL_LAST, POOL_NONE, POOL_COUNT };
static const char *const poolings[] = {"", "Mean", "CLS", "Max", "Last", "None"};
_Static_assert(ARRAY_LEN(poolings) == POOL_COUNT, "a name for each");

enum vector_type { VECTOR_FLOAT32, VECTOR_FLOAT16, VECTOR_INT8, VECTOR_TYPE_COUNT };
static const char *const vector_types[] = {"float32", "float16", "int8"};
_Static_assert(ARRAY_LEN(vector_types) == VECTOR_TYPE_COUNT, "a name for each");

struct post_state {
    enum pooling pooling;
    bool normalizes;
    enum vector_type type;
};

static int embedding_open(const json_t *spec, struct post_state **ret_state,
                          struct error *err UNUSED) {
    struct post_state *state = x_calloc(1, sizeof *state);
    *state = (struct post_state){
        .pooling = (enum pooling)tree_choice(spec, FIELD "pooling", poolings, POOL_COUNT),
        .normalizes = tree_bool(spec, FIELD "normalize", false),
        .type =
            (enum vector_type)tree_choice(spec, FIELD "dtype", vector_types, VECTOR_TYPE_COUNT)};
    *ret_state = state;
    return 0;
}

static void embedding_free(struct post_state *state) {
    free(state);
}

/* One vector for each item; [n, 1, d] is that of a single token. */
static bool is_vector(const struct post_state *state, const struct shape *shape) {
    bool is_token = shape->rank == 3 && shape->dims[1] == 1 && shape->dims[2] > 1;
    return state->pooling == POOL_BY_SHAPE && shape->rank >= 2 && !is_token &&
           one_axis_size(shape) >= 1;
}

static bool embedding_fits(const struct post_state *state, const struct tensor *output,
                           int64_t items) {
    const struct shape *shape = &output->shape;
    bool is_tokens = shape->rank == 3 && shape->dims[1] >= 1 && shape->dims[2] >= 1;
    return (output->type == TENSOR_FLOAT32 || output->type == TENSOR_FLOAT16) && shape->rank > 0 &&
           shape->dims[0] == items && (is_vector(state, shape) || is_tokens);
}

/* Widens `count` elements from `first` to floats; borrowed if they are some already. */
static const float *read_floats(const struct tensor *output, int64_t first, int64_t count,
                                float **ret_owned) {
    if (output->type == TENSOR_FLOAT32) {
        return (const float *)output->data + first;
    }
    float *values = *ret_owned = x_calloc((size_t)count, sizeof *values);
    for (int64_t i = 0; i < count; i++) {
        values[i] = (float)tensor_number(output, first + i);
    }
    return values;
}

/* ---- pooling -------------------------------------------------------------------------------- */

static void pool_mean(const float *tokens, int64_t count, int64_t size, float *vector) {
    double *sums = x_calloc((size_t)size, sizeof *sums);
    for (int64_t t = 0; t < count; t++) {
        for (int64_t i = 0; i < size; i++) {
            sums[i] += (double)tokens[t * size + i];
        }
    }
    for (int64_t i = 0; i < size; i++) {
        vector[i] = (float)(sums[i] / (double)count);
    }
    free(sums);
}

/* NaN stays NaN. */
static void pool_max(const float *tokens, int64_t count, int64_t size, float *vector) {
    memcpy(vector, tokens, (size_t)size * sizeof *vector);
    for (int64_t t = 1; t < count; t++) {
        for (int64_t i = 0; i < size; i++) {
            float value = tokens[t * size + i];
            vector[i] = vector[i] >= value || isnan(vector[i]) ? vector[i] : value;
        }
    }
}

/* tokens: [count, size], at least one. */
static void pool(enum pooling pooling, const float *tokens, int64_t count, int64_t size,
                 float *vector) {
    if (pooling == POOL_MAX) {
        pool_max(tokens, count, size, vector);
    } else if (pooling == POOL_CLS || pooling == POOL_LAST) {
        const float *token = pooling == POOL_LAST ? tokens + (count - 1) * size : tokens;
        memcpy(vector, token, (size_t)size * sizeof *vector);
    } else {
        pool_mean(tokens, count, size, vector);
    }
}

/* ---- the vector ----------------------------------------------------------------------------- */

/* Divides by the length; zeros stay. */
static void normalize(float *vector, int64_t size) {
    double sum = 0;
    for (int64_t i = 0; i < size; i++) {
        sum += (double)vector[i] * (double)vector[i];
    }
    for (int64_t i = 0; i < size && sum > 0; i++) {
        vector[i] = (float)((double)vector[i] / sqrt(sum));
    }
}

/* Rounds to the type. int8: a normalized vector's 1 is 127. */
static void round_values(enum vector_type type, float *vector, int64_t size) {
    for (int64_t i = 0; i < size && type != VECTOR_FLOAT32; i++) {
        vector[i] = type == VECTOR_FLOAT16 ? half_to_float(half_from_double((double)vector[i]))
                                           : rintf(MIN(MAX(vector[i], -1), 1) * 127);
    }
}

static int check_finite(const float *vector, int64_t size, struct error *err) {
    for (int64_t i = 0; i < size; i++) {
        if (!isfinite(vector[i])) {
            return error_set(err, ERROR_FAILED, "value %lld of the vector is not a finite number",
                             (long long)i);
        }
    }
    return 0;
}

static int add_bytes(struct row_text *row, const float *vector, int64_t size, struct error *err) {
    int8_t *bytes = x_malloc((size_t)size);
    for (int64_t i = 0; i < size; i++) {
        bytes[i] = (int8_t)vector[i];
    }
    const struct tensor tensor = {TENSOR_INT8, {1, {size}}, bytes, false};
    int result = row_text_values(row, &tensor, 0, &tensor.shape, err);
    free(bytes);
    return result;
}

static int add_vector(const struct post_state *state, float *vector, int64_t size,
                      struct row_text *row, struct error *err) {
    if (check_finite(vector, size, err) < 0) {
        return -1;
    }
    if (state->normalizes) {
        normalize(vector, size);
    }
    round_values(state->type, vector, size);
    if (check_finite(vector, size, err) < 0) {
        return error_context(err, "dtype float16 is too small");
    }
    return state->type == VECTOR_INT8 ? add_bytes(row, vector, size, err)
                                      : row_text_floats(row, vector, size, err);
}

/* pooling: None of [tokens, d]: a vector for each token. */
static int add_each(const struct post_state *state, const float *tokens, int64_t count,
                    int64_t size, struct row_text *row, struct error *err) {
    float *vector = x_calloc((size_t)size, sizeof *vector);
    int result = row_text_add(row, "[", err);
    for (int64_t t = 0; t < count && result == 0; t++) {
        memcpy(vector, tokens + t * size, (size_t)size * sizeof *vector);
        result = t > 0 ? row_text_add(row, ",", err) : 0;
        result = result < 0 ? -1 : add_vector(state, vector, size, row, err);
    }
    free(vector);
    return result < 0 ? -1 : row_text_add(row, "]", err);
}

static int add_pooled(const struct post_state *state, const float *tokens, int64_t count,
                      int64_t size, struct row_text *row, struct error *err) {
    float *vector = x_calloc((size_t)size, sizeof *vector);
    pool(state->pooling, tokens, count, size, vector);
    int result = add_vector(state, vector, size, row, err);
    free(vector);
    return result;
}

/* The item's own tokens of the output's `all`. */
static int find_tokens(const struct post_item *item, int64_t all, int64_t *ret_first,
                       int64_t *ret_count, struct error *err) {
    *ret_count = item->tokens > 0 ? item->tokens : all;
    if (*ret_count > all) {
        return error_set(err, ERROR_FAILED, "has %lld vectors for %lld tokens", (long long)all,
                         (long long)*ret_count);
    }
    *ret_first = item->tokens_are_last ? all - *ret_count : 0;
    return 0;
}

static int add_embedding(const struct post_state *state, const struct tensor *output, int64_t index,
                         const struct post_item *item, struct row_text *row, struct error *err) {
    const int64_t *dims = output->shape.dims;
    bool has_tokens = !is_vector(state, &output->shape);
    int64_t all = has_tokens ? dims[1] : 1,
            size = has_tokens ? dims[2] : one_axis_size(&output->shape);
    int64_t first = 0, count = 1;
    float *owned = NULL;
    if (has_tokens && find_tokens(item, all, &first, &count, err) < 0) {
        return -1;
    }
    const float *tokens = read_floats(output, (index * all + first) * size, count * size, &owned);
    int result = state->pooling == POOL_NONE ? add_each(state, tokens, count, size, row, err)
                                             : add_pooled(state, tokens, count, size, row, err);
    free(owned);
    return result;
}

static int embedding_result(const struct post_state *state, const struct post_outputs *outputs,
                            int64_t index, const struct post_item *item,
                            struct post_result *ret_result, struct error *err) {
    AUTO(row_text_release) struct row_text row;
    if (row_text_begin(&row, item->name, err) < 0 || row_text_key(&row, "embedding", err) < 0) {
        return -1;
    }
    if (add_embedding(state, outputs->tensors[0], index, item, &row, err) < 0) {
        return error_context(err, "output \"%.64s\"", outputs->names[0]);
    }
    return row_text_end(&row, ret_result, err);
}

/* As transformers and sentence-transformers name their outputs, the best first. */
static const char *const known[] = {"sentence_embedding", "token_embeddings", "last_hidden_state",
                                    "pooler_output", NULL};

const struct post_kind post_embedding = {
    .name = "Embedding",
    .needs = "float32 or float16 [n, d] (without pooling) or [n, tokens, d]",
    .known = known,
    .open = embedding_open,
    .free = embedding_free,
    .fits = embedding_fits,
    .result = embedding_result,
};
