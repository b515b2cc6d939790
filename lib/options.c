// SPDX-License-Identifier: Apache-2.0
#include "lib/options.h"

#include "lib/text/nearest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTIONS_MAX = 64 };

static const struct option *find_option(const struct option *options, const char *word,
                                        const char **ret_value) {
    *ret_value = NULL;
    for (const struct option *row = options; row->name; row++) {
        size_t length = strlen(row->name);
        if (text_starts(word, "--") && strncmp(word + 2, row->name, length) == 0 &&
            (word[2 + length] == 0 || word[2 + length] == '=')) {
            *ret_value = word[2 + length] == '=' ? word + 3 + length : NULL;
            return row;
        }
        if (row->letter && word[0] == '-' && word[1] == row->letter) {
            *ret_value = word[2] ? word + 2 : NULL;
            return row;
        }
    }
    return NULL;
}

/* Refuses an unknown option, with the one that it may be meant to be. */
static int refuse(const struct option *options, const char *word, struct error *err) {
    const char *names[OPTIONS_MAX];
    size_t count = 0;
    for (const struct option *row = options; row->name && count < OPTIONS_MAX; row++) {
        if (row->help) {
            names[count++] = row->name;
        }
    }
    AUTO(text_freep) char *name = x_strndup(word, strcspn(word, "="));
    const char *near =
        text_starts(name, "--") ? nearest_word(names, count, name + strlen("--")) : NULL;
    return near
               ? error_set(err, ERROR_INVALID,
                           "%s: unknown option; did you mean --%s? (--help lists them)", word, near)
               : error_set(err, ERROR_INVALID, "%s: unknown option (--help lists them)", word);
}

static int list_add(struct option_list *list, const char *value, const char *what,
                    struct error *err) {
    if (list->count == ARRAY_LEN(list->values)) {
        return error_set(err, ERROR_INVALID, "%s: given more than %zu times", what,
                         ARRAY_LEN(list->values));
    }
    list->values[list->count++] = value;
    return 0;
}

static int store_value(const struct option *row, const char *value, struct error *err) {
    char *end;
    switch (row->kind) {
    case OPTION_FLAG:
        *(bool *)row->target = true;
        return 0;
    case OPTION_TEXT:
        *(const char **)row->target = value;
        return 0;
    case OPTION_LIST:
        return list_add(row->target, value, row->name, err);
    case OPTION_INTEGER:
        errno = 0;
        int64_t number = strtoll(value, &end, 10);
        if (errno || end == value || *end) {
            return error_set(err, ERROR_INVALID, "--%s: '%s' is not a whole number", row->name,
                             value);
        }
        *(int64_t *)row->target = number;
        return 0;
    }
    return error_set(err, ERROR_BUG, "--%s: unknown kind of option", row->name);
}

/* "-0.5" always, "-inf" unless there is a flag -i. */
static bool is_number(const struct option *options, const char *word) {
    const char *ignored;
    char *end;
    if ((word[1] >= '0' && word[1] <= '9') || word[1] == '.') {
        return true;
    }
    strtod(word, &end);
    return end != word && !*end && !find_option(options, word, &ignored);
}

/* 0; 1: --help was given; -1: error. */
static int parse(int argc, char **argv, const struct option *options, struct option_list *ret_words,
                 struct error *err) {
    bool flags_ended = false;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (flags_ended || word[0] != '-' || word[1] == 0 || is_number(options, word)) {
            if (list_add(ret_words, word, "arguments", err) < 0) {
                return -1;
            }
            continue;
        }
        if (strcmp(word, "--") == 0) {
            flags_ended = true;
            continue;
        }
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            return 1;
        }
        const char *value;
        const struct option *row = find_option(options, word, &value);
        if (!row) {
            return refuse(options, word, err);
        }
        if (row->kind == OPTION_FLAG && value) {
            return error_set(err, ERROR_INVALID, "%s: --%s takes no value", word, row->name);
        }
        if (row->kind != OPTION_FLAG && !value && i + 1 < argc) {
            value = argv[++i];
        }
        if (row->kind != OPTION_FLAG && !value) {
            return error_set(err, ERROR_INVALID, "--%s: a value is missing (%s)", row->name,
                             row->value_name);
        }
        if (store_value(row, value, err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Prints a line of help with the program's name as the user typed it. */
static void print_line(const char *program, const char *line, size_t length) {
    size_t word = strcspn(line, " ");
    bool is_plugin = strchr(program, ' ') && word < length;
    printf("%s%.*s\n", is_plugin ? program : "", (int)(is_plugin ? length - word : length),
           is_plugin ? line + word : line);
}

static void print_help(const struct command_help *help, const struct option *options,
                       const char *program) {
    printf("Usage: ");
    print_line(program, help->usage, strlen(help->usage));
    printf("\n%s\n\nOptions:\n", help->about);
    for (const struct option *row = options; row->name; row++) {
        if (!row->help) {
            continue;
        }
        char left[64];
        snprintf(left, sizeof left, "%c%c%s--%s%s%s", row->letter ? '-' : ' ',
                 row->letter ? row->letter : ' ', row->letter ? ", " : "  ", row->name,
                 row->value_name ? " " : "", row->value_name ? row->value_name : "");
        bool is_wide = strlen(left) > 28; /* then its text begins in a line of its own */
        printf("  %-28s%s%*s%s\n", left, is_wide ? "\n" : " ", is_wide ? 31 : 0, "", row->help);
    }
    printf("  %-28s %s\n", "-h, --help", "Print this text.");
    for (const char *line = help->examples; line && *line; line += strspn(line, "\n")) {
        size_t length = strcspn(line, "\n");
        printf("%s  ", line == help->examples ? "\nExamples:\n" : "");
        print_line(program, line, length);
        line += length;
    }
}

int options_read(int argc, char **argv, const struct command_help *help,
                 const struct option *options, struct option_list *ret_words, struct error *err) {
    int result = parse(argc, argv, options, ret_words, err);
    if (result != 0) {
        if (result > 0) {
            print_help(help, options, argv[0]);
        }
        return result;
    }
    if (ret_words->count > help->words_max) {
        return error_set(err, ERROR_INVALID, "unexpected argument %s (usage: %s)",
                         ret_words->values[help->words_max], help->usage);
    }
    if (ret_words->count < help->words_min) {
        return error_set(err, ERROR_INVALID, "an argument is missing (%s)", help->usage);
    }
    return 0;
}
