// SPDX-License-Identifier: Apache-2.0
#include "agent/data/text/unicode.h"

#include "agent/data/text/unicode_versions.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

enum { SMALL_RUN = 16 /* marks that insertion orders as fast */ };

static unsigned category_flags(utf8proc_category_t category) {
    switch (category) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
        return UNICODE_WORD | UNICODE_LETTER;
    case UTF8PROC_CATEGORY_MN:
        return UNICODE_WORD | UNICODE_MARK | UNICODE_NONSPACING;
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
        return UNICODE_WORD | UNICODE_MARK;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
        return UNICODE_WORD | UNICODE_NUMERIC | UNICODE_NUMBER;
    case UTF8PROC_CATEGORY_NO:
        return UNICODE_NUMERIC | UNICODE_NUMBER;
    case UTF8PROC_CATEGORY_PC:
        return UNICODE_WORD | UNICODE_PUNCTUATION;
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
        return UNICODE_PUNCTUATION;
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CO:
        return UNICODE_OTHER;
    default:
        return 0;
    }
}

static bool is_space(unsigned code) {
    return (code >= 9 && code <= 13) || code == ' ' || code == 0x85 || code == 0xa0 ||
           code == 0x1680 || (code >= 0x2000 && code <= 0x200a) || code == 0x2028 ||
           code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

static bool is_inert(unsigned code) {
    const utf8proc_property_t *property = utf8proc_get_property((utf8proc_int32_t)code);
    bool is_hangul = (code >= 0x1100 && code < 0x1200) || (code >= 0xac00 && code < 0xd7a4);
    return !is_hangul && property->combining_class == 0 &&
           property->decomp_seqindex == UINT16_MAX && property->comb_index == UINT16_MAX;
}

static bool is_ascii_punctuation(unsigned code) {
    return code > ' ' && code < 0x7f && !(code >= '0' && code <= '9') &&
           !((code | 32) >= 'a' && (code | 32) <= 'z');
}

static struct unicode table;
static pthread_once_t table_made = PTHREAD_ONCE_INIT;

static void make_table(void) {
    for (unsigned code = 0; code < UNICODE_CODES; code++) {
        unsigned flags = category_flags(utf8proc_category((utf8proc_int32_t)code));
        flags |= is_space(code) ? UNICODE_SPACE : 0;
        flags |= is_ascii_punctuation(code) ? UNICODE_PUNCTUATION : 0;
        flags |= is_inert(code) ? UNICODE_INERT : 0;
        table.flags[code] = (uint16_t)flags;
    }
    for (size_t i = 0; i < unicode_other_versions_count; i++) {
        const struct unicode_version *row = &unicode_other_versions[i];
        for (unsigned code = row->first; code <= row->last; code++) {
            table.flags[code] = (uint16_t)((table.flags[code] & ~row->clear) | row->set);
        }
    }
}

const struct unicode *unicode_table(void) {
    pthread_once(&table_made, make_table);
    return &table;
}

size_t unicode_lower(unsigned code, unsigned ret_lower[UNICODE_LOWER_MAX]) {
    if (code == 0x130) { /* the only one whose lower case has two characters */
        ret_lower[0] = 'i';
        ret_lower[1] = 0x307;
        return 2;
    }
    ret_lower[0] = (unsigned)utf8proc_tolower((utf8proc_int32_t)code);
    for (size_t i = 0; i < unicode_newer_cases_count; i++) {
        const struct unicode_case *row = &unicode_newer_cases[i];
        if (code >= row->first && code <= row->last) {
            ret_lower[0] = (unsigned)((int)code + row->distance);
        }
    }
    return 1;
}

/* ---- normalization -------------------------------------------------------------------------- */

static bool is_newer(unsigned code) {
    size_t low = 0, high = unicode_newer_forms_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (code > unicode_newer_forms[middle].last) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < unicode_newer_forms_count && code >= unicode_newer_forms[low].first;
}

size_t unicode_decompose(unsigned code, bool is_compatible, int32_t *ret_codes) {
    int ignored = 0;
    utf8proc_ssize_t count = -1;
    if (!is_newer(code)) {
        count = utf8proc_decompose_char(
            (utf8proc_int32_t)code, ret_codes, UNICODE_DECOMPOSED_MAX,
            is_compatible ? UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT : UTF8PROC_DECOMPOSE, &ignored);
    }
    if (count < 1 || count > UNICODE_DECOMPOSED_MAX) {
        ret_codes[0] = (int32_t)code;
        count = 1;
    }
    return (size_t)count;
}

static unsigned class_of(int32_t code) {
    return is_newer((unsigned)code) ? 0u : (unsigned)utf8proc_get_property(code)->combining_class;
}

/* By class, and those of one class as they came: a counting sort, as a text may be all marks. */
static void order_long(int32_t *codes, size_t count) {
    size_t starts[257] = {0};
    int32_t *ordered = x_realloc_array(NULL, count, sizeof *ordered);
    for (size_t i = 0; i < count; i++) {
        starts[class_of(codes[i]) + 1]++;
    }
    for (size_t i = 1; i < ARRAY_LEN(starts); i++) {
        starts[i] += starts[i - 1];
    }
    for (size_t i = 0; i < count; i++) {
        ordered[starts[class_of(codes[i])]++] = codes[i];
    }
    memcpy(codes, ordered, count * sizeof *codes);
    free(ordered);
}

static void order_short(int32_t *codes, size_t count) {
    for (size_t i = 1; i < count; i++) {
        int32_t code = codes[i];
        size_t at = i;
        for (; at > 0 && class_of(codes[at - 1]) > class_of(code); at--) {
            codes[at] = codes[at - 1];
        }
        codes[at] = code;
    }
}

static void order(int32_t *codes, size_t count) {
    for (size_t start = 0; start < count;) {
        size_t end = start;
        while (end < count && class_of(codes[end]) != 0) {
            end++;
        }
        if (end - start > SMALL_RUN) {
            order_long(codes + start, end - start);
        } else {
            order_short(codes + start, end - start);
        }
        start = end + 1;
    }
}

/* In place; returns the new count. */
static size_t compose(int32_t *codes, size_t count) {
    utf8proc_ssize_t composed = utf8proc_normalize_utf32(codes, (utf8proc_ssize_t)count,
                                                         UTF8PROC_COMPOSE | UTF8PROC_STABLE);
    return composed < 0 ? count : (size_t)composed;
}

size_t unicode_arrange(int32_t *codes, size_t count, bool is_composed) {
    order(codes, count);
    if (!is_composed) {
        return count;
    }
    size_t kept = 0; /* codes before this place are done */
    for (size_t start = 0; start < count;) {
        size_t end = start; /* a newer character composes with none */
        while (end < count && !is_newer((unsigned)codes[end])) {
            end++;
        }
        size_t composed = end > start ? compose(codes + start, end - start) : 0;
        memmove(codes + kept, codes + start, composed * sizeof *codes);
        kept += composed;
        if (end < count) {
            codes[kept++] = codes[end];
        }
        start = end + 1;
    }
    return kept;
}

/* ---- for regular expressions ---------------------------------------------------------------- */

static uint32_t categories[UNICODE_CODES];
static pthread_once_t categories_made = PTHREAD_ONCE_INIT;

static void make_categories(void) {
    for (unsigned code = 0; code < UNICODE_CODES; code++) {
        utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)code);
        bool is_one = category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_CF;
        categories[code] = is_one ? 1u << (category - UTF8PROC_CATEGORY_LU) : 0;
    }
    for (size_t i = 0; i < unicode_newer_categories_count; i++) {
        const struct unicode_newer_category *row = &unicode_newer_categories[i];
        for (unsigned code = row->first; code <= row->last; code++) {
            categories[code] = row->category;
        }
    }
    for (size_t i = 0; i < unicode_more_words_count; i++) {
        const struct unicode_range *row = &unicode_more_words[i];
        for (unsigned code = row->first; code <= row->last; code++) {
            categories[code] |= UNICODE_MORE_WORDS;
        }
    }
}

uint32_t unicode_category(unsigned code) {
    pthread_once(&categories_made, make_categories);
    return code < UNICODE_CODES ? categories[code] : 0;
}

unsigned unicode_upper(unsigned code) {
    return (unsigned)utf8proc_toupper((utf8proc_int32_t)code);
}

unsigned unicode_fold(unsigned code) {
    if (code < 128) {
        return code >= 'A' && code <= 'Z' ? code + 32 : code;
    }
    return (unsigned)utf8proc_tolower(utf8proc_toupper((utf8proc_int32_t)code));
}

size_t unicode_grapheme(const char *data, const char *end) {
    const char *at = data;
    utf8proc_int32_t state = 0;
    if ((unsigned char)data[0] < 0x80 && data[0] != '\r' &&
        (data + 1 == end || (unsigned char)data[1] < 0x80)) {
        return 1;
    }
    unsigned code = unicode_read(&at);
    while (at < end) {
        const char *next = at;
        unsigned other = unicode_read(&next);
        if (utf8proc_grapheme_break_stateful((utf8proc_int32_t)code, (utf8proc_int32_t)other,
                                             &state)) {
            break;
        }
        code = other;
        at = next;
    }
    return (size_t)(at - data);
}
