// SPDX-License-Identifier: Apache-2.0
#include "agent/data/input/media.h"
#include "agent/data/parts/pack.h"
#include "tests/unit/agent/data/kinds/pictures.h"

#include <errno.h>
#include <sys/stat.h>

static json_t *spec_of(const char *folder, const char *pattern, const char *output) {
    return json_pack("{s:{s:{s:s,s:s}},s:{s:s}}", "input", "files", "path", folder, "pattern",
                     pattern, "output", "path", output);
}

static const struct media *files(void) {
    AUTO(tree_freep) json_t *spec = spec_of("x", "x", "x");
    const struct media *media = NULL;
    struct error err = {0};
    CHECK_OK(media_find(spec, &media, &err), &err);
    return media;
}

static void link_to(const char *target, const char *name) {
    AUTO(text_freep) char *path = x_printf("%s/photos/%s", fixtures_out, name);
    CHECK_INT(symlink(target, path), 0);
}

static void make_photos(void) {
    put_picture("photos/b.jpg", IMAGE_JPEG, 31);
    put_picture("photos/a.jpg", IMAGE_JPEG, 30);
    put_picture("photos/deep/er/c.jpg", IMAGE_JPEG, 32);
    put_picture("photos/deep/liar.jpg", IMAGE_PNG, 33); /* a PNG by its bytes */
    put_picture("photos/e.png", IMAGE_PNG, 34);
    put_picture("photos/B.jpg", IMAGE_JPEG, 35);
    put_picture("photos/.hidden.jpg", IMAGE_JPEG, 36);
    put_picture("photos/.windlass/r/x.jpg", IMAGE_JPEG, 36);
    put("photos/notes.txt", "no picture\n", 11);
    put("photos/bad\xff.jpg", "x", 1);
    AUTO(text_freep) char *outside = x_printf("%s/secret.jpg", fixtures_folder);
    link_to("a.jpg", "link.jpg");
    link_to(outside, "leaves.jpg");
    link_to("../../../media/secret.jpg", "climbs.jpg");
    link_to("deep", "again");
    put("result/earlier.jpg", "x", 1);
}

static int add_all(const json_t *spec, const json_t *lines, bool is_record, struct writer *writer,
                   struct error *err) {
    struct input_reader *reader = NULL;
    struct item item;
    int result = files()->lines->reader_open(spec, lines, &reader, err);
    while (result == 0 && (result = files()->lines->reader_next(reader, &item, err)) > 0) {
        AUTO(tree_freep) json_t *record = json_pack("{s:s}", "file", item.name);
        struct result answer = {.name = item.name,
                                .picture = is_record ? NULL : &item.picture,
                                .record = is_record ? record : NULL};
        result = item.fault ? error_set(err, ERROR_INVALID, "%s", item.fault)
                            : files()->writer_add(writer, &answer, err);
        if (!item.fault) {
            picture_release(&item.picture);
        }
    }
    files()->lines->reader_free(reader);
    return result;
}

/* Scores and publishes, as a worker does. */
static int score(const json_t *spec, const json_t *lines, bool is_record, struct error *err) {
    struct writer *writer = NULL;
    AUTO(store_freep) struct store *output = NULL;
    CHECK_OK(store_open(tree_text(spec, "output.path", ""), true, &output, err), err);
    AUTO(staged_output_freep)
    struct staged_output *staged = staged_output_new(output, ".windlass/r/try/1-1", true);
    CHECK_OK(files()->writer_open(spec, lines, staged, &writer, err), err);
    int result = add_all(spec, lines, is_record, writer, err);
    result = result < 0 ? result : files()->writer_finish(writer, err);
    result = result < 0 ? result : staged_output_close(staged, err);
    files()->writer_free(writer);
    if (result < 0) {
        return -1;
    }
    struct part part = staged_output_part(staged);
    CHECK_INT(staged_output_find_place(staged), is_record ? STAGED_TEXT : STAGED_OBJECT);
    result = pack_publish(&part, output, err);
    CHECK_OK(store_clear(output, ".windlass/r/try/", err), err);
    return result;
}

static enum image_format format_of(const char *name, int *ret_width) {
    struct error err = {0};
    struct picture picture = {0};
    char *bytes = NULL;
    size_t size = 0;
    AUTO(text_freep) char *path = x_printf("%s/result/%s", fixtures_out, name);
    CHECK_OK(file_read(path, 1 << 20, &bytes, &size, &err), &err);
    CHECK_OK(image_decode(bytes, size, &picture, &err), &err);
    enum image_format format = bytes ? image_sniff(bytes, size) : IMAGE_UNKNOWN;
    free(bytes);
    *ret_width = picture.width;
    picture_release(&picture);
    return format;
}

