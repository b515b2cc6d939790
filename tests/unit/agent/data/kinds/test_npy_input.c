// SPDX-License-Identifier: Apache-2.0
/* The input kind "npy" on arrays that this test writes (test_npy.c reads those of numpy): lines,
 * cursors, and the slices that a worker gets. */
#include "agent/data/kinds/npy_input.h"
#include "tests/unit/agent/data/fixtures.h"
#include "tests/unit/agent/data/kinds/told_lines.h"
#include "tests/unit/agent/spec_defaults.h"

static json_t *spec_of(const char *folder, int batch) {
    return spec_fill(
        json_pack("{s:{s:{s:s}},s:i}", "input", "npy", "path", folder, "miniBatchSize", batch));
}

/* An array of `count` slices of 3 floats; slice i is i, i + 0.25, i + 0.5. */
static void put_array(const char *name, int count, const char *shape) {
    struct error err = {0};
    AUTO(text_freep) char *path = x_printf("%s/%s", fixtures_out, name);
    AUTO(text_freep) char *folder = x_strndup(path, (size_t)(file_basename(path) - path) - 1);
    AUTO(buffer_release) struct buffer bytes;
    buffer_init(&bytes, 1 << 20);
    char head[128];
    int size =
        snprintf(head, sizeof head, "{'descr': '<f4', 'fortran_order': False, 'shape': (%d%s), }\n",
                 count, shape);
    CHECK_OK(buffer_append(&bytes, "\x93NUMPY\1\0", 8, &err), &err);
    CHECK_OK(buffer_append(&bytes, (char[]){(char)size, 0}, 2, &err), &err);
    CHECK_OK(buffer_append(&bytes, head, (size_t)size, &err), &err);
    for (int i = 0; i < count; i++) {
        float slice[] = {(float)i, (float)i + 0.25f, (float)i + 0.5f};
        CHECK_OK(buffer_append(&bytes, slice, sizeof slice, &err), &err);
    }
    CHECK_OK(file_make_folders(folder, &err), &err);
    CHECK_OK(file_write(path, bytes.data, bytes.size, &err), &err);
}

static int list(const json_t *spec, const char *after, struct told *told, struct error *err) {
    return told_list(&npy_input, spec, after, told, err);
}

/* "a.npy:0-4 b/c.npy:0-2", without the tokens. */
static char *places(const json_t *lines) {
    char *text = x_strdup("");
    size_t i;
    json_t *line;
    json_array_foreach(lines, i, line) {
        CHECK(json_string_length(json_array_get(line, 3)) > 0);
        char *more = x_printf("%s%s%s:%lld-%lld", text, i ? " " : "",
                              json_string_value(json_array_get(line, 0)),
                              (long long)json_integer_value(json_array_get(line, 1)),
                              (long long)json_integer_value(json_array_get(line, 2)));
        free(text);
        text = more;
    }
    return text;
}

static void test_lines_are_ranges_of_slices(void) {
    static const char wanted[] = "a\xc3\xa4\".npy:0-4 a\xc3\xa4\".npy:4-8 a\xc3\xa4\".npy:8-10 "
                                 "b/c.npy:0-4 z.npy:0-1";
    AUTO(tree_freep) json_t *spec = spec_of("out/in", 4);
    size_t count = 5;
    for (size_t stop = 1; stop <= count; stop++) { /* broken anywhere, it continues */
        struct error err = {0};
        struct told told = {.lines = json_array(), .stop = stop};
        CHECK_INT(list(spec, NULL, &told, &err), stop == count ? 0 : -1);
        error_clear(&err);
        AUTO(text_freep) char *cursor = x_strdup(told.cursor);
        told.stop = SIZE_MAX;
        CHECK_OK(list(spec, cursor, &told, &err), &err);
        AUTO(text_freep) char *seen = places(told.lines);
        CHECK_STR(seen, wanted);
        json_decref(told.lines);
    }
}

