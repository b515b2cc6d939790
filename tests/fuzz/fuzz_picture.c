// SPDX-License-Identifier: Apache-2.0
/* A picture file: recognized by its bytes, decoded, turned upright; for a JPEG also the outline
 * that a GPU's decoder would get. */
#include "agent/data/image/image.h"
#include "agent/data/image/jpeg_outline.h"

#include <stdlib.h>
#include <string.h>

enum { PIXELS_MAX = 1 << 18 }; /* large ones are slow, not different */

static uint64_t area(const uint8_t *height, const uint8_t *width, int count) {
    uint64_t y = 0, x = 0;
    for (int i = 0; i < count; i++) {
        y = y << 8 | height[i];
        x = x << 8 | width[i];
    }
    return x * y;
}

static bool is_large(const uint8_t *data, size_t size) {
    if (image_sniff(data, size) == IMAGE_PNG) {
        return size > 24 && area(data + 20, data + 16, 4) > PIXELS_MAX;
    }
    for (size_t i = 0; i + 9 < size; i++) {
        if (data[i] == 0xFF && (data[i + 1] & 0xF0) == 0xC0 &&
            area(data + i + 5, data + i + 7, 2) > PIXELS_MAX) {
            return true;
        }
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct error err = {0};
    struct picture picture = {0};
    struct jpeg_outline outline;
    bool is_outlined = jpeg_outline_read(data, size, &outline);
    if (!is_large(data, size) && image_decode(data, size, &picture, &err) == 0) {
        if (is_outlined &&
            MAX(outline.width, outline.height) != MAX(picture.width, picture.height)) {
            abort();
        }
        picture_release(&picture);
    }
    if (!is_large(data, size) && image_decode_mask(data, size, &picture, &err) == 0) {
        picture_release(&picture);
    }
    return 0;
}
