/* unicode.h: characters and their classes as Hugging Face's tokenizers 0.23 see them. Its parts
 * follow different versions of Unicode; where one differs from utf8proc's, unicode_versions.h lists
 * the characters. Owns utf8proc. */
#pragma once

#include "lib/error.h"

enum { UNICODE_CODES = 0x110000, UNICODE_LOWER_MAX = 2, UNICODE_DECOMPOSED_MAX = 18 };

enum unicode_flag {
    UNICODE_SPACE = 1,       /* White_Space */
    UNICODE_WORD = 2,        /* \w of Rust's regex */
    UNICODE_PUNCTUATION = 4, /* category P, and all of ASCII's */
    UNICODE_OTHER = 8,       /* categories Cc, Cf, Co */
    UNICODE_NONSPACING = 16, /* category Mn */
    UNICODE_MARK = 32,       /* categories Mn, Mc, Me */
    UNICODE_NUMERIC = 64,    /* categories Nd, Nl, No */
    UNICODE_INERT = 128,     /* no form of normalization changes or joins it */
    UNICODE_LETTER = 256,    /* category L, as Oniguruma has it */
    UNICODE_NUMBER = 512,    /* category N, as Oniguruma has it */
};

struct unicode {
    uint16_t flags[UNICODE_CODES];
};
/* The only one, which is made at the first call. Any thread. */
const struct unicode *unicode_table(void);

static inline bool unicode_is(const struct unicode *unicode, unsigned code, unsigned flags) {
    return unicode->flags[code] & flags;
}

/* The character at *at, which is moved behind it; the text must be valid UTF-8. */
static inline unsigned unicode_read(const char **at) {
    const unsigned char *byte = (const unsigned char *)*at;
    if (byte[0] < 0x80) {
        *at += 1;
        return byte[0];
    }
    if (byte[0] < 0xe0) {
        *at += 2;
        return (byte[0] & 0x1fu) << 6 | (byte[1] & 0x3fu);
    }
    if (byte[0] < 0xf0) {
        *at += 3;
        return (byte[0] & 0xfu) << 12 | (byte[1] & 0x3fu) << 6 | (byte[2] & 0x3fu);
    }
    *at += 4;
    return (byte[0] & 7u) << 18 | (byte[1] & 0x3fu) << 12 | (byte[2] & 0x3fu) << 6 |
           (byte[3] & 0x3fu);
}

/* The bytes of the character whose first byte this is, in valid UTF-8. */
static inline size_t unicode_size(char first) {
    unsigned char byte = (unsigned char)first;
    return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

/* The character in lower case: 1 or 2 characters. */
size_t unicode_lower(unsigned code, unsigned ret_lower[UNICODE_LOWER_MAX]);
/* Its decomposition, canonical or with compatibility: 1 to UNICODE_DECOMPOSED_MAX characters. */
size_t unicode_decompose(unsigned code, bool is_compatible, int32_t *ret_codes);
/* Canonical order, and with is_composed composition, in place. Returns the new count. */
size_t unicode_arrange(int32_t *codes, size_t count, bool is_composed);

/* ---- for regular expressions, as Oniguruma sees characters ----------------------------------- */

enum unicode_category_bits { /* bits; general categories */
                             UNICODE_LU = 1 << 0,
                             UNICODE_LL = 1 << 1,
                             UNICODE_LT = 1 << 2,
                             UNICODE_LM = 1 << 3,
                             UNICODE_LO = 1 << 4,
                             UNICODE_MN = 1 << 5,
                             UNICODE_MC = 1 << 6,
                             UNICODE_ME = 1 << 7,
                             UNICODE_ND = 1 << 8,
                             UNICODE_NL = 1 << 9,
                             UNICODE_NO = 1 << 10,
                             UNICODE_PC = 1 << 11,
                             UNICODE_PD = 1 << 12,
                             UNICODE_PS = 1 << 13,
                             UNICODE_PE = 1 << 14,
                             UNICODE_PI = 1 << 15,
                             UNICODE_PF = 1 << 16,
                             UNICODE_PO = 1 << 17,
                             UNICODE_SM = 1 << 18,
                             UNICODE_SC = 1 << 19,
                             UNICODE_SK = 1 << 20,
                             UNICODE_SO = 1 << 21,
                             UNICODE_ZS = 1 << 22,
                             UNICODE_ZL = 1 << 23,
                             UNICODE_ZP = 1 << 24,
                             UNICODE_CC = 1 << 25,
                             UNICODE_CF = 1 << 26,
                             UNICODE_MORE_WORDS =
                                 1 << 30, /* of Oniguruma's \w, whatever the category */
};
/* Its category, perhaps with UNICODE_MORE_WORDS; 0: a private, unassigned or no character. */
uint32_t unicode_category(unsigned code);
/* Both cases of a letter have one. */
unsigned unicode_fold(unsigned code);
unsigned unicode_upper(unsigned code);

/* The bytes of the first grapheme of valid UTF-8 that ends at `end`, at least one. */
size_t unicode_grapheme(const char *data, const char *end);
