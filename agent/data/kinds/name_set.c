// SPDX-License-Identifier: Apache-2.0
/* Open addressing in the order of the hashes, at most nine tenths full: the entries of the table
 * are sorted, so that it can grow in its own place by an eighth. */
#include "agent/data/kinds/name_set.h"

#include "lib/number/keyed_hash.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <wctype.h>

enum {
    ROOM_FIRST = 1024,
    BEHIND = 4096, /* places after the room, for what the last places have no room for */
};

struct name_set {
    uint64_t *hashes; /* [room + BEHIND], 0: empty */
    size_t count, room;
    locale_t locale; /* of the folding; 0: names are compared by bytes */
};

struct name_set *name_set_new(bool folds) {
    struct name_set *set = x_calloc(1, sizeof *set);
    set->room = ROOM_FIRST;
    set->hashes = x_calloc(set->room + BEHIND, sizeof *set->hashes);
    set->locale = folds ? newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0) : (locale_t)0;
    if (folds && !set->locale) { /* at least the letters of ASCII */
        set->locale = newlocale(LC_CTYPE_MASK, "C", (locale_t)0);
    }
    return set;
}

void name_set_free(struct name_set *set) {
    if (set) {
        if (set->locale) {
            freelocale(set->locale);
        }
        free(set->hashes);
        free(set);
    }
}

/* The character at `at`, whose bytes are UTF-8. */
static uint32_t take_character(const char **at, const char *end) {
    uint32_t first = (unsigned char)*(*at)++;
    int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : first >= 0xC0 ? 1 : 0;
    uint32_t character = more ? first & (0x3Fu >> more) : first;
    for (; more > 0 && *at < end; more--) {
        character = character << 6 | ((unsigned char)*(*at)++ & 0x3F);
    }
    return character;
}

static uint64_t hash_of(const struct name_set *set, char kind, const char *name, size_t size) {
    const char *end = name + size;
    struct keyed_hash_state hash = keyed_hash_begin();
    keyed_hash_add(&hash, (unsigned char)kind);
    while (name < end) {
        uint32_t character = take_character(&name, end);
        if (set->locale) { /* by both: some letters have several small or capital forms */
            character = towlower_l(towupper_l(character, set->locale), set->locale);
        }
        keyed_hash_add(&hash, character);
    }
    uint64_t value = keyed_hash_end(&hash);
    return value ? value : 1;
}

/* The first place that a hash may have: in the order of the hashes. */
static size_t place_of(uint64_t hash, size_t room) {
    return (size_t)((unsigned __int128)hash * room >> 64);
}

/* Where the hash is, or would be; room + BEHIND: there is no place left. */
static size_t find(const struct name_set *set, uint64_t hash) {
    size_t at = place_of(hash, set->room), end = set->room + BEHIND;
    while (at < end && set->hashes[at] && set->hashes[at] < hash) {
        at++;
    }
    return at;
}

/* Gives the sorted hashes, which are the last `count` of the table, their places in it. */
static void spread(struct name_set *set) {
    size_t end = set->room + BEHIND, next = 0;
    for (size_t from = end - set->count; from < end; from++) {
        uint64_t hash = set->hashes[from];
        size_t at = MAX(place_of(hash, set->room), next);
        at = MIN(at, from); /* with random hashes the places after the room suffice */
        memset(set->hashes + next, 0, (at - next) * sizeof *set->hashes);
        set->hashes[at] = hash;
        next = at + 1;
    }
    memset(set->hashes + next, 0, (end - next) * sizeof *set->hashes);
}

static void grow(struct name_set *set) {
    size_t end = set->room + BEHIND;
    set->room += set->room / 8;
    set->hashes = x_realloc_array(set->hashes, set->room + BEHIND, sizeof *set->hashes);
    for (size_t from = end, to = set->room + BEHIND; from > 0; from--) {
        if (set->hashes[from - 1]) {
            set->hashes[--to] = set->hashes[from - 1];
        }
    }
    spread(set);
}

bool name_set_has(const struct name_set *set, char kind, const char *name, size_t size) {
    uint64_t hash = hash_of(set, kind, name, size);
    size_t at = find(set, hash);
    return at < set->room + BEHIND && set->hashes[at] == hash;
}

/* Puts the hash where `find` says, and moves those after it to the next empty place. */
static bool insert(struct name_set *set, size_t at, uint64_t hash) {
    size_t end = set->room + BEHIND, empty = at;
    while (empty < end && set->hashes[empty]) {
        empty++;
    }
    if (empty == end) {
        return false;
    }
    memmove(set->hashes + at + 1, set->hashes + at, (empty - at) * sizeof *set->hashes);
    set->hashes[at] = hash;
    return true;
}

bool name_set_add(struct name_set *set, char kind, const char *name, size_t size) {
    uint64_t hash = hash_of(set, kind, name, size);
    size_t at = find(set, hash);
    if (at < set->room + BEHIND && set->hashes[at] == hash) {
        return true;
    }
    if (set->count == NAME_SET_MAX) {
        return false;
    }
    while (!insert(set, at, hash)) {
        grow(set);
        at = find(set, hash);
    }
    set->count++;
    if (set->count * 10 > set->room * 9) {
        grow(set);
    }
    return true;
}
