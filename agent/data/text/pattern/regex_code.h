/* regex_code.h: a pattern as a program (regex.h), made by regex_parse.c and run by regex.c. */
#pragma once

#include "agent/data/text/pattern/regex_set.h"

enum regex_op {
    REGEX_MATCH,
    REGEX_CHARACTER, /* a */
    REGEX_FOLDED,    /* the same; a is folded (unicode_fold) */
    REGEX_SET,       /* one of set a */
    REGEX_RUN,       /* min to b of set a: as many as there are, then fewer */
    REGEX_JUMP,      /* to a */
    REGEX_SPLIT,     /* to a, else to b */
    REGEX_LINE_START,
    REGEX_LINE_END,
    REGEX_TEXT_START,
    REGEX_TEXT_END,
    REGEX_AHEAD,     /* what follows, up to REGEX_MATCH before a, matches here */
    REGEX_NOT_AHEAD, /* ... does not */
    REGEX_ATOMIC,    /* takes what follows, up to REGEX_MATCH before a, once */
};

struct regex_step {
    enum regex_op op;
    int32_t a, b, min;
};

struct regex {
    struct regex_step *code; /* owned */
    size_t count;
    struct regex_sets sets;
};

NODISCARD int regex_parse(const char *pattern, size_t size, struct regex *regex, struct error *err);
