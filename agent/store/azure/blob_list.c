// SPDX-License-Identifier: Apache-2.0
#include "agent/store/azure/blob_list.h"

#include <string.h>
#include <strings.h>

enum { DEPTH_MAX = 8 };

struct reader {
    char *at, *end;
    struct element {
        char *name; /* not terminated */
        size_t length;
        bool is_encoded; /* Encoded="true": also percent-encoded */
    } stack[DEPTH_MAX];
    int depth;
    char *text; /* after the last start tag; NULL: the element has child elements */
    struct blob_entry entry;
    const char *marker;
    blob_each *each;
    void *context;
};

static int refuse(struct error *err, const char *why) {
    return error_set(err, ERROR_UNAVAILABLE, "not a list of blobs: %s", why);
}

/* ---- texts, decoded in place: they never become longer -------------------------------------- */

/* Appends a character as UTF-8; false: invalid. */
static bool put_character(char **to, unsigned long code) {
    char *at = *to;
    if (code == 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
        return false;
    }
    if (code < 0x80) {
        *at++ = (char)code;
    } else if (code < 0x800) {
        *at++ = (char)(0xC0 | code >> 6);
        *at++ = (char)(0x80 | (code & 63));
    } else if (code < 0x10000) {
        *at++ = (char)(0xE0 | code >> 12);
        *at++ = (char)(0x80 | (code >> 6 & 63));
        *at++ = (char)(0x80 | (code & 63));
    } else {
        *at++ = (char)(0xF0 | code >> 18);
        *at++ = (char)(0x80 | (code >> 12 & 63));
        *at++ = (char)(0x80 | (code >> 6 & 63));
        *at++ = (char)(0x80 | (code & 63));
    }
    *to = at;
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

static bool decode_percent(char *text, size_t *length) {
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
            *to++ = *at;
        }
    }
    *length = (size_t)(to - text);
    return true;
}

/* Decodes text in place. NULL: it has a NUL or an unknown entity. There is room for the final NUL,
 * since the "<" that follows was read already. */
static char *decode(const struct element *element, char *text, size_t length) {
    if (!decode_entities(text, &length) ||
        (element->is_encoded && !decode_percent(text, &length)) || memchr(text, 0, length)) {
        return NULL;
    }
    text[length] = 0;
    return text;
}

/* ---- elements ------------------------------------------------------------------------------- */

static bool element_is(const struct element *element, const char *name) {
    return strlen(name) == element->length && memcmp(element->name, name, element->length) == 0;
}

static bool is_within(const struct reader *reader, int depth, const char *const *names) {
    for (int i = 0; i < depth; i++) {
        if (!element_is(&reader->stack[i], names[i])) {
            return false;
        }
    }
    return reader->depth == depth + 1;
}

/* Names of metadata are header names, which may have any case. */
static bool is_folder_mark(const struct element *element, const char *text) {
    static const char name[] = "hdi_isfolder";
    return element->length == strlen(name) &&
           strncasecmp(element->name, name, element->length) == 0 && strcasecmp(text, "true") == 0;
}

static int read_size(const char *text, int64_t *ret_size) {
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

/* Ends the innermost element, which has only text. */
static int read_leaf(struct reader *reader, char *text, struct error *err) {
    static const char *const root[] = {"EnumerationResults"};
    static const char *const blob[] = {"EnumerationResults", "Blobs", "Blob"};
    static const char *const properties[] = {"EnumerationResults", "Blobs", "Blob", "Properties"};
    static const char *const metadata[] = {"EnumerationResults", "Blobs", "Blob", "Metadata"};
    const struct element *leaf = &reader->stack[reader->depth - 1];
    if (is_within(reader, 1, root) && element_is(leaf, "NextMarker")) {
        reader->marker = text;
    } else if (is_within(reader, 3, blob) && element_is(leaf, "Name")) {
        reader->entry.name = text;
    } else if (is_within(reader, 4, properties)) {
        if (element_is(leaf, "Etag")) {
            size_t length = strlen(text);
            bool is_quoted = length > 1 && text[0] == '"' && text[length - 1] == '"';
            text[length - is_quoted] = 0;
            reader->entry.token = text + is_quoted;
        } else if (element_is(leaf, "Last-Modified")) {
            reader->entry.modified = text;
        } else if (element_is(leaf, "ResourceType")) {
            reader->entry.is_folder |= strcmp(text, "directory") == 0;
        } else if (element_is(leaf, "Content-Length") &&
                   read_size(text, &reader->entry.size_bytes) < 0) {
            return refuse(err, "a size that is not a number");
        }
    } else if (is_within(reader, 4, metadata)) {
        reader->entry.is_folder |= is_folder_mark(leaf, text);
    }
    return 0;
}

static int end_element(struct reader *reader, char *text_end, struct error *err) {
    static const char *const blobs[] = {"EnumerationResults", "Blobs"};
    const struct element *element = &reader->stack[reader->depth - 1];
    if (reader->text) {
        char *text = decode(element, reader->text, (size_t)(text_end - reader->text));
        if (!text) {
            return refuse(err, "a text that cannot be decoded");
        }
        if (read_leaf(reader, text, err) < 0) {
            return -1;
        }
    }
    if (is_within(reader, 2, blobs) && element_is(element, "Blob")) {
        if (!reader->entry.name || !*reader->entry.name) {
            return refuse(err, "a blob without a name");
        }
        if (reader->each(reader->context, &reader->entry, err) < 0) {
            return -1;
        }
    }
    reader->depth--;
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
    bool is_empty = close[-1] == '/';
    size_t length = 0;
    while (tag + length < close - is_empty && !strchr(" \t\r\n", tag[length])) {
        length++;
    }
    if (!length || reader->depth == DEPTH_MAX || (!reader->depth && reader->stack[0].length)) {
        return refuse(err, "unexpected elements");
    }
    static const char encoded[] = "Encoded=\"true\"";
    struct element *element = &reader->stack[reader->depth++];
    *element = (struct element){.name = tag, .length = length};
    element->is_encoded = memmem(tag, (size_t)(close - tag), encoded, strlen(encoded)) != NULL;
    reader->text = close + 1;
    if (reader->depth == 3) {
        reader->entry = (struct blob_entry){.token = "", .modified = ""};
    }
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
    const struct element *element = &reader->stack[MAX(reader->depth - 1, 0)];
    if (!reader->depth || element->length != length || memcmp(element->name, name, length) != 0) {
        return refuse(err, "elements that do not match");
    }
    return end_element(reader, open, err);
}

int blob_list_read(char *text, size_t size, blob_each *each, void *context, const char **ret_marker,
                   struct error *err) {
    struct reader reader = {
        .at = text, .end = text + size, .marker = "", .each = each, .context = context};
    while (reader.at < reader.end) {
        char *open = memchr(reader.at, '<', (size_t)(reader.end - reader.at));
        char *close = open ? tag_end(open, reader.end) : NULL;
        if (!open) {
            break;
        }
        if (!close || close - open < 2 || open[1] == '!') {
            return refuse(err, "a tag that does not end");
        }
        int result = open[1] == '?'   ? 0
                     : open[1] == '/' ? end_tag(&reader, open, close, err)
                                      : start_element(&reader, open + 1, close, err);
        if (result < 0) {
            return -1;
        }
        reader.at = close + 1;
    }
    if (reader.depth || !element_is(&reader.stack[0], "EnumerationResults")) {
        return refuse(err, reader.depth ? "it is cut off" : "unknown content");
    }
    *ret_marker = reader.marker;
    return 0;
}
