// SPDX-License-Identifier: Apache-2.0
#include "agent/store/cloud/xml.h"
#include "lib/text/utf8.h"

#include <stdio.h>
#include <string.h>

struct reader {
    char *at, *end;
    struct xml_path path;
    char *text; /* after the last start tag; NULL: the element has child elements */
    const struct xml_visitor *visitor;
};

static int refuse(const struct reader *reader, struct error *err, const char *why) {
    return error_set(err, ERROR_UNAVAILABLE, "%s: %s", reader->visitor->refusal, why);
}

/* ---- texts, decoded in place: they never become longer -------------------------------------- */

/* Appends a character as UTF-8; false: invalid. */
static bool put_character(char **to, unsigned long code) {
    if (code == 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
        return false;
    }
    *to += utf8_write(*to, (unsigned)code);
    return true;
}

static int digit_of(char letter) {
    return letter >= '0' && letter <= '9'   ? letter - '0'
           : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10
           : letter >= 'A' && letter <= 'F' ? letter - 'A' + 10
                                            : 99;
}

/* Reads "#38" or "#x26"; 0: not a number. */
static unsigned long read_number(const char *text, size_t length) {
    int base = length > 1 && text[1] == 'x' ? 16 : 10;
    unsigned long code = 0;
    size_t start = base == 16 ? 2 : 1;
    for (size_t i = start; i < length; i++) {
        int digit = digit_of(text[i]);
        if (digit >= base || code > 0x10FFFF) {
            return 0;
        }
        code = code * (unsigned long)base + (unsigned long)digit;
    }
    return length > start ? code : 0;
}

/* Appends an entity, given without "&" and ";". */
static bool put_entity(char **to, const char *text, size_t length) {
    static const struct {
        const char *name;
        char letter;
    } rows[] = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (strlen(rows[i].name) == length && memcmp(rows[i].name, text, length) == 0) {
            *(*to)++ = rows[i].letter;
            return true;
        }
    }
    return length && text[0] == '#' && put_character(to, read_number(text, length));
}

static bool decode_entities(char *text, size_t *length) {
    char *to = text, *end = text + *length;
    for (char *at = text; at < end;) {
        if (*at == '&') {
            char *semicolon = memchr(at, ';', (size_t)(end - at));
            if (!semicolon || !put_entity(&to, at + 1, (size_t)(semicolon - at - 1))) {
                return false;
            }
            at = semicolon + 1;
        } else {
            *to++ = *at++;
        }
    }
    *length = (size_t)(to - text);
    return true;
}

static bool decode_percent(char *text, size_t *length, bool has_plus) {
    char *to = text, *end = text + *length;
    for (char *at = text; at < end; at++) {
        if (*at == '%') {
            int high = end - at > 2 ? digit_of(at[1]) : 99,
                low = end - at > 2 ? digit_of(at[2]) : 99;
            if (high > 15 || low > 15) {
                return false;
            }
            *to++ = (char)(high * 16 + low);
            at += 2;
        } else {
            *to++ = *at == '+' && has_plus ? ' ' : *at;
        }
    }
    *length = (size_t)(to - text);
    return true;
}

bool xml_decode_url(char *text) {
    size_t length = strlen(text);
    if (!decode_percent(text, &length, /* has_plus= */ true) || memchr(text, 0, length)) {
        return false;
    }
    text[length] = 0;
    return true;
}

/* Decodes text in place. NULL: it has a NUL or an unknown entity. There is room for the final NUL,
 * since the "<" that follows was read already. */
static char *decode(const struct xml_element *element, char *text, size_t length) {
    if (!decode_entities(text, &length) ||
        (element->is_encoded && !decode_percent(text, &length, false)) || memchr(text, 0, length)) {
        return NULL;
    }
    text[length] = 0;
    return text;
}

/* ---- elements ------------------------------------------------------------------------------- */

bool xml_is_at(const struct xml_path *path, const char *names) {
    for (int i = 0; i < path->depth; i++) {
        const struct xml_element *element = &path->elements[i];
        if (strncmp(names, element->name, element->length) != 0 ||
            names[element->length] != (i + 1 < path->depth ? '/' : 0)) {
            return false;
        }
        names += element->length + 1;
    }
    return path->depth > 0;
}

