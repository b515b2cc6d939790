// SPDX-License-Identifier: Apache-2.0
/* How a trigger and an input are seen, in a real folder: what counts as changed, what as the same,
 * and which texts are not a path. */
#include "agent/score/coordinator/trigger_watcher.h"

#include "lib/file.h"
#include "tests/test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char *volume;

static char *path_of(const char *name) {
    return x_printf("%s/%s", volume, name);
}

static void put(const char *name, const char *text, size_t size) {
    struct error err = {0};
    AUTO(text_freep) char *path = path_of(name);
    CHECK_OK(file_write(path, text, size, &err), &err);
}

static void drop(const char *name) {
    AUTO(text_freep) char *path = path_of(name);
    CHECK_INT(unlink(path), 0);
}

static struct watcher_observation look(const char *spec_text) {
    struct error err = {0};
    AUTO(tree_freep) json_t *spec = NULL;
    struct watcher_observation seen = {0};
    CHECK_OK(tree_parse(spec_text, strlen(spec_text), 1 << 16, &spec, &err), &err);
    struct watcher_options options = {.spec = spec, .mark = ""};
    CHECK_OK(watcher_observe(&options, &seen, &err), &err);
    return seen;
}

#define TRIGGER "{\"trigger\": {\"path\": \"armtest/go/READY\"}}"

static void test_trigger(void) {
    struct watcher_observation none = look(TRIGGER);
    CHECK(!none.is_there); /* not even the folder */
    AUTO(text_freep) char *folder = path_of("go");
    CHECK_INT(mkdir(folder, 0777), 0);
    none = look(TRIGGER);
    CHECK(!none.is_there);
    put("go/READY", "", 0);
    struct watcher_observation empty = look(TRIGGER);
    CHECK(empty.is_there && !empty.input && !*empty.problem);
    CHECK_INT(strlen(empty.mark), WATCHER_MARK_BYTES);
    struct watcher_observation same = look(TRIGGER);
    CHECK_STR(same.mark, empty.mark);
    put("go/READY.new", "", 0); /* the same bytes, written anew */
    AUTO(text_freep) char *from = path_of("go/READY.new");
    AUTO(text_freep) char *to = path_of("go/READY");
    CHECK_INT(rename(from, to), 0);
    struct watcher_observation again = look(TRIGGER);
    CHECK(again.is_there && strcmp(again.mark, empty.mark) != 0);
    drop("go/READY");
    none = look(TRIGGER);
    CHECK(!none.is_there);
}

