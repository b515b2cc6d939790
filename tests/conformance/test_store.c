// SPDX-License-Identifier: Apache-2.0
/* The suite of stores on a folder on the disk and one in memory (tmpfs), each behind broken_store
 * without faults, too; then features of folders alone (links, hidden files). With a folder as an
 * argument the same runs there. */
#include "agent/store/store.h"
#include "lib/file.h"
#include "tests/broken_store.h"
#include "tests/conformance/store_suite.h"
#include "tests/seed.h"
#include "tests/test.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct store *store;
static char *folder; /* of this machine, where the store is */

static int put(const char *name, const char *text, enum store_put_mode how, struct error *err) {
    return store_put(store, name, text, strlen(text), how, err);
}

static void check_list(const char *prefix, const char *after, int stop_after, const char *wanted) {
    AUTO(text_freep) char *names = store_names(store, prefix, after, stop_after);
    CHECK_STR(names, wanted);
}

/* ---- folders alone -------------------------------------------------------------------------- */

static void make_link(const char *target, const char *name) {
    AUTO(text_freep) char *path = file_join(folder, name);
    CHECK_INT(symlink(target, path), 0);
}

static void links_stay_in_the_volume(void) {
    struct error err = {0};
    CHECK_OK(put("k/real", "inside", STORE_REPLACE, &err), &err);
    make_link("/etc/passwd", "k/absolute");
    make_link("../../../../../../etc/passwd", "k/up");
    make_link("real", "k/link");
    make_link("nothing", "k/dangling");
    make_link("..", "k/folder");
    make_link("/tmp", "k/tmp");
    CHECK_OBJECT("k/absolute", "[invalid]");
    CHECK_OBJECT("k/up", "[invalid]");
    CHECK_OBJECT("k/link", "inside");
    CHECK_OBJECT("k/dangling", "[not-found]");
    CHECK(put("k/tmp/windlass-test", "x", STORE_REPLACE, &err) < 0 && err.kind == ERROR_INVALID);
    error_clear(&err);
    CHECK(store_remove(store, "k/tmp/windlass-test", &err) < 0 && err.kind == ERROR_INVALID);
    check_list("k/", NULL, 0, "k/link k/real ");
    error_clear(&err);
    CHECK_OK(put("k/absolute", "own", STORE_REPLACE, &err), &err);
    CHECK_OBJECT("k/absolute", "own");
    CHECK(put("k/dangling", "x", STORE_CREATE, &err) < 0 && err.kind == ERROR_CONFLICT);
}

static void other_things_are_no_objects(void) {
    struct error err = {0};
    AUTO(text_freep) char *pipe = file_join(folder, "k/pipe");
    CHECK_INT(mkfifo(pipe, 0600), 0);
    CHECK_OBJECT("k/pipe", "[invalid]");
    CHECK_OBJECT("k", "[invalid]");
    CHECK(put("k", "x", STORE_CREATE, &err) < 0 && err.kind == ERROR_CONFLICT);
    error_clear(&err);
    CHECK(put("k", "x", STORE_REPLACE, &err) < 0 && err.kind == ERROR_INVALID);
    error_clear(&err);
    CHECK(put("k/real/below", "x", STORE_REPLACE, &err) < 0);
    check_list("k/", "k/link", 0, "k/real ");
}

/* Makes a file in the folder NAME, count times in itself, below "b/". */
static void make_deep(const char *name, int count) {
    AUTO(text_freep) char *path = file_join(folder, "b");
    (void)mkdir(path, 0777);
    for (int i = 0; i < count; i++) {
        char *below = file_join(path, name);
        free(path);
        path = below;
        CHECK_INT(mkdir(path, 0777), 0);
    }
    AUTO(text_freep) char *file = file_join(path, "file.txt");
    FILE *made = fopen(file, "w");
    CHECK(made && fclose(made) == 0);
}

/* Appends "SIZE of FIRST " of a name, with ! behind those that have a fault. */
static int note_beyond(void *context, const char *name, const struct store_info *info,
                       struct error *err UNUSED) {
    char *told = context;
    size_t size = strlen(told);
    bool has_fault = info && info->fault;
    CHECK(has_fault == (info && info->is_beyond));
    snprintf(told + size, 1024 - size, "%zu of %.3s%s ", strlen(name), name, has_fault ? "!" : "");
    if (has_fault) {
        snprintf(told + 1024, 1024, "%s", info->fault);
        snprintf(told + 2048, 4096, "%s", name);
    }
    return 0;
}

