// SPDX-License-Identifier: Apache-2.0
/* Accepted patterns, with their matches, and patterns that would take memory or time. */
#include "lib/text/pattern.h"
#include "tests/test.h"

#include <stdlib.h>

static void what_is_found(void) {
    struct error err = {0};
    struct pattern *pattern = NULL;
    struct pattern_part parts[PATTERN_GROUPS_MAX + 1];
    CHECK_OK(pattern_new("step=([0-9]+)? *(loss|acc)=([^ ]+)", 2, &pattern, &err), &err);
    CHECK(pattern_find(pattern, "x step=7 acc=0.5 y", parts));
    CHECK(parts[0].start == 2 && parts[0].end == 16);
    CHECK(parts[1].start == 7 && parts[1].end == 8);
    CHECK(parts[2].start == 9 && parts[2].end == 12);
    CHECK(parts[3].start == 13 && parts[3].end == 16);
    CHECK_INT(parts[4].start, -1);
    CHECK(pattern_find(pattern, "step= acc=0.5", parts) && parts[1].start == -1);
    CHECK(!pattern_find(pattern, "nothing", parts));
    pattern_free(pattern);
    pattern = NULL;
    CHECK_OK(pattern_new("([]{(+*?[:alpha:]]+)\\+*(=)", 2, &pattern, &err), &err);
    CHECK(pattern_find(pattern, "a+*x?{=", parts) && parts[1].end == 6);
    pattern_free(pattern);
    pattern = NULL;
    CHECK_OK(pattern_new("((((((((a)?)?)?)?)?)+)+)+(b)", 2, &pattern, &err), &err);
    CHECK(pattern_find(pattern, "aab", parts));
    pattern_free(pattern);
    pattern = NULL;
    CHECK_OK(pattern_new("^\\{\"(a)\": [{]?(.*)}$", 2, &pattern, &err), &err);
    CHECK(pattern_find(pattern, "{\"a\": 5}", parts));
    pattern_free(pattern);
}

static void what_is_refused(void) {
    char nested[200] = "", longest[PATTERN_MAX + 2], doubled[100] = "(a)b(c)";
    const struct {
        const char *text, *says;
    } rows[] = {
        {"(a)(b", "is not a POSIX extended regular expression"},
        {"(a)", "has 1 groups (...), 2 are needed"},
        {"a", "has 0 groups"},
        {"(a)(b){2}", "has a {"},
        {"{(a)(b)", "has a {"},
        {"(a)(b)\\1", "has the back reference \\1"},
        {nested, "has groups (...) in more than 7 others"},
        {doubled, "has ++: a repetition of a repetition"},
        {"(a)(b)?+", "has ?+: a repetition of a repetition"},
        {"(a)[b]*?(c)", "has *?"},
        {"(a)+(b)+(c)+(d)+(e)+", "has more than 4 groups with +"},
        {longest, "is longer than 256 bytes"},
    };
    for (int i = 0; i < 40; i++) {
        memcpy(nested + i, "(", 1);
        memcpy(nested + 40 + 1 + 2 * i, ")+", 2);
    }
    nested[40] = 'a';
    memset(doubled + strlen(doubled), '+', 40);
    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = 0;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct pattern *pattern = NULL;
        CHECK(pattern_new(rows[i].text, 2, &pattern, &err) < 0);
        CHECK_INT(err.kind, ERROR_INVALID);
        if (!strstr(err.text, rows[i].says)) {
            CHECK_STR(err.text, rows[i].says);
        }
        pattern_free(pattern);
    }
}

int main(void) {
    TEST(what_is_found);
    TEST(what_is_refused);
    return TEST_END();
}
