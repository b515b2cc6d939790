// SPDX-License-Identifier: Apache-2.0
#include "agent/train/dataset/dataset.h"

#include "agent/data/input/fingerprint.h"
#include "agent/data/source/source.h"
#include "agent/train/dataset/files_seen.h"
#include "lib/digest.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct collecting {
    const struct source *source;
    json_t *files;
};

static int add_file(void *context, const char *name, struct error *err) {
    const struct collecting *collecting = context;
    AUTO(text_freep) char *path = x_printf("%s/%s", store_path(collecting->source->store), name);
    if (json_array_size(collecting->files) == DATASET_SHARDS_MAX) {
        return error_set(err, ERROR_INVALID, "%s: more than %d files",
                         store_path(collecting->source->store), DATASET_SHARDS_MAX);
    }
    json_array_append_new(collecting->files, json_string(path));
    return 0;
}

int dataset_files(const char *path, const char *pattern, struct strays *strays, json_t **ret_files,
                  struct error *err) {
    AUTO(source_release) struct source source = {0};
    struct collecting collecting = {&source, json_array()};
    int result = source_open(path, &source, err);
    if (result == 0 && source.file) {
        json_array_append_new(collecting.files, json_string(path));
    } else if (result == 0) {
        source.leave = strays_add_left_out;
        source.leave_context = strays;
        result = source_list(&source, pattern, NULL, add_file, &collecting, err);
    }
    if (result == 0 && json_array_size(collecting.files) == 0) {
        result = error_set(err, ERROR_INVALID, "%s: no file matches %s", path, pattern);
    }
    if (result < 0) {
        json_decref(collecting.files);
        return -1;
    }
    *ret_files = collecting.files;
    return 0;
}

uint32_t dataset_add_state(uint32_t state, const struct store *store,
                           const struct store_info *info) {
    char core[FINGERPRINT_CORE_MAX];
    fingerprint_make_core(info, store_features(store).is_local, core);
    return digest_crc32c(state, core, strlen(core) + 1);
}

int dataset_look(const struct dataset *dataset, uint32_t *ret_state, struct error *err) {
    if (dataset->ops->look) {
        return dataset->ops->look(dataset, ret_state, err);
    }
    *ret_state = dataset->state;
    return 0;
}

void dataset_see(struct dataset *dataset, const struct dataset_options *options,
                 const struct store *store, const struct store_info *info) {
    if (options->sees_files) {
        dataset->state = dataset_add_state(dataset->state, store, info);
    }
}

void dataset_close(struct dataset *dataset) {
    if (dataset) {
        dataset->ops->close(dataset);
    }
}

void dataset_closep(struct dataset **dataset) {
    dataset_close(TAKE(*dataset));
}

int dataset_find(const struct dataset *dataset, const char *input) {
    if (dataset->ops->find) {
        return dataset->ops->find(dataset, input);
    }
    if (dataset->name && strcmp(dataset->name, input) == 0) {
        return 0;
    }
    for (size_t i = 0; i < dataset->extra_count; i++) {
        if (!dataset->extras[i].is_target && strcmp(dataset->extras[i].name, input) == 0) {
            return 1 + (int)i;
        }
    }
    return -1;
}

int dataset_find_target(const struct dataset *dataset, const char *output) {
    if (dataset->target_name && strcmp(dataset->target_name, output) == 0) {
        return 0;
    }
    for (size_t i = 0; i < dataset->extra_count; i++) {
        if (dataset->extras[i].is_target && strcmp(dataset->extras[i].name, output) == 0) {
            return 1 + (int)i;
        }
    }
    return -1;
}

size_t dataset_input_extras(const struct dataset *dataset) {
    size_t count = 0;
    for (size_t i = 0; i < dataset->extra_count; i++) {
        count += !dataset->extras[i].is_target;
    }
    return count;
}

int64_t dataset_places(const struct dataset *dataset) {
    return shape_count(&dataset->places);
}

int64_t dataset_counted(const struct dataset *dataset, int64_t index) {
    return dataset->counted ? dataset->counted[index] : dataset_places(dataset);
}

/* The sum of x * 0 is 0, or NaN if an x is not finite; unlike a search it is vectorized: the pragma
 * allows another order of the sum. */
static bool are_finite(const float *values, int64_t count) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < count; i++) {
        sum += values[i] * 0;
    }
    return sum == 0;
}

void dataset_describe(const struct dataset *dataset, int64_t index,
                      char text[static DATASET_NAME_MAX]) {
    if (dataset->ops->describe) {
        dataset->ops->describe(dataset, index, text);
    } else {
        snprintf(text, DATASET_NAME_MAX, "sample %lld", (long long)index);
    }
}

static int check_numbers(const struct dataset *dataset, int64_t index, const char *what,
                         const float *values, int64_t count, struct error *err) {
    char name[DATASET_NAME_MAX];
    int64_t at = 0;
    if (are_finite(values, count)) {
        return 0;
    }
    while (isfinite(values[at])) {
        at++;
    }
    dataset_describe(dataset, index, name);
    return error_set(err, ERROR_INVALID,
                     "%s: %s %lld is %g; a finite float32 is expected: correct the data, or leave "
                     "such samples out with data.onBadSample: Skip",
                     name, what, (long long)at, (double)values[at]);
}

/* Beyond 0 to 1 the loss is less than 0, and has no minimum. */
static int check_shares(const struct dataset *dataset, int64_t index, const char *what,
                        const float *values, int64_t count, struct error *err) {
    char name[DATASET_NAME_MAX];
    int64_t at = 0;
    while (at < count && values[at] >= 0 && values[at] <= 1) {
        at++;
    }
    if (at == count) {
        return 0;
    }
    dataset_describe(dataset, index, name);
    return error_set(err, ERROR_INVALID,
                     "%s: %s %lld is %g; BinaryCrossEntropy takes numbers from 0 to 1: correct the "
                     "data, take another loss, or leave such samples out with data.onBadSample: "
                     "Skip",
                     name, what, (long long)at, (double)values[at]);
}

int dataset_read(struct dataset *dataset, int64_t index, struct sample *sample, struct error *err) {
    assert(index >= 0 && index < dataset->count);
    if (dataset->ops->read(dataset, index, sample, err) < 0) {
        return -1;
    }
    if (dataset->type == TENSOR_FLOAT32 && !dataset->takes_any_number &&
        check_numbers(dataset, index, "element", sample->data, shape_count(&sample->shape), err) <
            0) {
        return -1;
    }
    for (size_t i = 0; i < dataset->extra_count; i++) {
        const struct dataset_tensor *extra = &dataset->extras[i];
        char what[80];
        snprintf(what, sizeof what, "%s \"%.40s\", element",
                 extra->is_target ? "target of output" : "input", extra->name);
        if (extra->type != TENSOR_FLOAT32 || (dataset->takes_any_number && !extra->is_share)) {
            continue;
        }
        int64_t size = shape_count(&extra->shape);
        if ((extra->is_share
                 ? check_shares(dataset, index, what, sample->extras[i], size, err)
                 : check_numbers(dataset, index, what, sample->extras[i], size, err)) < 0) {
            return -1;
        }
    }
    int64_t count = dataset->target_count;
    return dataset->has_shares
               ? check_shares(dataset, index, "target", sample->target, count, err)
               : check_numbers(dataset, index, "target", sample->target, count, err);
}