/* Names that no call takes are listed once, cut, and what is behind them, too. */
static void names_beyond_the_limits(void) {
    struct error err = {0};
    char told[2048 + 4096] = "", wide[201];
    memset(wide, 'w', sizeof wide - 1);
    wide[200] = 0;
    make_deep(wide, 11);
    CHECK_OK(put("b/z", "x", STORE_REPLACE, &err), &err);
    CHECK_OK(store_list_all(store, "b/", NULL, note_beyond, told, &err), &err);
    CHECK_STR(told, "2048 of b/w! 3 of b/z ");
    CHECK(strstr(told + 1024, "storetest/in/b/www") == told + 1024);
    CHECK(text_ends(told + 1024, "...: a name that begins so is longer than 2048 bytes"));
    AUTO(text_freep) char *cut = x_strdup(told + 2048);
    told[0] = 0; /* a listing that continues has it no more */
    CHECK_OK(store_list_all(store, "b/", cut, note_beyond, told, &err), &err);
    CHECK_STR(told, "3 of b/z ");
    told[0] = 0;
    CHECK_OK(store_list(store, "b/", NULL, note_beyond, told, &err), &err);
    CHECK_STR(told, "3 of b/z ");
    make_deep("d", STORE_DEPTH_MAX);
    told[0] = 0;
    CHECK_OK(store_list_links(store, "b/", NULL, note_beyond, told, &err), &err);
    CHECK_STR(told, "128 of b/d! 2048 of b/w! 3 of b/z ");
    make_deep("e", STORE_DEPTH_MAX - 2); /* just not too deep */
    told[0] = 0;
    CHECK_OK(store_list_links(store, "b/", NULL, note_beyond, told, &err), &err);
    CHECK_STR(told, "128 of b/d! 134 of b/e 2048 of b/w! 3 of b/z ");
}

/* More names than one pass holds: 120,000 of some 80 bytes in one folder, by hard links. */
static int count_in_order(void *context, const char *name, const struct store_info *info UNUSED,
                          struct error *err) {
    char *last = context;
    if (strcmp(name, last + 8) <= 0) {
        return error_set(err, ERROR_BUG, "%s after %s", name, last + 8);
    }
    ++*(int64_t *)context;
    snprintf(last + 8, 200, "%s", name);
    return 0;
}

static void many_names(void) {
    enum { COUNT = 120000 };
    struct error err = {0};
    int64_t seen[32] = {0};
    CHECK_OK(put("many/first", "x", STORE_REPLACE, &err), &err);
    AUTO(text_freep) char *path = file_join(folder, "many/first");
    uint64_t state = 1;
    for (int i = 1; i < COUNT; i++) {
        char name[100];
        snprintf(name, sizeof name, "many/%016llx-%060d", (unsigned long long)test_random(&state),
                 i);
        AUTO(text_freep) char *other = file_join(folder, name);
        if (link(path, other) < 0) {
            /* ext4 has 65,000 links of one file: continue with another. */
            CHECK(errno == EMLINK);
            free(path);
            path = TAKE(other);
            FILE *made = fopen(path, "w");
            CHECK(made && fclose(made) == 0);
        }
    }
    CHECK_OK(store_list(store, "many/", NULL, count_in_order, seen, &err), &err);
    CHECK_INT(seen[0], COUNT);
}

static void reads_only(void) {
    struct error err = {0};
    AUTO(store_freep) struct store *reader = NULL, *nothing = NULL;
    CHECK_OK(store_open("storetest/in", /* writes= */ false, &reader, &err), &err);
    CHECK(store_put(reader, "x", "x", 1, STORE_REPLACE, &err) < 0 && err.kind == ERROR_DENIED);
    error_clear(&err);
    CHECK(store_remove(reader, "x", &err) < 0 && err.kind == ERROR_DENIED);
    error_clear(&err);
    struct store_upload *upload = NULL;
    CHECK(store_upload_open(reader, "x", &upload, &err) < 0 && err.kind == ERROR_DENIED);
    static const struct {
        const char *path;
        enum error_kind kind;
    } rows[] = {{"storetest/missing", ERROR_NOT_FOUND}, {"novolume/x", ERROR_NOT_FOUND},
                {"storetest/../x", ERROR_INVALID},      {"ftp://there/x", ERROR_INVALID},
                {"storetest/in/k/real", ERROR_INVALID}, {"", ERROR_INVALID}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        error_clear(&err);
        CHECK(store_open(rows[i].path, false, &nothing, &err) < 0);
        CHECK_INT(err.kind, rows[i].kind);
    }
    error_clear(&err);
    CHECK(store_open("storetest/in/k/real", true, &nothing, &err) < 0);
}

