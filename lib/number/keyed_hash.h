/* keyed_hash.h: hashes for tables whose keys come from files of others. Each process draws a random
 * key, so no one can prepare keys that collide (hash flooding). The values differ from process to
 * process: never store or send one, and let no output depend on a table's order. Any thread. */
#pragma once

#include "lib/base.h"

/* SipHash-1-3 of the bytes. All 64 bits are good. */
uint64_t keyed_hash(const void *bytes, size_t size);

/* The same for a sequence of numbers, each of which counts as 8 bytes: begin, add, ..., end. */
struct keyed_hash_state {
    uint64_t state[4];
    uint64_t count;
};
struct keyed_hash_state keyed_hash_begin(void);
void keyed_hash_add(struct keyed_hash_state *hash, uint64_t number);
uint64_t keyed_hash_end(struct keyed_hash_state *hash);

/* Of one number, several times faster: any two numbers share their lowest n bits with probability
 * 2^-n (strongly universal), which suffices where no one sees how long a look-up takes. */
uint64_t keyed_hash_number(uint64_t number);

/* SipHash-1-3 with a key of the caller's, for tests. */
uint64_t keyed_hash_with(const uint64_t key[static 2], const void *bytes, size_t size);
