// SPDX-License-Identifier: Apache-2.0
#include "operator/manifest_excerpt.h"

#include "lib/text/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHOWN_MAX = 96,        /* characters */
    BEFORE_CARET = 64,     /* of them, where a line is cut at its left */
    LINE_BYTES_MAX = 65535 /* of a line in which all columns are known */
};

/* In any case of letters; a name that is misspelt at an end counts, too. Programs get keys as
 * arguments, and connection strings have passwords; last-applied: kubectl's copy of the whole
 * object. */
static bool has_secret_word(const char *text) {
    static const char *const words[] = {"env",     "header", "secret",     "passw",
                                        "credent", "apikey", "stringdata", "last-applied",
                                        "command", "args",   "connection", "query"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strcasestr(text, words[i])) {
            return true;
        }
    }
    return false;
}

bool manifest_excerpt_is_secret(const char *key) {
    size_t length = strlen(key), token = strlen("token");
    bool is_token = length >= token && strcasecmp(key + length - token, "token") == 0;
    return is_token || strcmp(key, "value") == 0 || has_secret_word(key);
}

/* Bytes of the line break at this place, of those that YAML 1.1 has; 0: none. */
static size_t break_size(const char *at, size_t left) {
    static const char *const breaks[] = {"\r\n",     "\n",           "\r",
                                         "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"};
    for (size_t i = 0; i < ARRAY_LEN(breaks); i++) {
        size_t size = strlen(breaks[i]);
        if (size <= left && memcmp(at, breaks[i], size) == 0) {
            return size;
        }
    }
    return 0;
}

/* The line, without its end; NULL: there is none. */
static const char *find_line(const char *text, size_t size, size_t line, size_t *ret_size) {
    size_t begin = 0, at = 0;
    bool is_wide =
        size >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0);
    for (; at < size && !is_wide; at++) {
        size_t end = break_size(text + at, size - at);
        if (end > 0 && --line == 0) {
            break;
        }
        at += end > 0 ? end - 1 : 0;
        begin = end > 0 ? at + 1 : begin;
    }
    *ret_size = at - begin;
    return is_wide || line > 1 || begin == size ? NULL : text + begin;
}

/* Bytes of the first `count` characters of a line of valid UTF-8. */
static size_t bytes_of(const char *line, size_t count) {
    size_t bytes = 0, length = strlen(line);
    while (count-- > 0 && bytes < length) {
        bytes += MAX(1, utf8_character(line + bytes, length - bytes));
    }
    return bytes;
}

static size_t characters_of(const char *line) {
    size_t count = 0;
    for (size_t at = 0, size = strlen(line); at < size; count++) {
        at += MAX(1, utf8_character(line + at, size - at));
    }
    return count;
}

char *manifest_excerpt_text(const char *text, size_t size, const struct manifest_excerpt *excerpt) {
    size_t length;
    const char *at = find_line(text, size, excerpt->line, &length);
    if (!at || length > LINE_BYTES_MAX) {
        return NULL;
    }
    AUTO(text_freep) char *line = x_strndup(at, length);
    utf8_make_line(line);
    bool is_cut = excerpt->end >= 0 && (size_t)excerpt->end < characters_of(line);
    if (is_cut) {
        line[bytes_of(line, (size_t)excerpt->end)] = 0;
    }
    size_t count = characters_of(line), caret = (size_t)MAX(excerpt->caret, 0);
    size_t first = caret <= count && caret > SHOWN_MAX ? caret - BEFORE_CARET : 0;
    char *shown = line + bytes_of(line, first);
    is_cut |= count - first > SHOWN_MAX;
    shown[bytes_of(shown, SHOWN_MAX)] = 0;
    const char *before = first ? "..." : "";
    AUTO(text_freep)
    char *all = x_printf("%6zu | %s%s%s\n", excerpt->line, before, shown, is_cut ? "..." : "");
    if (excerpt->caret < 0 || caret > count) {
        return TAKE(all);
    }
    return x_printf("%s%6s | %*s^\n", all, "", (int)(caret - first + strlen(before)), "");
}

char *manifest_excerpt_of_text(const char *text, size_t size, const char *name, const char *error) {
    size_t length, name_length = strlen(name);
    char *end;
    if (!text_starts(error, name) || error[name_length] != ':') {
        return NULL;
    }
    unsigned long line = strtoul(error + name_length + 1, &end, 10);
    const char *at = line ? find_line(text, size, line, &length) : NULL;
    if (!at || *end != ':') {
        return NULL;
    }
    AUTO(text_freep) char *until = x_strndup(text, (size_t)(at - text) + length);
    if (has_secret_word(until) || strstr(until, "data:") || strcasestr(until, "token:") ||
        strlen(until) < (size_t)(at - text) + length) {
        return NULL;
    }
    const struct manifest_excerpt excerpt = {.line = line, .caret = -1, .end = -1};
    return manifest_excerpt_text(text, size, &excerpt);
}
