/* preprocess.h: converts a decoded image to the network's input [3, h, w], as
 * spec.scorer.onnx.preprocess says. Pure. The picture is first resized, then padded to a multiple
 * (edge pixels are repeated right and below). */
#pragma once

#include "agent/data/input/media.h"
#include "agent/engine/tensor.h"

enum preprocess_range { RANGE_BYTE, RANGE_UNIT, RANGE_SIGNED, RANGE_IMAGENET, RANGE_COUNT };

/* "Byte", "Unit", "Signed", "ImageNet"; -1 for other names. */
int preprocess_range_find(const char *name);

struct preprocess {
    int width, height; /* 0: the item's, or computed from the other by the aspect ratio */
    int multiple_of;   /* >= 1 */
    bool is_bgr;       /* channel order of the network's input, and of its output for Image */
    enum preprocess_range range;
};

struct preprocess_size {
    int width, height;               /* resized */
    int padded_width, padded_height; /* the network's input */
};

/* INVALID names the field. */
NODISCARD int preprocess_read(const json_t *spec, struct preprocess *ret_preprocess,
                              struct error *err);

/* INVALID: width or height would exceed MEDIA_SIDE_MAX. */
NODISCARD int preprocess_measure(const struct preprocess *preprocess, int width, int height,
                                 struct preprocess_size *ret_size, struct error *err);

/* Fills tensor [3, padded_height, padded_width]. */
void preprocess_fill(const struct preprocess *preprocess, const struct picture *picture,
                     const struct preprocess_size *size, float *tensor);
/* The same in two steps, the second of which a device does: bytes [padded_height, padded_width, 3],
 * RGB; and the factors that turn bytes into the network's input. */
void preprocess_fill_bytes(const struct picture *picture, const struct preprocess_size *size,
                           uint8_t *bytes);
struct pixel_conversion preprocess_bytes(const struct preprocess *preprocess);
