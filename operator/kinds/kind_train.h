/* kind_train.h: a training without a manifest (`windlass train`, `windlass sweep`): what is known
 * about it. The manifest that a kind makes of it is a kind_scored (kind_score.h). */
#pragma once

#include "operator/kinds/kind_score.h"

enum kind_data {
    KIND_DATA_IDX,        /* two files of MNIST's form */
    KIND_DATA_CIFAR,      /* CIFAR's binary form */
    KIND_DATA_FOLDER,     /* a folder of pictures for each class */
    KIND_DATA_TENSORS,    /* two .npy files */
    KIND_DATA_WEBDATASET, /* tars */
    KIND_DATA_TABLE,
    KIND_DATA_COUNT
};

/* Paths are VOLUME/path/in/it; borrowed. */
struct kind_data_set {
    const char *path;   /* NULL: there is no such data */
    const char *labels; /* IDX, TENSORS */
};

struct kind_train {
    const char *name, *output;
    const char *model; /* a file; NULL: a new network */
    const char *fresh; /* the new network: CNN, MLP, ... */
    enum kind_data data;
    struct kind_data_set train, test;
    const char *table_format; /* CSV, ... */
    const char *label;        /* the column of the class; NULL: not of a table */
    const json_t *columns;    /* of a sample of a table; NULL: unknown, or no table */
    int64_t classes;          /* of a new network; 0: unknown */
    const json_t *shape;      /* of its samples: [1, 28, 28]; NULL: unknown */
    int64_t size;             /* of pictures of any size: height and width; 0: as they are */
    int64_t workers;
    const json_t *asked;   /* fields that the user has set, as a manifest; they win */
    const json_t *volumes; /* spec.volumes */
};

/* One field that several jobs try. */
struct kind_vary {
    const char *field; /* "learningRate", "trainer.epochs"; a $(NAME) of the job: NAME */
    const char *range; /* "0.001..0.3", "64,128,256" */
};

/* Jobs like one other, which differ in some fields. */
struct kind_sweep {
    const json_t *job; /* its manifest */
    const struct kind_vary *vary;
    size_t count;
    const char *metric, *goal; /* NULL: of the job */
    int64_t tries, at_once;
};
