/* preprocess.h: what a decoded picture becomes before the network, as spec.scorer.onnx.preprocess
 * says: its size, its place in the network's input, and the factors of its values. Pure.
 * picture_rows.h fills the input. */
#pragma once

#include "agent/data/input/media.h"
#include "agent/engine/tensor.h"

enum preprocess_range { RANGE_BYTE, RANGE_UNIT, RANGE_SIGNED, RANGE_IMAGENET, RANGE_COUNT };

enum preprocess_fit {
    FIT_STRETCH, /* to width and height */
    FIT_PAD,     /* in proportion, as large as it fits, centred; the margins have one value */
    FIT_CROP,    /* in proportion, as small as it covers all, centred; what sticks out is cut off */
    FIT_COUNT
};

enum preprocess_layout { LAYOUT_AUTO, LAYOUT_NCHW, LAYOUT_NHWC, LAYOUT_COUNT };

struct preprocess {
    int width, height; /* 0: the item's, or computed from the other by the aspect ratio */
    int multiple_of;   /* >= 1 */
    bool is_bgr;       /* channel order of the network's input, and of its output for Image */
    enum preprocess_range range;
    enum preprocess_fit fit; /* PAD, CROP: width and height are given */
    enum preprocess_layout layout;
    uint8_t pad_value;           /* PAD: of the margins, in every channel */
    bool has_mean;               /* mean and deviation replace those of `range`; in its units */
    float mean[3], deviation[3]; /* red, green, blue */
};

struct preprocess_size {
    int width, height;               /* of the picture, resized */
    int padded_width, padded_height; /* of the network's input */
    int left, top; /* where the resized picture begins in the input; below 0: so much is cut off */
};

/* INVALID names the field. */
NODISCARD int preprocess_read(const json_t *spec, struct preprocess *ret_preprocess,
                              struct error *err);

/* INVALID: width or height would exceed MEDIA_SIDE_MAX. */
NODISCARD int preprocess_measure(const struct preprocess *preprocess, int width, int height,
                                 struct preprocess_size *ret_size, struct error *err);

/* A byte of this channel (0 red, 1 green, 2 blue) becomes byte * scale + shift. */
void preprocess_scale(const struct preprocess *preprocess, int channel, float *ret_scale,
                      float *ret_shift);
/* The same factors by the network's channels, for a device that converts bytes. */
struct pixel_conversion preprocess_bytes(const struct preprocess *preprocess);
