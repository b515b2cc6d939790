// SPDX-License-Identifier: Apache-2.0
#include "lib/text/jsontext.h"

#include "lib/text/utf8.h"

#include <jansson.h>
#include <string.h>

const char *jsontext_space(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) {
        at++;
    }
    return at;
}

/* Whether one of these bytes is not plain. */
typedef uint8_t sixteen __attribute__((vector_size(16)));
static bool has_odd(const char *at) {
    sixteen bytes;
    uint64_t halves[2];
    memcpy(&bytes, at, sizeof bytes);
    sixteen odd = (sixteen)((bytes < ' ') | (bytes > 0x7f) | (bytes == '"') | (bytes == '\\'));
    memcpy(halves, &odd, sizeof halves);
    return (halves[0] | halves[1]) != 0;
}

const char *jsontext_plain(const char *at, const char *end) {
    while ((size_t)(end - at) >= sizeof(sixteen) && !has_odd(at)) {
        at += sizeof(sixteen);
    }
    while (at < end && (unsigned char)(*at - ' ') < 0x80 - ' ' && *at != '"' && *at != '\\') {
        at++;
    }
    return at;
}

/* Skips the escape whose backslash is at `at`. */
static const char *skip_escape(const char *at, const char *end) {
    if (end - at < 2) {
        return NULL;
    }
    if (at[1] != 'u') {
        return at[1] && strchr("\"\\/bfnrt", at[1]) ? at + 2 : NULL;
    }
    if (end - at < 6) {
        return NULL;
    }
    for (int i = 2; i < 6; i++) {
        if (!at[i] || !strchr("0123456789abcdefABCDEF", at[i])) {
            return NULL;
        }
    }
    return at + 6;
}

/* `at` is after the opening quote. */
static const char *skip_string(const char *at, const char *end) {
    while ((at = jsontext_plain(at, end)) < end && *at != '"') {
        unsigned char byte = (unsigned char)*at;
        if (byte == '\\') {
            at = skip_escape(at, end);
            if (!at) {
                return NULL;
            }
        } else if (byte < 0x80) {
            return NULL; /* a control character */
        } else {
            size_t length = utf8_character(at, (size_t)(end - at));
            if (length == 0) {
                return NULL;
            }
            at += length;
        }
    }
    return at < end ? at + 1 : NULL;
}

static const char *skip_digits(const char *at, const char *end) {
    const char *first = at;
    while (at < end && *at >= '0' && *at <= '9') {
        at++;
    }
    return at > first ? at : NULL;
}

static const char *skip_number(const char *at, const char *end) {
    at += at < end && *at == '-';
    at = at < end && *at == '0' ? at + 1 : skip_digits(at, end);
    if (at && at < end && *at == '.') {
        at = skip_digits(at + 1, end);
    }
    if (at && at < end && (*at == 'e' || *at == 'E')) {
        at++;
        at += at < end && (*at == '+' || *at == '-');
        at = skip_digits(at, end);
    }
    return at;
}

static const char *skip_word(const char *at, const char *end, const char *word) {
    size_t length = strlen(word);
    return (size_t)(end - at) >= length && memcmp(at, word, length) == 0 ? at + length : NULL;
}

static const char *skip_value(const char *at, const char *end, int depth);

/* Skips "name" and its colon; NULL: something else. */
static const char *skip_name(const char *at, const char *end) {
    at = at < end && *at == '"' ? skip_string(at + 1, end) : NULL;
    at = at ? jsontext_space(at, end) : NULL;
    return at && at < end && *at == ':' ? jsontext_space(at + 1, end) : NULL;
}

/* `at` is after the opening bracket. */
static const char *skip_members(const char *at, const char *end, char closing, int depth) {
    at = jsontext_space(at, end);
    if (at < end && *at == closing) {
        return at + 1;
    }
    while (true) {
        at = closing == '}' ? skip_name(at, end) : at;
        at = at ? skip_value(at, end, depth) : NULL;
        at = at ? jsontext_space(at, end) : NULL;
        if (!at || at == end || (*at != ',' && *at != closing)) {
            return NULL;
        }
        if (*at == closing) {
            return at + 1;
        }
        at = jsontext_space(at + 1, end);
    }
}

