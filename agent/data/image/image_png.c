// SPDX-License-Identifier: Apache-2.0
#include "agent/data/image/image.h"

#include <png.h>
#include <stdlib.h>

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

const struct image_codec image_png = {
    .format = IMAGE_PNG,
    .magic = "\x89PNG\r\n\x1A\n",
    .magic_size = 8,
    .decode = decode,
    .encode = encode,
};
