// SPDX-License-Identifier: Apache-2.0
/* Pairs of .npy files. A file whose values fit into the memory limit is read once, in ranges;
 * labels are always in memory, because the number of classes depends on them. */
#include "agent/train/dataset/dataset.h"

#include "agent/data/array/npy.h"
#include "agent/store/stored_file.h"
#include "agent/train/dataset/fields.h"
#include "lib/digest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct column {
    struct stored_file file;
    char *path;
    struct npy npy;
    struct store_info info;
    void *values; /* as npy_read returns them; NULL: not held in memory */
};

struct shard {
    struct column samples, targets;
    int64_t first, count;
    int64_t *labels; /* [count]; NULL: targets are numbers */
};

struct tensors_set {
    struct dataset base;
    size_t shard_count;
    struct shard *shards;
    int64_t memory_bytes;
};

static void column_release(struct column *column) {
    stored_file_release(&column->file);
    free(column->path);
    free(column->values);
}

static void tensors_close(struct dataset *dataset) {
    struct tensors_set *set = (struct tensors_set *)dataset;
    for (size_t i = 0; i < set->shard_count; i++) {
        column_release(&set->shards[i].samples);
        column_release(&set->shards[i].targets);
        free(set->shards[i].labels);
    }
    free(set->shards);
    free(set);
}

static int column_open(const char *path, struct column *column, struct error *err) {
    column->path = x_strdup(path);
    return stored_file_open(path, &column->file, err) < 0 ||
                   npy_open(column->file.store, column->file.name, &column->npy, &column->info,
                            err) < 0
               ? -1
               : 0;
}

static size_t slice_bytes(const struct column *column) {
    return (size_t)npy_slice_values(&column->npy) * npy_value_bytes(column->npy.type);
}

static struct npy_object object_of(const struct column *column) {
    return (struct npy_object){column->file.store, column->file.name, &column->npy,
                               column->info.token};
}

/* Reads all values, in as many parts as npy_read requires. */
static int column_hold(struct column *column, struct error *err) {
    size_t bytes = slice_bytes(column);
    int64_t count = column->npy.dims[0], at_once = NPY_SLICES_BYTES / (int64_t)bytes;
    column->values = x_malloc((size_t)count * bytes);
    for (int64_t first = 0; first < count; first += at_once) {
        struct npy_range range = {first, MIN(at_once, count - first)};
        const struct npy_object object = object_of(column);
        void *values = NULL;
        if (npy_read(&object, range, &values, err) < 0) {
            return -1;
        }
        memcpy((char *)column->values + (size_t)first * bytes, values, (size_t)range.count * bytes);
        free(values);
    }
    return 0;
}

static int hold_if_small(struct tensors_set *set, struct column *column, struct error *err) {
    int64_t bytes = (int64_t)slice_bytes(column);
    if (column->npy.dims[0] > set->memory_bytes / bytes) {
        return 0;
    }
    set->memory_bytes -= column->npy.dims[0] * bytes;
    return column_hold(column, err);
}

static int64_t integer_at(enum npy_type type, const void *values, int64_t i) {
    switch (type) {
    case NPY_INT8:
        return ((const int8_t *)values)[i];
    case NPY_UINT8:
    case NPY_BOOL:
        return ((const uint8_t *)values)[i];
    case NPY_INT16:
    case NPY_INT32:
        return ((const int32_t *)values)[i];
    default:
        return ((const int64_t *)values)[i];
    }
}

static int read_labels(struct tensors_set *set, struct shard *shard, struct error *err) {
    struct column *targets = &shard->targets;
    if (targets->npy.rank != 1) {
        return error_set(err, ERROR_INVALID, "%s: integers have %d axes, labels have one",
                         targets->path, targets->npy.rank);
    }
    if (column_hold(targets, err) < 0) {
        return -1;
    }
    shard->labels = x_calloc((size_t)shard->count, sizeof *shard->labels);
    for (int64_t i = 0; i < shard->count; i++) {
        int64_t label = integer_at(targets->npy.type, targets->values, i);
        if (label < 0 || label >= DATASET_CLASSES_MAX) {
            return error_set(err, ERROR_INVALID, "%s: label %lld of sample %lld is not a class",
                             targets->path, (long long)label, (long long)i);
        }
        shard->labels[i] = label;
        set->base.classes = MAX(set->base.classes, label + 1);
    }
    free(TAKE(targets->values));
    return 0;
}