static const char *skip_value(const char *at, const char *end, int depth) {
    if (at >= end || depth >= JSONTEXT_DEPTH_MAX) {
        return NULL;
    }
    switch (*at) {
    case '{':
        return skip_members(at + 1, end, '}', depth + 1);
    case '[':
        return skip_members(at + 1, end, ']', depth + 1);
    case '"':
        return skip_string(at + 1, end);
    case 't':
        return skip_word(at, end, "true");
    case 'f':
        return skip_word(at, end, "false");
    case 'n':
        return skip_word(at, end, "null");
    default:
        return skip_number(at, end);
    }
}

const char *jsontext_value(const char *at, const char *end) {
    return skip_value(at, end, 0);
}

bool jsontext_is_value(const char *data, size_t size) {
    const char *end = data + size;
    const char *at = jsontext_value(jsontext_space(data, end), end);
    return at && jsontext_space(at, end) == end;
}

int jsontext_escape(struct buffer *buffer, const char *data, size_t size, struct error *err) {
    size_t kept = 0;
    for (size_t i = 0; (i = (size_t)(jsontext_plain(data + i, data + size) - data)) < size; i++) {
        unsigned char byte = (unsigned char)data[i];
        if (byte >= 0x80) {
            continue;
        }
        static const char letters[] = "btn.fr"; /* of the bytes 8 to 13; 11 has none */
        char escape[8] = {'\\', (char)byte, 0};
        size_t length = 2;
        if (byte >= 8 && byte <= 13 && byte != 11) {
            escape[1] = letters[byte - 8];
        } else if (byte < ' ') {
            memcpy(escape, "\\u00", 4);
            escape[4] = byte < 16 ? '0' : '1';
            escape[5] = "0123456789abcdef"[byte % 16];
            length = 6;
        }
        if (buffer_append(buffer, data + kept, i - kept, err) < 0 ||
            buffer_append(buffer, escape, length, err) < 0) {
            return -1;
        }
        kept = i + 1;
    }
    return buffer_append(buffer, data + kept, size - kept, err);
}

int jsontext_compact(struct buffer *buffer, const char *data, size_t size, struct error *err) {
    bool in_string = false;
    size_t from = 0;
    for (size_t i = 0; i < size; i++) {
        i = in_string ? (size_t)(jsontext_plain(data + i, data + size) - data) : i;
        if (i == size) {
            break;
        }
        if (in_string && data[i] == '\\') {
            i++;
        } else if (data[i] == '"') {
            in_string = !in_string;
        } else if (!in_string && jsontext_space(data + i, data + i + 1) > data + i) {
            if (buffer_append(buffer, data + from, i - from, err) < 0) {
                return -1;
            }
            from = i + 1;
        }
    }
    return buffer_append(buffer, data + from, size - from, err);
}

/* ---- objects -------------------------------------------------------------------------------- */

bool jsontext_next_member(const char **at, const char *end, struct jsontext_member *ret_member) {
    const char *name = jsontext_space(*at, end);
    if (name < end && (*name == ',' || *name == '{')) {
        name = jsontext_space(name + 1, end);
    }
    if (name >= end || *name != '"') {
        return false;
    }
    const char *name_end = skip_string(name + 1, end);
    const char *value = jsontext_space(jsontext_space(name_end, end) + 1, end); /* the colon */
    const char *value_end = jsontext_value(value, end);
    *ret_member = (struct jsontext_member){.name = name,
                                           .name_size = (size_t)(name_end - name),
                                           .value = value,
                                           .value_size = (size_t)(value_end - value)};
    *at = value_end;
    return true;
}

bool jsontext_is_same_name(const struct jsontext_member *a, const struct jsontext_member *b) {
    if (a->name_size == b->name_size && memcmp(a->name, b->name, a->name_size) == 0) {
        return true;
    }
    if (!memchr(a->name, '\\', a->name_size) && !memchr(b->name, '\\', b->name_size)) {
        return false;
    }
    json_t *left = json_loadb(a->name, a->name_size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    json_t *right = json_loadb(b->name, b->name_size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    bool is_same = json_equal(left, right);
    json_decref(left);
    json_decref(right);
    return is_same;
}

bool jsontext_is_named(const struct jsontext_member *member, const char *quoted) {
    const struct jsontext_member other = {.name = quoted, .name_size = strlen(quoted)};
    return jsontext_is_same_name(member, &other);
}
