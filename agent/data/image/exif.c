// SPDX-License-Identifier: Apache-2.0
#include "agent/data/image/exif.h"

#include <string.h>

enum { TAG_ORIENTATION = 0x0112, ENTRY_BYTES = 12, JPEG_APP1 = 0xE1, JPEG_START_OF_SCAN = 0xDA };

/* The bytes of a TIFF header in either byte order. Reads outside return 0. */
struct tiff {
    const uint8_t *bytes;
    size_t size;
    bool is_big_endian;
};

static uint32_t tiff_read(const struct tiff *tiff, size_t at, size_t count) {
    if (at > tiff->size || count > tiff->size - at) {
        return 0;
    }
    uint32_t value = 0;
    for (size_t i = 0; i < count; i++) {
        size_t from = tiff->is_big_endian ? i : count - 1 - i;
        value = value << 8 | tiff->bytes[at + from];
    }
    return value;
}

static int orientation_of_tiff(const uint8_t *bytes, size_t size) {
    struct tiff tiff = {bytes, size, size > 0 && bytes[0] == 'M'};
    size_t folder = tiff_read(&tiff, 4, 4);
    uint32_t count = tiff_read(&tiff, folder, 2);
    for (uint32_t i = 0; i < count; i++) {
        size_t entry = folder + 2 + (size_t)i * ENTRY_BYTES;
        if (tiff_read(&tiff, entry, 2) == TAG_ORIENTATION) {
            int value = (int)tiff_read(&tiff, entry + 8, 2);
            return value >= 1 && value <= 8 ? value : 1;
        }
    }
    return 1;
}

int exif_orientation(const void *jpeg, size_t size) {
    const uint8_t *bytes = jpeg;
    for (size_t at = 2; at + 4 <= size && bytes[at] == 0xFF;) {
        size_t length = (size_t)bytes[at + 2] << 8 | bytes[at + 3];
        if (bytes[at + 1] == JPEG_START_OF_SCAN || length < 2 || length > size - at - 2) {
            break;
        }
        const uint8_t *body = bytes + at + 4;
        if (bytes[at + 1] == JPEG_APP1 && length >= 8 && memcmp(body, "Exif\0", 6) == 0) {
            return orientation_of_tiff(body + 6, length - 8);
        }
        at += 2 + length;
    }
    return 1;
}
