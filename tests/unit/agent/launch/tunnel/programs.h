/* programs.h: launchers and proxies of MPI for tests: copies of the test program under their names,
 * with the library loaded (preload.c). */
#pragma once

#include "agent/launch/tunnel/preload_file.h"
#include "agent/launch/tunnel/preload_frame.h"
#include "lib/file.h"
#include "tests/test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/test_programs.XXXXXX";
static bool has_library; /* false: of an instrumented build; then there are no programs */

struct launcher {
    pid_t pid;
    FILE *said;
};

static struct launcher start_program(const char *path, const char *tunnel,
                                     const char *const *words) {
    int ends[2];
    CHECK_INT(pipe(ends), 0);
    struct launcher launcher = {.pid = fork()};
    if (launcher.pid == 0) {
        AUTO(text_freep) char *library = file_join(folder, PRELOAD_FILE_NAME);
        dup2(ends[1], 1);
        close(ends[0]);
        setenv("LD_PRELOAD", library, 1);
        if (tunnel) {
            setenv(PRELOAD_VARIABLE, tunnel, 1);
        }
        execv(path, (char *const *)words);
        _exit(127);
    }
    close(ends[1]);
    launcher.said = fdopen(ends[0], "r");
    return launcher;
}

static struct launcher start(const char *name, const char *tunnel, const char *const *words) {
    AUTO(text_freep) char *path = file_join(folder, name);
    const char *all[] = {name, words[0], words[1], words[2], words[3], NULL};
    return start_program(path, tunnel, all);
}

static void stop(struct launcher *launcher) {
    kill(launcher->pid, SIGKILL);
    waitpid(launcher->pid, NULL, 0);
    fclose(launcher->said);
}

static const char *find_loader(void) {
    static const char *const names[] = {"/lib64/ld-linux-x86-64.so.2",
                                        "/lib/ld-linux-aarch64.so.1"};
    return access(names[0], X_OK) == 0 ? names[0] : access(names[1], X_OK) == 0 ? names[1] : NULL;
}

static void copy_self(const char *name) {
    struct error err = {0};
    AUTO(text_freep) char *path = file_join(folder, name);
    AUTO(text_freep) char *data = NULL;
    size_t size = 0;
    CHECK_OK(file_read("/proc/self/exe", 256 << 20, &data, &size, &err), &err);
    CHECK_OK(file_write(path, data, size, &err), &err);
    chmod(path, 0755);
}

/* names: NULL ends them. */
static void make_programs(const char *const *names) {
    struct error err = {0};
    CHECK(mkdtemp(folder) != NULL);
    has_library = preload_file_write(folder, &err) == 0;
    for (size_t i = 0; names[i] && has_library; i++) {
        copy_self(names[i]);
    }
}

static void remove_programs(void) {
    struct error err = {0};
    CHECK_OK(file_remove_tree(folder, &err), &err);
}
