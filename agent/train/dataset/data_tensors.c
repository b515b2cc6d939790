// SPDX-License-Identifier: Apache-2.0
/* Pairs of .npy files. A file whose values fit into the memory limit is read once, in ranges;
 * labels are always in memory, because the number of classes depends on them. */
#include "agent/train/dataset/dataset.h"

#include "agent/data/array/npy.h"
#include "agent/store/stored_file.h"
#include "agent/train/dataset/array_values.h"
#include "agent/train/dataset/fields.h"
#include "agent/train/dataset/files_seen.h"
#include "lib/digest.h"

#include <math.h>
#include <stdio.h>
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
    struct column samples, targets, extras[SAMPLE_EXTRAS_MAX];
    int64_t first, count;
};

struct tensors_set {
    struct dataset base;
    size_t shard_count;
    struct shard *shards;
    int64_t memory_bytes;
    bool has_ignored;
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
        for (size_t k = 0; k < SAMPLE_EXTRAS_MAX; k++) {
            column_release(&set->shards[i].extras[k]);
        }
    }
    for (size_t k = 0; k < SAMPLE_EXTRAS_MAX; k++) {
        free(set->base.extras[k].name);
    }
    free(set->base.name);
    free(set->base.target_name);
    free(set->shards);
    free(set->base.counted);
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

/* A part of the labels, from sample `first` of the shard. */
static int note_labels(struct tensors_set *set, const struct shard *shard,
                       const struct npy_range *range, const void *values, struct error *err) {
    int64_t places = dataset_places(&set->base);
    for (int64_t i = 0; i < range->count * places; i++) {
        int64_t label = array_value_integer(shard->targets.npy.type, values, i);
        int64_t sample = range->first + i / places;
        bool is_ignored = set->has_ignored && label == set->base.ignored;
        if (!is_ignored && (label < 0 || label >= DATASET_CLASSES_MAX)) {
            return error_set(err, ERROR_INVALID,
                             "%s: label %lld of sample %lld is not a class; labels that do not "
                             "count are %lld (spec.trainer.ignoreLabel)",
                             shard->targets.path, (long long)label, (long long)sample,
                             (long long)set->base.ignored);
        }
        set->base.classes = MAX(set->base.classes, is_ignored ? 0 : label + 1);
        set->base.counted[shard->first + sample] += !is_ignored;
    }
    return 0;
}

/* Reads all labels once, in parts, for the number of classes; they stay in memory if they fit, and
 * always where a sample has one. */
