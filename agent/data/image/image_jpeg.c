// SPDX-License-Identifier: Apache-2.0
/* JPEG by libjpeg-turbo: the codec's row. */
#include "agent/data/image/exif.h"
#include "agent/data/image/image.h"

#include <stdlib.h>
#include <string.h>
#include <turbojpeg.h>

/* Frees the handle when it leaves scope. */
static void handle_destroyp(tjhandle *handle) {
    if (*handle) {
        tjDestroy(*handle);
    }
}

/* libjpeg only warns if data is missing, which leaves grey areas. Extra bytes are harmless. */
static bool is_harmless(tjhandle handle) {
    const char *text = tjGetErrorStr2(handle);
    return tjGetErrorCode(handle) == TJERR_WARNING && !strstr(text, "remature") &&
           !strstr(text, "bad Huffman");
}

static int decode_cmyk(tjhandle handle, const void *bytes, size_t size, struct picture *picture) {
    size_t pixels = (size_t)picture->width * (size_t)picture->height;
    uint8_t *cmyk = x_calloc(pixels, 4);
    int result = tjDecompress2(handle, bytes, size, cmyk, picture->width, 0, picture->height,
                               TJPF_CMYK, TJFLAG_LIMITSCANS | TJFLAG_ACCURATEDCT);
    /* Adobe stores the inks inverted: 255 means no ink. */
    for (size_t i = 0; i < pixels; i++) {
        for (size_t c = 0; c < 3; c++) {
            picture->pixels[3 * i + c] = (uint8_t)((cmyk[4 * i + c] * cmyk[4 * i + 3] + 127) / 255);
        }
    }
    free(cmyk);
    return result;
}

static int decode(const void *bytes, size_t size, struct picture *ret_picture, struct error *err) {
    AUTO(handle_destroyp) tjhandle handle = tjInitDecompress();
    int width = 0, height = 0, sampling = 0, color = 0;
    if (!handle) {
        return error_set(err, ERROR_EXHAUSTED, "libjpeg-turbo: %s", tjGetErrorStr2(NULL));
    }
    int header = tjDecompressHeader3(handle, bytes, size, &width, &height, &sampling, &color);
    bool is_empty = width < 1 || height < 1; /* only tables, or truncated before the size */
    if (is_empty || (header < 0 && !is_harmless(handle))) {
        return error_set(err, ERROR_INVALID, "corrupt JPEG: %s",
                         header < 0 ? tjGetErrorStr2(handle) : "it contains no picture");
    }
    if (picture_check_size(width, height, err) < 0) {
        return -1;
    }
    AUTO(picture_release) struct picture picture;
    picture_init(&picture, width, height);
    bool is_cmyk = color == TJCS_CMYK || color == TJCS_YCCK;
    int result = is_cmyk ? decode_cmyk(handle, bytes, size, &picture)
                         : tjDecompress2(handle, bytes, size, picture.pixels, width, 0, height,
                                         TJPF_RGB, TJFLAG_LIMITSCANS | TJFLAG_ACCURATEDCT);
    if (result < 0 && !is_harmless(handle)) {
        return error_set(err, ERROR_INVALID, "corrupt JPEG: %s", tjGetErrorStr2(handle));
    }
    picture_orient(&picture, exif_orientation(bytes, size));
    *ret_picture = picture;
    picture = (struct picture){0};
    return 0;
}

static int encode(const struct picture *picture, uint8_t **ret_bytes, size_t *ret_size,
                  struct error *err) {
    AUTO(handle_destroyp) tjhandle handle = tjInitCompress();
    if (!handle) {
        return error_set(err, ERROR_EXHAUSTED, "libjpeg-turbo: %s", tjGetErrorStr2(NULL));
    }
    unsigned long size = tjBufSize(picture->width, picture->height, TJSAMP_420);
    uint8_t *bytes = x_malloc(size);
    if (tjCompress2(handle, picture->pixels, picture->width, 0, picture->height, TJPF_RGB, &bytes,
                    &size, TJSAMP_420, IMAGE_JPEG_QUALITY,
                    TJFLAG_NOREALLOC | TJFLAG_ACCURATEDCT) < 0) {
        free(bytes);
        return error_set(err, ERROR_BUG, "cannot be encoded as JPEG: %s", tjGetErrorStr2(handle));
    }
    *ret_bytes = bytes;
    *ret_size = size;
    return 0;
}

const struct image_codec image_jpeg = {
    .format = IMAGE_JPEG,
    .magic = "\xFF\xD8\xFF",
    .magic_size = 3,
    .decode = decode,
    .encode = encode,
};
