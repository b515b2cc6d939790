/* sample.h: one sample of a data set (dataset.h): its numbers and its target. */
#pragma once

#include "agent/data/image/picture.h"
#include "agent/engine/tensor.h"

enum { SAMPLE_EXTRAS_MAX = 7 };

/* A tensor of each sample, beside the first one. */
struct dataset_tensor {
    char *name; /* owned by the kind: the network's name of this input or output */
    enum tensor_type type;
    struct shape shape;
    const char *needed; /* why a network must take it; NULL: it need not */
    /* The target of a further output of the network, called `name`: int64 (a class, or one for each
     * place) or float32 numbers; no input takes it. */
    bool is_target;
    bool is_share; /* its numbers must be from 0 to 1, for BinaryCrossEntropy */
};

/* One sample. Zero it before the first use; its memory is reused. */
struct sample {
    struct shape shape;              /* without unknown sizes */
    bool is_interleaved;             /* in memory as [h, w, c]: decoded pictures */
    void *data;                      /* elements of dataset->type */
    size_t room;                     /* bytes of data */
    void *extras[SAMPLE_EXTRAS_MAX]; /* its further tensors: dataset->extras */
    size_t extra_rooms[SAMPLE_EXTRAS_MAX];
    int64_t label;      /* the class, 0..classes - 1; -1: none */
    int64_t *labels;    /* if the data set has places: one per place */
    size_t labels_room; /* bytes */
    float *target;      /* target_count numbers */
    size_t target_room; /* bytes */
};
void sample_release(struct sample *sample); /* for AUTO, too */
/* For kinds of data sets: at least this many bytes in sample->data, whose content is not kept. */
void *sample_room(struct sample *sample, size_t bytes);
/* The same of sample->extras[extra]. */
void *sample_extra_room(struct sample *sample, size_t extra, size_t bytes);
/* Takes the pixels of a decoded picture; shape is [3, height, width]. */
void sample_take_picture(struct sample *sample, struct picture *picture);
/* At least this many floats in sample->target, whose content is not kept. */
float *sample_target_room(struct sample *sample, size_t count);
/* At least this many labels in sample->labels. */
int64_t *sample_labels_room(struct sample *sample, size_t count);
