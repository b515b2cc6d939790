/* pictures.h: files and grey pictures in the volume `out` of fixtures.h. */
#pragma once

#include "agent/data/image/image.h"
#include "tests/unit/agent/data/fixtures.h"

/* name: below `out`; missing folders are created. */
UNUSED static void put(const char *name, const void *bytes, size_t size) {
    struct error err = {0};
    AUTO(text_freep) char *path = x_printf("%s/%s", fixtures_out, name);
    AUTO(text_freep) char *folder = x_strndup(path, (size_t)(file_basename(path) - path) - 1);
    CHECK_OK(file_make_folders(folder, &err), &err);
    CHECK_OK(file_write(path, bytes, size, &err), &err);
}

/* 20 pixels high. */
UNUSED static void put_picture(const char *name, enum image_format format, int width) {
    struct error err = {0};
    struct picture picture;
    picture_init(&picture, width, 20);
    memset(picture.pixels, 0x60, (size_t)width * 20 * 3);
    uint8_t *bytes = NULL;
    size_t size = 0;
    CHECK_OK(image_encode(&picture, format, &bytes, &size, &err), &err);
    put(name, bytes, size);
    free(bytes);
    picture_release(&picture);
}
