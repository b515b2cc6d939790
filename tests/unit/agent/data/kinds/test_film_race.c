// SPDX-License-Identifier: Apache-2.0
/* One who may write to the output exchanges its folders, or the unfinished film, for links out of
 * the volume while a film is put together: nothing is written there, and what is there is not read
 * as the film. */
#include "agent/data/decoder/decoder.h"
#include "agent/data/decoder/decoder_child.h"
#include "agent/store/local_file.h"
#include "tests/unit/agent/data/video/films.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>

enum { TURNS = 6, EXCHANGES = 200 };

static char outside[] = "/tmp/test-film-race-XXXXXX"; /* another volume */
static const char *armed;  /* a folder of the output that is exchanged for the link; or NULL */
static bool replaces_film; /* the unfinished film becomes a link */
static atomic_bool is_over;
static atomic_llong exchanged;

static char *path_of(const char *name) {
    return x_printf("%s/%s", fixtures_out, name);
}

static int exchange(const char *name) {
    AUTO(text_freep) char *from = path_of("link");
    AUTO(text_freep) char *to = path_of(name);
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE);
}

/* This takes the place of the C library's function in this program. */
__attribute__((visibility("default"))) int renameat(int from_fd, const char *from, int to_fd,
                                                    const char *to) {
    int (*real)(int, const char *, int, const char *) =
        (int (*)(int, const char *, int, const char *))dlsym(RTLD_NEXT, "renameat");
    const char *folder = TAKE(armed);
    if (folder) {
        CHECK_INT(exchange(folder), 0);
    }
    if (TAKE(replaces_film)) {
        AUTO(text_freep) char *secret = x_printf("%s/secret", outside);
        CHECK_INT(real(from_fd, from, from_fd, "aside"), 0);
        CHECK_INT(symlinkat(secret, from_fd, from), 0);
    }
    return real(from_fd, from, to_fd, to);
}

static void *keep_exchanging(void *name) {
    while (!atomic_load(&is_over)) {
        exchanged += exchange(name) == 0;
    }
    return NULL;
}

/* The other volume has its one file, as it was. */
static void check_outside(void) {
    struct error err = {0};
    AUTO(text_freep) char *secret = x_printf("%s/secret", outside);
    AUTO(text_freep) char *text = NULL;
    size_t size = 0;
    int names = 0;
    CHECK_OK(file_read(secret, 100, &text, &size, &err), &err);
    CHECK_STR(text, "secret");
    DIR *entries = opendir(outside);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        names += entry->d_name[0] != '.';
    }
    closedir(entries);
    CHECK_INT(names, 1);
}

static void start_anew(void) {
    struct error err = {0};
    AUTO(text_freep) char *result = path_of("result");
    AUTO(text_freep) char *link = path_of("link");
    AUTO(text_freep) char *join = path_of("result/.windlass/" RUN "/join");
    CHECK_OK(file_remove_tree(result, &err), &err);
    CHECK_OK(file_remove_tree(link, &err), &err); /* or what it was exchanged for */
    CHECK_OK(file_make_folders(join, &err), &err);
    CHECK_INT(symlink(outside, link), 0);
}

static void folders_are_exchanged_at_the_last_moment(void) {
    static const char *const names[] = {"result", "result/.windlass/" RUN "/join"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        AUTO(tree_freep) json_t *outputs = json_array();
        struct error ignored = {0};
        start_anew();
        armed = names[i];
        (void)!make_video("two.mp4", 2, outputs, &ignored);
        CHECK(!armed);
        check_outside();
    }
}

static void a_link_is_not_read_as_the_film(void) {
    AUTO(tree_freep) json_t *outputs = json_array();
    AUTO(store_freep) struct store *output = open_output("out/result");
    AUTO(buffer_release) struct buffer film;
    struct error err = {0};
    start_anew();
    replaces_film = true;
    (void)!make_video("two.mp4", 2, outputs, &err);
    CHECK(!replaces_film);
    buffer_init(&film, 1 << 20);
    err = (struct error){0};
    CHECK_INT(store_get(output, "two.mp4", &film, NULL, &err), -1);
    check_outside();
}

/* The film is made in the folder that was opened, or not at all. */
static void the_folder_is_exchanged_all_the_time(void) {
    static char name[] = "result/.windlass/" RUN "/join";
    pthread_t thread;
    start_anew();
    atomic_store(&is_over, false);
    CHECK_INT(pthread_create(&thread, NULL, keep_exchanging, name), 0);
    for (int i = 0; i < TURNS || exchanged < EXCHANGES; i++) {
        AUTO(tree_freep) json_t *outputs = json_array();
        struct error ignored = {0};
        (void)!make_video("two.mp4", 2, outputs, &ignored);
    }
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    check_outside();
}

/* The decoder's process is this program. */
int main(int argc, char **argv) {
    struct error err = {0};
    if (argc > 1 && strcmp(argv[1], "decoder") == 0) {
        return decoder_child_media(argc, argv);
    }
    setenv(DECODER_PROGRAM, "/proc/self/exe", 1);
    fixtures_start("film-race");
    CHECK(mkdtemp(outside) != NULL);
    AUTO(text_freep) char *secret = x_printf("%s/secret", outside);
    CHECK_OK(file_write(secret, "secret", 6, &err), &err);
    for (size_t i = 0; i < ARRAY_LEN(films); i++) {
        if (strcmp(films[i].name, "two.mp4") == 0) {
            CHECK_INT(film_make(&films[i]), 0);
        }
    }
    TEST(folders_are_exchanged_at_the_last_moment);
    TEST(a_link_is_not_read_as_the_film);
    TEST(the_folder_is_exchanged_all_the_time);
    CHECK_OK(file_remove_tree(outside, &err), &err);
    return TEST_END();
}
