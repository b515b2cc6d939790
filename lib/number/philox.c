// SPDX-License-Identifier: Apache-2.0
/* The permutation is a balanced Feistel network over the next even number of bits with Philox as
 * its round function, repeated until the value is below count (cycle walking): from 64 values on at
 * most four times on average. */
#include "lib/number/philox.h"

#include <assert.h>

enum {
    PHILOX_ROUNDS = 10,
    FEISTEL_ROUNDS = 8,
    HALF_BITS_MIN = 4, /* in smaller networks some permutations are likelier */
};

enum purpose { PURPOSE_ORDER = 1, PURPOSE_BITS }; /* independent streams */

struct words {
    uint32_t at[4];
};

static struct words encrypt(struct words counter, uint64_t key) {
    uint32_t low = (uint32_t)key, high = (uint32_t)(key >> 32);
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * counter.at[0];
        uint64_t b = (uint64_t)0xCD9E8D57u * counter.at[2];
        counter = (struct words){{(uint32_t)(b >> 32) ^ counter.at[1] ^ low, (uint32_t)b,
                                  (uint32_t)(a >> 32) ^ counter.at[3] ^ high, (uint32_t)a}};
        low += 0x9E3779B9u;
        high += 0xBB67AE85u;
    }
    return counter;
}

static uint64_t first_half(struct words words) {
    return words.at[0] | (uint64_t)words.at[1] << 32;
}

static uint64_t key_of(uint64_t seed, int64_t epoch, enum purpose purpose) {
    return first_half(encrypt(
        (struct words){{(uint32_t)epoch, (uint32_t)(epoch >> 32), (uint32_t)purpose, 0}}, seed));
}

int64_t philox_permute(uint64_t seed, int64_t epoch, int64_t count, int64_t place) {
    assert(count >= 1 && count <= PHILOX_COUNT_MAX && place >= 0 && place < count);
    uint64_t key = key_of(seed, epoch, PURPOSE_ORDER);
    int bits = HALF_BITS_MIN;
    while ((int64_t)1 << 2 * bits < count) {
        bits++;
    }
    uint32_t mask = (uint32_t)(((uint64_t)1 << bits) - 1);
    int64_t value = place;
    do {
        uint32_t left = (uint32_t)(value >> bits), right = (uint32_t)value & mask;
        for (uint32_t round = 0; round < FEISTEL_ROUNDS; round++) {
            uint32_t mixed = encrypt((struct words){{right, round, 0, 0}}, key).at[0];
            uint32_t next = left ^ (mixed & mask);
            left = right;
            right = next;
        }
        value = (int64_t)left << bits | right;
    } while (value >= count);
    return value;
}

uint64_t philox_bits(uint64_t seed, int64_t epoch, int64_t sample, uint32_t draw) {
    uint64_t key = key_of(seed, epoch, PURPOSE_BITS);
    return first_half(
        encrypt((struct words){{(uint32_t)sample, (uint32_t)(sample >> 32), draw, 0}}, key));
}

double philox_unit(uint64_t bits) {
    return (double)(bits >> 11) * 0x1p-53;
}

int64_t philox_below(uint64_t bits, int64_t count) {
    assert(count >= 1 && count < (int64_t)1 << 32);
    return (int64_t)((bits >> 32) * (uint64_t)count >> 32);
}
