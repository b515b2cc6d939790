/* trigger_watcher.h: waits until a run is due: until the object of spec.trigger exists and differs
 * from the mark, or until the input differs. A pod of its own does this between two runs
 * (`windlass-agent watch`): it needs no Service, no token and no answer; it ends, and its
 * termination message says what it has seen. docs/series.md. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

enum { WATCHER_MARK_BYTES = 16, WATCHER_TEXT_MAX = 4096 };

struct watcher_options {
    const json_t *spec; /* WINDLASS_SPEC; with `trigger` that is waited for, else the input */
    const char *mark;   /* of the last run; "": there was none */
};

/* What is there now. */
struct watcher_observation {
    bool is_there;
    char mark[WATCHER_MARK_BYTES + 1]; /* hexadecimal; another one: it has changed */
    /* What the trigger's text says: the input's path (owned), or why it is none. */
    char *input;
    char problem[256]; /* "": none */
};
void watcher_observation_release(struct watcher_observation *seen); /* for AUTO, too */

/* One look. Not there (yet) is no failure. INVALID: what nobody can wait for; others are the
 * storage's, and may pass. Blocks; of an input every file is asked for its size and change token.
 */
NODISCARD int watcher_observe(const struct watcher_options *options,
                              struct watcher_observation *ret_seen, struct error *err);

/* How long to wait between two looks: 5 s, and longer where a look takes long, so that looking
 * costs a twentieth of the time, but at most 10 minutes. */
int64_t watcher_pause_ms(int64_t look_ms);

/* Looks until something new has been seen twice in a row, the second time after a while: whoever
 * writes has ended by then. Writes the termination message; returns the exit code. */
int watcher_run(const struct watcher_options *options);
