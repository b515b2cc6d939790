/* dataset.h: samples by number, with a class or with numbers as what is to be learned. Kinds:
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
 * PATH: VOLUME/path or az://ACCOUNT/CONTAINER/path. A data set never changes; any thread may read.
 */
#pragma once

#include "agent/engine/tensor.h"

#include <jansson.h>

enum {
    DATASET_COUNT_MAX = 1 << 28, /* samples */
    DATASET_CLASSES_MAX = 1 << 20,
    DATASET_SAMPLE_BYTES = 256 << 20,
    DATASET_SIDE_MAX = 1 << 14, /* of any axis of a sample */
    DATASET_SHARDS_MAX = 256,   /* files, of cifar and tensors */
};

struct dataset;
struct dataset_options {
    int64_t memory_bytes; /* what may be held; idx needs all of its bytes. 0: 1 GiB */
    /* Of data to evaluate with: the training data. Samples must have the same type, shape and
     * number of targets, and classes are its classes (a folder's go by name). NULL: none. */
    const struct dataset *like;
    /* Of synthetic samples, where the spec does not say: what the model takes. 0, NULL: 10; none.
     */
    int64_t classes;
    const json_t *shape;
};

struct dataset {
    const struct dataset_ops *ops;
    int64_t count;         /* samples; at least 1 */
    int64_t classes;       /* 0: targets are numbers */
    int64_t target_count;  /* numbers of a target; 0: a class */
    enum tensor_type type; /* TENSOR_UINT8 (0..255) or TENSOR_FLOAT32 */
    struct shape shape;    /* of a sample; pictures are [c, h, w]; folder: [3, -1, -1] */
    char **class_names;    /* of a folder: classes of them; else NULL */
    uint32_t digest;       /* of names, sizes and, where they are held, bytes: ranks compare it */
};

/* One sample. Zeroed at first; its memory is used again. */
struct sample {
    struct shape shape;  /* without unknown sizes */
    bool is_interleaved; /* lies in memory as [h, w, c]: pictures as they are decoded */
    void *data;          /* elements of dataset->type */
    size_t room;         /* bytes of data */
    int64_t label;       /* the class, 0..classes - 1; -1: none */
    float *target;       /* target_count numbers */
    size_t target_room;  /* bytes */
};
void sample_release(struct sample *sample); /* for AUTO, too */

struct dataset_ops {
    const char *name; /* the field: "idx" */
    /* Owned by dataset.c after that. fields: the value of that field. Errors name field or file. */
    int (*open)(const json_t *fields, const struct dataset_options *options,
                struct dataset **ret_dataset, struct error *err);
    int (*read)(struct dataset *dataset, int64_t index, struct sample *sample, struct error *err);
    void (*close)(struct dataset *dataset);
};
extern const struct dataset_ops dataset_idx, dataset_cifar, dataset_folder, dataset_tensors,
    dataset_synthetic;

/* spec: an object of one field, as above. INVALID: it is not, or the files are not sound. */
NODISCARD int dataset_open(const json_t *spec, const struct dataset_options *options,
                           struct dataset **ret_dataset, struct error *err);
void dataset_close(struct dataset *dataset); /* NULL is fine */
void dataset_closep(struct dataset **dataset);
/* index: 0..count - 1. Errors name the file. */
NODISCARD int dataset_read(struct dataset *dataset, int64_t index, struct sample *sample,
                           struct error *err);

/* For kinds: the files that a path names, itself or all of a folder that match the pattern, in the
 * order of their names; a list of 1 to DATASET_SHARDS_MAX texts, the caller's. */
NODISCARD int dataset_files(const char *path, const char *pattern, json_t **ret_files,
                            struct error *err);

/* For kinds: room for so many bytes. */
void *sample_room(struct sample *sample, size_t bytes);
float *sample_target_room(struct sample *sample, size_t count);
