// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/graph/texts.h"

#include "agent/engine/graph/arena.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct entry {
    size_t at, size; /* in bytes */
};

struct texts {
    char *bytes; /* all texts, concatenated */
    size_t bytes_used, bytes_room;
    struct entry *entries; /* indexed by number */
    size_t count;
    int64_t *places; /* hash table of numbers; -1: free. Its size is a power of two, at least twice
                        the count */
    size_t room;
    uint64_t seed;
};

static void free_texts(void *thing) {
    struct texts *texts = thing;
    free(texts->bytes);
    free(texts->entries);
    free(texts->places);
    free(texts);
}

static void clear_places(struct texts *texts, size_t room) {
    texts->places = x_realloc_array(texts->places, room, sizeof *texts->places);
    texts->room = room;
    memset(texts->places, 0xff, room * sizeof *texts->places);
}

struct texts *texts_new(struct arena *arena) {
    struct texts *texts = x_calloc(1, sizeof *texts);
    clear_places(texts, 64);
    if (getrandom(&texts->seed, sizeof texts->seed, GRND_NONBLOCK) < 0) {
        texts->seed = (uint64_t)(uintptr_t)texts->places;
    }
    arena_keep(arena, texts, free_texts);
    return texts;
}

static int64_t *find_place(const struct texts *texts, const char *bytes, size_t size) {
    uint64_t hash = texts->seed;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ (unsigned char)bytes[i]) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32;
    }
    size_t mask = texts->room - 1, at = hash & mask;
    for (; texts->places[at] >= 0; at = (at + 1) & mask) {
        struct attribute_text known = texts_at(texts, texts->places[at]);
        if (known.size == size && (size == 0 || memcmp(known.bytes, bytes, size) == 0)) {
            break;
        }
    }
    return &texts->places[at];
}

static void grow(struct texts *texts) {
    texts->entries = x_realloc_array(texts->entries, texts->room, sizeof *texts->entries);
    clear_places(texts, 2 * texts->room);
    for (size_t i = 0; i < texts->count; i++) {
        struct attribute_text text = texts_at(texts, (int64_t)i);
        *find_place(texts, text.bytes, text.size) = (int64_t)i;
    }
}

int64_t texts_add(struct texts *texts, const char *bytes, size_t size) {
    int64_t known = *find_place(texts, bytes, size);
    if (known >= 0) {
        return known;
    }
    if (2 * (texts->count + 1) > texts->room || !texts->entries) {
        grow(texts);
    }
    if (texts->bytes_room - texts->bytes_used < size) {
        texts->bytes_room = 2 * (texts->bytes_room + size);
        texts->bytes = x_realloc(texts->bytes, texts->bytes_room);
    }
    if (size) {
        memcpy(texts->bytes + texts->bytes_used, bytes, size);
    }
    *find_place(texts, bytes, size) = (int64_t)texts->count;
    texts->entries[texts->count] = (struct entry){texts->bytes_used, size};
    texts->bytes_used += size;
    return (int64_t)texts->count++;
}

int64_t texts_find(const struct texts *texts, const char *bytes, size_t size) {
    return *find_place(texts, bytes, size);
}

struct attribute_text texts_at(const struct texts *texts, int64_t number) {
    assert(number >= 0 && number < (int64_t)texts->count);
    const struct entry *entry = &texts->entries[number];
    return (struct attribute_text){texts->bytes ? texts->bytes + entry->at : "", entry->size};
}
