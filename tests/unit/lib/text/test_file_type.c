// SPDX-License-Identifier: Apache-2.0
/* Every type by its first bytes, and by its endings. */
#include "lib/text/file_type.h"
#include "tests/test.h"

static const char *type_of(const char *bytes, size_t size) {
    const struct file_type *type = file_type_of_bytes(bytes, size);
    return type ? type->media_type : "unknown";
}

static void by_first_bytes(void) {
    static const struct {
        const char *bytes;
        size_t size;
        const char *type;
    } rows[] = {
        {"\xFF\xD8\xFF", 3, "image/jpeg"},
        {"\xFF\xD8\xFE\xE0", 4, "unknown"},
        {"\x89PNG\r\n\x1A\n....", 12, "image/png"},
        {"\x89PNG\n\x1A\n.....", 12, "unknown"}, /* by a transfer as text */
        {"\x89PNG\r\n\x1A", 7, "unknown"},
        {"GIF89a......", 12, "image/gif"},
        {"RIFF....WEBP", 12, "image/webp"},
        {"RIFF....WEBP", 11, "unknown"},
        {"RIFF....WAVE", 12, "audio/wav"},
        {"RIFF....AVI ", 12, "unknown"},
        {"%PDF-1.7....", 12, "application/pdf"},
        {"OggS", 4, "audio/ogg"},
        {"ID3.", 4, "audio/mpeg"},
        {"fLaC", 4, "audio/flac"},
        {"", 0, "unknown"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CHECK_STR(type_of(rows[i].bytes, rows[i].size), rows[i].type);
    }
}

static void by_endings(void) {
    static const struct {
        const char *name;
        int use; /* -1: unknown */
    } rows[] = {{"a/b.JPG", FILE_TYPE_READ},
                {"b.jpeg", FILE_TYPE_READ},
                {"a.tar.png", FILE_TYPE_READ},
                {"a.gif", FILE_TYPE_SHOWN},
                {"a.WebP", FILE_TYPE_SHOWN},
                {"a.tiff", FILE_TYPE_PICTURE},
                {"a.jfif", FILE_TYPE_PICTURE},
                {"a.jxl", FILE_TYPE_PICTURE},
                {"a.pdf", FILE_TYPE_OTHER},
                {".jpg", -1},
                {"a/.jpg", -1},
                {"a.jpg/b", -1},
                {"a.jpg.", -1},
                {"jpg", -1},
                {"", -1}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct file_type *type = file_type_of_name(rows[i].name);
        CHECK_INT(type ? (int)type->use : -1, rows[i].use);
    }
    CHECK(file_type_of_ending("Png") && !file_type_of_ending("seg.png"));
    CHECK(!file_type_of_ending(""));
}

int main(void) {
    TEST(by_first_bytes);
    TEST(by_endings);
    return TEST_END();
}
