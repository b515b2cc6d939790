/* serve_state.h: the state of a model server that serve.h has started, as a file that the worker of
 * its pod reads. */
#pragma once

#include "lib/error.h"

enum { SERVE_WORDS_MAX = 400, SERVE_COUNT_MAX = 1000000000 };

struct serve_state {
    int64_t starts, ends;        /* ends: by itself, not because the worker had ended */
    bool is_final;               /* it cannot be started at all */
    char words[SERVE_WORDS_MAX]; /* how it ended last, "exit code 1: no such model"; "": not yet */
};

/* FOLDER/state, written atomically. */
NODISCARD int serve_state_write(const char *folder, const struct serve_state *state,
                                struct error *err);
/* NOT_FOUND: it was not written yet. INVALID: it is something else. The server may have written it:
 * its counts are brought to 0 to SERVE_COUNT_MAX. */
NODISCARD int serve_state_read(const char *folder, struct serve_state *ret_state,
                               struct error *err);
