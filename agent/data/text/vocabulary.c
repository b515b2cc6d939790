// SPDX-License-Identifier: Apache-2.0
#include "agent/data/text/vocabulary.h"

#include "lib/number/keyed_hash.h"

#include <stdlib.h>
#include <string.h>

void vocabulary_release(struct vocabulary *vocabulary) {
    free(vocabulary->entries);
    arena_release(&vocabulary->arena);
    *vocabulary = (struct vocabulary){0};
}

static struct vocabulary_entry *place_of(const struct vocabulary *vocabulary, const char *data,
                                         size_t size, uint32_t hash) {
    size_t mask = vocabulary->capacity - 1;
    for (size_t at = hash & mask;; at = (at + 1) & mask) {
        struct vocabulary_entry *entry = &vocabulary->entries[at];
        if (!entry->data ||
            (entry->hash == hash && entry->size == size && memcmp(entry->data, data, size) == 0)) {
            return entry;
        }
    }
}

static void enlarge(struct vocabulary *vocabulary) {
    struct vocabulary_entry *old = vocabulary->entries;
    size_t old_capacity = vocabulary->capacity;
    vocabulary->capacity = MAX(2 * old_capacity, (size_t)256);
    vocabulary->entries = x_calloc(vocabulary->capacity, sizeof *vocabulary->entries);
    for (size_t i = 0; i < old_capacity; i++) {
        if (old[i].data) {
            *place_of(vocabulary, old[i].data, old[i].size, old[i].hash) = old[i];
        }
    }
    free(old);
}

int vocabulary_add(struct vocabulary *vocabulary, const char *data, size_t size, int32_t id,
                   struct error *err) {
    if (size > VOCABULARY_TOKEN_BYTES) {
        return error_set(err, ERROR_INVALID, "a token has %zu bytes, at most %d are read", size,
                         VOCABULARY_TOKEN_BYTES);
    }
    if (vocabulary->count >= VOCABULARY_TOKENS_MAX) {
        return error_set(err, ERROR_INVALID, "more than %d tokens", VOCABULARY_TOKENS_MAX);
    }
    if (2 * (vocabulary->count + 1) > vocabulary->capacity) {
        enlarge(vocabulary);
    }
    uint32_t hash = (uint32_t)keyed_hash(data, size);
    struct vocabulary_entry *entry = place_of(vocabulary, data, size, hash);
    if (!entry->data) {
        entry->data = arena_text(&vocabulary->arena, data, size);
        entry->size = (uint32_t)size;
        entry->hash = hash;
        vocabulary->count++;
        vocabulary->longest = MAX(vocabulary->longest, size);
    }
    entry->id = id;
    return 0;
}

int32_t vocabulary_find(const struct vocabulary *vocabulary, const char *data, size_t size) {
    if (vocabulary->capacity == 0 || size > vocabulary->longest) {
        return VOCABULARY_NONE;
    }
    const struct vocabulary_entry *entry =
        place_of(vocabulary, data, size, (uint32_t)keyed_hash(data, size));
    return entry->data ? entry->id : VOCABULARY_NONE;
}
