// SPDX-License-Identifier: Apache-2.0
#include "agent/store/path.h"
#include "agent/store/store.h"

#include "lib/file.h"
#include "tests/test.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char volume[4096], outside[4200];

static void make_volume(void) {
    struct error err = {0};
    char here[2048], path[8192];
    CHECK(getcwd(here, sizeof here) != NULL);
    snprintf(volume, sizeof volume, "%s/build/tests/path/volume", here);
    snprintf(outside, sizeof outside, "%s/build/tests/path/outside", here);
    snprintf(path, sizeof path, "%s/build/tests/path", here);
    CHECK_OK(file_remove_tree(path, &err), &err);
    snprintf(path, sizeof path, "%s/a/b", volume);
    CHECK_OK(file_make_folders(path, &err), &err);
    CHECK_OK(file_make_folders(outside, &err), &err);
    snprintf(path, sizeof path, "%s/a/b/file", volume);
    CHECK_OK(file_write(path, "in", 2, &err), &err);
    snprintf(path, sizeof path, "%s/secret", outside);
    CHECK_OK(file_write(path, "out", 3, &err), &err);
    struct {
        const char *name, *target;
    } links[] = {
        {"inside", "a/b"},       {"up", "../outside"}, {"absolute", outside},
        {"dangling", "nowhere"}, {"loop", "loop"},     {"around", "a/../a/b/file"},
    };
    for (size_t i = 0; i < ARRAY_LEN(links); i++) {
        snprintf(path, sizeof path, "%s/%s", volume, links[i].name);
        CHECK_INT(symlink(links[i].target, path), 0);
    }
    setenv("vol", volume, 1);
    setenv("relative", "some/where", 1);
    setenv("lost", "/nonexistent/folder", 1);
    unsetenv("unset");
}

static const struct {
    const char *path;
    const char *error; /* NULL: opens */
} rows[] = {
    {"vol/a/b/file", NULL},
    {"vol//a/./b//file", NULL},
    {"vol/inside/file", NULL},
    {"vol/around", NULL},
    {"vol/a", NULL},
    {"vol", NULL},
    {"vol/", NULL},
    {"vol/a/b/..", "vol/a/b/..: a part \"..\" is not allowed"},
    {"vol/../outside/secret", "a part \"..\" is not allowed"},
    {"vol/..a", "vol/..a: no such file"},
    {"vol/up/secret", "vol/up/secret: a symbolic link in the path leaves the volume"},
    {"vol/absolute/secret", "vol/absolute/secret: a symbolic link in the path leaves"},
    {"vol/loop", "vol/loop: "},
    {"vol/dangling", "vol/dangling: no such file"},
    {"vol/a/none", "vol/a/none: no such file (the volume's folder is /"},
    {"vol/a/b/file/x", "vol/a/b/file/x: Not a directory"},
    {"unset/x", "unset/x: unknown volume \"unset\""},
    {"relative/x", "relative/x: unknown volume \"relative\""},
    {"lost/x", "lost/x: volume \"lost\", folder /nonexistent/folder: No such file"},
    {"/vol/a", "VOLUME/path/in/it is expected"},
    {"", "VOLUME/path/in/it is expected"},
};

static void opens(void) {
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        int fd = -1;
        int result = path_open(rows[i].path, &fd, &err);
        if (!rows[i].error) {
            CHECK_OK(result, &err);
            CHECK(fd >= 0);
            close(fd);
        } else if (result == 0 || !strstr(err.text, rows[i].error)) {
            printf("# \"%s\": %s\n", rows[i].path, result ? err.text : "was opened");
            test_failures++;
        }
    }
}

static void check_resolved(const char *path, const char *below, const char *error) {
    struct error err = {0};
    char *seen = NULL, wanted[8192];
    int result = path_resolve(path, &seen, &err);
    if (error) {
        CHECK_INT(result, -1);
        CHECK(strstr(err.text, error) != NULL);
    } else {
        CHECK_OK(result, &err);
        snprintf(wanted, sizeof wanted, "%s%s", volume, below);
        CHECK_STR(seen, wanted);
    }
    free(seen);
}

static void resolves(void) {
    check_resolved("vol", "", NULL);
    check_resolved("vol/a/", "/a", NULL);
    check_resolved("vol/inside/file", "/a/b/file", NULL);
    check_resolved("vol/inside/new/deep/er", "/a/b/new/deep/er", NULL);
    check_resolved("vol/new//x/", "/new/x", NULL);
    check_resolved("vol/up/new", NULL, "leaves the volume");
    check_resolved("vol/dangling", NULL, "is a broken symbolic link");
    check_resolved("vol/dangling/x", NULL, "is a broken symbolic link");
    check_resolved("vol/new/../../x", NULL, "\"..\"");
}

static void finds_files(void) {
    static const struct {
        const char *path, *error;
    } wrong[] = {
        {"vol/a/b", "vol/a/b: is not a regular file"},
        {"vol/a/none", "vol/a/none: no such file (the volume's folder is /"},
        {"vol/up/secret", "vol/up/secret: a symbolic link in the path leaves the volume"},
        {"vol/absolute/secret",
         "vol/absolute/secret: a symbolic link in the path leaves the volume"},
        {"vol/dangling", "vol/dangling: no such file"},
        {"lost/file", "lost/file: volume \"lost\", folder /nonexistent/folder"},
        {"unset/file", "unset/file: unknown volume"},
    };
    struct error err = {0};
    AUTO(text_freep) char *wanted = x_printf("%s/a/b/file", volume);
    AUTO(text_freep) char *path = NULL;
    struct stat status;
    /* With links and without, also in the volume's own folder: the path is free of them. */
    static const char *const same[] = {"vol/inside/file", "vol/a/b/file", "vol//a/./b//file",
                                       "vol/around",      "linked/file",  "doubled/a/b/file"};
    AUTO(text_freep) char *linked = x_printf("%s/inside", volume);
    AUTO(text_freep) char *doubled = x_printf("%s//./", volume);
    setenv("linked", linked, 1);
    setenv("doubled", doubled, 1);
    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        free(TAKE(path));
        CHECK_OK(path_file(same[i], &path, &status, &err), &err);
        CHECK_STR(path, wanted);
        CHECK_INT(status.st_size, 2);
    }
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        CHECK_INT(path_file(wrong[i].path, &path, &status, &err), -1);
        CHECK(strstr(err.text, wrong[i].error) != NULL);
        error_clear(&err);
    }
}

