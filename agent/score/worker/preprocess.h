/* preprocess.h: picture -> the network's input [3, h, w], as spec.scorer.onnx.preprocess says.
 * PURE. Sides: the item's own -> resized -> padded to a multiple (edge pixels repeated right and
 * below). */
#pragma once

#include "agent/data/input/media.h"
#include "agent/engine/tensor.h"

enum range { RANGE_BYTE, RANGE_UNIT, RANGE_SIGNED, RANGE_IMAGENET, RANGE_COUNT };

/* "Byte", "Unit", "Signed", "ImageNet"; -1 when it is none. */
int range_find(const char *name);

struct preprocess {
    int width, height; /* 0: the item's own, or from the other by the aspect ratio */
    int multiple_of;   /* >= 1 */
    bool is_bgr;       /* of the network's input, and of an Image it puts out */
    enum range range;
};

struct preprocess_size {
    int width, height;               /* resized */
    int padded_width, padded_height; /* what the network gets */
};

/* Fails with INVALID and the field's name. */
NODISCARD int preprocess_read(const json_t *spec, struct preprocess *ret_preprocess,
                              struct error *err);

/* Fails with INVALID when a side would exceed MEDIA_SIDE_MAX. */
NODISCARD int preprocess_measure(const struct preprocess *preprocess, int width, int height,
                                 struct preprocess_size *ret_size, struct error *err);

/* Fills tensor [3, padded_height, padded_width]. */
void preprocess_fill(const struct preprocess *preprocess, const struct picture *picture,
                     const struct preprocess_size *size, float *tensor);
/* The same in two parts, the second of which a device does: bytes [padded_height, padded_width, 3],
 * RGB; and what the network's input is of them. */
void preprocess_fill_bytes(const struct picture *picture, const struct preprocess_size *size,
                           uint8_t *bytes);
struct bytes preprocess_bytes(const struct preprocess *preprocess);
