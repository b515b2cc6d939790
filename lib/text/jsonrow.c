// SPDX-License-Identifier: Apache-2.0
#include "lib/text/jsonrow.h"

#include "lib/text/jsontext.h"
#include "lib/text/utf8.h"

#include <string.h>

void jsonrow_begin(struct jsonrow *row, const char *text, const char *end, char *room) {
    *row = (struct jsonrow){.at = text, .end = end, .room = room, .is_first = true};
    row->is_bad = text == end || *text != '[';
    row->at += !row->is_bad;
}

char jsonrow_peek(struct jsonrow *row) {
    const char *at = jsontext_space(row->at, row->end);
    if (!row->is_bad && !row->is_first && at < row->end && *at == ',') {
        at = jsontext_space(at + 1, row->end);
        row->is_bad = at < row->end && *at == ']';
    } else if (!row->is_first) {
        row->is_bad = row->is_bad || at == row->end || *at != ']';
    }
    row->is_bad = row->is_bad || at == row->end;
    if (row->is_bad) {
        return 0;
    }
    row->is_first = true; /* the comma is taken */
    row->at = at;
    return *at;
}

/* The value behind the comma begins at row->at; or the row is bad. */
static bool begin_value(struct jsonrow *row) {
    char first = jsonrow_peek(row);
    row->is_bad = row->is_bad || first == ']';
    row->is_first = false;
    return !row->is_bad;
}

int64_t jsonrow_integer(struct jsonrow *row) {
    if (!begin_value(row)) {
        return 0;
    }
    bool is_negative = *row->at == '-';
    const char *at = row->at + is_negative, *first = at;
    int64_t value = 0;
    for (; at < row->end && *at >= '0' && *at <= '9' && !row->is_bad; at++) {
        int digit = *at - '0';
        row->is_bad = __builtin_mul_overflow(value, 10, &value) ||
                      __builtin_add_overflow(value, is_negative ? -digit : digit, &value);
    }
    bool is_real = at < row->end && (*at == '.' || *at == 'e' || *at == 'E');
    row->is_bad = row->is_bad || at == first || is_real || (*first == '0' && at > first + 1);
    row->at = at;
    return row->is_bad ? 0 : value;
}

int64_t jsonrow_number(struct jsonrow *row, int64_t most) {
    int64_t value = jsonrow_integer(row);
    row->is_bad = row->is_bad || value < 0 || value > most;
    return row->is_bad ? 0 : value;
}

/* Four hexadecimal digits; -1: they are not. */
static int hex4(const char *at, const char *end) {
    int code = 0;
    if (end - at < 4) {
        return -1;
    }
    for (int i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdef";
        const char *digit = at[i] ? strchr(digits, at[i] | (at[i] > '9' ? 0x20 : 0)) : NULL;
        if (!digit) {
            return -1;
        }
        code = code * 16 + (int)(digit - digits);
    }
    return code;
}

/* "\uXXXX" at `at`, and its second half if it has one. Returns what is behind it; NULL: half of a
 * character, or something else. */
static const char *take_code(const char *at, const char *end, char **to) {
    int code = hex4(at + 2, end);
    at += 6;
    if (code >= 0xd800 && code < 0xdc00) {
        int second = end - at >= 6 && at[0] == '\\' && at[1] == 'u' ? hex4(at + 2, end) : -1;
        code = second >= 0xdc00 && second < 0xe000
                   ? 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00)
                   : -1;
        at += 6;
    } else if (code >= 0xdc00 && code < 0xe000) {
        code = -1;
    }
    if (code < 0) {
        return NULL;
    }
    *to += utf8_write(*to, (unsigned)code);
    return at;
}

/* The escape at `at`, as take_code. */
static const char *take_escape(const char *at, const char *end, char **to) {
    static const char letters[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
    if (end - at < 2 || !at[1]) {
        return NULL;
    }
    if (at[1] == 'u') {
        return take_code(at, end, to);
    }
    const char *letter = strchr(letters, at[1]);
    if (!letter) {
        return NULL;
    }
    *(*to)++ = bytes[letter - letters];
    return at + 2;
}

/* A character that is not plain; as take_code. */
static const char *take_odd(const char *at, const char *end, char **to) {
    if (*at == '\\') {
        return take_escape(at, end, to);
    }
    size_t size = (unsigned char)*at < 0x80 ? 0 : utf8_character(at, (size_t)(end - at));
    memcpy(*to, at, size);
    *to += size;
    return size > 0 ? at + size : NULL;
}

const char *jsonrow_text(struct jsonrow *row, size_t *ret_size) {
    *ret_size = 0;
    if (!begin_value(row) || *row->at != '"') {
        row->is_bad = true;
        return "";
    }
    char *text = row->room, *to = text;
    for (const char *at = row->at + 1; at;) {
        const char *odd = jsontext_plain(at, row->end);
        memcpy(to, at, (size_t)(odd - at));
        to += odd - at;
        if (odd < row->end && *odd == '"') {
            *to = 0;
            *ret_size = (size_t)(to - text);
            row->room = to + 1;
            row->at = odd + 1;
            return text;
        }
        at = odd < row->end ? take_odd(odd, row->end, &to) : NULL;
    }
    row->is_bad = true;
    return "";
}

json_t *jsonrow_tree(struct jsonrow *row) {
    const char *end = begin_value(row) ? jsontext_value(row->at, row->end) : NULL;
    json_t *tree = end ? json_loadb(row->at, (size_t)(end - row->at),
                                    JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL)
                       : NULL;
    row->is_bad = !tree;
    row->at = tree ? end : row->at;
    return tree;
}

const char *jsonrow_end(struct jsonrow *row) {
    return jsonrow_peek(row) == ']' ? row->at + 1 : NULL;
}
