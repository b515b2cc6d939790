// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/pod/shell_words.h"

#include <stdlib.h>
#include <string.h>

/* First words that have a special meaning in a shell. */
static const char *const shell_words[] = {
    "!",     "{",      "}",     "case",   "do",      "done",  "elif",    "else",     "esac",
    "fi",    "for",    "if",    "in",     "then",    "until", "while",   "function", "select",
    "time",  "[[",     ".",     ":",      "alias",   "bg",    "break",   "cd",       "command",
    "eval",  "exec",   "exit",  "export", "fc",      "fg",    "getopts", "hash",     "jobs",
    "local", "let",    "read",  "return", "set",     "shift", "source",  "readonly", "times",
    "trap",  "ulimit", "umask", "unset",  "unalias", "wait",  "type",    "coproc",   "declare",
};

/* A line that is being split into words. */
struct reader {
    const char *at;
    char *word; /* room for the whole line */
    size_t size;
    bool is_word;    /* there is a word, possibly empty */
    bool is_quoted;  /* partly quoted */
    bool has_equals; /* begins with NAME=, unquoted */
};

static bool is_name(const char *text, size_t size) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    return size > 0 && !(text[0] >= '0' && text[0] <= '9') && strspn(text, letters) >= size;
}

static void put(struct reader *reader, char byte) {
    reader->word[reader->size++] = byte;
    reader->is_word = true;
}

static bool read_single(struct reader *reader) {
    reader->is_word = reader->is_quoted = true;
    for (reader->at++; *reader->at && *reader->at != '\''; reader->at++) {
        put(reader, *reader->at);
    }
    return *reader->at++ == '\'';
}

static bool read_double(struct reader *reader) {
    reader->is_word = reader->is_quoted = true;
    for (reader->at++; *reader->at && *reader->at != '"'; reader->at++) {
        if (*reader->at == '$' || *reader->at == '`') {
            return false;
        }
        if (*reader->at == '\\' && reader->at[1] && strchr("\"\\$`", reader->at[1])) {
            reader->at++;
        } else if (*reader->at == '\\' && reader->at[1] == '\n') {
            return false;
        }
        put(reader, *reader->at);
    }
    return *reader->at && *reader->at++ == '"';
}

/* Reads one word. False: only a shell can parse it. */
static bool read_word(struct reader *reader) {
    reader->size = 0;
    reader->is_word = reader->is_quoted = reader->has_equals = false;
    reader->at += strspn(reader->at, " \t");
    while (*reader->at && *reader->at != ' ' && *reader->at != '\t') {
        char byte = *reader->at;
        if (byte == '\'' ? !read_single(reader) : byte == '"' ? !read_double(reader) : false) {
            return false;
        }
        if (byte == '\'' || byte == '"') {
            continue;
        }
        if (strchr("|&;<>()$`*?[]{}!\n\r", byte) || (byte == '~' && !reader->size) ||
            (byte == '#' && !reader->is_word)) {
            return false;
        }
        if (byte == '~' && (reader->has_equals || reader->word[reader->size - 1] == '=')) {
            return false; /* a home folder, in assignments */
        }
        if (byte == '\\') {
            byte = *++reader->at;
            reader->is_quoted = true;
            if (!byte || byte == '\n') {
                return false;
            }
        } else if (byte == '=' && !reader->is_quoted && is_name(reader->word, reader->size)) {
            reader->has_equals = true;
        }
        put(reader, byte);
        reader->at++;
    }
    return true;
}

static void add(struct shell_words *words, const char *text, size_t size) {
    words->items = x_realloc_array(words->items, words->count + 2, sizeof *words->items);
    words->items[words->count++] = x_strndup(text, size);
    words->items[words->count] = NULL;
}

static bool is_for_shells(const char *word) {
    for (size_t i = 0; i < ARRAY_LEN(shell_words); i++) {
        if (strcmp(word, shell_words[i]) == 0) {
            return true;
        }
    }
    return *word == 0;
}

bool shell_words_split(const char *line, struct shell_words *ret_words) {
    size_t size = strlen(line);
    struct shell_words words = {0};
    if (size > SHELL_WORDS_LINE_MAX) {
        return false;
    }
    AUTO(text_freep) char *room = x_malloc(size + 1);
    struct reader reader = {.at = line, .word = room};
    bool is_plain = true;
    while ((is_plain = read_word(&reader)) && reader.is_word) {
        words.assigned += reader.has_equals && words.assigned == words.count;
        add(&words, reader.word, reader.size);
    }
    if (!is_plain || words.assigned == words.count || is_for_shells(words.items[words.assigned])) {
        shell_words_release(&words);
        return false;
    }
    *ret_words = words;
    return true;
}

void shell_words_release(struct shell_words *words) {
    for (size_t i = 0; i < words->count; i++) {
        free(words->items[i]);
    }
    free(words->items);
    *words = (struct shell_words){0};
}
