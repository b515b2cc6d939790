// SPDX-License-Identifier: Apache-2.0
/* Files that programs left in the working folders of a run: which ones count, that they are kept,
 * and that an earlier run's do not count. */
#include "operator/local/left_files.h"

#include "lib/file.h"
#include "tests/test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char *state;

/* A name with a slash at the end is a folder. */
static void make(const char *name) {
    struct error err = {0};
    AUTO(text_freep) char *path = x_printf("%s/pods/%s", state, name);
    AUTO(text_freep) char *folder = x_strdup(path);
    *strrchr(folder, '/') = 0;
    CHECK_OK(file_make_folders(folder, &err), &err);
    if (!text_ends(path, "/")) {
        CHECK_OK(file_write(path, "data", 4, &err), &err);
    }
}

static void empty(void) {
    struct error err = {0};
    CHECK_OK(file_remove_tree(state, &err), &err);
    CHECK_OK(file_make_folders(state, &err), &err);
}

static bool exists(const char *name) {
    AUTO(text_freep) char *path = file_join(state, name);
    return access(path, F_OK) == 0;
}

static void which_count(void) {
    static const struct {
        const char *name;
        size_t count;
    } rows[] = {
        {"a/work/model.bin", 1},
        {"a/work/b/c/d.txt", 1},
        {"a/work/wandb/run-1/x.log", 1},
        {"a/work/core.py", 1},
        {"a/work/core.", 1},
        {"a/work/score", 1},
        {"a/work/corex", 1},
        {"a/work/", 0},
        {"a/work/b/c/", 0},
        {"a/work/core", 0},
        {"a/work/core.123", 0},
        {"a/work/.cache/pip/x", 0},
        {"a/work/.nv", 0},
        {"a/work/b/.hidden/x", 0},
        {"a/work/lib/__pycache__/x.pyc", 0},
        {"a/tmp/x", 0},
        {"a/run/hosts", 0},
        {"a/termination-log", 0},
        {"a/work/$OUT/model", 1},
        {"a/work/core.d/result", 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct left_files left;
        empty();
        make(rows[i].name);
        left_files_find(state, &left);
        if (left.count != rows[i].count) {
            printf("# %s\n", rows[i].name);
        }
        CHECK_INT(left.count, rows[i].count);
        CHECK_INT(left.bytes, 4 * (int64_t)rows[i].count);
        CHECK((left.folder != NULL) == (rows[i].count > 0));
        CHECK(exists("left") == (rows[i].count > 0));
        left_files_release(&left);
    }
}

static void links_and_pipes_do_not(void) {
    struct left_files left;
    empty();
    make("a/work/");
    AUTO(text_freep) char *link = x_printf("%s/pods/a/work/link", state);
    AUTO(text_freep) char *loop = x_printf("%s/pods/a/work/loop", state);
    AUTO(text_freep) char *pipe = x_printf("%s/pods/a/work/pipe", state);
    CHECK_INT(symlink("/etc/passwd", link), 0);
    CHECK_INT(symlink(".", loop), 0);
    CHECK_INT(mkfifo(pipe, 0600), 0);
    left_files_find(state, &left);
    CHECK_INT(left.count, 0);
    left_files_release(&left);
    empty();
    left_files_find(state, &left); /* no pod was started */
    CHECK_INT(left.count, 0);
    left_files_release(&left);
}

static void they_are_kept(void) {
    struct left_files left;
    for (int i = 1; i <= 2; i++) {
        for (int k = 0; k < 5; k++) {
            AUTO(text_freep) char *name = x_printf("a/work/x/%d", k);
            make(name);
        }
        make("b/work/y");
        make("c/work/.z");
        left_files_find(state, &left);
        CHECK_INT(left.count, 6);
        CHECK(left.folder && text_ends(left.folder, i == 1 ? "/left" : "/left-2"));
        CHECK_INT(left_files_print(&left, "job"), 1);
        left_files_release(&left);
        CHECK(exists(i == 1 ? "left/a/x/4" : "left-2/a/x/4") && exists("left/b/y"));
        CHECK(!exists("left/c") && !exists("pods/a/work"));
    }
}

static void an_earlier_run_does_not_count(void) {
    struct left_files left;
    empty();
    make("a/work/old");
    make("a/run/hosts");
    left_files_clear(state);
    CHECK(!exists("pods/a/work") && exists("pods/a/run/hosts"));
    left_files_find(state, &left);
    CHECK_INT(left.count, 0);
    left_files_release(&left);
}

/* Folders deeper than the search goes do not hide what is above them. */
static void there_is_a_limit(void) {
    struct left_files left;
    empty();
    AUTO(text_freep) char *deep = x_strdup("a/work/");
    for (int i = 0; i < 60; i++) {
        char *deeper = x_printf("%sd/", deep);
        free(deep);
        deep = deeper;
    }
    make(deep);
    make("a/work/here");
    left_files_find(state, &left);
    CHECK_INT(left.count, 1);
    left_files_release(&left);
}

int main(void) {
    struct error err = {0};
    char folder[] = "/tmp/windlass-left-XXXXXX";
    state = file_join(mkdtemp(folder), "state");
    TEST(which_count);
    TEST(links_and_pipes_do_not);
    TEST(they_are_kept);
    TEST(an_earlier_run_does_not_count);
    TEST(there_is_a_limit);
    CHECK_OK(file_remove_tree(folder, &err), &err);
    return TEST_END();
}
