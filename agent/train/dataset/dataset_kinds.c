// SPDX-License-Identifier: Apache-2.0
/* The table of data set formats. */
#include "agent/train/dataset/dataset.h"

#include <assert.h>
#include <string.h>

static const struct dataset_ops *const kinds[] = {
    &dataset_idx,        &dataset_cifar, &dataset_folder, &dataset_tensors,  &dataset_masks,
    &dataset_webdataset, &dataset_table, &dataset_text,   &dataset_synthetic};

static const int64_t memory_usual = (int64_t)1 << 30;

static int open_kind(const struct dataset_ops *ops, const json_t *fields,
                     const struct dataset_options *options, struct dataset **ret_dataset,
                     struct error *err) {
    struct dataset_options filled = options ? *options : (struct dataset_options){0};
    struct error cause = {0};
    filled.memory_bytes = filled.memory_bytes ? filled.memory_bytes : memory_usual;
    if (ops->open(fields, &filled, ret_dataset, &cause) < 0) {
        *err = cause;
        return error_context(err, "%s", ops->name);
    }
    assert((*ret_dataset)->count >= 1);
    assert(((*ret_dataset)->classes > 0) != ((*ret_dataset)->target_count > 0));
    return 0;
}

static bool is_same_name(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static int make_extras_alike(const struct dataset *dataset, const struct dataset *like,
                             struct error *err) {
    bool is_same = dataset->extra_count == like->extra_count &&
                   is_same_name(dataset->name, like->name) &&
                   is_same_name(dataset->target_name, like->target_name);
    for (size_t i = 0; is_same && i < like->extra_count; i++) {
        const struct dataset_tensor *own = &dataset->extras[i], *other = &like->extras[i];
        is_same = strcmp(own->name, other->name) == 0 && own->type == other->type &&
                  own->is_target == other->is_target && shape_equal(&own->shape, &other->shape);
    }
    return is_same ? 0
                   : error_set(err, ERROR_INVALID,
                               "%s: its inputs and outputs must have the names, types and shapes "
                               "of the training data's, in the same order",
                               dataset->ops->name);
}

/* Checks what test data must have in common with training data. */
static int make_alike(struct dataset *dataset, const struct dataset *like, struct error *err) {
    char ours[128], theirs[128];
    shape_format(&dataset->shape, ours);
    shape_format(&like->shape, theirs);
    if (!shape_equal(&dataset->places, &like->places)) {
        return error_set(err, ERROR_INVALID,
                         "%s: its samples have %lld labels each, the training data's %lld",
                         dataset->ops->name, (long long)dataset_places(dataset),
                         (long long)dataset_places(like));
    }
    if (!shape_equal(&dataset->shape, &like->shape) || dataset->type != like->type) {
        return error_set(err, ERROR_INVALID, "%s: its samples are %s %s, the training data's %s %s",
                         dataset->ops->name, tensor_type_name(dataset->type), ours,
                         tensor_type_name(like->type), theirs);
    }
    if (make_extras_alike(dataset, like, err) < 0) {
        return -1;
    }
    if (dataset->classes > like->classes || dataset->target_count != like->target_count) {
        return error_set(err, ERROR_INVALID,
                         "%s: it has %lld classes and targets of %lld numbers, the training data "
                         "%lld and %lld",
                         dataset->ops->name, (long long)dataset->classes,
                         (long long)dataset->target_count, (long long)like->classes,
                         (long long)like->target_count);
    }
    dataset->classes = like->classes;
    return 0;
}

int dataset_open(const json_t *spec, const struct dataset_options *options,
                 struct dataset **ret_dataset, struct error *err) {
    for (size_t i = 0; json_object_size(spec) == 1 && i < ARRAY_LEN(kinds); i++) {
        const json_t *fields = json_object_get(spec, kinds[i]->name);
        if (fields) {
            AUTO(dataset_closep) struct dataset *dataset = NULL;
            if (open_kind(kinds[i], fields, options, &dataset, err) < 0 ||
                (options && options->like && make_alike(dataset, options->like, err) < 0)) {
                return -1;
            }
            *ret_dataset = TAKE(dataset);
            return 0;
        }
    }
    return error_set(err, ERROR_INVALID,
                     "one of idx, cifar, folder, masks, tensors, webdataset, table, text, "
                     "synthetic is expected");
}
