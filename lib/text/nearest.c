// SPDX-License-Identifier: Apache-2.0
#include "lib/text/nearest.h"

#include <ctype.h>
#include <string.h>

enum { WORD_MAX = 64 };

/* Levenshtein distance, ignoring case. Both texts have at most WORD_MAX characters. */
static size_t distance(const char *a, const char *b) {
    size_t row[WORD_MAX + 1];
    size_t length = strlen(b);
    for (size_t k = 0; k <= length; k++) {
        row[k] = k;
    }
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t k = 1; k <= length; k++) {
            bool same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[k - 1]);
            size_t best = MIN(diagonal + !same, MIN(row[k], row[k - 1]) + 1);
            diagonal = row[k];
            row[k] = best;
        }
    }
    return row[length];
}

/* "batchSize" for "miniBatchSize": the word is part of the name. */
static size_t unlikeness(const char *word, const char *key) {
    bool part = strlen(word) >= 4 && strcasestr(key, word) != NULL;
    return part ? MIN(1, distance(word, key)) : distance(word, key);
}

/* A better one than *near, or none. */
static void offer(const char *key, const char *word, const char **near, size_t *least) {
    if (strlen(key) <= WORD_MAX && unlikeness(word, key) < *least) {
        *least = unlikeness(word, key);
        *near = key;
    }
}

const char *nearest_word(const char *const *words, size_t count, const char *word) {
    const char *near = NULL;
    size_t least = MAX(strlen(word) / 3, 1) + 1;
    for (size_t i = 0; i < count && strlen(word) <= WORD_MAX; i++) {
        offer(words[i], word, &near, &least);
    }
    return near;
}

const char *nearest_key(const json_t *object, const char *word) {
    size_t length = strlen(word);
    if (length > WORD_MAX) {
        return NULL;
    }
    const char *near = NULL, *key;
    size_t least = MAX(length / 3, 1) + 1;
    json_t *ignored;
    json_object_foreach((json_t *)object, key, ignored) {
        offer(key, word, &near, &least);
    }
    return near;
}
