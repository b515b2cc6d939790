/* decoder_process.h: the process behind a decoder (decoder.h): its start, its end, its limits. */
#pragma once

#include "lib/error.h"

#include <sys/types.h>

enum {
    DECODER_SOCKET_FD = 3, /* in the child */
    DECODER_WINDOW_FD = 4
};

/* The argument of a process that decodes videos. */
#define DECODER_USE_VIDEO "video"

struct decoder_process {
    pid_t pid;  /* 0: none */
    int socket; /* -1: none */
    int window_fd;
    char *window;         /* DECODER_WINDOW_BYTES; NULL before the first start */
    int64_t spent_at_s;   /* of processor time (decoder_process_limit); 0: no limit */
    int ended_by;         /* the signal that ended it, if decoder_process_stop did not send it */
    int64_t kills_before; /* for want of memory in this container, when it was started */
};

/* Makes the window if there is none: its size is sealed, so that the child cannot cut it under the
 * parent's reads. */
NODISCARD int decoder_process_window(struct decoder_process *process, struct error *err);
/* Makes that, too. The child begins with two variables, /dev/null, its socket and the window:
 * nothing of this process but that. use: DECODER_USE_VIDEO, or NULL. Errors: as errno's. */
NODISCARD int decoder_process_start(struct decoder_process *process, const char *program,
                                    const char *use, struct error *err);
/* Kills it if it lives. *ret_how: how it ended: "by SIGSEGV", "with exit code 3"; owned; NULL: not
 * wanted. */
void decoder_process_stop(struct decoder_process *process, char **ret_how);
void decoder_process_release(struct decoder_process *process);
/* It may use this many seconds of processor time from now on; then the kernel ends it, unless it
 * ignores the signal: the caller looks, too. */
void decoder_process_limit(struct decoder_process *process, int seconds);
bool decoder_process_is_spent(const struct decoder_process *process);
/* Gives the pages of a range of the window back. */
void decoder_process_forget(struct decoder_process *process, size_t at, size_t size);
