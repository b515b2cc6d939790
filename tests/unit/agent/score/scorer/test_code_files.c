// SPDX-License-Identifier: Apache-2.0
/* The code of a program in a volume: which files count, and what a change of them is. */
#include "agent/score/scorer/code_files.h"

#include "lib/digest.h"
#include "lib/file.h"
#include "tests/test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/windlass-code-XXXXXX";

static void put(const char *name, const char *text) {
    AUTO(text_freep) char *path = file_join(root, name);
    AUTO(text_freep) char *folder = x_strndup(path, (size_t)(strrchr(path, '/') - path));
    struct error err = {0};
    CHECK_OK(file_make_folders(folder, &err), &err);
    CHECK_OK(file_write(path, text, strlen(text), &err), &err);
}

static void link_to(const char *name, const char *target) {
    AUTO(text_freep) char *path = file_join(root, name);
    CHECK_INT(symlink(target, path), 0);
}

static json_t *spec_of(const char *kind, const char *path) {
    return json_pack("{s:{s:[s]}}", "code", kind, path);
}

/* "NAME NAME ..." without "scorer.command: ", in order. */
static char *names_of(const json_t *files) {
    char *text = x_strdup("");
    const char *field;
    json_t *digest;
    AUTO(tree_freep) json_t *sorted = NULL;
    AUTO(text_freep) char *canonical = tree_canonical(files);
    struct error err = {0};
    CHECK_OK(tree_parse(canonical, strlen(canonical), 1 << 20, &sorted, &err), &err);
    json_object_foreach(sorted, field, digest) {
        CHECK(text_starts(field, RUN_FILE_CODE));
        CHECK_INT(strlen(json_string_value(digest)), 64);
        char *more = x_printf("%s%s%s", text, *text ? " " : "", field + strlen(RUN_FILE_CODE));
        free(text);
        text = more;
    }
    return text;
}

static json_t *files_of(const json_t *spec) {
    char seen[65];
    struct error err = {0};
    json_t *files = json_object();
    CHECK_OK(code_files_add(spec, files, seen, &err), &err);
    return files;
}

static void test_the_named_file_and_the_code_around_it_count(void) {
    static const struct {
        const char *kind, *path, *names;
    } rows[] = {
        {"folders", "code/app/main.py", "code/app/lib/util.py code/app/main.py code/app/run.SH"},
        {"folders", "code/app", "code/app/lib/util.py code/app/main.py code/app/run.SH"},
        {"folders", "code/app/lib", "code/app/lib/util.py"},
        {"folders", "code/app/net.onnx",
         "code/app/lib/util.py code/app/main.py code/app/net.onnx code/app/run.SH"},
        {"folders", "code/none.py", ""},
        {"folders", "none/none.py", ""},
        {"folders", "code/linked/main.py",
         "code/linked/again/deep/b.py code/linked/again/util.py code/linked/main.py"},
        {"files", "code/app/main.py", "code/app/main.py"},
        {"files", "code/app/settings.json", "code/app/settings.json"},
        {"files", "code/app", ""},
        {"own", "code/app/main.py", ""}, /* it is in `files`, too */
        {"own", "code/app/lib", "code/app/lib/util.py"},
        {"own", "code/none", ""},
        {"files", "code/pipe", ""},
    };
    put("linked/main.py", "import more.util, away.util");
    put("more/util.py", "9");
    put("more/deep/b.py", "10");
    link_to("linked/more", "../more");
    link_to("linked/again", "more");
    link_to("linked/away", "/tmp");
    link_to("more/back", "../linked");
    put("app/main.py", "import lib.util");
    put("app/lib/util.py", "1");
    put("app/run.SH", "2");
    put("app/settings.json", "{}");
    put("app/net.onnx", "3");
    put("app/log.txt", "4");
    put("app/.hidden.py", "5");
    put("app/.git/config.py", "6");
    put("app/__pycache__/main.py", "7");
    put("app/lib/__pycache__/util.py", "8");
    AUTO(text_freep) char *pipe = file_join(root, "pipe");
    CHECK(mkfifo(pipe, 0600) == 0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *spec = spec_of(rows[i].kind, rows[i].path);
        AUTO(tree_freep) json_t *files = files_of(spec);
        AUTO(text_freep) char *names = names_of(files);
        CHECK_STR(names, rows[i].names);
    }
    char hex[65];
    digest_sha256("import lib.util", 15, hex);
    AUTO(tree_freep) json_t *spec = spec_of("files", "code/app/main.py");
    AUTO(tree_freep) json_t *files = files_of(spec);
    CHECK_STR(json_string_value(json_object_get(files, RUN_FILE_CODE "code/app/main.py")), hex);
    AUTO(tree_freep) json_t *plain = json_object();
    AUTO(tree_freep) json_t *nothing = files_of(plain);
    CHECK_INT(json_object_size(nothing), 0);
}

