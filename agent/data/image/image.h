/* image.h: decodes and encodes image files (JPEG, PNG). The first bytes determine the format; the
 * name does not matter. Decoding always gives 8-bit RGB, upright: grey becomes RGB, 16 bits are
 * reduced to 8, CMYK is converted (as Adobe writes it), transparency is blended with white, an EXIF
 * orientation is applied. */
#pragma once

#include "agent/data/image/picture.h"

enum {
    IMAGE_BYTES_MAX = 512 << 20, /* maximum of a file */
    IMAGE_SNIFF_BYTES = 16,      /* enough to recognise the format (file_type.h needs fewer) */
    IMAGE_JPEG_QUALITY = 92,
};

enum image_format { IMAGE_UNKNOWN, IMAGE_JPEG, IMAGE_PNG };

/* A format: one file, and one row of agent/registry.c and of agent/trainer/registry.c
 * (agent/shim/registry.c stays empty). README.md in this folder lists all places. */
struct image_codec {
    enum image_format format;
    const char *media_type; /* of a row of lib/text/file_type.c, which has the first bytes */
    /* Contracts: image_read_size, image_decode, image_decode_mask (NULL: not for masks),
     * image_encode. */
    bool (*read_size)(const void *bytes, size_t size, int64_t *ret_width, int64_t *ret_height);
    int (*decode)(const void *bytes, size_t size, struct picture *ret_picture, struct error *err);
    int (*decode_mask)(const void *bytes, size_t size, struct picture *ret_picture,
                       struct error *err);
    int (*encode)(const struct picture *picture, uint8_t **ret_bytes, size_t *ret_size,
                  struct error *err);
};

extern const struct image_codec image_jpeg;            /* libjpeg-turbo */
extern const struct image_codec image_png;             /* libpng */
extern const struct image_codec *const image_codecs[]; /* a registry.c; ends with NULL */

/* The format by the first bytes, of which IMAGE_SNIFF_BYTES are enough; IMAGE_UNKNOWN: none of
 * ours. */
enum image_format image_sniff(const void *bytes, size_t size);

/* Width and height in pixels, as the head of the file has them, without decoding it; nothing is
 * checked against a maximum. False: another format, a damaged head, or a JPEG that jpeg_outline.h
 * does not read (CMYK, lossless). Never fails, for any bytes. */
bool image_read_size(const void *bytes, size_t size, int64_t *ret_width, int64_t *ret_height);

/* The caller releases *ret_picture. INVALID: another format, damaged, truncated, or larger than
 * picture.h allows. Errors do not name the file; the caller adds it. Any thread. */
NODISCARD int image_decode(const void *bytes, size_t size, struct picture *ret_picture,
                           struct error *err);
/* A mask: a file whose pixels are classes. The caller releases *ret_picture, in which the three
 * bytes of a pixel are its class: the number in the file, of grey or, where it has a palette, into
 * that, as it is there. INVALID: as image_decode, and all but PNG of grey or palette with up to 8
 * bits. */
NODISCARD int image_decode_mask(const void *bytes, size_t size, struct picture *ret_picture,
                                struct error *err);
/* The picture as a file of that format: JPEG with IMAGE_JPEG_QUALITY, PNG without loss. The caller
 * frees *ret_bytes. */
NODISCARD int image_encode(const struct picture *picture, enum image_format format,
                           uint8_t **ret_bytes, size_t *ret_size, struct error *err);
