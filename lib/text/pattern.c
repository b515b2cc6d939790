// SPDX-License-Identifier: Apache-2.0
#include "lib/text/pattern.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

struct pattern {
    regex_t regex;
};

enum { REPEATED_MAX = 4, DEPTH_MAX = 8 };

static int refuse(struct error *err, const char *what) {
    return error_set(err, ERROR_INVALID, "has %s", what);
}

/* The last character of a bracket expression that begins at `at`: a ] right behind [ or [^, and in
 * [:alpha:], is part of it. Where it does not end: the last character of the text. */
static const char *end_of_bracket(const char *at) {
    at += at[1] == '^' ? 2 : 1;
    at += *at == ']';
    while (*at && *at != ']') {
        const char *inner =
            *at == '[' && at[1] && strchr(":.=", at[1]) ? strchr(at + 2, ']') : NULL;
        at = inner && inner[-1] == at[1] ? inner + 1 : at + 1;
    }
    return *at ? at : at - 1;
}

/* glibc expands counts, and (x)+ to (x)(x)*: each level of nesting doubles the size. With deep
 * nesting, or repetitions of repetitions (x?+?, undefined in POSIX), that takes minutes. */
static int check(const char *text, struct error *err) {
    int repeated = 0, depth = 0;
    char before = 0; /* a literal counts as 'a' */
    if (strlen(text) > PATTERN_MAX) {
        return error_set(err, ERROR_INVALID, "is longer than %d bytes", PATTERN_MAX);
    }
    for (const char *at = text; *at; at++) {
        bool repeats = strchr("+*?", *at) != NULL; /* (*at is not 0) */
        if (*at == '\\' && at[1]) {
            if (at[1] >= '1' && at[1] <= '9') {
                return error_set(err, ERROR_INVALID,
                                 "has the back reference \\%c; back references are not supported",
                                 at[1]);
            }
            at++;
            before = 'a';
            continue;
        }
        if (*at == '[') {
            at = end_of_bracket(at);
            before = 'a';
            continue;
        }
        if (*at == '{') {
            return refuse(err, "a {count}, which is not supported: write the repetitions out, or a "
                               "brace as [{] or \\{");
        }
        if (repeats && before && strchr("+*?", before)) {
            return error_set(err, ERROR_INVALID, "has %c%c: a repetition of a repetition", before,
                             *at);
        }
        repeated += *at == '+' && before == ')';
        depth += *at == '(' ? 1 : *at == ')' ? -1 : 0;
        if (depth > DEPTH_MAX) {
            return error_set(err, ERROR_INVALID, "has groups (...) in more than %d others",
                             DEPTH_MAX - 1);
        }
        before = *at;
    }
    return repeated > REPEATED_MAX
               ? error_set(err, ERROR_INVALID, "has more than %d groups with +: (...)+",
                           REPEATED_MAX)
               : 0;
}

int pattern_new(const char *text, size_t groups, struct pattern **ret_pattern, struct error *err) {
    if (check(text, err) < 0) {
        return -1;
    }
    struct pattern *pattern = x_calloc(1, sizeof *pattern);
    int why = regcomp(&pattern->regex, text, REG_EXTENDED);
    if (why) {
        char words[128];
        regerror(why, &pattern->regex, words, sizeof words);
        free(pattern);
        return error_set(err, ERROR_INVALID, "is not a POSIX extended regular expression: %s",
                         words);
    }
    if (pattern->regex.re_nsub < groups) {
        size_t count = pattern->regex.re_nsub;
        pattern_free(pattern);
        return error_set(err, ERROR_INVALID, "has %zu groups (...), %zu are needed", count, groups);
    }
    *ret_pattern = pattern;
    return 0;
}

void pattern_free(struct pattern *pattern) {
    if (pattern) {
        regfree(&pattern->regex);
        free(pattern);
    }
}

bool pattern_find(const struct pattern *pattern, const char *text,
                  struct pattern_part ret_parts[static PATTERN_GROUPS_MAX + 1]) {
    regmatch_t matches[PATTERN_GROUPS_MAX + 1];
    if (regexec(&pattern->regex, text, ARRAY_LEN(matches), matches, 0) != 0) {
        return false;
    }
    for (size_t i = 0; i < ARRAY_LEN(matches); i++) {
        ret_parts[i] = (struct pattern_part){matches[i].rm_so, matches[i].rm_eo};
    }
    return true;
}
