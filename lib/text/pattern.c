// SPDX-License-Identifier: Apache-2.0
#include "lib/text/pattern.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

struct pattern {
    regex_t regex;
};

enum { REPEATED_MAX = 4 };

/* glibc expands counts, and x+ to xx*: each level of nesting doubles the size. */
static int check(const char *text, struct error *err) {
    int repeated = 0;
    char before = 0; /* a literal counts as 'a' */
    if (strlen(text) > PATTERN_MAX) {
        return error_set(err, ERROR_INVALID, "is longer than %d bytes", PATTERN_MAX);
    }
    for (const char *at = text; *at; at++) {
        if (*at == '\\' && at[1]) {
            if (at[1] >= '1' && at[1] <= '9') {
                return error_set(err, ERROR_INVALID,
                                 "has the back reference \\%c, which is not supported", at[1]);
            }
            at++;
            before = 'a';
            continue;
        }
        if (*at == '{' && before != '[') {
            return error_set(
                err, ERROR_INVALID,
                "has a {count}, which is not supported: write the repetitions out, or a "
                "brace as [{] or \\{");
        }
        repeated += *at == '+' && before && strchr(")+*?", before);
        before = *at;
    }
    return repeated > REPEATED_MAX
               ? error_set(err, ERROR_INVALID, "has more than %d + after ), +, * or ?",
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
