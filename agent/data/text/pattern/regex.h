/* regex.h: the regular expressions of tokenizer files, as Oniguruma takes them with Ruby's syntax:
 * alternatives, groups (plain, named, (?:), (?i:), atomic), look-ahead, sets in brackets, classes
 * (\s \d \w, \p{L} and other general categories), anchors, and greedy, lazy and possessive
 * repetition. Back references, look-behind, scripts and intersections of sets are UNSUPPORTED, by
 * name. It backtracks, within a limit of steps for each text. Read-only once it is made. */
#pragma once

#include "lib/error.h"

#include <stdint.h>

enum {
    REGEX_CODE_MAX = 1 << 14, /* instructions; repetitions are written out */
    REGEX_DEPTH_MAX = 32,
    REGEX_STEPS_MIN = 20 << 20, /* what any text may take, and for each byte: */
    REGEX_STEPS_BYTE = 1000,
    REGEX_STATES_MAX = 1 << 20, /* places to go back to */
};

struct regex;
/* INVALID, UNSUPPORTED: what is wrong, and at which byte. */
NODISCARD int regex_new(const char *pattern, size_t size, struct regex **ret_regex,
                        struct error *err);
void regex_free(struct regex *regex); /* accepts NULL */

/* A thread's memory for it; {0} is empty. */
struct regex_memory {
    struct regex_state *states;
    size_t count, capacity;
    int64_t steps, steps_max; /* left for this text, and of how many */
};
/* Before the walks of a text, which take their steps together: those over its pieces, too. */
void regex_memory_begin(struct regex_memory *memory, size_t size);
void regex_memory_release(struct regex_memory *memory);

struct regex_match {
    size_t start, end;
};
/* All matches of a text from left to right, as Oniguruma's Rust library finds them: an empty one
 * not at the end of the last. Begin with at 0 and last SIZE_MAX. */
struct regex_walk {
    const struct regex *regex;
    struct regex_memory *memory;
    const char *data;
    size_t size, at, last;
};
/* 1; 0: there are no more. EXHAUSTED: the text takes too many steps, or too many places to go back
 * to. It is valid UTF-8. */
NODISCARD int regex_next(struct regex_walk *walk, struct regex_match *ret_match, struct error *err);
