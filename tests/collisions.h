/* collisions.h: keys chosen so that a well-known hash without a key gives all of them one place of
 * a table, as a hostile file has them; and what a table makes of such keys. */
#pragma once

#include "lib/base.h"

#include <string.h>

/* The hash of a table before it had a key: of the eight bytes of a number. */
typedef uint64_t (*known_hash)(uint64_t number);

/* Fills numbers, without zero bytes, whose hash ends in `bits` zeros. */
static inline void choose_collisions(known_hash hash, int bits, uint64_t *numbers, size_t count) {
    uint64_t number = 0x3031323334353637;
    for (size_t i = 0; i < count; number++) {
        bool has_zero = ((number - 0x0101010101010101) & ~number & 0x8080808080808080) != 0;
        if (!has_zero && hash(number) << (64 - bits) == 0) {
            numbers[i++] = number;
        }
    }
}

/* The most places in a row that are taken: this many are looked at for a key that is not there. */
static inline size_t longest_walk(const bool *is_taken, size_t room) {
    size_t longest = 0, walk = 0;
    for (size_t i = 0; i < 2 * room && walk < room; i++) { /* twice: a walk goes on at the start */
        walk = is_taken[i % room] ? walk + 1 : 0;
        longest = MAX(longest, walk);
    }
    return longest;
}
