/* armed.h: waits until a run is due: until the object of spec.trigger is there and is another one
 * than the mark says, or until the input is another. One pod of its own does this between two runs
 * (`windlass-agent watch`): it needs no Service, no token and no answer; it ends, and its last
 * words say what it has seen. docs/series.md. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

enum { ARMED_MARK_BYTES = 16, ARMED_TEXT_MAX = 4096 };

struct armed_options {
    const json_t *spec; /* WINDLASS_SPEC; with `trigger` that is waited for, else the input */
    const char *mark;   /* of the last run; "": there was none */
};

/* What is there now. */
struct armed_sight {
    bool is_there;
    char mark[ARMED_MARK_BYTES + 1]; /* hexadecimal; another one: it has changed */
    /* What the trigger's text says: the input's path (owned), or why it is none. */
    char *input;
    char problem[256]; /* "": none */
};
void armed_sight_release(struct armed_sight *sight); /* for AUTO, too */

/* One look. Not there (yet) is no failure. INVALID: what nobody can wait for; others are the
 * storage's, and may pass. Blocks; of an input every file is asked for its size and change token.
 */
NODISCARD int armed_look(const struct armed_options *options, struct armed_sight *ret_sight,
                         struct error *err);

/* How long to wait between two looks: 5 s, and longer where a look takes long, so that looking
 * costs a twentieth of the time, but at most 10 minutes. */
int64_t armed_pause_ms(int64_t look_ms);

/* Looks until something new has been seen twice in a row, the second time after a while: whoever
 * writes has ended by then. Leaves the last words; returns the exit code. */
int armed_run(const struct armed_options *options);
