/* dataset.h: samples by index; the target of each is a class or a vector of numbers. Kinds:
 *
 *   {"idx": {"images": PATH, "labels": PATH}}      MNIST's format, also .gz; held in memory
 *   {"cifar": {"path": PATH, "classes": 10}}       CIFAR-10's binary files (100: CIFAR-100's, of
 *                                                  whose two labels the fine one counts): one, or
 *                                                  all *.bin of a folder; of such to evaluate with
 *                                                  those named test*, to train with the others
 *   {"folder": {"path": PATH}}                     CLASS/any/x.jpg (.jpeg, .png); classes are
 *                                                  numbered in the order of their names' bytes
 *   {"masks": {"images": PATH, "masks": PATH, "classes": N}}   two folders: NAME.jpg (.jpeg, .png)
 *                                                  and NAME.png, in which each pixel is a class
 *                                                  (image_decode_mask): a label for each pixel
 *   {"webdataset": {"path": PATH}}                 tar archives, of which each sample has several
 *                                                  members KEY.FIELD: a picture (jpg, jpeg, png),
 *                                                  its class (cls, txt; json: its "label"). A file,
 *                                                  a folder of *.tar, or train-{000..099}.tar
 *   {"table": {"path": PATH, "format": "CSV"}}     rows of CSV, TSV, JSON Lines, Parquet;
 *                                                  "columns": names, or all but the label; "label":
 *                                                  a column of classes, or "targets": columns of
 *                                                  numbers; "missing": what an empty field of a
 *                                                  sample is, else its row is bad. In memory
 *   {"text": {"path": PATH, "format": "CSV", "columns": [TEXT], "tokenizer": PATH, "label": COLUMN,
 *             "maxLength": 128}}                 as tokens (token_roles.h); "classes": the texts
 *                                                  of a label, in order; or "labels": of each word
 *   {"tensors": {"samples": PATH, "labels": PATH}} .npy, first axis: samples; of integers other
 *                                                  than bytes for networks that take integers
 *                                                  (tokens). Labels: integers [n] are classes,
 *                                                  [n, ...] one class for each pixel or token,
 *                                                  floats [n, ...] numbers. Two files, or two
 *                                                  folders of as many, in order of names.
 *                                                  "inputs": [{"name": NAME, "path": PATH}] instead
 *                                                  of samples: for a network with several inputs;
 *                                                  "outputs", as "inputs", instead of labels
 *   {"synthetic": {"count": N, "classes": N, "shape": [C, H, W], "seed": N}}   no files: each class
 *                                                  a pattern of its own, with noise. Classes and
 *                                                  shape may come from the options
 *
 * PATH: a path (store.h). A data set never changes; any thread may read
 * it. */
#pragma once

#include "agent/store/store.h"
#include "agent/train/dataset/sample.h"
#include "agent/train/dataset/strays.h"

#include <jansson.h>

enum {
    DATASET_COUNT_MAX = 1 << 28, /* samples */
    DATASET_CLASSES_MAX = 1 << 20,
    DATASET_SAMPLE_BYTES = 256 << 20,
    DATASET_SIDE_MAX = 1 << 14, /* along any axis of a sample */
    DATASET_SHARDS_MAX = 256,   /* files, of cifar and tensors */
    DATASET_NAME_MAX = 400,
};

struct dataset;
struct dataset_options {
    int64_t memory_bytes; /* limit for data in memory; idx always holds all its bytes. 0: 1 GiB */
    /* For test data: the training data. Samples must have the same type, shape and number of
     * targets; its classes are used (for a folder by name). NULL: none. */
    const struct dataset *like;
    bool skips_bad;  /* onBadSample: Skip: the rest of a damaged archive is left out */
    bool sees_files; /* fills in `state`, for which each picture of a folder is looked at */
    /* Of tensors: places with this label do not count. */
    bool has_ignored;
    int64_t ignored;
    /* Of the model, for synthetic samples if the spec does not have them. classes 0: unknown, 10
     * are taken; shape NULL: none. */
    int64_t classes;
    const json_t *shape;
    /* While shards are indexed, which may take an hour. Any of them may be NULL. */
    bool (*is_stopped)(void);                     /* true: dataset_open ends with CANCELLED */
    void (*say)(void *context, const char *line); /* how far it is */
    void *context;
};