static void test_a_change_is_seen_and_named(void) {
    AUTO(tree_freep) json_t *spec = spec_of("folders", "code/two/main.py");
    char before[65], after[65];
    struct error err = {0};
    put("two/main.py", "1");
    put("two/util.py", "2");
    AUTO(tree_freep) json_t *then = json_object();
    CHECK_OK(code_files_add(spec, then, before, &err), &err);
    CHECK_OK(code_files_look(spec, after, &err), &err);
    CHECK_STR(after, before);
    put("two/notes.txt", "3"); /* no code */
    CHECK_OK(code_files_look(spec, after, &err), &err);
    CHECK_STR(after, before);
    put("two/util.py", "4");
    CHECK_OK(code_files_look(spec, after, &err), &err);
    CHECK(strcmp(after, before) != 0);
    AUTO(tree_freep) json_t *now = files_of(spec);
    CHECK_STR(run_file_find_change(then, now), RUN_FILE_CODE "code/two/util.py");
    put("two/util.py", "2"); /* a new file with the same bytes has not changed */
    put("two/added.py", "5");
    AUTO(tree_freep) json_t *more = files_of(spec);
    CHECK_INT(json_object_size(more), 3);
    CHECK(!run_file_find_change(then, more));
    CHECK_STR(run_file_find_change(more, then), RUN_FILE_CODE "code/two/added.py");
}

static void test_too_many_files_leave_the_named_one(void) {
    AUTO(tree_freep) json_t *spec = spec_of("folders", "code/many/main.py");
    AUTO(tree_freep) json_t *folder = spec_of("folders", "code/many");
    put("many/main.py", "1");
    for (int i = 0; i < CODE_FILES_MAX - 1; i++) {
        AUTO(text_freep) char *name = x_printf("many/%03d.py", i);
        put(name, "2");
    }
    AUTO(tree_freep) json_t *all = files_of(spec);
    CHECK_INT(json_object_size(all), CODE_FILES_MAX);
    put("many/one_more.py", "3");
    AUTO(tree_freep) json_t *one = files_of(spec);
    AUTO(text_freep) char *names = names_of(one);
    CHECK_STR(names, "code/many/main.py");
    AUTO(tree_freep) json_t *none = files_of(folder);
    CHECK_INT(json_object_size(none), 0);
}

/* Of a server: the model that is named, and what a model's folder has; not what is beside them, nor
 * a log. */
static void test_models_of_a_server(void) {
    static const struct {
        const char *path, *names; /* names: NULL: none */
    } rows[] = {
        {"code/net/m.gguf", "code/net/m.gguf"},
        {"code/net/hf", "code/net/hf/config.json code/net/hf/part/1.safetensors"},
        {"code/net/none", NULL},
        {"code/net/hf/run.log", NULL},
    };
    put("net/m.gguf", "1");
    put("net/other.gguf", "2");
    put("net/hf/config.json", "3");
    put("net/hf/part/1.safetensors", "4");
    put("net/hf/README.md", "5");
    put("net/hf/run.log", "6");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *spec = spec_of("models", rows[i].path);
        AUTO(tree_freep) json_t *files = files_of(spec);
        AUTO(text_freep) char *text = x_strdup("");
        const char *field;
        json_t *digest;
        json_object_foreach(files, field, digest) {
            CHECK(text_starts(field, RUN_FILE_SERVER));
            char *more =
                x_printf("%s%s%s", text, *text ? " " : "", field + strlen(RUN_FILE_SERVER));
            free(text);
            text = more;
        }
        CHECK_STR(text, rows[i].names ? rows[i].names : "");
    }
    AUTO(tree_freep) json_t *spec = spec_of("models", "code/net/m.gguf");
    AUTO(tree_freep) json_t *before = files_of(spec);
    put("net/m.gguf", "another");
    AUTO(tree_freep) json_t *after = files_of(spec);
    CHECK_STR(run_file_find_change(before, after), RUN_FILE_SERVER "code/net/m.gguf");
}