static void test_texts(void) {
    static const struct {
        const char *text;
        size_t size; /* 0: the text's */
        const char *input, *problem;
    } rows[] = {
        {"in/monday\n", 0, "in/monday", NULL},
        {" \t\r\nin/mon day\r\n\n", 0, "in/mon day", NULL},
        {"in", 0, "in", NULL},
        {"az://films/in/2026", 0, "az://films/in/2026", NULL},
        {"\n \n", 0, NULL, NULL},
        {"in/../etc", 0, NULL, "a part . or .."},
        {"..", 0, NULL, "a part . or .."},
        {"in/./x", 0, NULL, "a part . or .."},
        {"/etc/passwd", 0, NULL, "not VOLUME/path"},
        {"in//x", 0, NULL, "not VOLUME/path"},
        {"in/x/", 0, NULL, "not VOLUME/path"},
        {"in/a\nin/b\n", 0, NULL, "more than one line"},
        {"in/\x01", 0, NULL, "control characters"},
        {"in/\xff", 0, NULL, "not UTF-8"},
        {"in/a\0b", 6, NULL, "not UTF-8"},
        {"in/a\0", 5, NULL, "not UTF-8"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        put("go/READY", rows[i].text, rows[i].size ? rows[i].size : strlen(rows[i].text));
        AUTO(watcher_observation_release) struct watcher_observation seen = look(TRIGGER);
        CHECK(seen.is_there);
        if (rows[i].input) {
            CHECK_STR(seen.input, rows[i].input);
        } else {
            CHECK(!seen.input);
        }
        CHECK(rows[i].problem ? strstr(seen.problem, rows[i].problem) != NULL : !*seen.problem);
    }
    static char large[WATCHER_TEXT_MAX + 1];
    memset(large, ' ', sizeof large);
    put("go/READY", large, sizeof large);
    AUTO(watcher_observation_release) struct watcher_observation seen = look(TRIGGER);
    CHECK(seen.is_there && strstr(seen.problem, "has 4097 bytes"));
    memset(large, 'x', 1025);
    put("go/READY", large, 1025);
    AUTO(watcher_observation_release) struct watcher_observation longer = look(TRIGGER);
    CHECK(strstr(longer.problem, "more than 1,024 bytes") != NULL);
}

static void test_refused(void) {
    static const char *const rows[][2] = {
        {"{\"trigger\": {\"path\": \"armtest\"}}", "not an object in a volume"},
        {"{\"trigger\": {\"path\": \"armtest/../x\"}}", ".."},
        {"{\"input\": {\"files\": {\"path\": \"armtest/in\"}}, \"output\": {\"path\": "
         "\"armtest/in/out\"}}",
         "is inside the input armtest/in"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        AUTO(tree_freep) json_t *spec = NULL;
        struct watcher_observation seen = {0};
        CHECK_OK(tree_parse(rows[i][0], strlen(rows[i][0]), 1 << 16, &spec, &err), &err);
        struct watcher_options options = {.spec = spec, .mark = ""};
        CHECK_INT(watcher_observe(&options, &seen, &err), -1);
        CHECK_INT(err.kind, ERROR_INVALID);
        CHECK(strstr(err.text, rows[i][1]) != NULL);
    }
}

/* Looks, and returns whether the mark has changed. */
static bool is_other(const char *spec, char mark[static WATCHER_MARK_BYTES + 1]) {
    struct watcher_observation seen = look(spec);
    bool differs = seen.is_there && strcmp(seen.mark, mark) != 0;
    snprintf(mark, WATCHER_MARK_BYTES + 1, "%s", seen.mark);
    return differs;
}

static void test_input(void) {
    static const char spec[] =
        "{\"input\": {\"files\": {\"path\": \"armtest/in\", \"pattern\": \"*.jpg\"}}, "
        "\"output\": {\"path\": \"armtest/out\"}}";
    char mark[WATCHER_MARK_BYTES + 1] = "";
    AUTO(text_freep) char *folder = path_of("in");
    AUTO(text_freep) char *deep = path_of("in/deep");
    CHECK(!is_other(spec, mark)); /* no folder */
    CHECK(mkdir(folder, 0777) == 0 && mkdir(deep, 0777) == 0);
    CHECK(!is_other(spec, mark)); /* nothing in it */
    put("in/x.txt", "x", 1);
    CHECK(!is_other(spec, mark)); /* nothing that counts */
    put("in/a.jpg", "a", 1);
    CHECK(is_other(spec, mark));
    CHECK(!is_other(spec, mark));
    put("in/deep/b.jpg", "b", 1);
    CHECK(is_other(spec, mark));
    put("in/x.txt", "xx", 2);
    CHECK(!is_other(spec, mark));
    put("in/a.jpg", "aa", 2);
    CHECK(is_other(spec, mark));
    drop("in/deep/b.jpg");
    CHECK(is_other(spec, mark));
    drop("in/a.jpg");
    CHECK(!is_other(spec, mark)); /* nothing is left: not a reason for a run */
}

static void test_one_file(void) {
    static const char *const kinds[] = {"video", "table"};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        AUTO(text_freep)
        char *spec = x_printf("{\"input\": {\"%s\": {\"path\": \"armtest/film\"}}, \"output\": "
                              "{\"path\": \"armtest/out\"}}",
                              kinds[i]);
        char mark[WATCHER_MARK_BYTES + 1] = "";
        CHECK(!is_other(spec, mark));
        put("film", "1", 1);
        CHECK(is_other(spec, mark));
        CHECK(!is_other(spec, mark));
        put("film", "22", 2);
        CHECK(is_other(spec, mark));
        drop("film");
    }
}

static void test_manifest(void) {
    static const char spec[] =
        "{\"input\": {\"files\": {\"path\": \"armtest/in\", \"manifest\": \"armtest/list\"}}, "
        "\"output\": {\"path\": \"armtest/out\"}}";
    char mark[WATCHER_MARK_BYTES + 1] = "";
    CHECK(!is_other(spec, mark));
    put("list", "", 0);
    CHECK(!is_other(spec, mark));
    put("list", "x.txt\n", 6);
    CHECK(is_other(spec, mark));
    put("in/other", "o", 1);
    CHECK(!is_other(spec, mark));
    put("in/x.txt", "xyz", 3);
    CHECK(is_other(spec, mark));
    put("list", "x.txt\nlater\n", 12);
    CHECK(is_other(spec, mark)); /* also for a file that does not exist yet */
}

static void test_pause(void) {
    CHECK_INT(watcher_pause_ms(0), 5000);
    CHECK_INT(watcher_pause_ms(1000), 20000);
    CHECK_INT(watcher_pause_ms(3600000), 600000);
}

int main(void) {
    struct error err = {0};
    char folder[] = "/tmp/test_trigger_watcher_XXXXXX";
    volume = mkdtemp(folder);
    setenv("armtest", volume, 1);
    TEST(test_trigger);
    TEST(test_texts);
    TEST(test_input);
    TEST(test_refused);
    TEST(test_one_file);
    TEST(test_manifest);
    TEST(test_pause);
    (void)!file_remove_tree(volume, &err);
    return TEST_END();
}
