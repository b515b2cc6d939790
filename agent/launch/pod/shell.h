/* shell.h: what programs of this pod ask its agent for, on a unix socket that its user alone may
 * open: starts on other pods (rsh.h), whether it lives, what a rank needs and how it ended
 * (rank.h). One thread; nothing here blocks. */
#pragma once

#include "lib/error.h"

enum {
    SHELL_LINE_MAX = 256 << 10,   /* bytes of a command line */
    SHELL_ANSWER_MAX = 128 << 10, /* bytes; more does not go at once, and is refused by name */
    SHELL_ALIVE_MS = 4000,        /* of who asks whether it lives, ... */
    SHELL_PATIENCE_MS = 60000,    /* ... and of others; a start lasts as long as its program does,
                                     and a report waits until there is room for it */
};

enum shell_kind {
    SHELL_START,     /* text: a command line, on the pod that `host` is the address of */
    SHELL_ALIVE,     /* does the agent's loop turn? */
    SHELL_VARIABLES, /* what a rank has and mpirun has not: a JSON object of texts */
    SHELL_EXITED,    /* a rank has ended: number, code; text: what it said last */
    SHELL_MISSING,   /* text: a rank's program is not there, or cannot be run */
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

/* Listens at that path; what was there goes. */
NODISCARD int shell_open(const char *path, struct shell **ret_shell, struct error *err);
void shell_free(struct shell *shell); /* NULL is fine; who waits hears nothing */

/* A request that is whole; false: there is none now. */
bool shell_take(struct shell *shell, struct shell_request *ret_request);
/* Who asked for a start does not wait any more. */
bool shell_gone(struct shell *shell, int64_t *ret_id);
/* code: of the program that was started; else 0, or why not in words. */
void shell_answer(struct shell *shell, int64_t id, int code, const char *words);

/* ---- who asks ------------------------------------------------------------------------------- */

/* id is of no meaning. Waits for the answer: its code, and its words, which the caller frees.
 * UNAVAILABLE, TIMEOUT: nobody answers; INVALID: path is NULL. */
NODISCARD int shell_ask(const char *path, const struct shell_request *request, int *ret_code,
                        char **ret_words, struct error *err);