static void makes_folders(void) {
    struct error err = {0};
    int folder = -1;
    AUTO(text_freep) char *path = file_join(volume, "out/.windlass/r1");
    CHECK_OK(path_make_folder("vol/out/.windlass/r1", &folder, NULL, &err), &err);
    CHECK(folder >= 0 && access(path, W_OK) == 0);
    fd_closep(&folder);
    CHECK_INT(path_make_folder("vol/a/b/file", &folder, NULL, &err), -1);
    CHECK(strstr(err.text, "vol/a/b/file: ") != NULL);
    error_clear(&err);
    CHECK_INT(path_make_folder("vol/a/b/file/x", &folder, NULL, &err), -1);
    CHECK(strstr(err.text, "vol/a/b/file/x: ") != NULL);
}

/* The kernel answers ENOSYS to openat2 from here on, as Linux before 5.6 does. */
static int forbid_openat2(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), /* the call's number */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = ARRAY_LEN(code), .filter = code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
               ? -1
               : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static void inside(void) {
    AUTO(text_freep) char *folder = file_join(volume, "a");
    AUTO(text_freep) char *deep = file_join(volume, "a/b/not/yet/there");
    AUTO(text_freep) char *alias = file_join(volume, "inside/new");
    AUTO(text_freep) char *beside = file_join(volume, "ab");
    CHECK(path_is_inside(folder, folder));
    CHECK(path_is_inside(deep, folder));
    AUTO(text_freep) char *target = file_join(volume, "a/b");
    CHECK(path_is_inside(alias, target));
    CHECK(path_is_inside(folder, "/"));
    CHECK(!path_is_inside(beside, folder));
    CHECK(!path_is_inside(volume, folder));
    CHECK(!path_is_inside(deep, beside)); /* a missing folder */
}

static void without_openat2(void) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (forbid_openat2() < 0) {
            _exit(77);
        }
        test_failures = syscall(SYS_openat2, -1, "", NULL, 0) == -1 && errno == ENOSYS ? 0 : 1;
        opens();
        resolves();
        finds_files();
        fflush(stdout);
        _exit(test_failures ? 1 : 0);
    }
    int status = 0;
    CHECK_INT(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        SKIP("no seccomp here");
    }
    CHECK_INT(status, 0);
}

/* Joins the names that are passed on, with their faults. */
static int note(void *context, const char *name, const struct store_info *info,
                struct error *err UNUSED) {
    char **noted = context;
    char *more =
        x_printf("%s%.10s: %s\n", *noted ? *noted : "", name, info->fault ? info->fault : "");
    free(*noted);
    *noted = more;
    return 0;
}

static char *names_in(const char *spec_path) {
    struct error err = {0};
    struct store *store = NULL;
    char *noted = NULL;
    CHECK_OK(store_open(spec_path, /* writes= */ false, &store, &err), &err);
    CHECK_OK(store_list_infos(store, "", NULL, note, &noted, &err), &err);
    store_free(store);
    return noted ? noted : x_strdup("");
}

/* Below it each name has too many parts; where there is none, nothing is missed. */
static void lists_what_is_too_deep(void) {
    struct error err = {0};
    char below[2 * STORE_DEPTH_MAX + 1], long_path[500];
    for (size_t i = 0; i + 1 < sizeof below; i++) {
        below[i] = i % 2 ? '/' : 'd';
    }
    below[sizeof below - 1] = 0;
    memset(long_path, 'l', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = 0;
    long_path[250] = '/';
    AUTO(text_freep) char *spec_path = x_printf("vol/tree/%s", long_path);
    AUTO(text_freep) char *folder = x_printf("%s/tree/%s/%s", volume, long_path, below);
    AUTO(text_freep) char *hidden = file_join(folder, ".hidden");
    AUTO(text_freep) char *visible = file_join(folder, "file");
    CHECK_OK(file_make_folders(folder, &err), &err);
    AUTO(text_freep) char *of_empty = names_in(spec_path);
    CHECK_STR(of_empty, "");
    CHECK_OK(file_write(hidden, "x", 1, &err), &err);
    AUTO(text_freep) char *of_hidden = names_in(spec_path);
    CHECK_STR(of_hidden, "");
    CHECK_OK(file_write(visible, "x", 1, &err), &err);
    AUTO(text_freep) char *of_file = names_in(spec_path);
    /* A long path leaves room for the reason. */
    CHECK(text_starts(of_file, "d/d/d/d/d/: vol/tree/l"));
    CHECK(text_ends(of_file, "...: what is in this folder has names of more than 64 parts\n"));
}

int main(void) {
    make_volume();
    TEST(opens);
    TEST(resolves);
    TEST(finds_files);
    TEST(makes_folders);
    TEST(inside);
    TEST(lists_what_is_too_deep);
    TEST(without_openat2);
    return TEST_END();
}
