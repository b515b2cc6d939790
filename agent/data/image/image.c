// SPDX-License-Identifier: Apache-2.0
#include "agent/data/image/image.h"

#include "lib/text/file_type.h"

#include <assert.h>
#include <string.h>

static_assert((int)IMAGE_SNIFF_BYTES >= (int)FILE_TYPE_SNIFF_BYTES, "enough for every format");

static const struct image_codec *find(const void *bytes, size_t size) {
    const struct file_type *type = file_type_of_bytes(bytes, size);
    for (const struct image_codec *const *codec = image_codecs; type && *codec; codec++) {
        if (type->media_type && strcmp((*codec)->media_type, type->media_type) == 0) {
            return *codec;
        }
    }
    return NULL;
}

enum image_format image_sniff(const void *bytes, size_t size) {
    const struct image_codec *codec = find(bytes, size);
    return codec ? codec->format : IMAGE_UNKNOWN;
}

bool image_read_size(const void *bytes, size_t size, int64_t *ret_width, int64_t *ret_height) {
    const struct image_codec *codec = find(bytes, size);
    return codec && codec->read_size(bytes, size, ret_width, ret_height);
}

int image_decode(const void *bytes, size_t size, struct picture *ret_picture, struct error *err) {
    const struct image_codec *codec = find(bytes, size);
    return codec ? codec->decode(bytes, size, ret_picture, err)
                 : error_set(err, ERROR_INVALID, "%s; a JPEG or PNG picture is expected",
                             size ? "has an unknown format" : "is empty (0 bytes)");
}

int image_decode_mask(const void *bytes, size_t size, struct picture *ret_picture,
                      struct error *err) {
    const struct image_codec *codec = find(bytes, size);
    return codec && codec->decode_mask
               ? codec->decode_mask(bytes, size, ret_picture, err)
               : error_set(err, ERROR_INVALID,
                           "%s; a mask is a PNG, as JPEG would change its numbers",
                           codec  ? "is a picture of another format"
                           : size ? "has an unknown format"
                                  : "is empty (0 bytes)");
}

int image_encode(const struct picture *picture, enum image_format format, uint8_t **ret_bytes,
                 size_t *ret_size, struct error *err) {
    const struct image_codec *const *codec = image_codecs;
    while (*codec && (*codec)->format != format) {
        codec++;
    }
    assert(*codec);
    return (*codec)->encode(picture, ret_bytes, ret_size, err);
}
