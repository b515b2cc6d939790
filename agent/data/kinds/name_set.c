// SPDX-License-Identifier: Apache-2.0
/* Open addressing, at most three quarters full. */
#include "agent/data/kinds/name_set.h"

#include "lib/number/keyed_hash.h"

#include <locale.h>
#include <stdlib.h>
#include <wctype.h>

enum { ROOM_FIRST = 1024 };

struct name_set {
    uint64_t *hashes; /* 0: empty */
    size_t count, room;
    locale_t locale; /* of the folding; 0: names are compared by bytes */
};

struct name_set *name_set_new(bool folds) {
    struct name_set *set = x_calloc(1, sizeof *set);
    set->room = ROOM_FIRST;
    set->hashes = x_calloc(set->room, sizeof *set->hashes);
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

/* Where the hash is, or would be. */
static size_t find(const uint64_t *hashes, size_t room, uint64_t hash) {
    size_t at = (size_t)hash & (room - 1);
    while (hashes[at] && hashes[at] != hash) {
        at = (at + 1) & (room - 1);
    }
    return at;
}

static void grow(struct name_set *set) {
    size_t room = set->room * 2;
    uint64_t *hashes = x_calloc(room, sizeof *hashes);
    for (size_t i = 0; i < set->room; i++) {
        if (set->hashes[i]) {
            hashes[find(hashes, room, set->hashes[i])] = set->hashes[i];
        }
    }
    free(set->hashes);
    set->hashes = hashes;
    set->room = room;
}

bool name_set_has(const struct name_set *set, char kind, const char *name, size_t size) {
    return set->hashes[find(set->hashes, set->room, hash_of(set, kind, name, size))] != 0;
}

bool name_set_add(struct name_set *set, char kind, const char *name, size_t size) {
    uint64_t hash = hash_of(set, kind, name, size);
    size_t at = find(set->hashes, set->room, hash);
    if (set->hashes[at]) {
        return true;
    }
    if (set->count == NAME_SET_MAX) {
        return false;
    }
    set->hashes[at] = hash;
    set->count++;
    if (set->count * 4 > set->room * 3) {
        grow(set);
    }
    return true;
}
