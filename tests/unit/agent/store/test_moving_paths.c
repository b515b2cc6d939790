// SPDX-License-Identifier: Apache-2.0
/* What `latest` and links lead to: found once, applied to the fields, and described. */
#include "agent/store/moving_paths.h"

#include "lib/file.h"
#include "tests/unit/agent/data/fixtures.h"

#include <sys/stat.h>

static const char *const fields[] = {"model.path", "model.labels", "data.path", NULL};

static void write_text(const char *name, const char *text) {
    char path[4400];
    struct error err = {0};
    snprintf(path, sizeof path, "%s/%s", fixtures_out, name);
    AUTO(text_freep) char *folder = x_strndup(path, (size_t)(strrchr(path, '/') - path));
    CHECK_OK(file_make_folders(folder, &err), &err);
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void link_to(const char *name, const char *target) {
    char path[4400];
    snprintf(path, sizeof path, "%s/%s", fixtures_out, name);
    unlink(path);
    CHECK_INT(symlink(target, path), 0);
}

static json_t *spec_of(const char *model, const char *labels, const char *data) {
    return json_pack("{s:{s:s,s:s*},s:{s:s*}}", "model", "path", model, "labels", labels, "data",
                     "path", data);
}

/* The only path that moves, or NULL. */
static char *led(const char *path) {
    struct error err = {0};
    AUTO(tree_freep) json_t *spec = spec_of(path, NULL, NULL);
    AUTO(tree_freep) json_t *paths = NULL;
    CHECK_OK(moving_paths_find(spec, fields, NULL, &paths, &err), &err);
    CHECK(json_object_size(paths) <= 1);
    return x_strdup(json_string_value(json_object_get(paths, path)));
}

static void test_paths_that_move_are_found(void) {
    static const struct {
        const char *path, *led; /* NULL: it does not move */
    } rows[] = {
        {"out/net/7/m.onnx", NULL},
        {"out/net/latest/m.onnx", "out/net/7/m.onnx"},
        {"out/net/latest/sub/m.onnx", "out/net/7/sub/m.onnx"},
        {"out/plain/latest/m.onnx", NULL},   /* an ordinary folder */
        {"out/broken/latest/m.onnx", NULL},  /* names no version */
        {"out/nothing/latest/m.onnx", NULL}, /* is not there */
        {"out/current/m.onnx", "out/net/7/m.onnx"},
        {"out/file.onnx", "out/net/7/m.onnx"},
        {"out/twice/m.onnx", "out/net/7/m.onnx"},
        {"out/current/absent", "out/net/7/absent"},
        {"out/linked/latest/m.onnx", "out/net/7/m.onnx"},
        {"out/map/labels.txt", NULL}, /* as a kubelet mounts it */
        {"out/away/m.onnx", NULL},    /* leaves the volume: said when it is opened */
        {"absent/m.onnx", NULL},
    };
    write_text("net/7/m.onnx", "seven");
    write_text("net/7/sub/m.onnx", "seven");
    write_text("net/8/m.onnx", "eight");
    write_text("net/latest", "7\n");
    write_text("plain/latest/m.onnx", "x");
    write_text("broken/latest", "no version\n");
    write_text("map/..2026_11_23/labels.txt", "a\n");
    link_to("map/..data", "..2026_11_23");
    link_to("map/labels.txt", "..data/labels.txt");
    link_to("current", "net/7");
    link_to("file.onnx", "net/7/m.onnx");
    link_to("twice", "current");
    link_to("linked", "net");
    link_to("away", "..");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep) char *found = led(rows[i].path);
        if (!rows[i].led != !found || (found && strcmp(found, rows[i].led) != 0)) {
            printf("# %s leads to %s\n", rows[i].path, found ? found : "itself");
            CHECK(false);
        }
    }
}

