/* regex_set.h: sets of characters of a pattern (regex.h): ranges and classes of Unicode, in
 * brackets or alone. Read-only once it is made. */
#pragma once

#include "agent/data/text/unicode.h"

/* Characters that a set has, or with is_negated lacks. */
struct regex_item {
    unsigned first, last; /* a range; first > last: a class */
    unsigned categories;  /* enum unicode_category_bits */
    unsigned flags;       /* enum unicode_flag */
    bool is_negated;
    int32_t set; /* a set within the set, whose ignores_case does not count here; -1: none */
};
struct regex_set {
    struct regex_item *items; /* owned */
    size_t count;
    bool is_negated;
    bool ignores_case;
    uint64_t ascii[2]; /* the first 128 characters, when it is sealed */
};
struct regex_sets {
    struct regex_set *sets;
    size_t count, items; /* of all sets */
};

enum { REGEX_SETS_MAX = 1024, REGEX_ITEMS_MAX = 4096 };

void regex_sets_release(struct regex_sets *sets);
/* A new, empty one: its place; -1: there are too many. */
int32_t regex_sets_add(struct regex_sets *sets);
/* Adds to a set. False: the pattern has too many items. */
bool regex_sets_put(struct regex_sets *sets, int32_t set, struct regex_item item);
/* A class by its letter (s, d, w, h and their capitals), or by its name, "L", "Lu", "^N",
 * "Letter". False: it is not known. */
bool regex_item_of_letter(char letter, struct regex_item *ret_item);
bool regex_item_of_name(const char *name, size_t size, struct regex_item *ret_item);
/* When it has all its items. */
void regex_set_seal(const struct regex_sets *sets, int32_t set);
bool regex_set_has_slowly(const struct regex_sets *sets, int32_t set, unsigned code);

static inline bool regex_set_has(const struct regex_sets *sets, int32_t set, unsigned code) {
    return code < 128 ? sets->sets[set].ascii[code >> 6] >> (code & 63) & 1
                      : regex_set_has_slowly(sets, set, code);
}
