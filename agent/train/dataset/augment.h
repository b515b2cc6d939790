/* augment.h: a sample -> the network's input: cropped, padded, flipped, normalized. Pure: random
 * numbers depend only on seed, epoch and sample (order.h). In the spec:
 *
 *   augment: {crop: None | Random | RandomResized, size: 224, pad: 4, flip: true}
 *   normalize: {mean: ["0.286"], deviation: ["0.353"]}
 *
 * size: a square is cut from a picture and scaled to size x size. RandomResized, in training: 8 to
 * 100 % of the area, sides 3:4 to 4:3, anywhere (as for Inception: Szegedy et al., "Going Deeper
 * with Convolutions", 2014); in evaluation the centre, 7/8 of the shorter side. None: the centre,
 * with the full shorter side. Random: like None; the random position comes from pad, as it does
 * without crop.
 * pad, flip: in training only. pad: adds this many zeros on each side, then takes a random crop of
 * the former size (as for CIFAR). flip: exchanges left and right with probability 1/2.
 * Where labels are those of pixels, [h, w], they are moved as the pixels are: the nearest one's;
 * those of padding do not count.
 * normalize: (x - mean) / deviation, with one value for all channels or one per channel; bytes are
 * divided by 255 first. */
#pragma once

#include "agent/train/dataset/dataset.h"

enum { AUGMENT_CHANNELS_MAX = 16, AUGMENT_SIZE_MAX = 4096 };

enum augment_crop {
    AUGMENT_CROP_NONE,
    AUGMENT_CROP_RANDOM,
    AUGMENT_CROP_RANDOM_RESIZED,
    AUGMENT_CROP_COUNT
};

struct augment {
    enum augment_crop crop;
    int size; /* 0: the sample's own */
    int pad;
    bool flip;
    struct shape shape;    /* of the result */
    struct shape places;   /* of its labels; rank 0: it has one */
    bool moves_places;     /* labels are moved with the pixels */
    int64_t ignored;       /* the label of places that do not count */
    enum tensor_type type; /* of samples */
    /* Of the result: float32, unless a network takes integers: int64 or int32, as they are. */
    enum tensor_type result;
    enum tensor_type extra_results[SAMPLE_EXTRAS_MAX]; /* the same of the further tensors */
    int64_t channels;                                  /* 1 if samples are not pictures */
    float factor[AUGMENT_CHANNELS_MAX],
        offset[AUGMENT_CHANNELS_MAX]; /* result = x * factor + offset */
};

/* augment, normalize: the objects of the spec, or NULL. INVALID names the field, also if the
 * samples do not fit it (such as pictures of several sizes without `size`). */
NODISCARD int augment_read(const json_t *augment, const json_t *normalize,
                           const struct dataset *dataset, struct augment *ret_augment,
                           struct error *err);

struct augment_draw {
    bool is_training;
    uint64_t seed;
    int64_t epoch, sample;
};

/* Fills shape_count(&augment->shape) elements of augment->result, pictures as [c, h, w]. */
void augment_fill(const struct augment *augment, const struct sample *sample,
                  const struct augment_draw *draw, void *result);
/* A further tensor of the same sample: of augment->extra_results[extra]; bytes become floats from 0
 * to 1. */
void augment_fill_extra(const struct augment *augment, const struct dataset_tensor *tensor,
                        size_t extra, const struct sample *sample, void *result);
/* The labels of the same sample, with the same draw: shape_count(&augment->places). */
void augment_labels(const struct augment *augment, const struct sample *sample,
                    const struct augment_draw *draw, int64_t *result);
