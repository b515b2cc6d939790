// SPDX-License-Identifier: Apache-2.0
/* One who may write to the output exchanges a folder of it for a link to another volume, in the
 * midst of the removal of what it holds, of making folders in it, or of taking its lock: nothing of
 * the other volume is removed or written to, and nothing is made there.
 * A coordinator that has ended the run removes temporary files, one of another coordinator's in the
 * midst of being written, too. */
#include "agent/store/path.h"
#include "agent/store/path_lock.h"
#include "agent/store/store.h"

#include "lib/file.h"
#include "tests/test.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 100, LOCKS = 500, EXCHANGES = 2000 };

static char folder[] = "/tmp/test-path-race-XXXXXX";
static const char *armed; /* the folder of the volume that is exchanged at the next call */

static char *path_of(const char *name) {
    return x_printf("%s/%s", folder, name);
}

static void exchange(void) {
    AUTO(text_freep) char *from = path_of("out/link");
    AUTO(text_freep) char *to = path_of(armed ? armed : "");
    if (armed) {
        armed = NULL;
        CHECK_INT(renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE), 0);
    }
}

/* These take the place of the C library's functions in this program. */
#define REAL(name, type) ((type)dlsym(RTLD_NEXT, name))
__attribute__((visibility("default"))) int remove(const char *path) {
    exchange();
    return REAL("remove", int (*)(const char *))(path);
}
__attribute__((visibility("default"))) int unlinkat(int fd, const char *name, int flags) {
    exchange();
    return REAL("unlinkat", int (*)(int, const char *, int))(fd, name, flags);
}
__attribute__((visibility("default"))) int mkdir(const char *path, mode_t mode) {
    exchange();
    return REAL("mkdir", int (*)(const char *, mode_t))(path, mode);
}
__attribute__((visibility("default"))) int mkdirat(int fd, const char *name, mode_t mode) {
    exchange();
    return REAL("mkdirat", int (*)(int, const char *, mode_t))(fd, name, mode);
}

static struct store *tidied; /* what was left in it is removed before the next link */
__attribute__((visibility("default"))) int linkat(int fd, const char *from, int to_fd,
                                                  const char *to, int flags) {
    struct error err = {0};
    if (tidied) {
        CHECK_OK(store_remove_leftovers(TAKE(tidied), &err), &err);
    }
    return REAL("linkat", int (*)(int, const char *, int, const char *, int))(fd, from, to_fd, to,
                                                                              flags);
}

static void fill(const char *in) {
    struct error err = {0};
    AUTO(text_freep) char *path = path_of(in);
    CHECK_OK(file_make_folders(path, &err), &err);
    for (int i = 0; i < FILES; i++) {
        AUTO(text_freep) char *file = x_printf("%s/%03d", path, i);
        CHECK_OK(file_write(file, "x", 1, &err), &err);
    }
}

/* Names of a folder; -1: there is none. */
static int count(const char *in) {
    AUTO(text_freep) char *path = path_of(in);
    DIR *entries = opendir(path);
    int seen = entries ? -2 : -1;
    while (entries && readdir(entries)) {
        seen++;
    }
    if (entries) {
        closedir(entries);
    }
    return seen;
}

static void link_other(const char *target) {
    AUTO(text_freep) char *link = path_of("out/link");
    AUTO(text_freep) char *to = path_of(target);
    struct error err = {0};
    CHECK_OK(file_remove_tree(link, &err), &err); /* or what it was exchanged for */
    CHECK_INT(symlink(to, link), 0);
}

static void tries_are_removed(void) {
    struct error err = {0}, ignored = {0};
    AUTO(store_freep) struct store *store = NULL;
    fill("out/.windlass/r/try/deep/er");
    fill("out/.windlass/r/try");
    fill("out/.windlass/r/kept");
    fill("other");
    link_other("other");
    CHECK_OK(store_open("vol/out", true, &store, &err), &err);
    armed = "out/.windlass/r/try";
    (void)!store_clear(store, ".windlass/r/try/", &ignored);
    CHECK(!armed);
    CHECK_INT(count("other"), FILES);
    CHECK_INT(count("out/.windlass/r/kept"), FILES);
    CHECK_OK(store_clear(store, ".windlass/r/try/", &err), &err); /* now it is the link */
    CHECK_INT(count("out/.windlass/r/try"), -1);
    CHECK_INT(count("other"), FILES);
    CHECK_OK(store_clear(store, ".windlass/none/try/", &err), &err);
    fill("out/.windlass/r/try/deep/er");
    CHECK_OK(store_clear(store, ".windlass/", &err), &err);
    CHECK_INT(count("out/.windlass"), -1);
}

