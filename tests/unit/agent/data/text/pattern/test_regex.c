// SPDX-License-Identifier: Apache-2.0
/* The regular expressions of tokenizer files. What Oniguruma makes of drawn texts and of patterns
 * that public tokenizers have: tests/e2e/engine/test_tokenizers.sh. */
#include "agent/data/text/pattern/regex.h"

#include "lib/buffer.h"
#include "tests/test.h"

#include <string.h>

#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"

/* All matches, "a|b", or the error. */
static char *matches(const char *pattern, const char *text) {
    struct regex *regex = NULL;
    struct regex_memory memory = {0};
    struct error err = {0};
    AUTO(buffer_release) struct buffer all;
    buffer_init(&all, 1 << 16);
    regex_memory_begin(&memory, strlen(text));
    if (regex_new(pattern, strlen(pattern), &regex, &err) < 0) {
        return x_strdup(err.text);
    }
    struct regex_walk walk = {regex, &memory, text, strlen(text), 0, SIZE_MAX};
    struct regex_match match;
    int found;
    while ((found = regex_next(&walk, &match, &err)) > 0) {
        CHECK_OK(buffer_printf(&all, &err, "%s%.*s", all.size ? "|" : "",
                               (int)(match.end - match.start), text + match.start),
                 &err);
    }
    regex_free(regex);
    regex_memory_release(&memory);
    return x_strdup(found < 0 ? err.text : all.data ? all.data : "");
}

static void test_matches(void) {
    static const struct {
        const char *pattern, *text, *wanted;
    } rows[] = {
        {"a", "banana", "a|a|a"},
        {"a|an", "banana", "a|a|a"}, /* the first alternative that matches, not the longest */
        {"an|a", "banana", "an|an|a"},
        {"(?:ab|a)(?:c|bcd)", "abcd", "abc"},
        {"(ab|a)(c|bcd)$", "abcd", "abcd"},
        {"a+", "aaabaa", "aaa|aa"},
        {"a+?", "aaa", "a|a|a"},
        {"a{2}", "aaaaa", "aa|aa"},
        {"a{2,3}", "aaaaa", "aaa|aa"},
        {"a{,2}b", "aaab", "aab"},
        {"a{x}", "a{x}", "a{x}"},
        {"(?:ab){1,2}c", "ababc abc", "ababc|abc"},
        {"(?:ab){0,2}?c", "ababc", "ababc"},
        {"(?:ab|c){1,3}", "abcabab", "abcab|ab"},
        {"a{0,2}{0,2}b", "aaaaab", "aaaab"},
        {"[a-c]+", "abcdcba", "abc|cba"},
        {"[^a-c\\s]+", "abc def", "def"},
        {"[]a]+", "a]b", "a]"},
        {"[a\\-z]+", "a-zb", "a-z"},
        {"[[ab]c]+", "abcd", "abc"},
        {"[^[ab]c]+", "abcde", "de"},
        {"\\s+(?!\\S)|\\s+", "a   b  ", "  | |  "},
        {"\\S+(?=\\sb)", "a b c", "a"},
        {"(?>a+)b", "aab ab", "aab|ab"},
        {"(?>a+)ab", "aab", ""},
        {"a++b", "aab", "aab"},
        {"a++ab", "aab", ""},
        {"^b", "a\nb", "b"}, /* ^ and $ are of lines, as in Ruby */
        {"a$", "a\nb", "a"},
        {"\\Aa", "aba", "a"},
        {"a\\z", "aba", "a"},
        {".", "a\nb", "a|b"},
        {"(?m:.)+", "a\nb", "a\nb"},
        {"(?i:STRASSE)", "Strasse", "Strasse"},
        {"(?i)k", "k K \xE2\x84\xAA", "k|K|\xE2\x84\xAA"}, /* the sign for kelvin */
        {"(?i:a)b", "Ab AB", "Ab"},
        {"(?i)[[a]b]+", "AbBac", "AbBa"},
        {"(?i)[[^a]]+", "bAc", "bAc"}, /* the inner set has A, so the outer one has a */
        {"(?i)[^[^a]]+", "bAac", ""},
        {"[^\\r\\n\\p{L}\\p{N}]?\\p{L}+", " Zo\xC3\xAB don't", " Zo\xC3\xAB| don|'t"},
        {"\\p{N}{1,3}", "12345", "123|45"},
        {"\\p{Lu}\\p{Ll}+", "OneTwo", "One|Two"},
        {"\\P{L}+", "a1 b", "1 "},
        {"\\p{^L}+", "a1 b", "1 "},
        {"\\p{Uppercase Letter}", "aBc", "B"},
        {"[\\p{P}\\p{S}]+", "a+b=c!", "+|=|!"},
        {"\\x41\\u0042\\x{43}", "ABC", "ABC"},
        {"(?<name>a)(b)", "ab", "ab"},
        {"\\.\\*\\[", ".*[", ".*["},
        {"(?=b)|c", "abc", "c"}, /* and an empty one before b */
        {CONTRACTIONS
         "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*"
         "[\\r\\n]+|\\s+(?!\\S)|\\s+",
         "I'LL see 1234 apples!\n\n  ok", "I|'LL| see| |123|4| apples|!\n\n| | ok"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep) char *seen = matches(rows[i].pattern, rows[i].text);
        if (strcmp(seen, rows[i].wanted) != 0) {
            printf("# %s\n", rows[i].pattern);
            CHECK_STR(seen, rows[i].wanted);
        }
    }
}

