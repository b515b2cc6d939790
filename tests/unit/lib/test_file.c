// SPDX-License-Identifier: Apache-2.0
#include "lib/file.h"

#include "tests/test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/windlass-test-file-XXXXXX";

static void test_write_then_read(void) {
    struct error err = {0};
    AUTO(text_freep) char *path = file_join(folder, "a");
    AUTO(text_freep) char *data = NULL;
    size_t size = 0;
    CHECK_OK(file_write(path, "one\0two", 7, &err), &err);
    CHECK_OK(file_read(path, 7, &data, &size, &err), &err);
    CHECK_INT(size, 7);
    CHECK(memcmp(data, "one\0two", 8) == 0);
    AUTO(text_freep) char *unused = NULL;
    CHECK_INT(file_read(path, 6, &unused, &size, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
}

/* Others who write to the folder can guess the temporary file's name. */
static void test_write_follows_no_link(void) {
    struct error err = {0};
    AUTO(text_freep) char *victim = file_join(folder, "victim");
    AUTO(text_freep) char *path = file_join(folder, "shared");
    AUTO(text_freep) char *guessed = x_printf("%s.tmp-%ld", path, (long)getpid());
    AUTO(text_freep) char *text = NULL;
    size_t size = 0;
    CHECK_OK(file_write(victim, "kept", 4, &err), &err);
    CHECK_INT(symlink(victim, guessed), 0);
    CHECK_OK(file_write(path, "new", 3, &err), &err);
    CHECK_OK(file_read(victim, 100, &text, &size, &err), &err);
    CHECK_STR(text, "kept");
    CHECK(access(guessed, F_OK) < 0);
}

static void test_read_refuses_what_is_no_file(void) {
    AUTO(text_freep) char *data = NULL;
    size_t size;
    struct error err = {0};
    CHECK_INT(file_read(folder, 100, &data, &size, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    error_clear(&err);
    AUTO(text_freep) char *pipe_path = file_join(folder, "pipe");
    CHECK_INT(mkfifo(pipe_path, 0600), 0);
    CHECK_INT(file_read(pipe_path, 100, &data, &size, &err), -1); /* and does not hang */
    error_clear(&err);
    AUTO(text_freep) char *missing = file_join(folder, "missing");
    CHECK_INT(file_read(missing, 100, &data, &size, &err), -1);
    CHECK_INT(err.kind, ERROR_NOT_FOUND);
}

static void test_folders_made_and_removed(void) {
    struct error err = {0};
    AUTO(text_freep) char *deep = file_join(folder, "x/y/z");
    AUTO(text_freep) char *top = file_join(folder, "x");
    AUTO(text_freep) char *outside = file_join(folder, "a");
    AUTO(text_freep) char *link_path = file_join(deep, "link");
    CHECK_OK(file_make_folders(deep, &err), &err);
    CHECK_OK(file_make_folders(deep, &err), &err);
    CHECK_INT(symlink(outside, link_path), 0);
    CHECK_OK(file_remove_tree(top, &err), &err);
    CHECK_OK(file_remove_tree(top, &err), &err);
    struct stat status;
    CHECK(stat(top, &status) < 0);
    CHECK(stat(outside, &status) == 0); /* the link's target is untouched */
    AUTO(text_freep) char *below_file = file_join(outside, "no");
    CHECK_INT(file_make_folders(below_file, &err), -1);
}

static void test_names(void) {
    AUTO(text_freep) char *joined = file_join("a/", "b");
    CHECK_STR(joined, "a/b");
    AUTO(text_freep) char *bare = file_join("", "b");
    CHECK_STR(bare, "b");
    CHECK_STR(file_basename("a/b/c.mp4"), "c.mp4");
    CHECK_STR(file_basename("c"), "c");
}

int main(void) {
    if (!mkdtemp(folder)) {
        return 1;
    }
    TEST(test_write_then_read);
    TEST(test_write_follows_no_link);
    TEST(test_read_refuses_what_is_no_file);
    TEST(test_folders_made_and_removed);
    TEST(test_names);
    struct error err = {0};
    if (file_remove_tree(folder, &err) < 0) {
        printf("# %s\n", err.text);
    }
    return TEST_END();
}
