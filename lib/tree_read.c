// SPDX-License-Identifier: Apache-2.0
/* Trees from text, as jansson makes them, in a fifth of its time: it looks at each byte of a string
 * four times. What is rare here (numbers with a fraction, \u escapes, nesting, mistakes) is
 * left to it, so that the result and the error are always its own. */
#include "lib/tree_read.h"

#include "lib/text/utf8.h"

#include <stdlib.h>
#include <string.h>

enum {
    DEPTH_MAX = 256,
    DIGITS_MAX = 18, /* of an integer that fits */
};

struct reader {
    const char *at, *end;
};

static json_t *read_value(struct reader *reader, int depth);

static void skip_space(struct reader *reader) {
    while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\n' ||
                                        *reader->at == '\r' || *reader->at == '\t')) {
        reader->at++;
    }
}

static bool skip_byte(struct reader *reader, char byte) {
    bool is_there = reader->at < reader->end && *reader->at == byte;
    reader->at += is_there;
    return is_there;
}

/* Skips a string from its opening quote. What is between its quotes is *ret_text; NULL: it has no
 * end, or a byte that may not be there. */
static const char *skip_string(struct reader *reader, size_t *ret_size, bool *ret_is_escaped) {
    const char *text = reader->at + 1, *at = text;
    bool is_ascii = true;
    *ret_is_escaped = false;
    while (at < reader->end && *at != '"') {
        unsigned char byte = (unsigned char)*at;
        if (byte < ' ') {
            return NULL;
        }
        is_ascii &= byte < 0x80;
        *ret_is_escaped |= byte == '\\';
        at += byte == '\\' ? 2 : 1;
    }
    if (at >= reader->end) {
        return NULL;
    }
    *ret_size = (size_t)(at - text);
    reader->at = at + 1;
    return is_ascii || utf8_valid_size(text, *ret_size) == *ret_size ? text : NULL;
}

/* NULL: an escape that is not a single letter. */
static json_t *unescape(const char *text, size_t size) {
    static const char letters[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
    AUTO(text_freep) char *plain = x_malloc(size);
    size_t written = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] != '\\') {
            plain[written++] = text[i];
            continue;
        }
        const char *letter = i + 1 < size && text[i + 1] ? strchr(letters, text[i + 1]) : NULL;
        if (!letter) {
            return NULL;
        }
        plain[written++] = means[letter - letters];
        i++;
    }
    return json_stringn_nocheck(plain, written);
}

static json_t *read_string(struct reader *reader) {
    const char *quote = reader->at;
    size_t size;
    bool is_escaped;
    const char *text = skip_string(reader, &size, &is_escaped);
    if (!text) {
        return NULL;
    }
    json_t *string = is_escaped ? unescape(text, size) : json_stringn_nocheck(text, size);
    return string ? string : json_loadb(quote, size + 2, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
}

static json_t *read_number(struct reader *reader) {
    const char *begin = reader->at, *at = begin;
    bool is_negative = skip_byte(reader, '-');
    json_int_t value = 0;
    at = reader->at;
    bool has_zero = at < reader->end && *at == '0';
    while (at < reader->end && *at >= '0' && *at <= '9' && at - reader->at < DIGITS_MAX) {
        value = 10 * value + (*at++ - '0');
    }
    size_t digits = (size_t)(at - reader->at);
    while (at < reader->end && *at && strchr("0123456789+-.eE", *at)) {
        at++;
    }
    bool is_integer = digits > 0 && digits == (size_t)(at - reader->at);
    reader->at = at;
    if (is_integer && (!has_zero || digits == 1)) {
        return json_integer(is_negative ? -value : value);
    }
    size_t size = (size_t)(at - begin);
    json_t *number = json_loadb(begin, size, JSON_DECODE_ANY, NULL);
    /* Go writes 1e20 as an integer of 21 digits, which jansson refuses: one such number in an
     * object of anybody must not end the list of all. */
    return number ? number
                  : json_loadb(begin, size, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, NULL);
}

static bool read_member(struct reader *reader, json_t *object, int depth) {
    size_t size;
    bool is_escaped;
    skip_space(reader);
    const char *name = reader->at < reader->end && *reader->at == '"'
                           ? skip_string(reader, &size, &is_escaped)
                           : NULL;
    if (!name || is_escaped) {
        return false;
    }
    skip_space(reader);
    json_t *value = skip_byte(reader, ':') ? read_value(reader, depth) : NULL;
    return value && json_object_setn_new_nocheck(object, name, size, value) == 0;
}

static bool read_element(struct reader *reader, json_t *array, int depth) {
    json_t *value = read_value(reader, depth);
    return value && json_array_append_new(array, value) == 0;
}

/* Of an object or a list, from its opening bracket. */
static json_t *read_all(struct reader *reader, int depth) {
    bool is_object = *reader->at == '{', is_well = depth < DEPTH_MAX;
    char closing = is_object ? '}' : ']';
    json_t *all = is_object ? json_object() : json_array();
    reader->at++;
    skip_space(reader);
    bool is_over = skip_byte(reader, closing);
    while (is_well && !is_over) {
        is_well =
            is_object ? read_member(reader, all, depth + 1) : read_element(reader, all, depth + 1);
        skip_space(reader);
        is_over = is_well && skip_byte(reader, closing);
        is_well = is_well && (is_over || skip_byte(reader, ','));
    }
    if (!is_well) {
        json_decref(all);
        return NULL;
    }
    return all;
}

static json_t *read_word(struct reader *reader, const char *word, json_t *value) {
    size_t size = strlen(word);
    bool is_it = (size_t)(reader->end - reader->at) >= size && memcmp(reader->at, word, size) == 0;
    reader->at += is_it ? size : 0;
    return is_it ? value : NULL;
}

static json_t *read_value(struct reader *reader, int depth) {
    skip_space(reader);
    switch (reader->at < reader->end ? *reader->at : 0) {
    case '{':
    case '[':
        return read_all(reader, depth);
    case '"':
        return read_string(reader);
    case 't':
        return read_word(reader, "true", json_true());
    case 'f':
        return read_word(reader, "false", json_false());
    case 'n':
        return read_word(reader, "null", json_null());
    default:
        return read_number(reader);
    }
}

json_t *tree_load(const char *text, size_t size, json_error_t *ret_problem) {
    struct reader reader = {text, text + size};
    skip_space(&reader);
    bool is_tree = reader.at < reader.end && (*reader.at == '{' || *reader.at == '[');
    json_t *tree = is_tree ? read_value(&reader, 0) : NULL;
    skip_space(&reader);
    if (tree && reader.at == reader.end) {
        return tree;
    }
    json_decref(tree);
    return json_loadb(text, size, JSON_ALLOW_NUL, ret_problem);
}
