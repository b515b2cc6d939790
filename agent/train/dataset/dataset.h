/* dataset.h: samples by index; the target of each is a class or a vector of numbers. Kinds:
 *
 *   {"idx": {"images": PATH, "labels": PATH}}      MNIST's format, also .gz; held in memory
 *   {"cifar": {"path": PATH, "classes": 10}}       CIFAR-10's binary files (100: CIFAR-100's, of
 *                                                  whose two labels the fine one counts): one, or
 *                                                  all *.bin of a folder; of such to evaluate with
 *                                                  those named test*, to train with the others
 *   {"folder": {"path": PATH}}                     CLASS/any/x.jpg (.jpeg, .png); classes are
 *                                                  numbered in the order of their names' bytes
 *   {"tensors": {"samples": PATH, "labels": PATH}} .npy, first axis: samples; labels: integers [n]
 *                                                  are classes, floats [n, ...] numbers. Two files,
 *                                                  or two folders of as many, in order of names
 *   {"synthetic": {"count": N, "classes": N, "shape": [C, H, W], "seed": N}}   no files: each class
 *                                                  a pattern of its own, with noise. Classes and
 *                                                  shape may come from the options
 *
 * PATH: VOLUME/path or az://ACCOUNT/CONTAINER/path. A data set never changes; any thread may read
 * it. */
#pragma once

#include "agent/train/dataset/sample.h"

#include <jansson.h>

enum {
    DATASET_COUNT_MAX = 1 << 28, /* samples */
    DATASET_CLASSES_MAX = 1 << 20,
    DATASET_SAMPLE_BYTES = 256 << 20,
    DATASET_SIDE_MAX = 1 << 14, /* along any axis of a sample */
    DATASET_SHARDS_MAX = 256,   /* files, of cifar and tensors */
};

struct dataset;
struct dataset_options {
    int64_t memory_bytes; /* limit for data in memory; idx always holds all its bytes. 0: 1 GiB */
    /* For test data: the training data. Samples must have the same type, shape and number of
     * targets; its classes are used (for a folder by name). NULL: none. */
    const struct dataset *like;
    /* Of the model, for synthetic samples if the spec does not have them. classes 0: 10; shape
     * NULL: none. */
    int64_t classes;
    const json_t *shape;
};

struct dataset {
    const struct dataset_ops *ops;
    int64_t count;         /* samples; at least 1 */
    int64_t classes;       /* 0: targets are numbers */
    int64_t target_count;  /* numbers per target; 0: targets are classes */
    enum tensor_type type; /* TENSOR_UINT8 (0..255) or TENSOR_FLOAT32 */
    struct shape shape;    /* of a sample; pictures are [c, h, w]; folder: [3, -1, -1] */
    char **class_names;    /* of a folder: one per class; else NULL */
    uint32_t digest;       /* of names, sizes and, if held in memory, bytes; ranks compare it */
};

struct dataset_ops {
    const char *name; /* the field: "idx" */
    /* fields: the value of that field. dataset.c owns the result. Errors name field or file. */
    int (*open)(const json_t *fields, const struct dataset_options *options,
                struct dataset **ret_dataset, struct error *err);
    int (*read)(struct dataset *dataset, int64_t index, struct sample *sample, struct error *err);
    void (*close)(struct dataset *dataset);
};
extern const struct dataset_ops dataset_idx, dataset_cifar, dataset_folder, dataset_tensors,
    dataset_synthetic;

/* spec: an object with one field, as above. INVALID: it is not, or a file is corrupt. */
NODISCARD int dataset_open(const json_t *spec, const struct dataset_options *options,
                           struct dataset **ret_dataset, struct error *err);
void dataset_close(struct dataset *dataset); /* NULL is fine */
void dataset_closep(struct dataset **dataset);
/* index: 0..count - 1. Errors name the file. */
NODISCARD int dataset_read(struct dataset *dataset, int64_t index, struct sample *sample,
                           struct error *err);

/* For kinds: the file that a path names, or all files of that folder that match the pattern, sorted
 * by name; a list of 1 to DATASET_SHARDS_MAX strings, owned by the caller. */
NODISCARD int dataset_files(const char *path, const char *pattern, json_t **ret_files,
                            struct error *err);
