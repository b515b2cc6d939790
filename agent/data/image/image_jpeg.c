// SPDX-License-Identifier: Apache-2.0
/* JPEG by libjpeg-turbo: the codec's row. */
#include "agent/data/image/exif.h"
#include "agent/data/image/image.h"
#include "agent/data/image/jpeg_outline.h"
#include "agent/data/image/jpeg_tidy.h"

#include <stdlib.h>
#include <string.h>
#include <turbojpeg.h>

/* Frees the handle when it leaves scope. */
static void handle_destroyp(tjhandle *handle) {
    if (*handle) {
        tjDestroy(*handle);
    }
}

/* How many bytes before the end's marker belong to nothing, if libjpeg's warning is about them. */
static size_t count_padding(tjhandle handle) {
    const char *text = tjGetErrorStr2(handle), *count = strstr(text, "data: ");
    long long bytes = count && strstr(text, " extraneous bytes before marker 0xd9")
                          ? strtoll(count + strlen("data: "), NULL, 10)
                          : 0;
    return bytes > 0 ? (size_t)bytes : 0;
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

static int corrupt(tjhandle handle, struct error *err) {
    return error_set(err, ERROR_INVALID, "corrupt JPEG: %s", tjGetErrorStr2(handle));
}

static int decode_pixels(tjhandle handle, const void *bytes, size_t size, struct picture *picture,
                         struct error *err) {
    int width = 0, height = 0, sampling = 0, color = 0;
    int header = tjDecompressHeader3(handle, bytes, size, &width, &height, &sampling, &color);
    if (header < 0) {
        return corrupt(handle, err);
    }
    if (width < 1 || height < 1) { /* only tables, or truncated before the size */
        return error_set(err, ERROR_INVALID, "corrupt JPEG: it contains no picture");
    }
    if (picture_check_size(width, height, err) < 0) {
        return -1;
    }
    picture_init(picture, width, height);
    bool is_cmyk = color == TJCS_CMYK || color == TJCS_YCCK;
    int result = is_cmyk ? decode_cmyk(handle, bytes, size, picture)
                         : tjDecompress2(handle, bytes, size, picture->pixels, width, 0, height,
                                         TJPF_RGB, TJFLAG_LIMITSCANS | TJFLAG_ACCURATEDCT);
    return result < 0 ? corrupt(handle, err) : 0;
}

/* libjpeg only warns if data is missing or damaged, which leaves grey or shifted areas. It shows
 * its first warning alone, and calls an error after it a warning. So the file is read again without
 * what is harmless: what is warned of then is damage. Again and again, for libjpeg counts padding
 * by what it has not read ahead, and not the bytes 0xFF before a marker. */
static int decode_tidied(tjhandle handle, const void *bytes, size_t size, struct picture *picture,
                         struct error *err) {
    enum { TIMES_MAX = 8 };
    uint8_t *tidied = NULL;
    int result = -1;
    for (int i = 0; result < 0 && i < TIMES_MAX; i++) {
        size_t tidy_size = 0;
        const void *from = tidied ? tidied : bytes;
        uint8_t *next = jpeg_tidy(from, size, count_padding(handle), &tidy_size);
        if (!next || (tidy_size == size && memcmp(next, from, size) == 0)) {
            free(next);
            break;
        }
        free(tidied);
        tidied = next;
        size = tidy_size;
        error_clear(err);
        picture_release(picture);
        result = decode_pixels(handle, tidied, size, picture, err);
    }
    free(tidied);
    return result;
}

static int decode(const void *bytes, size_t size, struct picture *ret_picture, struct error *err) {
    AUTO(handle_destroyp) tjhandle handle = tjInitDecompress();
    if (!handle) {
        return error_set(err, ERROR_EXHAUSTED, "libjpeg-turbo: %s", tjGetErrorStr2(NULL));
    }
    AUTO(picture_release) struct picture picture = {0};
    if (decode_pixels(handle, bytes, size, &picture, err) < 0 &&
        decode_tidied(handle, bytes, size, &picture, err) < 0) {
        return -1;
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

static bool read_size(const void *bytes, size_t size, int64_t *ret_width, int64_t *ret_height) {
    struct jpeg_outline outline;
    if (!jpeg_outline_read(bytes, size, &outline)) {
        return false;
    }
    *ret_width = outline.width;
    *ret_height = outline.height;
    return true;
}

const struct image_codec image_jpeg = {
    .format = IMAGE_JPEG,
    .media_type = "image/jpeg",
    .read_size = read_size,
    .decode = decode,
    .encode = encode,
};
