// SPDX-License-Identifier: Apache-2.0
#include "lib/text/file_type.h"

#include <string.h>
#include <strings.h>

enum { FORM_AT = 8, FORM_BYTES = 4 };

static const struct file_type types[] = {
    {"image/jpeg", "\xFF\xD8\xFF", 3, NULL, FILE_TYPE_READ, {"jpg", "jpeg"}},
    {"image/png", "\x89PNG\r\n\x1A\n", 8, NULL, FILE_TYPE_READ, {"png"}},
    {"image/gif", "GIF8", 4, NULL, FILE_TYPE_SHOWN, {"gif"}},
    {"image/webp", "RIFF", 4, "WEBP", FILE_TYPE_SHOWN, {"webp"}},
    {NULL, NULL, 0, NULL, FILE_TYPE_PICTURE, {"bmp", "tif", "tiff"}},
    {NULL, NULL, 0, NULL, FILE_TYPE_PICTURE, {"ppm", "avif", "heic"}},
    {NULL, NULL, 0, NULL, FILE_TYPE_PICTURE, {"jfif", "jxl"}},
    {"application/pdf", "%PDF", 4, NULL, FILE_TYPE_OTHER, {"pdf"}},
    {"audio/ogg", "OggS", 4, NULL, FILE_TYPE_OTHER, {"ogg"}},
    {"audio/mpeg", "ID3", 3, NULL, FILE_TYPE_OTHER, {"mp3"}},
    {"audio/flac", "fLaC", 4, NULL, FILE_TYPE_OTHER, {"flac"}},
    {"audio/wav", "RIFF", 4, "WAVE", FILE_TYPE_OTHER, {"wav"}},
};

static bool has_form(const struct file_type *type, const char *bytes, size_t size) {
    return !type->form ||
           (size >= FORM_AT + FORM_BYTES && memcmp(bytes + FORM_AT, type->form, FORM_BYTES) == 0);
}

const struct file_type *file_type_of_bytes(const void *bytes, size_t size) {
    for (const struct file_type *type = types; type < types + ARRAY_LEN(types); type++) {
        if (type->magic && size >= type->magic_size &&
            memcmp(bytes, type->magic, type->magic_size) == 0 && has_form(type, bytes, size)) {
            return type;
        }
    }
    return NULL;
}

const struct file_type *file_type_of_ending(const char *ending) {
    for (const struct file_type *type = types; type < types + ARRAY_LEN(types); type++) {
        for (const char *const *one = type->endings; *one; one++) {
            if (strcasecmp(ending, *one) == 0) {
                return type;
            }
        }
    }
    return NULL;
}

const struct file_type *file_type_of_name(const char *name) {
    const char *slash = strrchr(name, '/');
    const char *base = slash ? slash + 1 : name, *dot = strrchr(base, '.');
    return dot && dot > base ? file_type_of_ending(dot + 1) : NULL;
}
