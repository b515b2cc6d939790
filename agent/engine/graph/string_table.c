// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/graph/string_table.h"

#include "lib/arena.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct entry {
    size_t at, size; /* in bytes */
};

struct string_table {
    char *bytes; /* all strings, concatenated */
    size_t bytes_used, bytes_room;
    struct entry *entries; /* indexed by number */
    size_t count;
    int64_t *places; /* hash table of numbers; -1: free. Its size is a power of two, at least twice
                        the count */
    size_t room;
    uint64_t seed;
};

static void free_strings(void *thing) {
    struct string_table *strings = thing;
    free(strings->bytes);
    free(strings->entries);
    free(strings->places);
    free(strings);
}

static void clear_places(struct string_table *strings, size_t room) {
    strings->places = x_realloc_array(strings->places, room, sizeof *strings->places);
    strings->room = room;
    memset(strings->places, 0xff, room * sizeof *strings->places);
}

struct string_table *string_table_new(struct arena *arena) {
    struct string_table *strings = x_calloc(1, sizeof *strings);
    clear_places(strings, 64);
    if (getrandom(&strings->seed, sizeof strings->seed, GRND_NONBLOCK) < 0) {
        strings->seed = (uint64_t)(uintptr_t)strings->places;
    }
    arena_keep(arena, strings, free_strings);
    return strings;
}

static int64_t *find_place(const struct string_table *strings, const char *bytes, size_t size) {
    uint64_t hash = strings->seed;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ (unsigned char)bytes[i]) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32;
    }
    size_t mask = strings->room - 1, at = hash & mask;
    for (; strings->places[at] >= 0; at = (at + 1) & mask) {
        struct attribute_string known = string_table_at(strings, strings->places[at]);
        if (known.size == size && (size == 0 || memcmp(known.bytes, bytes, size) == 0)) {
            break;
        }
    }
    return &strings->places[at];
}

static void grow(struct string_table *strings) {
    strings->entries = x_realloc_array(strings->entries, strings->room, sizeof *strings->entries);
    clear_places(strings, 2 * strings->room);
    for (size_t i = 0; i < strings->count; i++) {
        struct attribute_string text = string_table_at(strings, (int64_t)i);
        *find_place(strings, text.bytes, text.size) = (int64_t)i;
    }
}

int64_t string_table_add(struct string_table *strings, const char *bytes, size_t size) {
    int64_t known = *find_place(strings, bytes, size);
    if (known >= 0) {
        return known;
    }
    if (2 * (strings->count + 1) > strings->room || !strings->entries) {
        grow(strings);
    }
    if (strings->bytes_room - strings->bytes_used < size) {
        strings->bytes_room = 2 * (strings->bytes_room + size);
        strings->bytes = x_realloc(strings->bytes, strings->bytes_room);
    }
    if (size) {
        memcpy(strings->bytes + strings->bytes_used, bytes, size);
    }
    *find_place(strings, bytes, size) = (int64_t)strings->count;
    strings->entries[strings->count] = (struct entry){strings->bytes_used, size};
    strings->bytes_used += size;
    return (int64_t)strings->count++;
}

int64_t string_table_find(const struct string_table *strings, const char *bytes, size_t size) {
    return *find_place(strings, bytes, size);
}

struct attribute_string string_table_at(const struct string_table *strings, int64_t number) {
    assert(number >= 0 && number < (int64_t)strings->count);
    const struct entry *entry = &strings->entries[number];
    return (struct attribute_string){strings->bytes ? strings->bytes + entry->at : "", entry->size};
}
