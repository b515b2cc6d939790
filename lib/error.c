// SPDX-License-Identifier: Apache-2.0
#include "lib/error.h"

#include "lib/contract.h"
#include "lib/text/utf8.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const kind_names[] = {
    "none",        "invalid", "not-found", "conflict",    "gone",      "denied", "busy",
    "unavailable", "timeout", "exhausted", "unsupported", "cancelled", "failed", "bug",
};
static_assert(ARRAY_LEN(kind_names) == ERROR_KIND_COUNT, "one name per kind");

/* Marks a truncated message with "..." and makes it one line of valid UTF-8: arguments may be
 * anything, and %.400s may cut a character in half. */
static void tidy(struct error *err, int length) {
    size_t room = sizeof err->text;
    if (length >= (int)room) {
        size_t end = room - 4;
        while (end > 0 && ((unsigned char)err->text[end] & 0xC0) == 0x80) {
            end--; /* not in the middle of a UTF-8 character */
        }
        memcpy(err->text + end, "...", 4);
    }
    utf8_make_line(err->text);
}

int error_set(struct error *err, enum error_kind kind, const char *format, ...) {
    if (err->kind != ERROR_NONE) {
        return -1;
    }
    va_list arguments;
    va_start(arguments, format);
    tidy(err, vsnprintf(err->text, sizeof err->text, format, arguments));
    va_end(arguments);
    err->kind = kind;
    return -1;
}

static enum error_kind kind_of_errno(int errno_value) {
    switch (errno_value) {
    case ENOENT:
    case ENOTDIR:
        return ERROR_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS:
        return ERROR_DENIED;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
        return ERROR_EXHAUSTED;
    case EAGAIN:
    case EBUSY:
        return ERROR_BUSY;
    case ETIMEDOUT:
        return ERROR_TIMEOUT;
    case EEXIST:
        return ERROR_CONFLICT;
    case EINVAL:
    case ENAMETOOLONG:
    case ELOOP:
    case EISDIR:
        return ERROR_INVALID;
    default:
        return ERROR_UNAVAILABLE;
    }
}

int error_from_errno(struct error *err, int errno_value, const char *format, ...) {
    char message[sizeof err->text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return error_set(err, kind_of_errno(errno_value), "%s: %s", message, strerror(errno_value));
}

int error_context(struct error *err, const char *format, ...) {
    char old[sizeof err->text], where[sizeof err->text];
    memcpy(old, err->text, sizeof old);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(where, sizeof where, format, arguments);
    va_end(arguments);
    tidy(err, snprintf(err->text, sizeof err->text, "%s: %s", where, old));
    return -1;
}

void error_clear(struct error *err) {
    *err = (struct error){0};
}

const char *error_kind_name(enum error_kind kind) {
    assert(kind < ERROR_KIND_COUNT);
    return kind_names[kind];
}

int error_exit_code(const struct error *err) {
    switch (err->kind) {
    case ERROR_NONE:
        return 0;
    case ERROR_FAILED:
        return CONTRACT_EXIT_FAILED;
    case ERROR_INVALID:
        return CONTRACT_EXIT_INVALID;
    case ERROR_CANCELLED:
        return CONTRACT_EXIT_SIGNAL;
    default:
        return CONTRACT_EXIT_RETRY;
    }
}