/* A model and its labels are of one version, and the fields then name it. */
static void test_fields_are_replaced(void) {
    struct error err = {0};
    AUTO(tree_freep)
    json_t *spec = spec_of("out/net/latest/m.onnx", "out/net/latest/labels", "out/current");
    AUTO(tree_freep) json_t *paths = NULL;
    CHECK_OK(moving_paths_find(spec, fields, NULL, &paths, &err), &err);
    CHECK_INT((int)json_object_size(paths), 3);
    write_text("net/latest", "8\n");
    moving_paths_apply(spec, fields, paths);
    CHECK_STR(tree_text(spec, "model.path", ""), "out/net/7/m.onnx");
    CHECK_STR(tree_text(spec, "model.labels", ""), "out/net/7/labels");
    CHECK_STR(tree_text(spec, "data.path", ""), "out/net/7");
    moving_paths_apply(spec, fields, NULL);
    CHECK_STR(tree_text(spec, "data.path", ""), "out/net/7");
    write_text("net/latest", "7\n");
}

/* The first that asks decides for those that share its pins; of two at once one does. */
static void test_pins_keep_what_the_first_found(void) {
    struct error err = {0};
    AUTO(store_freep) struct store *store = NULL;
    AUTO(tree_freep) json_t *spec = spec_of("out/net/latest/m.onnx", NULL, "out/current");
    AUTO(tree_freep) json_t *other = spec_of("out/net/latest/other", NULL, NULL);
    AUTO(tree_freep) json_t *first = NULL;
    AUTO(tree_freep) json_t *second = NULL;
    AUTO(tree_freep) json_t *third = NULL;
    AUTO(tree_freep) json_t *alone = NULL;
    CHECK_OK(store_open("out/sweep", /* writes= */ true, &store, &err), &err);
    const struct moving_pins pins = {store, ".windlass/paths/"};
    CHECK_OK(moving_paths_find(spec, fields, &pins, &first, &err), &err);
    write_text("net/latest", "8\n");
    link_to("current", "net/8");
    CHECK_OK(moving_paths_find(spec, fields, &pins, &second, &err), &err);
    CHECK(json_equal(first, second));
    CHECK_OK(moving_paths_find(other, fields, &pins, &third, &err), &err);
    CHECK_STR(json_string_value(json_object_get(third, "out/net/latest/other")), "out/net/7/other");
    CHECK_OK(moving_paths_find(spec, fields, NULL, &alone, &err), &err);
    CHECK_STR(json_string_value(json_object_get(alone, "out/current")), "out/net/8");
    write_text("net/latest", "7\n");
    link_to("current", "net/7");
}

static void test_moves_are_described(void) {
    static const struct {
        const char *path, *then, *now, *text;
    } rows[] = {
        {"v/net/latest/m.onnx", "v/net/7/m.onnx", "v/net/8/m.onnx", "latest is now 8, was 7"},
        {"v/net/latest/m.onnx", "v/net/17/m.onnx", "v/net/18/m.onnx", "latest is now 18, was 17"},
        {"v/net/latest/m.onnx", "v/net/7/m.onnx", "v/net/7/m.onnx", ""},
        {"v/now/m.onnx", "v/2026-11/m.onnx", "v/2026-12/m.onnx",
         "leads to 2026-12 now, led to 2026-11"},
        {"v/now/m.onnx", "v/2026-11/m.onnx", NULL, "leads to now now, led to 2026-11"},
        {"v/m", NULL, NULL, ""},
    };
    char text[MOVING_PATHS_TEXT_MAX];
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *then = json_pack("{s:s*}", rows[i].path, rows[i].then);
        AUTO(tree_freep) json_t *now = json_pack("{s:s*}", rows[i].path, rows[i].now);
        moving_paths_describe(rows[i].path, then, now, text);
        CHECK_STR(text, rows[i].text);
        moving_paths_describe(rows[i].path, NULL, now, text); /* not known then */
        CHECK_STR(text, "");
    }
}

int main(void) {
    fixtures_start("moving_paths");
    TEST(test_paths_that_move_are_found);
    TEST(test_fields_are_replaced);
    TEST(test_pins_keep_what_the_first_found);
    TEST(test_moves_are_described);
    return TEST_END();
}
