// SPDX-License-Identifier: Apache-2.0
/* What is copied, what is not, and that it happens once. */
#include "agent/launch/pod/copy_folder.h"

#include "lib/file.h"
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void put(const char *folder, const char *name, const char *text) {
    struct error err = {0};
    AUTO(text_freep) char *path = file_join(folder, name);
    CHECK_OK(file_write(path, text, strlen(text), &err), &err);
}

/* The text of a file; "": there is none. */
static char *get(const char *folder, const char *name) {
    struct error ignored = {0};
    AUTO(text_freep) char *path = file_join(folder, name);
    char *data = NULL;
    size_t size;
    return file_read(path, 1000, &data, &size, &ignored) < 0 ? x_strdup("") : data;
}

static void check_file(const char *folder, const char *name, const char *wanted) {
    AUTO(text_freep) char *text = get(folder, name);
    CHECK_STR(text, wanted);
}

static void test_copy(void) {
    char from[] = "/tmp/windlass-copy-XXXXXX", to[] = "/tmp/windlass-copy-XXXXXX";
    struct error err = {0};
    CHECK(mkdtemp(from) && mkdtemp(to));
    AUTO(text_freep) char *below = file_join(from, "a/b");
    CHECK_OK(file_make_folders(below, &err), &err);
    put(from, "state", "7");
    put(below, "deep", "8");
    put(from, "result.json", "{}");
    put(from, ".windlass-x", "x");
    AUTO(text_freep) char *link = file_join(from, "latest"), *pipe = file_join(from, "pipe");
    AUTO(text_freep) char *state = file_join(from, "state");
    CHECK(symlink("state", link) == 0 && mkfifo(pipe, 0600) == 0 && chmod(state, 0640) == 0);
    put(to, "state", "of a copy that was cut off");
    CHECK_OK(copy_folder_once(from, to, &err), &err);
    check_file(to, "state", "7");
    check_file(to, "a/b/deep", "8");
    check_file(to, "latest", "7");
    check_file(to, "result.json", "");
    check_file(to, ".windlass-x", "");
    struct stat info;
    AUTO(text_freep) char *copied = file_join(to, "state");
    CHECK(stat(copied, &info) == 0 && (info.st_mode & 0777) == 0640);
    put(to, "state", "9"); /* the trial goes on; its pod starts again */
    CHECK_OK(copy_folder_once(from, to, &err), &err);
    check_file(to, "state", "9");
    CHECK_OK(file_remove_tree(from, &err), &err);
    CHECK_OK(copy_folder_once(from, to, &err), &err);
    CHECK_OK(file_remove_tree(to, &err), &err);
}

static void test_nothing_is_there(void) {
    char to[] = "/tmp/windlass-copy-XXXXXX";
    struct error err = {0};
    CHECK(mkdtemp(to) != NULL);
    CHECK_INT(copy_folder_once("/tmp/windlass-copy-none", to, &err), -1);
    CHECK_INT(err.kind, ERROR_NOT_FOUND);
    CHECK(strstr(err.text, "/tmp/windlass-copy-none"));
    err = (struct error){0};
    CHECK_OK(file_remove_tree(to, &err), &err);
}

int main(void) {
    TEST(test_copy);
    TEST(test_nothing_is_there);
    return TEST_END();
}