static void results_keep_place_and_format(void) {
    struct error err = {0};
    AUTO(tree_freep) json_t *spec = spec_of("out/photos", "*", "out/result");
    AUTO(tree_freep)
    json_t *lines = json_pack("[s,s,s,s]", "a.jpg", "deep/er/c.jpg", "deep/liar.jpg", "e.png");
    CHECK_OK(score(spec, lines, false, &err), &err);
    int width = 0;
    CHECK_INT(format_of("a.jpg", &width), IMAGE_JPEG);
    CHECK_INT(width, 30);
    CHECK_INT(format_of("deep/er/c.jpg", &width), IMAGE_JPEG);
    CHECK_INT(format_of("deep/liar.jpg", &width), IMAGE_PNG);
    CHECK_INT(width, 33);
    CHECK_INT(format_of("e.png", &width), IMAGE_PNG);
    CHECK_INT(ask_number("find '%s/result' -name '*tmp*' | wc -l", fixtures_out), 0);
}

static void records_lie_beside(void) {
    struct error err = {0};
    AUTO(tree_freep) json_t *spec = spec_of("out/photos", "c.jpg", "out/classes");
    AUTO(tree_freep) json_t *lines = json_pack("[s]", "deep/er/c.jpg");
    CHECK_OK(score(spec, lines, true, &err), &err);
    CHECK_INT(ask_number("grep -c '\"file\": \"deep/er/c.jpg\"' "
                         "'%s/classes/deep/er/c.jpg.json'",
                         fixtures_out),
              1);
}

static void broken_pictures_are_named(void) {
    static const struct {
        const char *name;
        int size; /* bytes to keep of a valid picture; -1: other bytes */
        const char *error;
    } rows[] = {
        {"broken/zero.jpg", 0, "broken/zero.jpg: is empty (0 bytes); a JPEG or PNG picture"},
        {"broken/text.jpg", -1, "broken/text.jpg: has an unknown format; a JPEG or PNG"},
        {"broken/half.jpg", 900, "broken/half.jpg: corrupt JPEG: "},
        {"broken/head.jpg", 40, "broken/head.jpg: corrupt JPEG: "},
    };
    struct error err = {0};
    AUTO(text_freep) char *path = x_printf("%s/photos/noise.jpg", fixtures_out);
    struct picture noise;
    picture_init(&noise, 64, 64);
    for (size_t i = 0; i < 64 * 64 * 3; i++) {
        noise.pixels[i] = (uint8_t)(i * i % 251);
    }
    uint8_t *bytes = NULL;
    size_t size = 0;
    CHECK_OK(image_encode(&noise, IMAGE_JPEG, &bytes, &size, &err), &err);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool is_text = rows[i].size < 0;
        AUTO(text_freep) char *broken = x_printf("photos/%s", rows[i].name);
        put(broken, is_text ? (const void *)"hello, I am text" : bytes,
            is_text ? 16 : (size_t)rows[i].size);
        AUTO(tree_freep) json_t *spec = spec_of("out/photos", rows[i].name, "out/result");
        AUTO(tree_freep) json_t *work = json_pack("[s]", rows[i].name);
        CHECK_INT(score(spec, work, false, &err), -1);
        char wanted[256];
        snprintf(wanted, sizeof wanted, "out/photos/%s", rows[i].error);
        if (!text_starts(err.text, wanted)) {
            printf("# %s\n", err.text);
            test_failures++;
        }
        error_clear(&err);
    }
    free(bytes);
    picture_release(&noise);
    CHECK_INT(ask_number("ls '%s/result/broken' 2>/dev/null | wc -l", fixtures_out), 0);
}

static void leases_cannot_climb(void) {
    static const char *const names[] = {"../secret.jpg", "/etc/passwd", "climbs.jpg", "a/../../x"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct error err = {0};
        AUTO(tree_freep) json_t *spec = spec_of("out/photos", "*", "out/result");
        AUTO(tree_freep) json_t *work = json_pack("[s]", names[i]);
        CHECK_INT(score(spec, work, false, &err), -1);
    }
}

int main(void) {
    fixtures_start("files");
    AUTO(text_freep) char *secret = x_printf("%s/secret.jpg", fixtures_folder);
    struct error err = {0};
    if (file_write(secret, "secret", 6, &err) < 0) {
        printf("not ok secret: %s\n", err.text);
        return 1;
    }
    make_photos();
    TEST(results_keep_place_and_format);
    TEST(records_lie_beside);
    TEST(broken_pictures_are_named);
    TEST(leases_cannot_climb);
    return TEST_END();
}
