// SPDX-License-Identifier: Apache-2.0
/* The input kind "files" on real folders: which files are lines, in which order, after which
 * cursor; manifests; and the bytes that a worker reads. */
#include "agent/data/kinds/files_input.h"
#include "tests/unit/agent/spec_defaults.h"

#include "agent/data/input/fingerprint.h"
#include "tests/unit/agent/data/kinds/pictures.h"

#include <fcntl.h>
#include <sys/stat.h>

static json_t *spec_of(const char *more) {
    struct error err = {0};
    json_t *spec = NULL;
    AUTO(text_freep)
    char *text = x_printf("{\"input\": {\"files\": {\"path\": \"out/photos\"%s}}, \"output\": "
                          "{\"path\": \"out/photos/res\"}, \"scorer\": {\"onnx\": {}}}",
                          more);
    CHECK_OK(tree_parse(text, strlen(text), strlen(text), &spec, &err), &err);
    return spec_fill(spec);
}

static void put_at(const char *name, int64_t seconds) {
    put(name, "x", 1);
    AUTO(text_freep) char *path = x_printf("%s/%s", fixtures_out, name);
    struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    CHECK_INT(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Lines joined by spaces; and the cursor of one line. */
struct told {
    char *lines;
    int64_t count, stop;     /* stop: after this many lines */
    int64_t prints, unknown; /* lines with a fingerprint; with an empty one */
    char cursor[4096];
};

static int on_line(void *context, const char *line, size_t size, const char *cursor,
                   struct error *err) {
    struct told *told = context;
    if (told->count == told->stop) {
        return error_set(err, ERROR_CANCELLED, "stopped");
    }
    const char *tab = memchr(line, '\t', size); /* behind it is the fingerprint */
    told->unknown += tab && tab + 1 == line + size;
    told->prints += tab != NULL;
    char *more = x_printf("%s%s%.*s", told->lines ? told->lines : "", told->lines ? " " : "",
                          (int)(tab ? tab - line : (long)size), line);
    free(told->lines);
    told->lines = more;
    told->count++;
    snprintf(told->cursor, sizeof told->cursor, "%s", cursor);
    return 0;
}

static int list(const json_t *spec, const char *after, struct told *told, struct error *err) {
    struct store *scratch = NULL;
    CHECK_OK(store_open("out/scratch", /* writes= */ true, &scratch, err), err);
    struct input_listing listing = {
        .spec = spec, .after = after, .scratch = scratch, .scratch_name = "run-"};
    int result = files_input.list(&listing, on_line, told, err);
    store_free(scratch);
    return result;
}

static void check_list(const char *more, const char *after, const char *wanted) {
    struct error err = {0};
    struct told told = {.stop = INT64_MAX};
    AUTO(tree_freep) json_t *spec = spec_of(more);
    CHECK_OK(list(spec, after, &told, &err), &err);
    CHECK_STR(told.lines ? told.lines : "", wanted);
    free(told.lines);
}

static void check_refused(const char *more, const char *after, enum error_kind kind,
                          const char *words) {
    struct error err = {0};
    struct told told = {.stop = INT64_MAX};
    AUTO(tree_freep) json_t *spec = spec_of(more);
    CHECK_INT(list(spec, after, &told, &err), -1);
    CHECK_INT(err.kind, kind);
    CHECK_STR(err.text, words);
    free(told.lines);
}

static void make_photos(void) {
    put_at("photos/b.jpg", 500);
    put_at("photos/B.jpg", 400);
    put_at("photos/a/z.jpg", 300);
    put_at("photos/a.jpg", 200);
    put_at("photos/a/b/c.jpg", 500);
    put_at("photos/a\"\xc3\xa4.jpg", 100);
    put_at("photos/notes.txt", 1);
    put_at("photos/.hidden.jpg", 1);
    put_at("photos/.windlass/r/x.jpg", 1);
    put_at("photos/bad\xff.jpg", 1);
    put_at("photos/res/a.jpg", 1); /* in the output's folder */
    put_at("photos/results.jpg", 50);
}

#define NOT_UTF8 "{\"name\":\"bad\\\\xff.jpg\",\"fault\":\"its name is not UTF-8: rename it\"}"

static void test_names_come_in_order_of_their_bytes(void) {
    check_list(
        ", \"pattern\": \"*.jpg\"", NULL,
        "\"B.jpg\" \"a\\\"\xc3\xa4.jpg\" \"a.jpg\" \"a/b/c.jpg\" \"a/z.jpg\" \"b.jpg\" " NOT_UTF8
        " \"results.jpg\"");
    check_list(", \"pattern\": \"a/*.jpg\"", NULL, "\"a/z.jpg\"");
    check_list(", \"pattern\": \"[ab].jpg\"", NULL, "\"a.jpg\" \"b.jpg\"");
    check_list(", \"order\": \"Name\", \"pattern\": \"*.jpg\"", "a.jpg",
               "\"a/b/c.jpg\" \"a/z.jpg\" \"b.jpg\" " NOT_UTF8 " \"results.jpg\"");
    check_list("", "//626164ff2e6a7067", "\"notes.txt\" \"results.jpg\""); /* after bad\xff.jpg */
    check_list("", "results.jpg", ""); /* nothing new: not an error */
    check_refused(", \"pattern\": \"*.gif\"", NULL, ERROR_INVALID,
                  "spec.input.files.path: out/photos: no file in it matches "
                  "spec.input.files.pattern \"*.gif\"");
    check_list(", \"pattern\": \"bad*\"", NULL, NOT_UTF8);
}

static void test_modified_is_by_time_then_name(void) {
    static const char sorted[] = NOT_UTF8
        " \"results.jpg\" \"a\\\"\xc3\xa4.jpg\" \"a.jpg\" \"a/z.jpg\" \"B.jpg\" \"a/b/c.jpg\" "
        "\"b.jpg\"";
    const char *more = ", \"order\": \"Modified\", \"pattern\": \"*.jpg\"";
    check_list(more, NULL, sorted);
    AUTO(tree_freep) json_t *spec = spec_of(more);
    for (int64_t stop = 1; stop <= 8; stop++) { /* broken anywhere, it continues after the cursor */
        struct error err = {0};
        struct told told = {.stop = stop};
        CHECK_INT(list(spec, NULL, &told, &err), stop == 8 ? 0 : -1);
        error_clear(&err);
        told.stop = INT64_MAX;
        AUTO(text_freep) char *after = x_strdup(told.cursor);
        CHECK_OK(list(spec, after, &told, &err), &err);
        CHECK_STR(told.lines, sorted);
        free(told.lines);
    }
}

/* Hidden names that the pattern covers and hidden folders, each once, wherever a listing that was
 * broken continues; in the order of times, the part before has them all. */
static void check_left_out(const char *more, const char *after, int64_t wanted) {
    struct error err = {0};
    struct told told = {.stop = INT64_MAX};
    struct store *scratch = NULL;
    int64_t left_out = 0;
    AUTO(tree_freep) json_t *spec = spec_of(more);
    CHECK_OK(store_open("out/scratch", /* writes= */ true, &scratch, &err), &err);
    struct input_listing listing = {.spec = spec,
                                    .after = after,
                                    .scratch = scratch,
                                    .scratch_name = "run-",
                                    .left_out = &left_out};
    CHECK_OK(files_input.list(&listing, on_line, &told, &err), &err);
    CHECK_INT(left_out, wanted);
    store_free(scratch);
    free(told.lines);
}

static void test_what_is_left_out_is_counted(void) {
    put_at("photos/a/.b.jpg", 5);
    put_at("photos/a/.b.txt", 5);
    put_at("photos/b/.git/x.jpg", 5);
    put_at("photos/b/.git/objects/y.jpg", 5);
    AUTO(text_freep) char *pipe = x_printf("%s/photos/c.jpg", fixtures_out);
    CHECK_INT(mkfifo(pipe, 0600), 0);
    check_left_out("", NULL, 5); /* two files, a folder, a pipe, and .hidden.jpg */
    check_left_out(", \"pattern\": \"*.jpg\"", NULL, 4);
    check_left_out(", \"pattern\": \"*.jpg\"", "a.jpg", 3);
    check_left_out(", \"pattern\": \"*.jpg\"", "b.jpg", 2);
    check_left_out(", \"pattern\": \"*.jpg\", \"order\": \"Modified\"", NULL, 4);
    check_left_out(", \"pattern\": \"*.jpg\", \"order\": \"Modified\"", "8000000000000064 a.jpg",
                   0);
}

static void test_the_folder_must_be_another_than_the_outputs(void) {
    struct error err = {0};
    struct told told = {.stop = INT64_MAX};
    AUTO(tree_freep) json_t *spec = spec_of("");
    json_object_set_new(json_object_get(spec, "output"), "path", json_string("out/photos"));
    CHECK_INT(list(spec, NULL, &told, &err), -1);
    CHECK_STR(err.text,
              "spec.input.files.path: out/photos: the same folder as spec.output.path; the "
              "results would replace the input");
    error_clear(&err);
    AUTO(tree_freep) json_t *missing = spec_of("");
    json_object_set_new(tree_get(missing, "input.files"), "path", json_string("out/none"));
    CHECK_INT(list(missing, NULL, &told, &err), -1);
    CHECK_INT(err.kind, ERROR_NOT_FOUND);
}

/* ---- manifests ------------------------------------------------------------------------------ */

#define MANIFEST ", \"manifest\": \"out/list.txt\", \"pattern\": \"*.never\""

static void test_a_manifest_gives_the_order(void) {
    static const char text[] = "\xef\xbb\xbf"
                               "z.jpg\r\n\n2019/a b.jpg\nz.jpg\n\xc3\xa4";
    static const char wanted[] =
        "\"z.jpg\" \"2019/a b.jpg\" {\"name\":\"z.jpg\",\"fault\":\"its output has the name of "
        "that of an item before it: list it once\"} \"\xc3\xa4\"";
    put("list.txt", text, sizeof text - 1);
    check_list(MANIFEST, NULL, wanted);
    AUTO(tree_freep) json_t *spec = spec_of(MANIFEST);
    char cursor[4096] = "";
    for (int64_t stop = 1; stop <= 4; stop++) {
        struct error err = {0};
        struct told told = {.stop = stop};
        CHECK_INT(list(spec, NULL, &told, &err), stop == 4 ? 0 : -1);
        error_clear(&err);
        told.stop = INT64_MAX;
        snprintf(cursor, sizeof cursor, "%s", told.cursor);
        CHECK_OK(list(spec, cursor, &told, &err), &err);
        CHECK_STR(told.lines, wanted);
        free(told.lines);
    }
    put("list.txt", "z.jpg\nmore.jpg\n", 15);
    check_refused(MANIFEST, cursor, ERROR_INVALID,
                  "spec.input.files.manifest: out/list.txt: has changed while it was read");
    check_refused(MANIFEST, "x", ERROR_INVALID,
                  "spec.input.files.manifest: out/list.txt: has changed while it was read");
}

/* Lines across the ends of the pieces that are read at once. */
static void test_a_manifest_may_be_long(void) {
    enum { LINES = 30000 };
    AUTO(buffer_release) struct buffer text;
    buffer_init(&text, 8 << 20);
    struct error err = {0};
    for (int i = 0; i < LINES; i++) {
        CHECK_OK(buffer_printf(&text, &err, "%d%.*s.jpg\n", i, i % 40,
                               "........................................"),
                 &err);
    }
    put("list.txt", text.data, text.size);
    AUTO(tree_freep) json_t *spec = spec_of(MANIFEST);
    struct told told = {.stop = 100};
    for (told.count = 0; told.count < LINES && !test_failures; told.stop += 1000) {
        AUTO(text_freep) char *after = told.count ? x_strdup(told.cursor) : NULL;
        error_clear(&err);
        free(TAKE(told.lines));
        int64_t first = told.count;
        CHECK_INT(list(spec, after, &told, &err), told.stop >= LINES ? 0 : -1);
        char wanted[80];
        snprintf(wanted, sizeof wanted, "\"%d%.*s.jpg\" ", (int)first, (int)first % 40,
                 "........................................");
        CHECK(text_starts(told.lines, wanted));
    }
    CHECK_INT(told.count, LINES);
    free(told.lines);
}

static void test_manifests_that_name_no_files_are_refused(void) {
    AUTO(text_freep) char *large = x_malloc(100000);
    memset(large, 'a', 100000);
    const struct {
        const char *text;
        size_t size, at;
    } rows[] = {{"a.jpg\n/etc/passwd\n", 18, 6},
                {"a/../../b\n", 10, 0},
                {"a//b", 4, 0},
                {"a/", 2, 0},
                {"./a", 3, 0},
                {"a\n\0\n", 4, 2},
                {large, 100000, 0}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char words[256];
        put("list.txt", rows[i].text, rows[i].size);
        snprintf(words, sizeof words,
                 "spec.input.files.manifest: out/list.txt: at byte %zu a path of at most 32 KiB "
                 "below spec.input.files.path is expected, its parts between single slashes, none "
                 "\"..\"",
                 rows[i].at);
        check_refused(MANIFEST, NULL, ERROR_INVALID, words);
    }
    put("list.txt", "\n\r\n", 3);
    check_refused(MANIFEST, NULL, ERROR_INVALID,
                  "spec.input.files.manifest: out/list.txt: names no file");
}

/* Of a manifest's lines, too, in their order; also by a listing that continues behind them. */
static void test_lines_that_are_no_names_are_failed_items(void) {
    AUTO(buffer_release) struct buffer text;
    AUTO(text_freep) char *large = x_malloc(3000);
    AUTO(tree_freep) json_t *spec = spec_of(MANIFEST);
    char deep[2 * STORE_DEPTH_MAX + 2]; /* a part too many */
    struct told told = {.stop = 4}, rest = {.stop = 100};
    struct error err = {0};
    buffer_init(&text, 8192);
    memset(large, 'a', 3000);
    for (size_t i = 0; i < sizeof deep; i++) {
        deep[i] = i % 2 ? '/' : 'd';
    }
    deep[sizeof deep - 1] = 0;
    CHECK_OK(buffer_printf(&text, &err, "a.jpg\n%.3000s\n%s\n\xff.jpg\nb.jpg\n%s\n", large, deep,
                           deep + 2),
             &err);
    put("list.txt", text.data, text.size);
    CHECK_INT(list(spec, NULL, &told, &err), -1); /* stopped before the last line */
    AUTO(text_freep)
    char *wanted =
        x_printf("\"a.jpg\" {\"name\":\"%.2048s\",\"fault\":\"a path that begins so is "
                 "longer than 2,048 bytes\"} {\"name\":\"%s\",\"fault\":\"a path of more "
                 "than 64 parts\"} {\"name\":\"\\\\xff.jpg\",\"fault\":\"its name is not "
                 "UTF-8: rename it\"}",
                 large, deep);
    CHECK_STR(told.lines, wanted);
    error_clear(&err);
    CHECK_OK(list(spec, told.cursor, &rest, &err), &err);
    AUTO(text_freep) char *last = x_printf("\"b.jpg\" \"%s\"", deep + 2);
    CHECK_STR(rest.lines, last);
    free(told.lines);
    free(rest.lines);
}

/* ---- reading -------------------------------------------------------------------------------- */

static void test_a_file_that_cannot_be_read_is_an_item_that_has_failed(void) {
    struct error err = {0};
    put_picture("photos/one.png", IMAGE_PNG, 31);
    put_picture("photos/a/two.png", IMAGE_PNG, 32);
    put("photos/bad.png", "no picture", 10);
    AUTO(tree_freep) json_t *spec = spec_of("");
    AUTO(tree_freep)
    json_t *lines =
        json_pack("[s,s,s,s,s]", "one.png", "bad.png", "gone.png", "../list.txt", "a/two.png");
    struct input_reader *reader = NULL;
    static const char *const faults[] = {NULL, "out/photos/bad.png: ", "out/photos/gone.png: ", "",
                                         NULL};
    for (int round = 0; round < 2; round++) { /* the reader is used again */
        CHECK_OK(files_input.reader_open(spec, lines, &reader, &err), &err);
        for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
            struct item item;
            CHECK_INT(files_input.reader_next(reader, &item, &err), 1);
            CHECK_STR(item.name, json_string_value(json_array_get(lines, i)));
            CHECK_INT(item.type, ITEM_PICTURE);
            CHECK(faults[i] ? item.fault != NULL : !item.fault);
            CHECK(!faults[i] || (item.fault && text_starts(item.fault, faults[i])));
            CHECK(faults[i] || item.picture.width == (i ? 32 : 31));
            picture_release(&item.picture);
        }
        struct item none;
        CHECK_INT(files_input.reader_next(reader, &none, &err), 0);
    }
    files_input.reader_free(reader);
}

static void test_programs_get_paths(void) {
    struct error err = {0};
    AUTO(tree_freep) json_t *spec = spec_of("");
    json_object_set_new(spec, "scorer", json_pack("{s:{}}", "command"));
    CHECK_INT(files_input.item(spec), ITEM_PATH);
    AUTO(tree_freep) json_t *lines = json_pack("[s,s]", "a/two.png", "gone.png");
    struct input_reader *reader = NULL;
    struct item item;
    CHECK_OK(files_input.reader_open(spec, lines, &reader, &err), &err);
    CHECK_INT(files_input.reader_next(reader, &item, &err), 1);
    AUTO(text_freep) char *path = x_printf("%s/photos/a/two.png", fixtures_out);
    CHECK_STR(item.text, path);
    CHECK_INT(item.text_size, strlen(path));
    local_file_release(&item.file);
    CHECK_INT(access(path, F_OK), 0); /* no copy: it stays */
    CHECK_INT(files_input.reader_next(reader, &item, &err), 1);
    CHECK(item.fault);
    CHECK_INT(files_input.reader_next(reader, &item, &err), 0);
    AUTO(tree_freep) json_t *strange = json_pack("[i]", 3);
    CHECK_INT(files_input.reader_open(spec, strange, &reader, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    CHECK(!reader);
}

/* The lines of a lease: of the folder as it is now. */
static json_t *work_of(const json_t *spec, const char *name) {
    struct error err = {0};
    struct store *store = NULL;
    struct store_info info;
    char print[FINGERPRINT_MAX];
    const char *core = NULL;
    CHECK_OK(store_open(tree_text(spec, "input.files.path", ""), /* writes= */ false, &store, &err),
             &err);
    CHECK_OK(store_stat(store, name, &info, &err), &err);
    store_free(store);
    fingerprint_make(&info, /* is_local= */ true, /* is_young= */ true, print);
    CHECK(!fingerprint_is_known(print, strlen(print)));
    size_t size = fingerprint_core(print, strlen(print), &core);
    CHECK(size > 0);
    return json_pack("[[s,s%]]", name, core, size);
}

static void touch_at(const char *name, int64_t seconds, int64_t ns) {
    AUTO(text_freep) char *path = x_printf("%s/%s", fixtures_out, name);
    struct timespec times[2] = {{seconds, ns}, {seconds, ns}};
    CHECK_INT(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* In that way, see the rows below. */
static void change_picture(size_t way) {
    AUTO(text_freep) char *path = x_printf("%s/photos/changes.png", fixtures_out);
    AUTO(text_freep) char *other = x_printf("%s/other", fixtures_out);
    switch (way) {
    case 2:
        CHECK_INT(chmod(path, 0600), 0);
        break;
    case 3:
        unlink(other);
        CHECK_INT(link(path, other), 0);
        break;
    case 4:
        touch_at("photos/changes.png", 1700000001, 123456789);
        break;
    case 5: {
        FILE *file = fopen(path, "a");
        CHECK(file && fputs("more", file) >= 0 && fclose(file) == 0);
        touch_at("photos/changes.png", 1700000000, 123456789);
        break;
    }
    case 6:
        put_picture("photos/changes.png", IMAGE_PNG, 31);
        break;
    case 7:
        put_picture("other", IMAGE_PNG, 32);
        CHECK_INT(rename(other, path), 0);
        break;
    case 8: /* this machine's mount shows whole seconds */
        touch_at("photos/changes.png", 1700000000, 0);
        break;
    case 9:
        touch_at("photos/changes.png", 1700000002, 0);
        break;
    default:
        break;
    }
}

/* A file that is not as listed is a failed item, finally; whatever has changed it. */
static void test_a_file_that_has_changed_is_not_scored(void) {
    static const struct {
        const char *how;
        bool is_changed;
    } rows[] = {{"nothing", false},       {"read", false},    {"chmod", false},
                {"link", false},          {"touch", true},    {"grown", true},
                {"in place", true},       {"replaced", true}, {"seconds", false},
                {"an other second", true}};
    for (int is_path = 0; is_path < 2; is_path++) {
        AUTO(tree_freep) json_t *spec = spec_of("");
        if (is_path) {
            json_object_set_new(spec, "scorer", json_pack("{s:{}}", "command"));
        }
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            struct error err = {0};
            struct input_reader *reader = NULL;
            struct item item;
            AUTO(text_freep) char *path = x_printf("%s/photos/changes.png", fixtures_out);
            unlink(path);
            put_picture("photos/changes.png", IMAGE_PNG, 31);
            touch_at("photos/changes.png", 1700000000, 123456789);
            AUTO(tree_freep) json_t *work = work_of(spec, "changes.png");
            change_picture(i);
            CHECK_OK(files_input.reader_open(spec, work, &reader, &err), &err);
            CHECK_INT(files_input.reader_next(reader, &item, &err), 1);
            if ((item.fault != NULL) != rows[i].is_changed) {
                printf("# %s: %s\n", rows[i].how, item.fault ? item.fault : "scored");
                CHECK(false);
            }
            CHECK(!item.fault || (item.is_final && strstr(item.fault, FINGERPRINT_CHANGED)));
            CHECK(item.fault || !is_path || fingerprint_holds_file(&item.file, item.core));
            if (!item.fault && is_path) { /* while the program reads it */
                touch_at("photos/changes.png", 1700000005, 0);
                CHECK(!fingerprint_holds_file(&item.file, item.core));
            }
            if (!item.fault && !is_path) {
                picture_release(&item.picture);
            }
            local_file_release(&item.file);
            files_input.reader_free(reader);
        }
    }
}

static int on_look(void *context, const char *line UNUSED, size_t size UNUSED,
                   const char *cursor UNUSED, struct error *err) {
    ++*(int *)context;
    return error_set(err, ERROR_CANCELLED, "stopped after the first line");
}

/* Whether there is any input is known at once if the folder itself has files. */
static void test_a_look_finds_whatever_there_is(void) {
    static const struct {
        const char *pattern;
        enum error_kind kind;
    } rows[] = {{"*.seen", ERROR_CANCELLED},
                {"*.deep", ERROR_CANCELLED},
                {"*.bytes", ERROR_CANCELLED},
                {"*.no", ERROR_INVALID}};
    put("photos/a.seen", "x", 1);
    put("photos/look/a.deep", "x", 1);
    put("photos/.hidden.no", "x", 1);
    put("photos/look/\xff.bytes", "x", 1);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        int count = 0;
        AUTO(text_freep) char *more = x_printf(", \"pattern\": \"%s\"", rows[i].pattern);
        AUTO(tree_freep) json_t *spec = spec_of(more);
        struct input_listing listing = {.spec = spec, .checks_only = true};
        CHECK_INT(files_input.list(&listing, on_look, &count, &err), -1);
        CHECK_INT(err.kind, rows[i].kind);
        CHECK_INT(count, rows[i].kind == ERROR_CANCELLED);
    }
}

/* The lines without causes: "a b- c" (b has failed); continued behind each line, they are the same.
 */
static void check_collisions(const char *more, const char *wanted) {
    struct error err = {0};
    AUTO(tree_freep) json_t *spec = spec_of(more);
    struct told all = {.stop = INT64_MAX};
    CHECK_OK(list(spec, NULL, &all, &err), &err);
    AUTO(text_freep) char *text = x_printf("[%s]", all.lines ? all.lines : "");
    for (char *at = text; (at = strpbrk(at, "}\" ")); at++) { /* an array of JSON for tree_parse */
        bool is_end = at[0] == ' ' && (at[-1] == '"' || at[-1] == '}') &&
                      (at[1] == '"' || text_starts(at + 1, "{\"name"));
        *at = is_end ? ',' : *at;
    }
    json_t *lines = NULL;
    CHECK_OK(tree_parse(text, strlen(text), 1 << 20, &lines, &err), &err);
    char seen[1024] = "";
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const json_t *line = json_array_get(lines, i);
        snprintf(seen + strlen(seen), sizeof seen - strlen(seen), "%s%s%s", i ? " " : "",
                 json_is_string(line) ? json_string_value(line) : tree_text(line, "name", ""),
                 json_is_string(line) ? "" : "-");
    }
    CHECK_STR(seen, wanted);
    json_decref(lines);
    for (int64_t stop = 1; stop < all.count; stop++) {
        struct told first = {.stop = stop}, rest = {.stop = INT64_MAX};
        struct error stopped = {0};
        CHECK_INT(list(spec, NULL, &first, &stopped), -1);
        CHECK_OK(list(spec, first.cursor, &rest, &err), &err);
        AUTO(text_freep) char *both = x_printf("%s %s", first.lines, rest.lines ? rest.lines : "");
        CHECK_STR(both, all.lines);
        free(first.lines);
        free(rest.lines);
    }
    free(all.lines);
}

/* Of outputs of one name the first one gets it. */
static void test_outputs_that_collide(void) {
    static const char list[] = "a\nb/c\na\nb\na.json/d\nB/C\nb/c/e\n";
    struct error err = {0};
    char path[8192], target[8192];
    put("collide.txt", list, strlen(list));
    check_collisions(", \"manifest\": \"out/collide.txt\"", "a b/c a- b- a.json/d B/C b/c/e-");
    put("photos/case/A.x", "x", 1);
    put("photos/case/B.x/f.x", "x", 1);
    put("photos/case/a.x", "x", 1);
    put("photos/case/b.x", "x", 1);
    put("photos/case/\xC3\x84.x", "x", 1);
    put("photos/case/\xC3\xA4.x", "x", 1);
    const char *each = "case/A.x case/B.x/f.x case/a.x case/b.x case/\xC3\x84.x case/\xC3\xA4.x";
    const char *blind =
        "case/A.x case/B.x/f.x case/a.x- case/b.x- case/\xC3\x84.x case/\xC3\xA4.x-";
    check_collisions(", \"pattern\": \"*.x\"", each);
    /* A storage that ignores case has the run's state under every spelling. */
    put("scratch/.windlass/owner", "{}", 2);
    put("scratch/.WINDLASS/OWNER", "{}", 2); /* two files: it does not */
    check_collisions(", \"pattern\": \"*.x\"", each);
    snprintf(path, sizeof path, "%s/scratch/.WINDLASS", fixtures_out);
    CHECK_OK(file_remove_tree(path, &err), &err);
    CHECK_INT(symlink(".windlass", path), 0);
    snprintf(target, sizeof target, "%s/scratch/.windlass/OWNER", fixtures_out);
    CHECK_INT(symlink("owner", target), 0);
    check_collisions(", \"pattern\": \"*.x\"", blind);
    check_collisions(", \"manifest\": \"out/collide.txt\"", "a b/c a- b- a.json/d B/C- b/c/e-");
    CHECK_INT(unlink(path), 0);
}

int main(void) {
    fixtures_start("files-input");
    make_photos();
    TEST(test_names_come_in_order_of_their_bytes);
    TEST(test_modified_is_by_time_then_name);
    TEST(test_what_is_left_out_is_counted);
    TEST(test_the_folder_must_be_another_than_the_outputs);
    TEST(test_a_manifest_gives_the_order);
    TEST(test_a_manifest_may_be_long);
    TEST(test_manifests_that_name_no_files_are_refused);
    TEST(test_lines_that_are_no_names_are_failed_items);
    TEST(test_a_file_that_cannot_be_read_is_an_item_that_has_failed);
    TEST(test_programs_get_paths);
    TEST(test_a_file_that_has_changed_is_not_scored);
    TEST(test_a_look_finds_whatever_there_is);
    TEST(test_outputs_that_collide);
    return TEST_END();
}
