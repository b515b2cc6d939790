/* unicode_versions.h: where the Unicode of Hugging Face's tokenizers 0.23 differs from that of
 * utf8proc 2.8 (15.0), found by asking both for every character: its classes of characters and its
 * forms of normalization are older, what is a word and what is lower case newer. */
#pragma once

#include "agent/data/text/unicode.h"

struct unicode_version {
    unsigned first, last;
    unsigned set, clear; /* enum unicode_flag */
};
extern const struct unicode_version unicode_other_versions[];
extern const size_t unicode_other_versions_count;
/* Characters with another lower case, which is `distance` from them. */
struct unicode_case {
    unsigned first, last;
    int distance;
};
extern const struct unicode_case unicode_newer_cases[];
extern const size_t unicode_newer_cases_count;
/* Characters that normalization leaves alone. */
struct unicode_range {
    unsigned first, last;
};
extern const struct unicode_range unicode_newer_forms[];
extern const size_t unicode_newer_forms_count;
/* Characters of another general category in Oniguruma. */
struct unicode_newer_category {
    unsigned first, last;
    uint32_t category; /* enum unicode_category_bits */
};
extern const struct unicode_newer_category unicode_newer_categories[];
extern const size_t unicode_newer_categories_count;
/* Those of Oniguruma's \w besides letters, marks, decimal numbers, letter numbers, connectors. */
extern const struct unicode_range unicode_more_words[];
extern const size_t unicode_more_words_count;
