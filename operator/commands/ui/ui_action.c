// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/ui/ui_action.h"

#include "lib/child.h"
#include "operator/commands/ui/ui_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAID_MAX = 4096 };

#define OURSELVES "/proc/self/exe"

const char *const ui_actions[] = {"cancel", "suspend", "resume", "rerun", NULL};

/* said: gets its standard error; -1: it is dropped. */
static _Noreturn void become(const char *const *argv, int said) {
    int nothing = open("/dev/null", O_RDWR);
    child_begin();
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    dup2(said < 0 ? nothing : said, STDERR_FILENO);
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

/* A child whose own child is the program: init adopts it and waits for it. */
int ui_action_start(const char *const *argv, struct error *err) {
    pid_t child = fork();
    if (child < 0) {
        return error_from_errno(err, errno, "cannot start %s", argv[0]);
    }
    if (child == 0) {
        pid_t program = setsid() < 0 ? -1 : fork();
        if (program == 0) {
            become(argv, -1);
        }
        _exit(program < 0);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status == 0 ? 0 : error_set(err, ERROR_UNAVAILABLE, "cannot start %s", argv[0]);
}

/* Up to its end; what is more than SAID_MAX is read, and forgotten. */
static void read_said(int fd, char said[static SAID_MAX + 1]) {
    size_t used = 0;
    char rest[512];
    for (;;) {
        bool has_room = used < SAID_MAX;
        ssize_t got =
            has_room ? read(fd, said + used, SAID_MAX - used) : read(fd, rest, sizeof rest);
        if (got == 0 || (got < 0 && errno != EINTR)) {
            return;
        }
        used += has_room && got > 0 ? (size_t)got : 0;
    }
}

/* Waits for its end. */
static int run(const char *const *argv, struct error *err) {
    int ends[2] = {-1, -1}, status = 0;
    char said[SAID_MAX + 1] = "";
    if (pipe2(ends, O_CLOEXEC) < 0) {
        return error_from_errno(err, errno, "cannot make a pipe");
    }
    pid_t child = fork();
    if (child == 0) {
        become(argv, ends[1]);
    }
    close(ends[1]);
    if (child > 0) {
        read_said(ends[0], said);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
    }
    close(ends[0]);
    AUTO(text_freep) char *text = ui_text_of(said, strlen(said), SAID_MAX);
    return child > 0 && status == 0
               ? 0
               : error_set(err, ERROR_INVALID, "%s", *text ? text : "the command failed");
}

int ui_action(const char *action, const json_t *words, struct error *err) {
    size_t count = json_array_size(words);
    const char **argv = x_calloc(count + 4, sizeof *argv);
    argv[0] = OURSELVES;
    argv[1] = action;
    for (size_t i = 0; i < count; i++) {
        argv[2 + i] = json_string_value(json_array_get(words, i));
    }
    argv[2 + count] = "--dry-run";
    int result = run(argv, err);
    argv[2 + count] = NULL;
    if (result == 0) {
        result = ui_action_start(argv, err);
    }
    free(argv);
    return result;
}
