// SPDX-License-Identifier: Apache-2.0
/* Records of finished trainings: what is written is read, every field is checked, the highest
 * generation counts, and an object that is missing, shorter, longer or other is named. */
#include "agent/store/finished.h"

#include "lib/digest.h"
#include "lib/file.h"
#include "tests/test.h"

#include <stdlib.h>

#define PREFIX ".windlass/0123456789abcdef/"

static struct store *store;

static void put(const char *name, const char *text, size_t size) {
    struct error err = {0};
    CHECK_OK(store_put(store, name, text, size, STORE_REPLACE, &err), &err);
}

static struct finished record(int64_t generation) {
    struct finished made = {.run = "0123456789abcdef",
                            .generation = generation,
                            .round = 1048577,
                            .step = 100,
                            .epochs = 25,
                            .objective = "loss, minimized",
                            .at = "2026-11-23T03:00:00Z",
                            .count = 1};
    digest_sha256("settings", 8, made.settings);
    made.objects[0] = (struct finished_object){.name = "model.onnx", .size_bytes = 5};
    digest_sha256("model", 5, made.objects[0].sha256);
    return made;
}

static bool is_same(const struct finished *one, const struct finished *other) {
    AUTO(text_freep) char *a = finished_write(one);
    AUTO(text_freep) char *b = finished_write(other);
    return strcmp(a, b) == 0;
}

static void comes_back(void) {
    struct finished made = record(3), read = {0};
    struct error err = {0};
    made.objects[1] = made.objects[0];
    snprintf(made.objects[1].name, sizeof made.objects[1].name, "a \"b\"/c.csv");
    made.count = 2;
    made.bad_samples = 7;
    snprintf(made.changed, sizeof made.changed, "train test");
    AUTO(text_freep) char *text = finished_write(&made);
    CHECK_OK(finished_read(text, strlen(text), &read, &err), &err);
    CHECK(is_same(&made, &read));
    CHECK_INT(read.count, 2);
    CHECK_INT(read.round, 1048577);
    CHECK_INT(read.bad_samples, 7);
    CHECK_STR(read.changed, "train test");
    CHECK_STR(read.objects[1].name, "a \"b\"/c.csv");
}

/* Each field in turn is missing or out of its bounds. */
static void is_refused(void) {
    static const char *const rows[][3] = {
        {"\"windlass\":1", "\"windlass\":2", "windlass is missing"},
        {"\"windlass\":1,", "", "windlass is missing"},
        {"0123456789abcdef", "0123456789ABCDEF", "run is missing"},
        {"0123456789abcdef", "0123456789abcde", "run is missing"},
        {"\"generation\":3", "\"generation\":0", "generation is missing"},
        {"\"generation\":3", "\"generation\":1000000000000", "generation is missing"},
        {"\"generation\":3", "\"generation\":\"3\"", "generation is missing"},
        {"\"round\":1048577", "\"round\":-1", "round is missing"},
        {"\"step\":100", "\"step\":1.5", "step is missing"},
        {"\"epochs\":25", "\"epoch\":25", "epochs is missing"},
        {"\"objective\":\"loss, minimized\"", "\"objective\":7", "objective is missing"},
        {"\"at\":\"2026-11-23T03:00:00Z\"", "\"at\":\"2026-11-23T03:00:00.5Z\"", "at is missing"},
        {"\"settings\":\"", "\"settings\":\"0", "settings is missing"},
        {"\"size\":5", "\"size\":-5", "objects[0]: size is missing"},
        {"\"name\":\"model.onnx\"", "\"name\":\"\"", "objects[0]: name is empty"},
        {"\"sha256\":\"", "\"sha256\":\"g", "objects[0]: sha256 is missing"},
        {"\"objects\":[{", "\"objects\":[[],{", "objects[0]: name is missing"},
        {"\"objects\":[", "\"object\":[", "it has 0 objects, expected 1 to 16"},
    };
    struct finished made = record(3), untouched = {.step = 7};
    AUTO(text_freep) char *text = finished_write(&made);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        const char *at = strstr(text, rows[i][0]);
        CHECK(at != NULL);
        AUTO(text_freep)
        char *wrong =
            x_printf("%.*s%s%s", (int)(at - text), text, rows[i][1], at + strlen(rows[i][0]));
        CHECK_INT(finished_read(wrong, strlen(wrong), &untouched, &err), -1);
        CHECK_INT(err.kind, ERROR_INVALID);
        CHECK(strstr(err.text, rows[i][2]) != NULL);
        CHECK_INT(untouched.step, 7);
    }
}

