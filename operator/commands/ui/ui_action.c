// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/ui/ui_action.h"

#include "lib/child.h"
#include "operator/commands/ui/ui_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAID_MAX = 4096, SAID_KEPT = 64 << 10, DEEDS_MAX = 32 };

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

/* ---- what goes on ---- */

struct deed {
    char *key, *action; /* NULL: free */
    pid_t pid;          /* 0: it has ended */
    int said;           /* its standard error, in memory */
    int status;         /* as of waitpid, once it has ended */
    int64_t number;     /* later ones have higher ones */
};

struct ui_deeds {
    struct deed at[DEEDS_MAX];
    int64_t last;
};

struct ui_deeds *ui_deeds_new(void) {
    return x_calloc(1, sizeof(struct ui_deeds));
}

static void forget(struct deed *deed) {
    if (deed->key) {
        close(deed->said);
    }
    free(deed->key);
    free(deed->action);
    *deed = (struct deed){0};
}

void ui_deeds_free(struct ui_deeds *deeds) {
    for (size_t i = 0; deeds && i < DEEDS_MAX; i++) {
        forget(&deeds->at[i]);
    }
    free(deeds);
}

static void look(struct deed *deed) {
    if (deed->pid > 0 && waitpid(deed->pid, &deed->status, WNOHANG) == deed->pid) {
        deed->pid = 0;
    }
    if (deed->pid > 0 && lseek(deed->said, 0, SEEK_END) > SAID_KEPT) {
        int cut = ftruncate(deed->said, 0); /* a long run: only what it says last is of use */
        (void)cut;
    }
}

static bool is_of(const struct deed *deed, const char *key) {
    return deed->key && strcmp(deed->key, key) == 0;
}

/* One for a new action; those on that job that have ended are forgotten. NULL: all go on. */
static struct deed *find_room(struct ui_deeds *deeds, const char *key) {
    struct deed *room = NULL;
    for (size_t i = 0; i < DEEDS_MAX; i++) {
        struct deed *deed = &deeds->at[i];
        look(deed);
        if (deed->pid == 0 && is_of(deed, key)) {
            forget(deed);
        }
        if (deed->pid == 0 && (!room || !deed->key)) {
            room = deed;
        }
    }
    return room;
}

/* Exit code 1 of a run is that of its job, and 130 that of one that was cancelled. */
static bool has_failed(const struct deed *deed) {
    bool is_of_job = strcmp(deed->action, "resume") == 0 || strcmp(deed->action, "rerun") == 0;
    int code = WIFEXITED(deed->status) ? WEXITSTATUS(deed->status) : 0;
    return WIFSIGNALED(deed->status) || (code != 0 && !(is_of_job && (code == 1 || code == 130)));
}

char *ui_deeds_failure(struct ui_deeds *deeds, const char *key) {
    const struct deed *newest = NULL;
    for (size_t i = 0; i < DEEDS_MAX; i++) {
        struct deed *deed = &deeds->at[i];
        look(deed);
        if (is_of(deed, key) && deed->pid == 0 && has_failed(deed) &&
            (!newest || deed->number > newest->number)) {
            newest = deed;
        }
    }
    if (!newest) {
        return NULL;
    }
    char said[SAID_MAX + 1] = "";
    off_t end = lseek(newest->said, 0, SEEK_END), from = MAX(end - SAID_MAX, 0);
    ssize_t size = pread(newest->said, said, SAID_MAX, from);
    AUTO(text_freep) char *text = ui_text_of(said, size > 0 ? (size_t)size : 0, SAID_MAX);
    return x_printf("%s: %s", newest->action, *text ? text : "the command failed");
}

/* Our own child, so that its end is known; it goes on when this program has ended. */
static int start(struct ui_deeds *deeds, const char *key, const char *const *argv,
                 struct error *err) {
    struct deed *deed = find_room(deeds, key);
    int said = deed ? memfd_create("windlass-ui", MFD_CLOEXEC) : -1;
    if (said < 0) {
        return ui_action_start(argv, err);
    }
    fcntl(said, F_SETFL, O_APPEND);
    pid_t child = fork();
    if (child == 0) {
        setsid();
        become(argv, said);
    }
    if (child < 0) {
        error_from_errno(err, errno, "cannot start %s", argv[0]);
        close(said);
        return -1;
    }
    forget(deed);
    *deed = (struct deed){.key = x_strdup(key),
                          .action = x_strdup(argv[1]),
                          .pid = child,
                          .said = said,
                          .number = ++deeds->last};
    return 0;
}

int ui_action(struct ui_deeds *deeds, const struct ui_order *order, struct error *err) {
    const json_t *words = order->words;
    size_t count = json_array_size(words);
    const char **argv = x_calloc(count + 4, sizeof *argv);
    argv[0] = OURSELVES;
    argv[1] = order->action;
    for (size_t i = 0; i < count; i++) {
        argv[2 + i] = json_string_value(json_array_get(words, i));
    }
    argv[2 + count] = "--dry-run";
    int result = run(argv, err);
    argv[2 + count] = NULL;
    if (result == 0) {
        result = start(deeds, order->key, argv, err);
    }
    free(argv);
    return result;
}
