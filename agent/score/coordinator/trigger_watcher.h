/* trigger_watcher.h: waits until a run is due: until the object of spec.trigger exists and has
 * changed since the last run, or until the input has changed. A mark is a hash of what was seen
 * (names, sizes, change tokens); equal marks mean that nothing has changed. Between two runs a
 * separate pod does this
 * (`windlass-agent watch`). It needs no Service, token or response: it exits, and its termination
 * message reports the observation. docs/series.md. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

enum { WATCHER_MARK_BYTES = 16, WATCHER_TEXT_MAX = 4096 };

struct watcher_options {
    const json_t *spec; /* WINDLASS_SPEC; with `trigger`: waits for its object, else for the
                           input */
    const char *mark;   /* of the last run; "": no run yet */
};

/* The current state. */
struct watcher_observation {
    bool is_there;
    char mark[WATCHER_MARK_BYTES + 1]; /* hexadecimal; differs after every change */
    /* From the trigger object's text: the input's path (owned), or why it is invalid. */
    char *input;
    char problem[256]; /* "": none */
};
void watcher_observation_release(struct watcher_observation *seen); /* for AUTO, too */

/* Polls once. A missing object is not a failure. INVALID: this spec cannot be waited for; other
 * errors are the storage's and may be temporary. Blocks; for an input it reads size and change
 * token of every file. */
NODISCARD int watcher_observe(const struct watcher_options *options,
                              struct watcher_observation *ret_seen, struct error *err);

/* The pause between two polls: 5 s, or 20 times the last poll's duration where that is longer, at
 * most 10 minutes. */
int64_t watcher_pause_ms(int64_t look_ms);

/* Polls until it has seen the same new state twice in a row, so that the writer has finished.
 * Writes the termination message; returns the exit code. */
int watcher_run(const struct watcher_options *options);