static int read_labels(struct tensors_set *set, struct shard *shard, struct error *err) {
    struct column *targets = &shard->targets;
    int64_t bytes = (int64_t)slice_bytes(targets), total = shard->first + shard->count;
    if (bytes < 1 || bytes > DATASET_SAMPLE_BYTES) {
        return error_set(err, ERROR_INVALID, "%s: labels of %lld bytes a sample: 1 to %d are read",
                         targets->path, (long long)bytes, DATASET_SAMPLE_BYTES);
    }
    set->base.counted = x_realloc(set->base.counted, (size_t)total * sizeof *set->base.counted);
    memset(set->base.counted + shard->first, 0, (size_t)shard->count * sizeof(int32_t));
    if (set->base.places.rank == 0 ? column_hold(targets, err) < 0
                                   : hold_if_small(set, targets, err) < 0) {
        return -1;
    }
    if (targets->values) {
        const struct npy_range all = {0, shard->count};
        return note_labels(set, shard, &all, targets->values, err);
    }
    for (int64_t first = 0; first < shard->count; first += NPY_SLICES_BYTES / bytes) {
        const struct npy_range range = {first, MIN(NPY_SLICES_BYTES / bytes, shard->count - first)};
        const struct npy_object object = object_of(targets);
        AUTO(text_freep) char *read = NULL;
        void *values = NULL;
        if (npy_read(&object, range, &values, err) < 0) {
            return -1;
        }
        read = values;
        if (note_labels(set, shard, &range, read, err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Checks that every shard has the type and shape of the first. */
static int measure(struct tensors_set *set, struct shard *shard, struct error *err) {
    struct dataset *base = &set->base;
    const struct npy *samples = &shard->samples.npy, *targets = &shard->targets.npy;
    bool has_labels = targets->type > NPY_FLOAT64;
    struct shape shape = {.rank = samples->rank - 1};
    if (samples->dims[0] < 1 || samples->dims[0] > DATASET_COUNT_MAX - base->count) {
        return error_set(err, ERROR_INVALID,
                         "%s: %lld samples, expected at least 1, and at most %d in all files",
                         shard->samples.path, (long long)samples->dims[0], DATASET_COUNT_MAX);
    }
    if (samples->dims[0] != targets->dims[0]) {
        return error_set(err, ERROR_INVALID,
                         "%s: %lld samples, and %lld targets in %s: expected as many",
                         shard->samples.path, (long long)samples->dims[0],
                         (long long)targets->dims[0], shard->targets.path);
    }
    for (int i = 0; i < shape.rank; i++) {
        shape.dims[i] = samples->dims[i + 1];
    }
    enum tensor_type type = array_value_type(samples->type);
    struct shape target = {.rank = targets->rank - 1}, none = {.rank = 0};
    for (int i = 0; i < target.rank; i++) {
        target.dims[i] = targets->dims[i + 1];
    }
    struct shape places = has_labels ? target : none;
    int64_t target_count = has_labels ? 0 : npy_slice_values(targets);
    bool is_first = base->count == 0;
    if (!is_first && (!shape_equal(&shape, &base->shape) || type != base->type ||
                      target_count != base->target_count || !shape_equal(&places, &base->places))) {
        return error_set(err, ERROR_INVALID, "%s: its samples or targets differ from the first's",
                         shard->samples.path);
    }
    base->shape = shape;
    base->type = type;
    base->target_count = target_count;
    base->places = places;
    base->target_shape = has_labels ? none : target;
    shard->first = base->count;
    shard->count = samples->dims[0];
    base->count += shard->count;
    base->digest = digest_crc32c(base->digest, &shard->count, sizeof shard->count);
    base->digest = digest_crc32c(base->digest, shape.dims, sizeof shape.dims);
    return has_labels ? read_labels(set, shard, err) : hold_if_small(set, &shard->targets, err);
}

/* A target is a class (any integer type), or numbers. */
static enum tensor_type extra_type(const struct dataset_tensor *tensor, enum npy_type type) {
    return tensor->is_target && type > NPY_FLOAT64 ? TENSOR_INT64 : array_value_type(type);
}

/* Where the files are: of the first input, of the labels, and of the further inputs and outputs. */
struct tensors_files {
    json_t *samples, *labels, *extras[SAMPLE_EXTRAS_MAX];
};

static void files_release(struct tensors_files *files) {
    json_decref(files->samples);
    json_decref(files->labels);
    for (size_t i = 0; i < SAMPLE_EXTRAS_MAX; i++) {
        json_decref(files->extras[i]);
    }
}

/* The further inputs and outputs of a shard: as many samples as the first one, and one shape in all
 * shards. */
static int open_extras(struct tensors_set *set, size_t index, const struct tensors_files *files,
                       const struct dataset_options *options, struct error *err) {
    struct shard *shard = &set->shards[index];
    for (size_t i = 0; i < set->base.extra_count; i++) {
        struct dataset_tensor *tensor = &set->base.extras[i];
        struct column *column = &shard->extras[i];
        struct shape shape = {0};
        if (column_open(json_string_value(json_array_get(files->extras[i], index)), column, err) <
            0) {
            return -1;
        }
        if (column->npy.dims[0] != shard->count) {
            return error_set(err, ERROR_INVALID, "%s: %lld samples, and %lld in %s", column->path,
                             (long long)column->npy.dims[0], (long long)shard->count,
                             shard->samples.path);
        }
        shape.rank = column->npy.rank - 1;
        for (int k = 0; k < shape.rank; k++) {
            shape.dims[k] = column->npy.dims[k + 1];
        }
        enum tensor_type type = extra_type(tensor, column->npy.type);
        if (index > 0 && (type != tensor->type || !shape_equal(&shape, &tensor->shape))) {
            return error_set(err, ERROR_INVALID, "%s: its samples differ from the first file's",
                             column->path);
        }
        tensor->type = type;
        tensor->shape = shape;
        set->base.digest = digest_crc32c(set->base.digest, shape.dims, sizeof shape.dims);
        if (hold_if_small(set, column, err) < 0) {
            return -1;
        }
        dataset_see(&set->base, options, column->file.store, &column->info);
    }
    return 0;
}

static int open_shards(struct tensors_set *set, const struct tensors_files *files,
                       const struct dataset_options *options, struct error *err) {
    const json_t *samples = files->samples, *targets = files->labels;
    size_t count = json_array_size(samples);
    if (count != json_array_size(targets)) {
        return error_set(err, ERROR_INVALID, "%zu files of samples, but %zu of labels", count,
                         json_array_size(targets));
    }
    for (size_t i = 0; i < set->base.extra_count; i++) {
        if (json_array_size(files->extras[i]) != count) {
            bool is_target = set->base.extras[i].is_target;
            return error_set(err, ERROR_INVALID, "%s: %zu files of \"%s\", but %zu of \"%s\"",
                             is_target ? "outputs" : "inputs", json_array_size(files->extras[i]),
                             set->base.extras[i].name, count,
                             is_target ? set->base.target_name : set->base.name);
        }
    }
    set->shards = x_calloc(count, sizeof *set->shards);
    for (size_t i = 0; i < count; i++) {
        struct shard *shard = &set->shards[set->shard_count++];
        if (column_open(json_string_value(json_array_get(samples, i)), &shard->samples, err) < 0 ||
            column_open(json_string_value(json_array_get(targets, i)), &shard->targets, err) < 0 ||
            measure(set, shard, err) < 0 || hold_if_small(set, &shard->samples, err) < 0 ||
            open_extras(set, i, files, options, err) < 0) {
            return -1;
        }
        dataset_see(&set->base, options, shard->samples.file.store, &shard->samples.info);
        dataset_see(&set->base, options, shard->targets.file.store, &shard->targets.info);
    }
    return 0;
}

/* An item of `inputs` or `outputs`: {name, path}. The first one is the samples, or the labels. */
static int find_named(struct tensors_set *set, const json_t *list, size_t index, bool is_target,
                      struct tensors_files *files, struct error *err) {
    const char *what = is_target ? "outputs" : "inputs", *name, *path;
    const json_t *item = json_array_get(list, index);
    if (fields_text(item, "name", &name, err) < 0 || fields_text(item, "path", &path, err) < 0) {
        return error_context(err, "%s[%zu]", what, index);
    }
    if ((is_target ? dataset_find_target(&set->base, name) : dataset_find(&set->base, name)) >= 0) {
        return error_set(err, ERROR_INVALID, "%s[%zu].name: \"%.64s\" is a duplicate", what, index,
                         name);
    }
    if (index == 0) {
        *(is_target ? &set->base.target_name : &set->base.name) = x_strdup(name);
        return dataset_files(path, "*.npy", &set->base.strays,
                             is_target ? &files->labels : &files->samples, err);
    }
    size_t extra = set->base.extra_count;
    if (extra == SAMPLE_EXTRAS_MAX) {
        return error_set(err, ERROR_INVALID, "%s[%zu]: inputs and outputs are at most %d together",
                         what, index, 2 + SAMPLE_EXTRAS_MAX);
    }
    set->base.extras[set->base.extra_count++] = (struct dataset_tensor){
        .name = x_strdup(name),
        .is_target = is_target,
        .needed = is_target ? NULL : "take it out of tensors.inputs, or train with it"};
    return dataset_files(path, "*.npy", &set->base.strays, &files->extras[extra], err);
}

/* Either `alone`, a path, or `named`, a list of paths by name. */
static int find_side(struct tensors_set *set, const json_t *fields, bool is_target,
                     struct tensors_files *files, struct error *err) {
    const char *alone = is_target ? "labels" : "samples", *named = is_target ? "outputs" : "inputs";
    const json_t *list = NULL;
    const char *path;
    if (!json_object_get(fields, named) == !json_object_get(fields, alone)) {
        return error_set(err, ERROR_INVALID, "exactly one of %s and %s must be given", alone,
                         named);
    }
    if (!json_object_get(fields, named)) {
        return fields_text(fields, alone, &path, err) < 0
                   ? -1
                   : dataset_files(path, "*.npy", &set->base.strays,
                                   is_target ? &files->labels : &files->samples, err);
    }
    if (fields_array(fields, named, 1 + SAMPLE_EXTRAS_MAX, &list, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (find_named(set, list, i, is_target, files, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int tensors_open(const json_t *fields, const struct dataset_options *options,
                        struct dataset **ret_dataset, struct error *err) {
    AUTO(dataset_closep) struct dataset *base = x_calloc(1, sizeof(struct tensors_set));
    struct tensors_set *set = (struct tensors_set *)base;
    AUTO(files_release) struct tensors_files files = {0};
    base->ops = &dataset_tensors;
    set->memory_bytes = options->memory_bytes;
    base->ignored = options->ignored;
    set->has_ignored = options->has_ignored;
    if (find_side(set, fields, false, &files, err) < 0 ||
        find_side(set, fields, true, &files, err) < 0 ||
        open_shards(set, &files, options, err) < 0) {
        return -1;
    }
    bool counts_all = true;
    for (int64_t i = 0; base->counted && i < base->count; i++) {
        counts_all &= base->counted[i] == dataset_places(base);
    }
    if (counts_all) {
        free(TAKE(base->counted));
    }
    if (base->classes == 0 && base->target_count == 0) {
        return error_set(err, ERROR_INVALID, "%s: every label is %lld, which does not count",
                         set->shards[0].targets.path, (long long)base->ignored);
    }
    *ret_dataset = TAKE(base);
    return 0;
}

/* Reads one slice. */
static int column_read(struct column *column, int64_t index, enum tensor_type wanted, void *to,
                       struct error *err) {
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
    array_value_convert(column->npy.type, from, npy_slice_values(&column->npy), wanted, to);
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
    sample->label = -1;
    if (column_read(&shard->samples, index, dataset->type, sample_room(sample, bytes), err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < dataset->extra_count; i++) {
        const struct dataset_tensor *extra = &dataset->extras[i];
        size_t room = (size_t)shape_count(&extra->shape) * tensor_type_size(extra->type);
        if (column_read(&shard->extras[i], index, extra->type, sample_extra_room(sample, i, room),
                        err) < 0) {
            return -1;
        }
    }
    if (dataset->target_count) {
        float *to = sample_target_room(sample, (size_t)dataset->target_count);
        return column_read(&shard->targets, index, TENSOR_FLOAT32, to, err);
    }
    int64_t *labels = sample_labels_room(sample, (size_t)dataset_places(dataset));
    if (column_read(&shard->targets, index, TENSOR_INT64, labels, err) < 0) {
        return -1;
    }
    sample->label = dataset->places.rank == 0 ? labels[0] : -1;
    return 0;
}

static void tensors_describe(const struct dataset *dataset, int64_t index,
                             char text[static DATASET_NAME_MAX]) {
    const struct tensors_set *set = (const struct tensors_set *)dataset;
    const struct shard *shard = set->shards;
    while (index >= shard->first + shard->count) {
        shard++;
    }
    snprintf(text, DATASET_NAME_MAX, "%.180s, labels %.180s: sample %lld", shard->samples.path,
             shard->targets.path, (long long)(index - shard->first));
}

const struct dataset_ops dataset_tensors = {.name = "tensors",
                                            .open = tensors_open,
                                            .read = tensors_read,
                                            .describe = tensors_describe,
                                            .close = tensors_close};