static void the_newest_counts(void) {
    struct error err = {0};
    struct finished found = {0};
    bool has_one = true;
    CHECK_OK(finished_newest(store, PREFIX, &has_one, &found, &err), &err);
    CHECK(!has_one);
    struct finished second = record(2), tenth = record(10);
    CHECK_OK(finished_put(store, PREFIX, &tenth, &err), &err);
    CHECK_OK(finished_put(store, PREFIX, &second, &err), &err); /* a start that was overtaken */
    CHECK_OK(finished_put(store, PREFIX, &second, &err), &err); /* its answer was lost */
    put(PREFIX "finished/99", "not a record", 12);
    CHECK_OK(finished_newest(store, PREFIX, &has_one, &found, &err), &err);
    CHECK(has_one);
    CHECK_INT(found.generation, 10);
    second.step++;
    CHECK_INT(finished_put(store, PREFIX, &second, &err), -1);
    CHECK_INT(err.kind, ERROR_CONFLICT);
    put(PREFIX "finished/000000000011", "{\"windlass\":", 12);
    err = (struct error){0};
    CHECK_INT(finished_newest(store, PREFIX, &has_one, &found, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    CHECK(strstr(err.text, "finished/000000000011") != NULL);
    AUTO(text_freep) char *text = finished_write(&tenth);
    put(PREFIX "finished/000000000011", text, strlen(text));
    err = (struct error){0};
    CHECK_INT(finished_newest(store, PREFIX, &has_one, &found, &err), -1);
    CHECK(strstr(err.text, "its generation differs from its name") != NULL);
}

static void objects_are_read(void) {
    enum { LARGE = (16 << 20) + 5 };
    static const struct {
        const char *text; /* NULL: removed */
        const char *says; /* NULL: right */
    } rows[] = {{"model", NULL},
                {"mode1", "model.onnx is not what the training wrote: it has 5 bytes"},
                {"mode", "it has 4 bytes"},
                {"model!", "it has 6 bytes"},
                {"", "it has 0 bytes"},
                {NULL, "model.onnx is not there"}};
    struct finished made = record(1);
    struct finished_object object;
    struct error err = {0};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error wrong = {0};
        if (rows[i].text) {
            put("model.onnx", rows[i].text, strlen(rows[i].text));
        } else {
            CHECK_OK(store_remove(store, "model.onnx", &err), &err);
        }
        CHECK_INT(finished_check(store, &made, &wrong), rows[i].says ? -1 : 0);
        CHECK_INT(wrong.kind, rows[i].says ? ERROR_FAILED : ERROR_NONE);
        CHECK(!rows[i].says || strstr(wrong.text, rows[i].says) != NULL);
    }
    /* Several pieces; the last bytes are of the hash, too. */
    AUTO(text_freep) char *large = x_malloc(LARGE);
    memset(large, 'x', LARGE);
    put("large", large, LARGE);
    CHECK_OK(finished_hash(store, "large", &object, &err), &err);
    char hex[65];
    digest_sha256(large, LARGE, hex);
    CHECK_STR(object.sha256, hex);
    CHECK_INT(object.size_bytes, LARGE);
    made.objects[0] = object;
    large[LARGE - 1] = 'y';
    put("large", large, LARGE);
    CHECK_INT(finished_check(store, &made, &err), -1);
    CHECK_INT(err.kind, ERROR_FAILED);
    err = (struct error){0};
    CHECK_INT(finished_hash(store, "none", &object, &err), -1);
    CHECK_INT(err.kind, ERROR_NOT_FOUND);
}

int main(void) {
    struct error err = {0};
    char folder[] = "/tmp/windlass-finished-XXXXXX";
    setenv("finishedtest", mkdtemp(folder), 1);
    CHECK_OK(store_open("finishedtest/out", /* writes= */ true, &store, &err), &err);
    TEST(comes_back);
    TEST(is_refused);
    TEST(the_newest_counts);
    TEST(objects_are_read);
    store_free(store);
    CHECK_OK(file_remove_tree(folder, &err), &err);
    return TEST_END();
}