static void put_size(const char *name, int64_t size) {
    put(name, "");
    AUTO(text_freep) char *path = file_join(root, name);
    CHECK_INT(truncate(path, size), 0);
}

/* All of them are read by the coordinator and by each worker. */
static void test_of_large_models_the_ends_count(void) {
    AUTO(tree_freep) json_t *spec = spec_of("models", "code/large");
    put("large/config.json", "1");
    put_size("large/1.safetensors", 65 << 20);
    AUTO(tree_freep) json_t *whole = files_of(spec);
    CHECK(json_object_get(whole, RUN_FILE_SERVER "code/large/1.safetensors"));
    put_size("large/2.safetensors", INT64_C(1) << 40);
    AUTO(tree_freep) json_t *ends = files_of(spec);
    CHECK_INT(json_object_size(ends), 3);
    CHECK(json_object_get(ends, RUN_FILE_SERVER "code/large/config.json"));
    CHECK(json_object_get(ends, RUN_FILE_SERVER "code/large/1.safetensors (ends)"));
    CHECK(json_object_get(ends, RUN_FILE_SERVER "code/large/2.safetensors (ends)"));
}

/* What is logged while the files of this folder are listed. The caller frees. */
static char *logged_of(const char *kind, const char *folder) {
    struct error err = {0};
    AUTO(text_freep) char *path = file_join(root, "logged");
    AUTO(tree_freep) json_t *spec = spec_of(kind, folder);
    char *text = NULL;
    size_t size = 0;
    int kept = dup(STDERR_FILENO);
    CHECK(freopen(path, "w", stderr));
    AUTO(tree_freep) json_t *files = files_of(spec);
    fflush(stderr);
    CHECK(dup2(kept, STDERR_FILENO) == STDERR_FILENO);
    close(kept);
    CHECK_OK(file_read(path, 1 << 16, &text, &size, &err), &err);
    return text ? text : x_strdup("");
}

/* A link that leaves the volume. */
static void test_what_cannot_be_compared_is_logged(void) {
    static const struct {
        const char *kind, *link, *logged; /* logged: NULL: nothing, it would not count either */
    } rows[] = {
        {"models", "away/net.safetensors", "spec.scorer.endpoint.server: "},
        {"models", "away/5f0c", "spec.scorer.endpoint.server: "},
        {"models", "away/main.py", NULL},
        {"folders", "away/main.py", "spec.scorer.command: "},
        {"folders", "away/net.safetensors", NULL},
    };
    put("away/config.json", "1");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep) char *path = file_join(root, rows[i].link);
        AUTO(text_freep) char *wanted = x_printf("%scode/%s", rows[i].logged ?: "", rows[i].link);
        link_to(rows[i].link, "/etc/passwd");
        AUTO(text_freep) char *logged = logged_of(rows[i].kind, "code/away");
        CHECK_INT(unlink(path), 0);
        CHECK_INT(rows[i].logged ? strstr(logged, wanted) != NULL : !*logged, true);
    }
}

/* A server may write into a folder that its command names. */
static void test_what_a_server_adds_is_no_change(void) {
    static const struct {
        const char *name, *text;
        bool is_kept;
    } rows[] = {
        {"slots/llama.log", "1", true},
        {"slots/0.bin", "2", true},
        {"slots/m.gguf", "another", false},
    };
    AUTO(tree_freep) json_t *spec = spec_of("models", "code/slots");
    AUTO(tree_freep) json_t *before = NULL;
    struct error err = {0};
    put("slots/m.gguf", "1");
    CHECK_OK(code_files_list(spec, &before, &err), &err);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *now = NULL;
        put(rows[i].name, rows[i].text);
        CHECK_OK(code_files_list(spec, &now, &err), &err);
        CHECK_INT(code_files_are_kept(before, now), rows[i].is_kept);
    }
    AUTO(tree_freep) json_t *none = json_array();
    CHECK(!code_files_are_kept(before, none));
}

int main(void) {
    if (!mkdtemp(root)) {
        return 1;
    }
    setenv("code", root, 1);
    TEST(test_the_named_file_and_the_code_around_it_count);
    TEST(test_a_change_is_seen_and_named);
    TEST(test_too_many_files_leave_the_named_one);
    TEST(test_models_of_a_server);
    TEST(test_of_large_models_the_ends_count);
    TEST(test_what_cannot_be_compared_is_logged);
    TEST(test_what_a_server_adds_is_no_change);
    struct error ignored = {0};
    (void)!file_remove_tree(root, &ignored);
    return TEST_END();
}