bool xml_is_below(const struct xml_path *path, const char *names) {
    struct xml_path parent = *path;
    parent.depth--;
    return path->depth > 1 && xml_is_at(&parent, names);
}

int xml_size(const char *text, int64_t *ret_size) {
    size_t digits = strspn(text, "0123456789");
    if (!digits || digits > 18 || text[digits]) {
        return -1;
    }
    int64_t size = 0;
    for (size_t i = 0; i < digits; i++) {
        size = size * 10 + (text[i] - '0');
    }
    *ret_size = size;
    return 0;
}

static int end_element(struct reader *reader, char *text_end, struct error *err) {
    struct xml_path *path = &reader->path;
    const struct xml_visitor *visitor = reader->visitor;
    if (reader->text) {
        const struct xml_element *element = &path->elements[path->depth - 1];
        char *text = decode(element, reader->text, (size_t)(text_end - reader->text));
        if (!text) {
            return refuse(reader, err, "a text that cannot be decoded");
        }
        if (visitor->leaf(visitor->context, path, text, err) < 0) {
            return -1;
        }
    }
    if (visitor->end && visitor->end(visitor->context, path, err) < 0) {
        return -1;
    }
    path->depth--;
    reader->text = NULL;
    return 0;
}

/* ---- tags ----------------------------------------------------------------------------------- */

/* Finds the ">" of the tag that begins at `at`, except between quotes. */
static char *tag_end(char *at, const char *end) {
    char quote = 0;
    for (; at < end; at++) {
        if (quote) {
            quote = *at == quote ? 0 : quote;
        } else if (*at == '"' || *at == '\'') {
            quote = *at;
        } else if (*at == '>') {
            return at;
        }
    }
    return NULL;
}

static int start_element(struct reader *reader, char *tag, char *close, struct error *err) {
    struct xml_path *path = &reader->path;
    bool is_empty = close[-1] == '/';
    size_t length = 0;
    while (tag + length < close - is_empty && !strchr(" \t\r\n", tag[length])) {
        length++;
    }
    if (!length || path->depth == XML_DEPTH_MAX || (!path->depth && path->elements[0].length)) {
        return refuse(reader, err, "unexpected elements");
    }
    static const char encoded[] = "Encoded=\"true\"";
    struct xml_element *element = &path->elements[path->depth++];
    *element = (struct xml_element){.name = tag, .length = length};
    element->is_encoded = memmem(tag, (size_t)(close - tag), encoded, strlen(encoded)) != NULL;
    reader->text = close + 1;
    if (is_empty) {
        *close = 0; /* an empty text that can be terminated */
        reader->text = close;
        return end_element(reader, close, err);
    }
    return 0;
}

static int end_tag(struct reader *reader, char *open, char *close, struct error *err) {
    char *name = open + 2;
    size_t length = (size_t)(close - name);
    while (length && strchr(" \t\r\n", name[length - 1])) {
        length--;
    }
    const struct xml_path *path = &reader->path;
    const struct xml_element *element = &path->elements[MAX(path->depth - 1, 0)];
    if (!path->depth || element->length != length || memcmp(element->name, name, length) != 0) {
        return refuse(reader, err, "elements that do not match");
    }
    return end_element(reader, open, err);
}

int xml_read(char *text, size_t size, const struct xml_visitor *visitor, struct error *err) {
    struct reader reader = {.at = text, .end = text + size, .visitor = visitor};
    while (reader.at < reader.end) {
        char *open = memchr(reader.at, '<', (size_t)(reader.end - reader.at));
        char *close = open ? tag_end(open, reader.end) : NULL;
        if (!open) {
            break;
        }
        if (!close || close - open < 2 || open[1] == '!') {
            return refuse(&reader, err, "a tag that does not end");
        }
        int result = open[1] == '?'   ? 0
                     : open[1] == '/' ? end_tag(&reader, open, close, err)
                                      : start_element(&reader, open + 1, close, err);
        if (result < 0) {
            return -1;
        }
        reader.at = close + 1;
    }
    const struct xml_element *root = &reader.path.elements[0];
    if (reader.path.depth || !root->length || strlen(visitor->root) != root->length ||
        memcmp(root->name, visitor->root, root->length) != 0) {
        return refuse(&reader, err, reader.path.depth ? "it is cut off" : "unknown content");
    }
    return 0;
}
