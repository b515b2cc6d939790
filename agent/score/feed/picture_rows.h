/* picture_rows.h: fills a network's input with a picture, as preprocess.h has measured it. Pure. */
#pragma once

#include "agent/score/feed/preprocess.h"

/* How the network takes pictures. */
struct picture_form {
    enum tensor_type type; /* FLOAT32, FLOAT16 or UINT8 */
    bool is_nhwc;          /* [h, w, c]; false: [c, h, w] */
    int channels;          /* 3, or 1: grey (ITU-R BT.601) */
};

/* Of tensor [c, padded_height, padded_width], or as the form says. UINT8 values are rounded and
 * clamped. */
void picture_rows_fill(const struct preprocess *preprocess, const struct picture *picture,
                       const struct preprocess_size *size, const struct picture_form *form,
                       void *tensor);
/* The first of two steps, the second of which a device does with preprocess_bytes: bytes
 * [padded_height, padded_width, 3], RGB. */
void picture_rows_fill_bytes(const struct preprocess *preprocess, const struct picture *picture,
                             const struct preprocess_size *size, uint8_t *bytes);