enum { SIZE = 300000, OBJECTS_MAX = 200 };

/* Reports the first pair of objects; the pipe's reader may be gone afterwards. */
__attribute__((noreturn)) static void write_until_killed(int round, int told_fd) {
    AUTO(text_freep) char *data = x_malloc(SIZE);
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < OBJECTS_MAX; i++) {
        char name[32];
        struct error failed = {0};
        memset(data, 'a' + i % 26, SIZE);
        snprintf(name, sizeof name, "killed/%d-%d", round, i);
        if (store_put(store, "killed/same", data, SIZE, STORE_REPLACE, &failed) < 0 ||
            store_put(store, name, data, SIZE, STORE_CREATE, &failed) < 0 ||
            (write(told_fd, "1", 1) < 0 && i == 0)) {
            _exit(1);
        }
    }
    for (;;) {
        pause();
    }
}

/* Whenever a writer is killed, the existing objects are complete. */
static void killed_writers(void) {
    struct error err = {0};
    uint64_t state = test_seed(7);
    for (int round = 0; round < 20; round++) {
        int pipe_fds[2];
        char told;
        CHECK_INT(pipe(pipe_fds), 0);
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            close(pipe_fds[0]);
            write_until_killed(round, pipe_fds[1]);
        }
        close(pipe_fds[1]);
        CHECK_INT(read(pipe_fds[0], &told, 1), 1); /* one pair is stored */
        close(pipe_fds[0]);
        struct timespec nap = {.tv_nsec = (long)(test_random(&state) % 8000000)};
        nanosleep(&nap, NULL);
        kill(child, SIGKILL);
        int status = 0;
        CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    }
    AUTO(text_freep) char *names = store_names(store, "killed/", NULL, 0);
    int objects = 0;
    for (char *at = names; *at; objects++) {
        char *end = strchr(at, ' ');
        *end = 0;
        struct buffer buffer;
        buffer_init(&buffer, SIZE);
        CHECK_OK(store_get(store, at, &buffer, NULL, &err), &err);
        CHECK_INT(buffer.size, SIZE);
        CHECK(buffer.size && memcmp(buffer.data, buffer.data + 1, buffer.size - 1) == 0);
        buffer_release(&buffer);
        at = end + 1;
    }
    CHECK(objects > 20); /* one a round, and the one that is replaced */
}

/* Removes files of writers that are gone, in this output and in no other; follows no links. */
static void sweeps_what_is_left(void) {
    struct error err = {0};
    static const char left[] = ".windlass-tmp-00112233445566778899aabb";
    static const struct {
        const char *below;
        bool goes;
    } rows[] = {{"", true},        {"f/g/", true},         {".windlass/run/commit/", true},
                {"other/", false}, {"other/deep/", false}, {"other/.windlass/", false}};
    CHECK_OK(put("f/g/kept", "x", STORE_REPLACE, &err), &err);
    CHECK_OK(put("other/.windlass/owner", "x", STORE_REPLACE, &err), &err);
    CHECK_OK(put(".windlass/run/commit/0", "x", STORE_REPLACE, &err), &err);
    CHECK_OK(put("other/deep/kept", "x", STORE_REPLACE, &err), &err);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep) char *path = x_printf("%s/%s%s", folder, rows[i].below, left);
        CHECK_OK(file_write(path, "x", 1, &err), &err);
    }
    AUTO(text_freep) char *round = x_printf("%s/f/round", folder);
    CHECK_INT(symlink("..", round), 0);
    CHECK_OK(store_remove_leftovers(store, &err), &err);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep) char *path = x_printf("%s/%s%s", folder, rows[i].below, left);
        CHECK_INT(access(path, F_OK) < 0, rows[i].goes);
    }
    CHECK_OBJECT("f/g/kept", "x");
    CHECK_OBJECT("other/deep/kept", "x");
}

