// SPDX-License-Identifier: Apache-2.0
/* What several -f, folders and standard input name is read whole, and refused one by one. */
#include "operator/resource_files.h"

#include "lib/file.h"
#include "tests/test.h"

#include <stdlib.h>
#include <unistd.h>

#define GOOD                                                                                       \
    "{apiVersion: windlass.dev/v1alpha1, kind: BatchScore, metadata: {name: good}, spec: {"        \
    "input: {video: {path: d/in.mp4}}, scorer: {onnx: {path: d/m.onnx}}, output: {path: d/out},"   \
    "volumes: [{name: d, persistentVolumeClaim: {claimName: d}}]}}\n"
#define BAD                                                                                        \
    "{apiVersion: windlass.dev/v1alpha1, kind: BatchScore, metadata: {name: bad}, spec: 1}\n"

static char folder[64];

static char *make(const char *name, const char *text) {
    struct error err = {0};
    char *path = file_join(folder, name);
    CHECK_OK(file_write(path, text, strlen(text), &err), &err);
    return path;
}

/* Of what was read: "+" a resource, "-" one that is refused. */
static void check_read(const char *const *paths, const char *wanted) {
    struct error err = {0};
    struct option_list list = {0};
    AUTO(resource_files_release) struct resource_files files = {0};
    char seen[RESOURCE_FILES_MAX + 1] = "";
    for (; *paths; paths++) {
        list.values[list.count++] = *paths;
    }
    CHECK_OK(resource_files_read(&list, RESOURCE_OF_CLUSTER, NULL, &files, &err), &err);
    for (size_t i = 0; i < files.count; i++) {
        CHECK(!files.at[i].object ==
              (files.at[i].why.kind == ERROR_INVALID || files.at[i].why.kind == ERROR_NOT_FOUND));
        seen[i] = files.at[i].object ? '+' : '-';
    }
    CHECK_STR(seen, wanted);
}

static void each_file_and_document_is_read(void) {
    AUTO(text_freep) char *good = make("a.yaml", GOOD);
    AUTO(text_freep) char *bad = make("b.yml", BAD);
    AUTO(text_freep) char *many = make("c.json", GOOD "---\n" BAD "---\n---\n" GOOD);
    AUTO(text_freep) char *broken = make("d.txt", "{\n");
    AUTO(text_freep) char *none = make("e.txt", "# nothing\n");
    check_read((const char *[]){good, NULL}, "+");
    check_read((const char *[]){bad, good, NULL}, "-+");
    check_read((const char *[]){good, many, bad, NULL}, "++-+-");
    check_read((const char *[]){broken, good, none, "/no/such", NULL}, "-+--");
    check_read((const char *[]){folder, NULL}, "+-+-+"); /* d and e are not manifests by name */
}

/* A first manifest has several mistakes; each is said with its line, once. */
static void all_mistakes_are_found(void) {
    static const char text[] = "apiVersion: windlass.dev/v1beta1\n"
                               "kind: BatchScore\n"
                               "metadata: {name: Wrong, lables: {a: 1}}\n"
                               "spec:\n"
                               "  input: {files: {path: d/in, patern: '*.jpg'}}\n"
                               "  scorer: {onnx: {path: d/m.onnx, preprocess: {range: unit}}}\n"
                               "  workers:\n"
                               "    min: -1\n"
                               "    max: lots\n";
    static const char *const wanted[] = {":5: spec.input.files.patern: unknown field, did you mean",
                                         ":6: spec.scorer.onnx.preprocess.range: ",
                                         ":8: spec.workers.",
                                         ":9: spec.workers.",
                                         ":4: spec.output: is missing",
                                         ":3: metadata.name: ",
                                         ":3: metadata.lables: unknown field, did you mean labels"};
    AUTO(text_freep) char *path = make("g.txt", text);
    struct error err = {0};
    struct option_list list = {.values = {path}, .count = 1};
    AUTO(resource_files_release) struct resource_files files = {0};
    CHECK_OK(resource_files_read(&list, RESOURCE_SUPPORTED, NULL, &files, &err), &err);
    AUTO(text_freep) char *more = tree_compact(files.at[0].more);
    AUTO(text_freep) char *all = x_printf("%s %s", files.at[0].why.text, more);
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        const char *at = strstr(all, wanted[i]);
        CHECK(at != NULL);
        if (!at) {
            printf("# %s is not in %s\n", wanted[i], all);
        }
        CHECK(at && !strstr(at + 1, wanted[i]));
    }
    CHECK_INT(json_array_size(files.at[0].more), 6);
}

