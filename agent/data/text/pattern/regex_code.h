/* regex_code.h: a pattern as a program (regex.h), made by regex_parse.c and run by regex.c. */
#pragma once

#include "agent/data/text/pattern/regex_set.h"

enum regex_op {
    REGEX_MATCH,
    REGEX_CHARACTER, /* a */
    REGEX_FOLDED,    /* the same; a is folded (unicode_fold) */
    REGEX_SET,       /* one of set a */
    REGEX_RUN,       /* greedy: min to b characters of set a */
    REGEX_JUMP,      /* to step a */
    REGEX_SPLIT,     /* tries step a first, and step b when that fails */
    REGEX_LINE_START,
    REGEX_LINE_END,
    REGEX_TEXT_START,
    REGEX_TEXT_END,
    /* The steps between one of these and step a are a program of its own, which ends with a
     * REGEX_MATCH. Go on at step a if it matches here: */
    REGEX_AHEAD,     /* (?=...), consumes nothing */
    REGEX_NOT_AHEAD, /* (?!...): if it does not match */
    REGEX_ATOMIC,    /* (?>...), consumes the match; other ways to match are not tried later */
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

/* Adds the pattern's steps and sets to a zeroed regex; the caller frees it (regex_free), also after
 * -1. INVALID, UNSUPPORTED: "byte 7: what is wrong". */
NODISCARD int regex_parse(const char *pattern, size_t size, struct regex *regex, struct error *err);