static void test_what_is_refused_is_named(void) {
    static const struct {
        const char *pattern, *wanted;
    } rows[] = {
        {"a(b", "byte 3: the group has no end"},
        {"a)b", "byte 1: a ) without its ("},
        {"[a", "byte 2: the set has no end"},
        {"[z-a]", "byte 4: a range whose end is before its start"},
        {"*a", "byte 0: nothing to repeat"},
        {"a\\", "byte 2: nothing follows the backslash"},
        {"(?<=a)b", "byte 2: look-behind is not supported"},
        {"[a&&b]", "byte 2: intersections of sets and [:names:] are not supported"},
        {"\\p{Han}", "byte 1: a property that is not supported; supported: general categories, "
                     "such as L, Lu, N, P, and Space"},
        {"(a)\\1", "byte 4: an escape that is not supported"},
        {"(a*)*", "an unlimited repetition of what may be empty is not supported"},
        {"a{1001}", "byte 7: repeats more than 1000 times, or too few"},
        {"(?:(?:a{1000}){1000})b", "the pattern is too long, written out"},
        {"(){1000}{1000}{1000}{1000}", "the pattern is too long, written out"},
        {"\xFF", "the pattern is not UTF-8, or has a NUL"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep) char *seen = matches(rows[i].pattern, "a");
        CHECK_STR(seen, rows[i].wanted);
    }
}

static void test_repetitions_of_repetitions_are_limited(void) {
    static const char *const repeats[] = {"?+", "{0,1}", "+", "??"};
    for (size_t i = 0; i < ARRAY_LEN(repeats); i++) {
        AUTO(buffer_release) struct buffer pattern;
        struct error err = {0};
        buffer_init(&pattern, 1 << 16);
        CHECK_OK(buffer_printf(&pattern, &err, "a"), &err);
        for (int count = 0; count < 3000; count++) {
            CHECK_OK(buffer_printf(&pattern, &err, "%s", repeats[i]), &err);
        }
        AUTO(text_freep) char *seen = matches(pattern.data, "a");
        CHECK(strstr(seen, "too many repetitions of one atom"));
    }
}

/* As deep as patterns may be. */
static void test_depth_is_limited(void) {
    AUTO(buffer_release) struct buffer deep, wide;
    struct error err = {0};
    buffer_init(&deep, 1 << 16);
    buffer_init(&wide, 1 << 16);
    for (int i = 0; i < REGEX_DEPTH_MAX; i++) {
        CHECK_OK(buffer_printf(&deep, &err, "(?:"), &err);
    }
    CHECK_OK(buffer_printf(&deep, &err, "a"), &err);
    for (int i = 0; i < REGEX_DEPTH_MAX; i++) {
        CHECK_OK(buffer_printf(&deep, &err, ")"), &err);
        for (int repeat = 0; repeat < REGEX_DEPTH_MAX; repeat++) {
            CHECK_OK(buffer_printf(&deep, &err, "?+"), &err);
        }
    }
    for (int i = 0; i < 2000; i++) {
        CHECK_OK(buffer_printf(&wide, &err, "|"), &err);
    }
    CHECK_OK(buffer_printf(&wide, &err, "a"), &err);
    AUTO(text_freep) char *seen = matches(deep.data, "a");
    CHECK_STR(seen, "a");
    AUTO(text_freep) char *other = matches(wide.data, "a");
    CHECK_STR(other, "");
}

/* 30 sets within each other. */
static void test_sets_within_sets_take_little_time(void) {
    char pattern[100] = "(?i)";
    memset(pattern + 4, '[', 30);
    pattern[34] = 'a';
    memset(pattern + 35, ']', 30);
    AUTO(text_freep) char *seen = matches(pattern, "bAa\u00e9");
    CHECK_STR(seen, "A|a");
}

/* Backtracking that would take longer than the sun shines ends: in one match, in many, in runs. */
static void test_steps_are_limited(void) {
    enum { BYTES = 20000 };
    static const char *const patterns[] = {
        "(?:a|a)(?:a|a|b+)+(?:a|aa)+c",
        "[a]*b|a",              /* n matches, before each of which n characters are read */
        "a*b|a", "[a]*b|(?=a)", /* the matches are empty */
    };
    AUTO(text_freep) char *text = x_malloc(BYTES + 1);
    memset(text, 'a', BYTES);
    text[BYTES] = 0;
    for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
        AUTO(text_freep) char *seen = matches(patterns[i], text);
        CHECK_STR(seen, "the pattern takes more than 40971520 steps for this text");
    }
}

static void test_places_to_go_back_to_are_limited(void) {
    AUTO(text_freep) char *text = x_malloc(REGEX_STATES_MAX + 2);
    memset(text, 'a', REGEX_STATES_MAX + 1);
    text[REGEX_STATES_MAX + 1] = 0;
    AUTO(text_freep) char *seen = matches("(?:a|b)+", text);
    CHECK_STR(seen, "the pattern has more than 1048576 places to go back to in this text");
}

int main(void) {
    TEST(test_matches);
    TEST(test_what_is_refused_is_named);
    TEST(test_repetitions_of_repetitions_are_limited);
    TEST(test_depth_is_limited);
    TEST(test_sets_within_sets_take_little_time);
    TEST(test_steps_are_limited);
    TEST(test_places_to_go_back_to_are_limited);
    return TEST_END();
}