/* Also a refused one of another name is left out; what cannot be read is not. */
static void one_name_is_kept(void) {
    AUTO(text_freep) char *path = make("f.txt", GOOD "---\n" BAD);
    struct error err = {0};
    struct option_list list = {.values = {path, "/no/such"}, .count = 2};
    AUTO(resource_files_release) struct resource_files files = {0};
    CHECK_OK(resource_files_read(&list, RESOURCE_OF_CLUSTER, NULL, &files, &err), &err);
    CHECK_INT(files.count, 3);
    resource_files_keep(&files, "good");
    CHECK_INT(files.count, 2);
    CHECK(files.at[0].object && !files.at[1].written);
    resource_files_keep(&files, "none");
    CHECK_INT(files.count, 1);
}

static void standard_input_is_read_once(void) {
    int pipes[2];
    struct error err = {0};
    struct resource_files files = {0};
    struct option_list twice = {.values = {"-", "-"}, .count = 2};
    CHECK_INT(pipe(pipes), 0);
    CHECK_INT(write(pipes[1], GOOD "---\n" BAD, strlen(GOOD "---\n" BAD)),
              (int64_t)strlen(GOOD "---\n" BAD));
    close(pipes[1]);
    CHECK_INT(dup2(pipes[0], STDIN_FILENO), STDIN_FILENO);
    close(pipes[0]);
    check_read((const char *[]){"-", NULL}, "+-");
    CHECK_INT(resource_files_read(&twice, RESOURCE_OF_CLUSTER, NULL, &files, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
}

static void what_cannot_be_read_is_refused(void) {
    static const char *const paths[] = {"https://example.com/a.yaml", "."};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct error err = {0};
        struct resource_files files = {0};
        struct option_list list = {.values = {paths[i]}, .count = 1};
        AUTO(text_freep) char *empty = file_join(folder, "empty");
        CHECK_OK(file_make_folders(empty, &err), &err);
        list.values[0] = i == 0 ? paths[0] : empty;
        CHECK_INT(resource_files_read(&list, RESOURCE_OF_CLUSTER, NULL, &files, &err), -1);
        CHECK_INT(err.kind, ERROR_INVALID);
    }
}

static void there_is_a_maximum(void) {
    struct error err = {0};
    struct resource_files files = {0};
    AUTO(text_freep) char *path = make("many.txt", "");
    AUTO(text_freep) char *text = x_strdup("");
    for (int i = 0; i < 16; i++) {
        char *more = x_printf("%s---\n%s", text, GOOD);
        free(text);
        text = more;
    }
    CHECK_OK(file_write(path, text, strlen(text), &err), &err);
    struct option_list list = {0};
    for (; list.count < RESOURCE_FILES_MAX / 16; list.count++) {
        list.values[list.count] = path;
    }
    CHECK_OK(resource_files_read(&list, RESOURCE_OF_CLUSTER, NULL, &files, &err), &err);
    CHECK_INT(files.count, RESOURCE_FILES_MAX);
    resource_files_release(&files);
    list.values[list.count++] = path;
    CHECK_INT(resource_files_read(&list, RESOURCE_OF_CLUSTER, NULL, &files, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
}

int main(void) {
    struct error err = {0};
    snprintf(folder, sizeof folder, "/tmp/windlass-files-XXXXXX");
    CHECK(mkdtemp(folder));
    TEST(each_file_and_document_is_read);
    TEST(all_mistakes_are_found);
    TEST(one_name_is_kept);
    TEST(standard_input_is_read_once);
    TEST(what_cannot_be_read_is_refused);
    TEST(there_is_a_maximum);
    CHECK_OK(file_remove_tree(folder, &err), &err);
    return TEST_END();
}
