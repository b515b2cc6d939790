// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/disttrain/derived/derived_train.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { EPOCHS = 5, BATCH = 64 };

static const char about[] =
    "Made by `windlass train`. `windlass run -f` of this file does the same again; on a cluster,\n"
    "volumes must be what its pods can mount (see below), then: kubectl apply -f";
static const char about_volumes[] =
    "Folders of this machine. For a cluster put in the place of hostPath, which is a folder of\n"
    "each node, what all its pods can mount and what holds the same files, such as\n"
    "persistentVolumeClaim: {claimName: work}, blobfuse, azureFile or nfs.";
static const char about_workers[] =
    "Pods on a cluster, processes here. The batch is all workers' together, so that their number\n"
    "does not change the result.";
static const char about_rate[] = "windlass explain trainer.optimizer";
static const char about_epochs[] = "Passes over the data.";

/* {"idx": {"images": ..., "labels": ...}}; owned. */
static json_t *data_of(const struct kind_train *job, const struct kind_data_set *set) {
    switch (job->data) {
    case KIND_DATA_IDX:
        return json_pack("{s:{s:s, s:s}}", "idx", "images", set->path, "labels", set->labels);
    case KIND_DATA_TENSORS:
        return json_pack("{s:{s:s, s:s}}", "tensors", "samples", set->path, "labels", set->labels);
    case KIND_DATA_CIFAR:
        return json_pack("{s:{s:s, s:I}}", "cifar", "path", set->path, "classes",
                         (json_int_t)job->classes);
    case KIND_DATA_FOLDER:
        return json_pack("{s:{s:s}}", "folder", "path", set->path);
    case KIND_DATA_WEBDATASET:
        return json_pack("{s:{s:s}}", "webdataset", "path", set->path);
    default:
        return json_pack("{s:{s:s, s:s, s:O*, s:s}}", "table", "path", set->path, "format",
                         job->table_format, "columns", job->columns, "label", job->label);
    }
}

static json_t *model_of(const struct kind_train *job) {
    return job->model ? json_pack("{s:s}", "path", job->model)
                      : json_pack("{s:s, s:I, s:O}", "new", job->fresh, "classes",
                                  (json_int_t)job->classes, "shape", job->shape);
}

static json_t *trainer_of(const struct kind_train *job) {
    json_t *data = json_pack("{s:o}", "train", data_of(job, &job->train));
    if (job->test.path) {
        json_object_set_new(data, "test", data_of(job, &job->test));
    }
    if (job->size > 0) {
        json_object_set_new(data, "augment", json_pack("{s:I}", "size", (json_int_t)job->size));
    }
    /* A trained network begins near its goal. */
    return json_pack("{s:o, s:o, s:i, s:i, s:{s:s, s:f}, s:{s:s}}", "model", model_of(job), "data",
                     data, "epochs", EPOCHS, "batchSize", BATCH, "optimizer", "kind", "AdamW",
                     "learningRate", job->model ? 0.0001 : 0.001, "output", "path", job->output);
}

static char *describe(const struct kind_train *job, const json_t *object) {
    static const char *const forms[] = {"pictures and labels in MNIST's form",
                                        "pictures in CIFAR's form",
                                        "a folder of pictures for each class",
                                        "arrays with labels",
                                        "tars of samples",
                                        "a table"};
    static_assert(ARRAY_LEN(forms) == KIND_DATA_COUNT, "one text per form");
    int64_t epochs = tree_integer(object, "spec.trainer.epochs", 0);
    AUTO(text_freep) char *shape = job->shape ? json_dumps(job->shape, 0) : NULL;
    AUTO(text_freep)
    char *network = job->model ? x_printf("%s", job->model)
                               : x_printf("a new %s (%lld classes of %s)", job->fresh,
                                          (long long)job->classes, shape ? shape : "?");
    return x_printf("%s on %s%s%s, %lld epoch%s of batches of %lld, %s", network, forms[job->data],
                    job->label ? ", label " : "", job->label ? job->label : "", (long long)epochs,
                    epochs == 1 ? "" : "s",
                    (long long)tree_integer(object, "spec.trainer.batchSize", 0),
                    job->test.path ? "tested after each" : "without test data");
}

int derived_train(const struct kind_train *job, struct kind_scored *ret_made, struct error *err) {
    if (!job->model && (job->classes == 0 || !job->shape)) {
        return error_set(err, ERROR_INVALID, "a new %s needs %s%s%s: the data does not say it",
                         job->fresh, job->classes == 0 ? "--classes N" : "",
                         job->classes == 0 && !job->shape ? " and " : "",
                         job->shape ? "" : "--shape CHANNELS,HEIGHT,WIDTH");
    }
    json_t *object = json_pack("{s:s, s:s, s:{s:s}, s:{s:I, s:o, s:O}}", "apiVersion",
                               "windlass.dev/v1beta1", "kind", "DistTrain", "metadata", "name",
                               job->name, "spec", "workers", (json_int_t)MAX(job->workers, 1),
                               "trainer", trainer_of(job), "volumes", job->volumes);
    if (!object) {
        return error_set(err, ERROR_INVALID,
                         "a given path is not UTF-8, and a manifest can name only paths in UTF-8");
    }
    json_object_update_recursive(object, (json_t *)job->asked);
    *ret_made = (struct kind_scored){
        .object = object,
        .remarks = json_pack("{s:s, s:s, s:s, s:s, s:s}", "", about, "spec.volumes", about_volumes,
                             "spec.workers", about_workers, "spec.trainer.optimizer", about_rate,
                             "spec.trainer.epochs", about_epochs),
        .summary = describe(job, object)};
    return 0;
}