static void check_refused(const char *folder, const char *after, const char *words) {
    struct error err = {0};
    struct told told = {.lines = json_array(), .stop = SIZE_MAX};
    AUTO(tree_freep) json_t *spec = spec_of(folder, 4);
    CHECK_INT(list(spec, after, &told, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    CHECK_STR(err.text, words);
    json_decref(told.lines);
}

static void test_arrays_that_do_not_fit_are_refused(void) {
    put_array("mixed/a.npy", 2, ", 3");
    put_array("mixed/b.npy", 2, ", 3, 1");
    check_refused("out/mixed", NULL,
                  "spec.input.npy.path: out/mixed/b.npy: its slices have another type or shape "
                  "than those of a.npy");
    check_refused("out/mixed", "2 a.npy",
                  "spec.input.npy.path: out/mixed/b.npy: its slices have another type or shape "
                  "than those of a.npy");
    put_array("empty/a.npy", 0, ", 3");
    check_refused("out/empty", NULL,
                  "spec.input.npy.path: out/empty: no array in it matches "
                  "spec.input.npy.pattern \"*.npy\" and has slices");
    check_refused("out/in", "x", "spec.input.npy.path: \"x\" is not a position in the input");
    put_array("short/a.npy", 2, ", 4");
    check_refused(
        "out/short", NULL,
        "spec.input.npy.path: out/short/a.npy: has 94 bytes, expected 102: it is truncated");
}

static void test_a_worker_gets_every_slice(void) {
    struct error err = {0};
    struct told told = {.lines = json_array(), .stop = SIZE_MAX};
    AUTO(tree_freep) json_t *spec = spec_of("out/in", 4);
    CHECK_OK(list(spec, NULL, &told, &err), &err);
    CHECK_INT(npy_input.item(spec), ITEM_TENSOR);
    struct input_reader *reader = NULL;
    struct item item;
    int64_t sums[] = {10, 4, 1}, seen = 0;
    for (int round = 0; round < 2; round++) {
        CHECK_OK(npy_input.reader_open(spec, told.lines, &reader, &err), &err);
        for (size_t file = 0; file < ARRAY_LEN(sums); file++) {
            for (int64_t i = 0; i < sums[file]; i++, seen++) {
                CHECK_INT(npy_input.reader_next(reader, &item, &err), 1);
                CHECK(!item.fault && item.slice.type == NPY_FLOAT32);
                CHECK_INT(item.slice.rank, 1);
                CHECK_INT(item.slice.dims[0], 3);
                CHECK(((const float *)item.slice.values)[1] == (float)i + 0.25f);
            }
        }
        CHECK_STR(item.name, "z.npy[0]");
        CHECK_INT(npy_input.reader_next(reader, &item, &err), 0);
    }
    CHECK_INT(seen, 30);
    /* One is gone: its slices fail, the others do not. Another has changed: the job fails. */
    AUTO(text_freep) char *gone = x_printf("%s/in/b/c.npy", fixtures_out);
    CHECK_INT(unlink(gone), 0);
    CHECK_OK(npy_input.reader_open(spec, told.lines, &reader, &err), &err);
    for (int64_t i = 0; i < 15; i++) {
        CHECK_INT(npy_input.reader_next(reader, &item, &err), 1);
        CHECK_INT(item.fault != NULL, i >= 10 && i < 14);
    }
    put_array("in/z.npy", 2, ", 3");
    CHECK_OK(npy_input.reader_open(spec, told.lines, &reader, &err), &err);
    for (int64_t i = 0; i < 14; i++) {
        CHECK_INT(npy_input.reader_next(reader, &item, &err), 1);
    }
    CHECK_INT(npy_input.reader_next(reader, &item, &err), -1);
    CHECK_INT(err.kind, ERROR_CONFLICT); /* the mini-batch's last try */
    CHECK_STR(err.text, "spec.input.npy.path: out/in/z.npy: has changed since it was listed");
    npy_input.reader_free(TAKE(reader));
    json_decref(told.lines);
}

static void test_leases_that_make_no_sense_are_refused(void) {
    static const char *const rows[] = {"{}",
                                       "[1]",
                                       "[[]]",
                                       "[[\"a\",0,1]]",
                                       "[[\"a\",1,1,\"t\"]]",
                                       "[[\"a\",-1,1,\"t\"]]",
                                       "[[\"\",0,1,\"t\"]]",
                                       "[[\"a\",0,1.5,\"t\"]]"};
    AUTO(tree_freep) json_t *spec = spec_of("out/in", 4);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        AUTO(tree_freep) json_t *lines = NULL;
        struct input_reader *reader = NULL;
        CHECK_OK(tree_parse(rows[i], strlen(rows[i]), 1000, &lines, &err), &err);
        CHECK_INT(npy_input.reader_open(spec, lines, &reader, &err), -1);
        CHECK_INT(err.kind, ERROR_INVALID);
    }
}

int main(void) {
    fixtures_start("npy-input");
    put_array("in/a\xc3\xa4\".npy", 10, ", 3");
    put_array("in/b/c.npy", 4, ", 3");
    put_array("in/b/d.npy", 0, ", 3");
    put_array("in/z.npy", 1, ", 3");
    put_array("in/.hidden.npy", 1, ", 7");
    put_array("in/other.txt", 1, ", 7");
    TEST(test_lines_are_ranges_of_slices);
    TEST(test_arrays_that_do_not_fit_are_refused);
    TEST(test_a_worker_gets_every_slice);
    TEST(test_leases_that_make_no_sense_are_refused);
    return TEST_END();
}
