// SPDX-License-Identifier: Apache-2.0
#include "agent/data/image/image.h"

#include <assert.h>
#include <string.h>

static const struct image_codec *find(const void *bytes, size_t size) {
    for (const struct image_codec *const *codec = image_codecs; *codec; codec++) {
        if (size >= (*codec)->magic_size &&
            memcmp(bytes, (*codec)->magic, (*codec)->magic_size) == 0) {
            return *codec;
        }
    }
    return NULL;
}

enum image_format image_sniff(const void *bytes, size_t size) {
    const struct image_codec *codec = find(bytes, size);
    return codec ? codec->format : IMAGE_UNKNOWN;
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
