/* error.h: one error on the caller's stack, passed down as the last argument `struct error *err`.
 *
 * A function that can fail returns int: 0, or -1 with *err set; results go through `ret_` pointers
 * that stay untouched on failure. The first error set wins (the root cause); callers add where it
 * happened with error_context. Modules never log errors: mains, commands and controllers do.
 *
 *     struct error err = {0};
 *     if (file_read(path, MAX_BYTES, &data, &err) < 0) {
 *         return error_context(&err, "model %s", path);   // "model m.onnx: cannot open: ..."
 *     }
 */
#pragma once

#include "lib/base.h"

/* The kind says what the caller should do, not where it came from. */
enum error_kind {
    ERROR_NONE = 0,
    ERROR_INVALID,     /* the user's input is wrong: report it, do not retry */
    ERROR_NOT_FOUND,   /* the named thing does not exist */
    ERROR_CONFLICT,    /* another writer was first: read again */
    ERROR_GONE,        /* the position in a stream is lost: list again */
    ERROR_DENIED,      /* no permission */
    ERROR_BUSY,        /* retry later */
    ERROR_UNAVAILABLE, /* the peer or the machine does not work now: back off and retry */
    ERROR_TIMEOUT,
    ERROR_EXHAUSTED,   /* out of device memory, disk or quota */
    ERROR_UNSUPPORTED, /* an operator, type or feature this build or device lacks */
    ERROR_CANCELLED,   /* a signal stopped us */
    ERROR_FAILED,      /* the job itself failed (its program, or too many failed items) */
    ERROR_BUG,         /* an error in Windlass */
    ERROR_KIND_COUNT
};

struct error {
    enum error_kind kind;
    char text[512]; /* one line, no newline, UTF-8; cut with "..." when longer */
};

/* Sets kind and message unless an error is already set. Always returns -1. err may not be NULL. */
int error_set(struct error *err, enum error_kind kind, const char *format, ...) PRINTF_LIKE(3, 4);

/* Like error_set, with ": strerror(errno_value)" appended and the kind chosen from errno_value. */
int error_from_errno(struct error *err, int errno_value, const char *format, ...) PRINTF_LIKE(3, 4);

/* Prepends "format: " to the message. Always returns -1, for `return error_context(...)`. */
int error_context(struct error *err, const char *format, ...) PRINTF_LIKE(2, 3);

void error_clear(struct error *err);

const char *error_kind_name(enum error_kind kind); /* "invalid", "not-found", ... */

/* The exit code of our programs: 0 no error, 1 the job failed, 2 wrong manifest or usage,
 * 3 this machine or the cluster failed, 130 interrupted. */
int error_exit_code(const struct error *err);
