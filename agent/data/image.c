// SPDX-License-Identifier: Apache-2.0
#include "agent/data/image.h"

#include "agent/data/image_jpeg.h"
#include "agent/data/image_png.h"

#include <assert.h>
#include <string.h>

/* A new format is one file and one row. */
static const struct {
    const char *name;
    const char *magic;
    size_t magic_size;
    int (*decode)(const void *bytes, size_t size, struct picture *ret_picture, struct error *err);
    int (*encode)(const struct picture *picture, uint8_t **ret_bytes, size_t *ret_size,
                  struct error *err);
} formats[] = {
    [IMAGE_UNKNOWN] = {"unknown", NULL, 0, NULL, NULL},
    [IMAGE_JPEG] = {"JPEG", "\xFF\xD8\xFF", 3, image_jpeg_decode, image_jpeg_encode},
    [IMAGE_PNG] = {"PNG", "\x89PNG\r\n\x1A\n", 8, image_png_decode, image_png_encode},
};
static_assert(ARRAY_LEN(formats) == IMAGE_FORMAT_COUNT, "one row per format");

enum image_format image_sniff(const void *bytes, size_t size) {
    for (enum image_format i = IMAGE_UNKNOWN + 1; i < IMAGE_FORMAT_COUNT; i++) {
        if (size >= formats[i].magic_size &&
            memcmp(bytes, formats[i].magic, formats[i].magic_size) == 0) {
            return i;
        }
    }
    return IMAGE_UNKNOWN;
}

int image_decode(const void *bytes, size_t size, struct picture *ret_picture, struct error *err) {
    enum image_format format = image_sniff(bytes, size);
    if (format == IMAGE_UNKNOWN) {
        return error_set(err, ERROR_INVALID, "%s; a JPEG or PNG picture is expected",
                         size ? "is of no known format" : "is empty (0 bytes)");
    }
    return formats[format].decode(bytes, size, ret_picture, err);
}

int image_encode(const struct picture *picture, enum image_format format, uint8_t **ret_bytes,
                 size_t *ret_size, struct error *err) {
    assert(format != IMAGE_UNKNOWN);
    return formats[format].encode(picture, ret_bytes, ret_size, err);
}
