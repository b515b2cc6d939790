// SPDX-License-Identifier: Apache-2.0
/* Which program a loader runs, from its command line, in whatever pieces that is read. */
#include "agent/launch/tunnel/loaded_program.h"

#include "lib/base.h"
#include "tests/test.h"

#include <stdio.h>

/* The program of a command line that is read `step` bytes at a time. */
static void check_loaded(const char *words, size_t size, size_t step, const char *wanted) {
    struct loaded_program program = {0};
    for (size_t at = 0; at < size; at += step) {
        loaded_program_add(&program, words + at, MIN(step, size - at));
    }
    if (program.length > 0) {
        loaded_program_add(&program, "", 1);
    }
    CHECK_STR(program.is_found ? program.word : "", wanted);
}

/* /proc/PID/exe is the loader where it was started by its name. */
static void test_programs_of_a_loader(void) {
    static const struct {
        const char words[120], *program;
    } rows[] = {
        {"ld.so\0/opt/bin/prterun\0--np\0", "prterun"},
        {"/lib/ld-linux.so.2\0--library-path\0/a:/b/prted\0--list\0bin/mpirun\0x\0", "mpirun"},
        {"ld.so\0--argv0\0orted\0--preload\0/l/orted\0other\0", "other"},
        {"ld.so\0--library-path=/a/b\0/-/--x/orted\0y\0", "orted"},
        {"ld.so\0--library-path\0", ""},
        {"ld.so\0", ""},
        {"", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t size = sizeof rows[i].words - 1;
        while (size > 0 && rows[i].words[size - 1] == 0) { /* the literal's end */
            size--;
        }
        for (size_t step = 1; step < sizeof rows[i].words; step++) {
            check_loaded(rows[i].words, size, step, rows[i].program);
        }
    }
    CHECK(loaded_program_is_loader("ld-linux-x86-64.so.2"));
    CHECK(loaded_program_is_loader("ld-musl-aarch64.so.1"));
    CHECK(!loaded_program_is_loader("mpirun"));
}

/* Nix's and Spack's lists of libraries are longer than any room for them. */
static void test_long_library_path(void) {
    enum { LIBRARY_PATH = 100000, AT_MOST = LIBRARY_PATH + 120 };
    AUTO(text_freep) char *words = x_malloc(AT_MOST);
    size_t size = (size_t)snprintf(words, AT_MOST, "ld.so%c--library-path%c", 0, 0);
    for (size_t i = 0; i < LIBRARY_PATH; i++) {
        words[size++] = "/nix/store/lib:"[i % 15];
    }
    size += (size_t)snprintf(words + size, 120, "%c/opt/bin/mpirun%c-np", 0, 0) + 1;
    check_loaded(words, size, size, "mpirun");
    check_loaded(words, size, 4096, "mpirun");
}

int main(void) {
    TEST(test_programs_of_a_loader);
    TEST(test_long_library_path);
    return TEST_END();
}
