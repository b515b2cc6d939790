// SPDX-License-Identifier: Apache-2.0
/* What a job reads on this machine: which words of its spec lead to files, and which changes of
 * these are seen, also of files with old times. */
#include "operator/commands/run/run_inputs.h"

#include "lib/file.h"
#include "lib/time/clock.h"
#include "tests/parse_json.h"
#include "tests/test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char folder[] = "/tmp/windlass-inputs-XXXXXX";

static char *at(const char *name) {
    return file_join(folder, name);
}

static void put(const char *name) {
    AUTO(text_freep) char *path = at(name);
    struct error err = {0};
    CHECK_OK(file_write(path, "x", 1, &err), &err);
}

static void make(const char *name) {
    AUTO(text_freep) char *path = at(name);
    struct error err = {0};
    CHECK_OK(file_make_folders(path, &err), &err);
}

/* As cp -p, tar and rsync leave it. */
static void make_old(const char *name) {
    static const struct timespec times[] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    AUTO(text_freep) char *path = at(name);
    CHECK_INT(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

/* A time that all that was done before is older than. */
static int64_t wait_a_moment(void) {
    nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
    int64_t now_ms = clock_wall_ms();
    nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
    return now_ms;
}

static bool is_newer(const char *spec, int64_t begun_ms) {
    AUTO(tree_freep) json_t *tree = parse(spec);
    AUTO(tree_freep) json_t *folders = json_pack("{s:s}", "d", folder);
    const json_t *trial = json_object_get(tree, "trial");
    return run_inputs_are_newer(tree, trial ? trial : tree, folders, begun_ms);
}

static void test_words_lead_to_files(void) {
    static const struct {
        const char *spec;
        bool is_seen;
    } rows[] = {
        {"{'x': {'path': 'd/in/a'}}", true},
        {"{'command': ['$(d)/in/a']}", true},
        {"{'command': ['--data=$(d)/in/a']}", true},
        {"{'command': ['sh', '-c', 'cd /tmp; sort <$(d)/in/a >y']}", true},
        {"{'command': ['sh', '-c', 'cat \\\"$(d)/in/a\\\"']}", true},
        {"{'command': ['$(d)/other:$(d)/in']}", true},
        {"{'command': ['cat $(d)/in/*.csv']}", true},
        {"{'command': ['$(d)/in/none/too']}", true},
        {"{'env': [{'name': 'X', 'value': '$(d)/in'}]}", true},
        {"{'command': ['--data=$(d)']}", true},
        {"{'command': ['sh', '-c', 'cd $(d) && ./go']}", false},
        {"{'command': ['$$(d)/in/a', '$(e)/in/a', '/in/a', '$(d)in/a', '$(d/in/a']}", false},
        {"{'x': {'path': 'd/other'}, 'command': ['$(d)/none']}", false},
        {"{'output': {'path': 'd/in'}, 'command': ['>$(d)/in/a', '$(d)/in/b']}", false},
        {"{'outputs': [{'id': 'd', 'path': 'd/in'}], 'x': {'path': 'd'}}", false},
        {"{'outputs': [{'id': 'd', 'path': 'd'}], 'command': ['$(d)/in/a']}", true},
        {"{'volumes': [{'name': 'd', 'path': 'd/in/a'}]}", false},
        {"{'trainer': {'output': {'path': 'd/in'}}, 'command': ['$(d)/in/a']}", false},
        {"{'trial': {'outputs': [{'path': 'd/in'}]}, 'command': ['$(d)/in/a']}", false},
        {"{'trainer': {'data': {'train': {'tensors': {'outputs': [{'path': 'd/in/a'}]}}}}}", true},
        {"{'trainer': {'data': {'test': {'tensors': {'outputs': [{'path': 'd/in'}]}}}}, 'x': "
         "{'path': 'd'}}",
         true},
        {"{'scorer': {'onnx': {'output': 'd', 'outputs': ['d', 'e']}}}", false},
    };
    make("in");
    make("other");
    int64_t begun_ms = wait_a_moment();
    AUTO(text_freep) char *path = at("in/a");
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    CHECK(fd >= 0);
    close(fd);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool is_seen = is_newer(rows[i].spec, begun_ms);
        if (is_seen != rows[i].is_seen) {
            printf("# row %zu: %s\n", i, rows[i].spec);
            test_failures++;
        }
    }
    CHECK(!is_newer("{'x': {'path': 'd/in'}}", wait_a_moment()));
}

/* Each leaves a file whose own mtime is years old. */
static void test_old_files_are_seen(void) {
    AUTO(text_freep) char *from = at("elsewhere/old"), *to = at("data/file");
    AUTO(text_freep) char *from_folder = at("elsewhere/v2"), *to_folder = at("data/v2");
    AUTO(text_freep) char *link = at("data/latest"), *link_new = at("data/latest.new");
    static const char spec[] = "{'x': {'path': 'd/data/file'}}";
    make("data/v1");
    make("elsewhere/v2");
    put("data/file");
    put("data/v1/model");
    put("elsewhere/old");
    put("elsewhere/v2/model");
    make_old("elsewhere/old");
    make_old("elsewhere/v2/model");
    make_old("elsewhere/v2");
    CHECK_INT(symlink("v1", link), 0);
    int64_t begun_ms = wait_a_moment();
    CHECK(!is_newer(spec, begun_ms));
    CHECK_INT(rename(from, to), 0);
    CHECK(is_newer(spec, begun_ms));

    begun_ms = wait_a_moment();
    CHECK_INT(rename(from_folder, to_folder), 0);
    CHECK(is_newer("{'x': {'path': 'd/data/v2/model'}}", begun_ms));
    CHECK(!is_newer("{'x': {'path': 'd/data/latest/model'}}", begun_ms));
    begun_ms = wait_a_moment();
    CHECK_INT(symlink("v2", link_new), 0);
    CHECK_INT(rename(link_new, link), 0);
    CHECK(is_newer("{'x': {'path': 'd/data/latest/model'}}", begun_ms));
    CHECK(!is_newer("{'x': {'path': 'd/data/v2/model'}}", begun_ms));

    begun_ms = wait_a_moment();
    make_old("data/v2/model");
    CHECK(is_newer("{'x': {'path': 'd/data/v2'}}", begun_ms));
    begun_ms = wait_a_moment();
    AUTO(text_freep) char *gone = at("data/v1/model");
    CHECK_INT(unlink(gone), 0);
    CHECK(is_newer("{'x': {'path': 'd/data/v1'}}", begun_ms));
}

/* In the second in which the run began, and of a change while it ran. */
static void test_soon_after_the_start(void) {
    put("soon");
    int64_t begun_ms = wait_a_moment();
    put("soon");
    CHECK(is_newer("{'x': {'path': 'd/soon'}}", begun_ms));
}

int main(void) {
    struct error err = {0};
    CHECK(mkdtemp(folder) != NULL);
    TEST(test_words_lead_to_files);
    TEST(test_old_files_are_seen);
    TEST(test_soon_after_the_start);
    CHECK_OK(file_remove_tree(folder, &err), &err);
    return TEST_END();
}
