/* shell.h: requests of programs in this pod to its agent, on a unix socket that only its user may
 * open: start a command on another pod (rsh.h), liveness, the variables and the exit of a rank
 * (rank.h), metrics (metric_socket.h). One thread; nothing here blocks. */
#pragma once

#include "lib/error.h"

enum {
    SHELL_LINE_MAX = 256 << 10,   /* bytes of a command line */
    SHELL_ANSWER_MAX = 128 << 10, /* bytes; a longer answer is refused */
    SHELL_ALIVE_MS = 4000,        /* for a client that asks for liveness, ... */
    SHELL_PATIENCE_MS = 60000,    /* ... and of others; a start lasts as long as its program does,
                                     and a report waits until there is room for it */
};

enum shell_kind {
    SHELL_START,     /* text: a command line, on the pod that `host` is the address of */
    SHELL_ALIVE,     /* does the agent's loop run? */
    SHELL_VARIABLES, /* what a rank has and mpirun has not: a JSON object of texts */
    SHELL_EXITED,    /* a rank has ended: number, code; text: the end of its output */
    SHELL_MISSING,   /* text: a rank's program does not exist or cannot be run */
    SHELL_REPORT,    /* rank (-1: the command's own lines); text: lines of metric.h */
    SHELL_KINDS
};

struct shell;

struct shell_request {
    int64_t id;
    enum shell_kind kind;
    const char *host; /* borrowed until the next call, as text */
    int rank, code;
    const char *text;
};

/* Listens at that path; replaces what was there. */
NODISCARD int shell_open(const char *path, struct shell **ret_shell, struct error *err);
void shell_free(struct shell *shell); /* NULL is fine; clients that wait get no answer */

/* The next complete request. False: there is none now. */
bool shell_take(struct shell *shell, struct shell_request *ret_request);
/* A client that asked for a start has gone. */
bool shell_gone(struct shell *shell, int64_t *ret_id);
/* code: of the program that was started; else 0, or why not in words. */
void shell_answer(struct shell *shell, int64_t id, int code, const char *words);

/* ---- clients -------------------------------------------------------------------------------- */

/* id is of no meaning. Waits for the answer: its code, and its words, which the caller frees.
 * UNAVAILABLE, TIMEOUT: no answer; INVALID: path is NULL. */
NODISCARD int shell_ask(const char *path, const struct shell_request *request, int *ret_code,
                        char **ret_words, struct error *err);
