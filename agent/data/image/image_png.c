// SPDX-License-Identifier: Apache-2.0
/* PNG by libpng: the codec's row. */
#include "agent/data/image/image.h"

#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

static int decode(const void *bytes, size_t size, struct picture *ret_picture, struct error *err) {
    png_image image = {.version = PNG_IMAGE_VERSION};
    if (!png_image_begin_read_from_memory(&image, bytes, size)) {
        return error_set(err, ERROR_INVALID, "corrupt PNG: %s", image.message);
    }
    if (picture_check_size(image.width, image.height, err) < 0) {
        png_image_free(&image);
        return -1;
    }
    /* 16-bit files without other information hold sRGB, like all others. */
    image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
    image.format = PNG_FORMAT_RGB;
    AUTO(picture_release) struct picture picture;
    picture_init(&picture, (int)image.width, (int)image.height);
    const png_color white = {255, 255, 255};
    if (!png_image_finish_read(&image, &white, picture.pixels, 3 * picture.width, NULL)) {
        return error_set(err, ERROR_INVALID, "corrupt PNG: %s", image.message);
    }
    *ret_picture = picture;
    picture = (struct picture){0};
    return 0;
}

/* ---- masks: libpng's simplified reader would convert what the numbers mean ------------------- */

struct mask {
    const uint8_t *bytes;
    size_t size, at;
    struct error *err;
    png_bytep *rows; /* of picture.pixels; NULL until the header is read */
    struct picture picture;
};

/* Does not return. */
static void fail(png_structp png, png_const_charp text) {
    struct mask *mask = png_get_error_ptr(png);
    error_set(mask->err, ERROR_INVALID, "corrupt PNG: %.100s", text);
    longjmp(png_jmpbuf(png), 1); /* NOLINT(cert-err52-cpp): libpng's way back */
}

static void ignore(png_structp png UNUSED, png_const_charp text UNUSED) {
}

static void take_bytes(png_structp png, png_bytep to, size_t size) {
    struct mask *mask = png_get_io_ptr(png);
    if (size > mask->size - mask->at) {
        png_error(png, "it is truncated");
    }
    memcpy(to, mask->bytes + mask->at, size);
    mask->at += size;
}

static int check_mask(const struct mask *mask, png_structp png, png_infop info) {
    int type = png_get_color_type(png, info), bits = png_get_bit_depth(png, info);
    if ((type != PNG_COLOR_TYPE_GRAY && type != PNG_COLOR_TYPE_PALETTE) || bits > 8) {
        return error_set(mask->err, ERROR_INVALID,
                         "a mask is a PNG of grey or palette with up to 8 bits, this one has %d "
                         "channels of %d bits",
                         png_get_channels(png, info), bits);
    }
    return picture_check_size(png_get_image_width(png, info), png_get_image_height(png, info),
                              mask->err);
}

/* The rows are read into the last third of the pixels, so that spreading them runs forwards. */
static int read_mask(struct mask *mask, png_structp png, png_infop info) {
    if (setjmp(png_jmpbuf(png))) { /* NOLINT(cert-err52-cpp) */
        return -1;
    }
    png_set_read_fn(png, mask, take_bytes);
    png_read_info(png, info);
    if (check_mask(mask, png, info) < 0) {
        return -1;
    }
    png_set_packing(png); /* one byte a pixel, with the number that the file has */
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
    picture_init(&mask->picture, (int)png_get_image_width(png, info),
                 (int)png_get_image_height(png, info));
    size_t width = (size_t)mask->picture.width, height = (size_t)mask->picture.height;
    mask->rows = x_calloc(height, sizeof *mask->rows);
    for (size_t y = 0; y < height; y++) {
        mask->rows[y] = mask->picture.pixels + 2 * width * height + y * width;
    }
    png_read_image(png, mask->rows);
    png_read_end(png, NULL);
    return 0;
}

static void spread(struct picture *picture) {
    size_t count = (size_t)picture->width * (size_t)picture->height;
    const uint8_t *classes = picture->pixels + 2 * count;
    for (size_t i = 0; i < count; i++) {
        uint8_t class = classes[i];
        memset(picture->pixels + 3 * i, class, 3);
    }
}

static int decode_mask(const void *bytes, size_t size, struct picture *ret_picture,
                       struct error *err) {
    struct mask mask = {.bytes = bytes, .size = size, .err = err};
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &mask, fail, ignore);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    int result =
        info ? read_mask(&mask, png, info) : error_set(err, ERROR_EXHAUSTED, "no memory for a PNG");
    png_destroy_read_struct(&png, &info, NULL);
    free(mask.rows);
    if (result < 0) {
        picture_release(&mask.picture);
        return -1;
    }
    spread(&mask.picture);
    *ret_picture = mask.picture;
    return 0;
}

/* ---- writing -------------------------------------------------------------------------------- */

/* One byte of each pixel; the caller frees. */
static uint8_t *take_grey(const struct picture *picture) {
    size_t count = (size_t)picture->width * (size_t)picture->height;
    uint8_t *grey = x_malloc(count);
    for (size_t i = 0; i < count; i++) {
        grey[i] = picture->pixels[3 * i];
    }
    return grey;
}

static int encode(const struct picture *picture, uint8_t **ret_bytes, size_t *ret_size,
                  struct error *err) {
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)picture->width,
                       .height = (png_uint_32)picture->height,
                       .format = picture->is_grey ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB};
    png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
    uint8_t *bytes = x_malloc(size), *grey = picture->is_grey ? take_grey(picture) : NULL;
    int done = png_image_write_to_memory(&image, bytes, &size, 0, grey ? grey : picture->pixels,
                                         (grey ? 1 : 3) * picture->width, NULL);
    free(grey);
    if (!done) {
        free(bytes);
        return error_set(err, ERROR_BUG, "cannot be encoded as PNG: %s", image.message);
    }
    *ret_bytes = x_realloc(bytes, size);
    *ret_size = size;
    return 0;
}

static int64_t read_number(const uint8_t *bytes) {
    return (int64_t)bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

/* The first chunk is IHDR: after signature, length and name it begins with width and height. */
static bool read_size(const void *bytes, size_t size, int64_t *ret_width, int64_t *ret_height) {
    enum { NAME_AT = 12, WIDTH_AT = 16, HEIGHT_AT = 20, END = 24 };
    const uint8_t *head = bytes;
    if (size < END || memcmp(head + NAME_AT, "IHDR", 4) != 0) {
        return false;
    }
    *ret_width = read_number(head + WIDTH_AT);
    *ret_height = read_number(head + HEIGHT_AT);
    return true;
}

const struct image_codec image_png = {
    .format = IMAGE_PNG,
    .media_type = "image/png",
    .read_size = read_size,
    .decode = decode,
    .decode_mask = decode_mask,
    .encode = encode,
};