/* Checks that every shard has the type and shape of the first. */
static int measure(struct tensors_set *set, struct shard *shard, struct error *err) {
    struct dataset *base = &set->base;
    const struct npy *samples = &shard->samples.npy, *targets = &shard->targets.npy;
    bool is_byte = samples->type == NPY_UINT8, has_labels = targets->type > NPY_FLOAT64;
    struct shape shape = {.rank = samples->rank - 1};
    if (!is_byte && samples->type > NPY_FLOAT64) {
        return error_set(err, ERROR_UNSUPPORTED, "%s: samples of %s; u1, f2, f4 and f8 are read",
                         shard->samples.path, npy_type_name(samples->type));
    }
    if (samples->dims[0] != targets->dims[0] || samples->dims[0] < 1 ||
        samples->dims[0] > DATASET_COUNT_MAX - base->count) {
        return error_set(err, ERROR_INVALID, "%s: %lld samples, and %lld targets in %s",
                         shard->samples.path, (long long)samples->dims[0],
                         (long long)targets->dims[0], shard->targets.path);
    }
    for (int i = 0; i < shape.rank; i++) {
        shape.dims[i] = samples->dims[i + 1];
    }
    enum tensor_type type = is_byte ? TENSOR_UINT8 : TENSOR_FLOAT32;
    int64_t target_count = has_labels ? 0 : npy_slice_values(targets);
    bool is_first = base->count == 0;
    if (!is_first && (!shape_equal(&shape, &base->shape) || type != base->type ||
                      target_count != base->target_count)) {
        return error_set(err, ERROR_INVALID, "%s: its samples or targets differ from the first's",
                         shard->samples.path);
    }
    base->shape = shape;
    base->type = type;
    base->target_count = target_count;
    shard->first = base->count;
    shard->count = samples->dims[0];
    base->count += shard->count;
    base->digest = digest_crc32c(base->digest, &shard->count, sizeof shard->count);
    base->digest = digest_crc32c(base->digest, shape.dims, sizeof shape.dims);
    return has_labels ? read_labels(set, shard, err) : hold_if_small(set, &shard->targets, err);
}

static int open_shards(struct tensors_set *set, const json_t *samples, const json_t *targets,
                       struct error *err) {
    size_t count = json_array_size(samples);
    if (count != json_array_size(targets)) {
        return error_set(err, ERROR_INVALID, "%zu files of samples, but %zu of labels", count,
                         json_array_size(targets));
    }
    set->shards = x_calloc(count, sizeof *set->shards);
    for (size_t i = 0; i < count; i++) {
        struct shard *shard = &set->shards[set->shard_count++];
        if (column_open(json_string_value(json_array_get(samples, i)), &shard->samples, err) < 0 ||
            column_open(json_string_value(json_array_get(targets, i)), &shard->targets, err) < 0 ||
            measure(set, shard, err) < 0 || hold_if_small(set, &shard->samples, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int tensors_open(const json_t *fields, const struct dataset_options *options,
                        struct dataset **ret_dataset, struct error *err) {
    AUTO(dataset_closep) struct dataset *base = x_calloc(1, sizeof(struct tensors_set));
    struct tensors_set *set = (struct tensors_set *)base;
    const char *samples, *labels;
    json_t *sample_files = NULL, *label_files = NULL;
    base->ops = &dataset_tensors;
    set->memory_bytes = options->memory_bytes;
    if (fields_text(fields, "samples", &samples, err) < 0 ||
        fields_text(fields, "labels", &labels, err) < 0) {
        return -1;
    }
    int result = dataset_files(samples, "*.npy", &sample_files, err) < 0 ||
                         dataset_files(labels, "*.npy", &label_files, err) < 0 ||
                         open_shards(set, sample_files, label_files, err) < 0
                     ? -1
                     : 0;
    json_decref(sample_files);
    json_decref(label_files);
    if (result < 0) {
        return -1;
    }
    *ret_dataset = TAKE(base);
    return 0;
}

/* Reads one slice; doubles become floats. */
static int column_read(struct column *column, int64_t index, void *to, struct error *err) {
    AUTO(text_freep) char *read = NULL;
    size_t bytes = slice_bytes(column);
    const char *from = (const char *)column->values + (column->values ? (size_t)index * bytes : 0);
    if (!column->values) {
        const struct npy_object object = object_of(column);
        void *values = NULL;
        if (npy_read(&object, (struct npy_range){index, 1}, &values, err) < 0) {
            return -1;
        }
        from = read = values;
    }
    if (column->npy.type != NPY_FLOAT64) {
        memcpy(to, from, bytes);
        return 0;
    }
    for (size_t i = 0; i < bytes / sizeof(double); i++) {
        ((float *)to)[i] = (float)((const double *)(const void *)from)[i];
    }
    return 0;
}

static int tensors_read(struct dataset *dataset, int64_t index, struct sample *sample,
                        struct error *err) {
    struct tensors_set *set = (struct tensors_set *)dataset;
    struct shard *shard = set->shards;
    while (index >= shard->first + shard->count) {
        shard++;
    }
    size_t bytes = (size_t)npy_slice_values(&shard->samples.npy) * tensor_type_size(dataset->type);
    index -= shard->first;
    sample->shape = dataset->shape;
    sample->is_interleaved = false;
    sample->label = shard->labels ? shard->labels[index] : -1;
    if (column_read(&shard->samples, index, sample_room(sample, bytes), err) < 0) {
        return -1;
    }
    return dataset->target_count == 0
               ? 0
               : column_read(&shard->targets, index,
                             sample_target_room(sample, (size_t)dataset->target_count), err);
}

const struct dataset_ops dataset_tensors = {
    .name = "tensors", .open = tensors_open, .read = tensors_read, .close = tensors_close};