static void folders_are_made(void) {
    struct error err = {0}, ignored = {0};
    AUTO(text_freep) char *there = path_of("out/there");
    int fd = -1;
    fill("empty");
    CHECK_OK(file_make_folders(there, &err), &err);
    link_other("empty");
    armed = "out/there";
    if (path_make_folder("vol/out/there/a/b", &fd, NULL, &ignored) == 0) {
        fd_closep(&fd);
    }
    CHECK(!armed);
    CHECK_INT(count("empty"), FILES);
}

static atomic_bool is_over;
static atomic_llong exchanged;

/* The link for what is there under that name, and back, all the time. */
static void *keep_exchanging(void *name) {
    AUTO(text_freep) char *from = path_of("out/link");
    AUTO(text_freep) char *to = path_of(name);
    while (!atomic_load(&is_over)) {
        exchanged += renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) == 0;
    }
    return NULL;
}

/* The lock's folder is exchanged for a folder of the other volume, then the lock for a file of it,
 * into which the holder's name would be written. */
static void locks_are_taken_in_their_folder(void) {
    static char folder_name[] = "out/run", lock_name[] = "out/run/lock";
    static const struct {
        char *name;
        const char *target;
    } rows[] = {{folder_name, "other"}, {lock_name, "other/000"}};
    AUTO(text_freep) char *file = path_of("other/000");
    AUTO(text_freep) char *run = path_of("out/run");
    AUTO(text_freep) char *lock = path_of("out/run/lock");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        pthread_t thread;
        AUTO(text_freep) char *text = NULL;
        size_t size = 0;
        fill("other");
        link_other(rows[i].target);
        CHECK_OK(file_remove_tree(run, &err), &err);
        CHECK_OK(file_make_folders(run, &err), &err);
        CHECK_OK(file_write(lock, "", 0, &err), &err);
        atomic_store(&is_over, false);
        exchanged = 0;
        CHECK_INT(pthread_create(&thread, NULL, keep_exchanging, rows[i].name), 0);
        for (int k = 0; k < LOCKS || exchanged < EXCHANGES; k++) {
            struct error ignored = {0};
            int fd = -1;
            if (path_lock("vol/out/run", "holder", &fd, &ignored) == 0) {
                fd_closep(&fd);
            }
        }
        atomic_store(&is_over, true);
        pthread_join(thread, NULL);
        CHECK_INT(count("other"), FILES);
        CHECK_OK(file_read(file, 100, &text, &size, &err), &err);
        CHECK_STR(text, "x");
    }
}

static void a_put_goes_on_without_its_temporary_file(void) {
    struct error err = {0};
    AUTO(store_freep) struct store *store = NULL;
    AUTO(text_freep) char *path = path_of("out/.windlass/r/run.json");
    AUTO(text_freep) char *text = NULL;
    size_t size = 0;
    CHECK_OK(store_open("vol/out", true, &store, &err), &err);
    CHECK_OK(store_put(store, ".windlass/r/first", "{}", 2, STORE_CREATE, &err), &err);
    tidied = store;
    CHECK_OK(store_put(store, ".windlass/r/run.json", "{}", 2, STORE_CREATE, &err), &err);
    CHECK(!tidied);
    CHECK_OK(file_read(path, 100, &text, &size, &err), &err);
    CHECK_STR(text, "{}");
}

int main(void) {
    struct error err = {0};
    AUTO(text_freep) char *out = NULL;
    CHECK(mkdtemp(folder) != NULL);
    out = path_of("out");
    CHECK_OK(file_make_folders(out, &err), &err);
    setenv("vol", folder, 1);
    TEST(tries_are_removed);
    TEST(folders_are_made);
    TEST(locks_are_taken_in_their_folder);
    TEST(a_put_goes_on_without_its_temporary_file);
    CHECK_OK(file_remove_tree(folder, &err), &err);
    return TEST_END();
}