/* In a process of its own. */
static void open_and_exit(const char *path) {
    struct error err = {0};
    struct store *opened = NULL;
    int result = store_open(path, /* writes= */ true, &opened, &err);
    if (result < 0) {
        printf("# %s\n", err.text);
        fflush(stdout);
    }
    _exit(result < 0);
}

/* Eight processes open a store whose folders do not exist yet. */
static void opened_by_many_at_once(void) {
    for (int round = 0; round < 30; round++) {
        AUTO(text_freep) char *path = x_printf("storetest/in/new/%d/a/b", round);
        pid_t children[8];
        fflush(stdout);
        for (int i = 0; i < 8; i++) {
            children[i] = fork();
            if (children[i] == 0) {
                open_and_exit(path);
            }
        }
        for (int i = 0; i < 8; i++) {
            int status = 0;
            CHECK(waitpid(children[i], &status, 0) == children[i] && status == 0);
        }
    }
}

static void broken_stores_break(void) {
    struct error err = {0};
    struct store *inner = NULL;
    int failed = 0;
    CHECK_OK(store_open("storetest/in", true, &inner, &err), &err);
    AUTO(store_freep)
    struct store *broken = broken_store(inner, &(struct broken_options){.seed = 3, .percent = 20});
    for (int i = 0; i < 500; i++) {
        struct error cause = {0};
        failed += store_put(broken, "broken", "x", 1, STORE_REPLACE, &cause) < 0;
        CHECK(cause.kind == ERROR_NONE || store_error_is_machine(&cause));
    }
    CHECK(failed > 40 && failed < 120);
    CHECK(broken_store_faults(broken) >= failed);
}

/* ---- where ---------------------------------------------------------------------------------- */

static bool knows_itself;

static void is_known_to_exclude_or_not(void) {
    CHECK(knows_itself);
}

static bool open_in(const char *where, bool is_wrapped) {
    struct error err = {0};
    AUTO(text_freep) char *volume = x_printf("%s/windlass-store-XXXXXX", where);
    if (!mkdtemp(volume)) {
        return false;
    }
    setenv("storetest", volume, 1);
    if (store_open("storetest/in", /* writes= */ true, &store, &err) < 0) {
        printf("# %s\n", err.text);
        exit(1);
    }
    if (is_wrapped) {
        store = broken_store(store, &(struct broken_options){.delay_ms_max = 1});
    }
    folder = file_join(volume, "in");
    return true;
}

static void close_and_remove(void) {
    struct error err = {0};
    if (!store) {
        return;
    }
    store_freep(&store);
    CHECK_OK(file_remove_tree(getenv("storetest"), &err), &err);
    text_freep(&folder);
}

static void run_in(const char *where, bool is_wrapped, bool excludes) {
    if (!open_in(where, is_wrapped)) {
        printf("skip %s: no folder can be made there\n", where);
        return;
    }
    knows_itself = store_features(store).creates == excludes;
    TEST(is_known_to_exclude_or_not);
    test_failures_total += store_suite(store, STORE_NAME_MAX);
    if (!is_wrapped) {
        TEST(links_stay_in_the_volume);
        TEST(other_things_are_no_objects);
        TEST(names_beyond_the_limits);
        TEST(reads_only);
        TEST(killed_writers);
        TEST(sweeps_what_is_left);
        TEST(opened_by_many_at_once);
        TEST(broken_stores_break);
    }
}

/* test_store FOLDER: there alone, on a mount without exclusive creation (test_fuse.sh). */
int main(int argc, char **argv) {
    const char *disk = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    const char *const places[] = {disk, "/dev/shm"};
    if (argc > 1) {
        run_in(argv[1], /* is_wrapped= */ false, /* excludes= */ false);
        close_and_remove();
        return TEST_END();
    }
    for (size_t i = 0; i < 2 * ARRAY_LEN(places); i++) {
        run_in(places[i / 2], /* is_wrapped= */ i % 2, /* excludes= */ true);
        if (i == 2 && store) {
            TEST(many_names);
        }
        close_and_remove();
    }
    return TEST_END();
}
