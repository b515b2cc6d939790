// SPDX-License-Identifier: Apache-2.0
/* Which ends of a user's program are permanent: wrong arguments, before it has done anything; and
 * the second of two failures that are the same (lib/text/same_failure.h), unless the program has
 * reported a metric between (gang_note_metric) or has run for GANG_STABLE_MS. What it prints does
 * not count: most programs print something before they fail. A hub does not know the failures under
 * an earlier one. */
#include "agent/launch/gang/gang_state.h"
#include "lib/text/same_failure.h"
#include "lib/text/usage_error.h"
#include "lib/text/utf8.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum {
    LINE_SHOWN = 300,      /* bytes of the last line in the message */
    KILLED_LATE_MS = 5000, /* what a member kills because of STOP ends later than this */
};

void gang_note_signal(struct gang *gang, int code, int64_t now_ms) {
    bool is_stopping = gang->state == GANG_STATE_STOPPING;
    bool is_ours =
        is_stopping && (code == 128 + SIGTERM ||
                        (code == 128 + SIGKILL && now_ms - gang->since_ms >= KILLED_LATE_MS));
    gang->is_signalled |= same_failure_is_signal(code) && !is_ours;
}

/* A command line that is wrong stays so. A program that has once done something is started again,
 * whatever its code and words. */
static bool is_usage_error(const struct gang *gang) {
    return !gang->has_progressed && usage_error_is(gang->failure.code, gang->failure.detail);
}

/* Remembers the failure, and compares it with the one before. */
static bool is_repeated(struct gang *gang) {
    const struct gang_failure *failure = &gang->failure;
    bool is_comparable = gang->options.ends_repeated && !gang->is_signalled;
    bool is_same = is_comparable && !gang->has_done_more &&
                   gang->last_exit.cause == GANG_CAUSE_APP &&
                   gang->last_exit.code == failure->code &&
                   same_failure_is(failure->code, gang->last_exit.detail, failure->detail);
    gang->last_exit = is_comparable ? *failure : (struct gang_failure){0};
    gang->has_done_more = false;
    return is_same;
}

/* `exit code 1, "KeyError: 'x'" (before that: File "a.py" | main())` */
static char *describe(const struct gang_failure *failure) {
    size_t size = 0;
    const char *line = same_failure_line(failure->detail, &size);
    size_t before = (size_t)(line - failure->detail);
    before -= before >= 3 ? 3 : before; /* " | " */
    if (!size) {
        return x_printf("failed twice in the same way: exit code %d, without a word",
                        failure->code);
    }
    return x_printf("failed twice in the same way: exit code %d, \"%.*s\"%s%.*s%s", failure->code,
                    (int)MIN(size, (size_t)LINE_SHOWN), line, before ? " (before that: " : "",
                    (int)before, failure->detail, before ? ")" : "");
}

void gang_recognize_final(struct gang *gang) {
    struct gang_failure *failure = &gang->failure;
    AUTO(text_freep) char *detail = NULL;
    if (failure->cause != GANG_CAUSE_APP) {
        return;
    }
    bool is_repetition = is_repeated(gang);
    if (is_usage_error(gang)) {
        detail = x_printf("ended with exit code %d, and would again: %s", failure->code,
                          failure->detail);
    } else if (is_repetition) {
        detail = describe(failure);
    } else {
        return;
    }
    failure->cause = GANG_CAUSE_REPEATED;
    snprintf(failure->detail, sizeof failure->detail, "%s", detail);
    utf8_repair(failure->detail);
}