struct dataset {
    const struct dataset_ops *ops;
    int64_t count;             /* samples; at least 1 */
    int64_t classes;           /* 0: targets are numbers */
    int64_t target_count;      /* numbers per target; 0: targets are classes */
    struct shape target_shape; /* of numbers, as a file has them; else [target_count] */
    enum tensor_type type;     /* TENSOR_UINT8 (0..255), TENSOR_FLOAT32 or TENSOR_INT64 */
    struct shape shape;        /* of a sample; pictures are [c, h, w]; folder: [3, -1, -1] */
    char *name; /* of the first tensor, owned by the kind; NULL: none, it is the only input */
    char *target_name; /* of the output that it is of, owned by the kind; NULL: the only one */
    size_t extra_count;
    struct dataset_tensor extras[SAMPLE_EXTRAS_MAX];
    char *notice;        /* what people should know of the samples, owned by the kind; or NULL */
    struct shape places; /* labels of a sample; rank 0: it has one */
    int64_t ignored;     /* the label of places that do not count */
    int32_t *counted;    /* per sample: places that count; NULL: all of them */
    char **class_names;  /* of a folder: one per class; else NULL */
    bool is_late; /* which places count is known only when a sample is read; `counted` is NULL */
    bool takes_any_number; /* the network looks for NaN and Infinity itself: they are not bad */
    bool has_shares; /* its targets must be from 0 to 1, for BinaryCrossEntropy; others are bad */
    int64_t damaged; /* archives whose rest was left out: each counts as a bad sample */
    struct strays strays; /* what was found beside the samples */
    uint32_t digest;      /* of names, sizes and, if held in memory, bytes; ranks compare it */
    /* Of sizes and times of change of the files whose bytes are not in `digest`; 0: none, or not
     * options.sees_files. Machines may see copies of one file differently. */
    uint32_t state;
};

struct dataset_ops {
    const char *name; /* the field: "idx" */
    /* fields: the value of that field. dataset.c owns the result. Errors name field or file. */
    int (*open)(const json_t *fields, const struct dataset_options *options,
                struct dataset **ret_dataset, struct error *err);
    int (*read)(struct dataset *dataset, int64_t index, struct sample *sample, struct error *err);
    /* The file and row of a sample, for people; NULL: dataset_read says its number. */
    void (*describe)(const struct dataset *dataset, int64_t index,
                     char text[static DATASET_NAME_MAX]);
    /* `state` as it is now, of files that are read by their names again and again; NULL: of others
     * a change is an error, or is not seen, since they are held. */
    int (*look)(const struct dataset *dataset, uint32_t *ret_state, struct error *err);
    /* The tensor of a network's input: 0, or 1 + extra; -1: none. NULL: the one of its name. */
    int (*find)(const struct dataset *dataset, const char *input);
    void (*close)(struct dataset *dataset);
};
extern const struct dataset_ops dataset_idx, dataset_cifar, dataset_folder, dataset_tensors,
    dataset_webdataset, dataset_masks, dataset_table, dataset_text, dataset_synthetic;

/* spec: one field, as above. INVALID: it is not, or a file is corrupt; CANCELLED: is_stopped. */
NODISCARD int dataset_open(const json_t *spec, const struct dataset_options *options,
                           struct dataset **ret_dataset, struct error *err);
void dataset_close(struct dataset *dataset); /* accepts NULL */
void dataset_closep(struct dataset **dataset);
/* index: 0..count - 1. Errors name the file. INVALID, UNSUPPORTED: this sample cannot be used, also
 * for a NaN or Infinity (unless takes_any_number) or a share beyond 0 to 1. */
NODISCARD int dataset_read(struct dataset *dataset, int64_t index, struct sample *sample,
                           struct error *err);
/* The file and row of a sample, for people. */
void dataset_describe(const struct dataset *dataset, int64_t index,
                      char text[static DATASET_NAME_MAX]);
int dataset_find(const struct dataset *dataset, const char *input);
/* The target of a network's output: 0, or 1 + extra; -1: none has this name. */
int dataset_find_target(const struct dataset *dataset, const char *output);
/* The extras that inputs take. */
size_t dataset_input_extras(const struct dataset *dataset);
/* The labels of a sample: 1 or more; places that count in sample `index`. */
int64_t dataset_places(const struct dataset *dataset);
int64_t dataset_counted(const struct dataset *dataset, int64_t index);

/* `state` as it is now, if the dataset was opened with options.sees_files. Blocks. */
NODISCARD int dataset_look(const struct dataset *dataset, uint32_t *ret_state, struct error *err);
