// SPDX-License-Identifier: Apache-2.0
#include "lib/number/keyed_hash.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static uint64_t process_key[2];
static unsigned __int128 multiplier;
static pthread_once_t key_drawn = PTHREAD_ONCE_INIT;

static void draw_key(void) {
    uint64_t drawn[4];
    if (getrandom(drawn, sizeof drawn, 0) != sizeof drawn) { /* up to 256 bytes come whole */
        fprintf(stderr, "cannot get random numbers from the system\n");
        abort();
    }
    memcpy(process_key, drawn, sizeof process_key);
    multiplier = (unsigned __int128)drawn[2] << 64 | drawn[3];
}

static uint64_t rotate(uint64_t value, int bits) {
    return value << bits | value >> (64 - bits);
}

/* Aumasson and Bernstein, "SipHash: a fast short-input PRF", section 2.2. */
static void sip_round(uint64_t v[static 4]) {
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] = rotate(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] = rotate(v[2], 32);
}

static struct keyed_hash_state begin(const uint64_t key[static 2]) {
    return (struct keyed_hash_state){
        .state = {key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d,
                  key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573}};
}

static void add(struct keyed_hash_state *hash, uint64_t word) {
    hash->state[3] ^= word;
    sip_round(hash->state);
    hash->state[0] ^= word;
}

/* last: up to seven bytes, and the length modulo 256 in the highest byte. */
static uint64_t end(struct keyed_hash_state *hash, uint64_t last) {
    add(hash, last);
    hash->state[2] ^= 0xff;
    for (int i = 0; i < 3; i++) {
        sip_round(hash->state);
    }
    return hash->state[0] ^ hash->state[1] ^ hash->state[2] ^ hash->state[3];
}

uint64_t keyed_hash_with(const uint64_t key[static 2], const void *bytes, size_t size) {
    struct keyed_hash_state hash = begin(key);
    const unsigned char *at = bytes;
    size_t left = size;
    for (; left >= 8; at += 8, left -= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        add(&hash, word);
    }
    uint64_t last = (uint64_t)size << 56;
    for (size_t i = 0; i < left; i++) {
        last |= (uint64_t)at[i] << (8 * i);
    }
    return end(&hash, last);
}

uint64_t keyed_hash(const void *bytes, size_t size) {
    pthread_once(&key_drawn, draw_key);
    return keyed_hash_with(process_key, bytes, size);
}

struct keyed_hash_state keyed_hash_begin(void) {
    pthread_once(&key_drawn, draw_key);
    return begin(process_key);
}

void keyed_hash_add(struct keyed_hash_state *hash, uint64_t number) {
    add(hash, number);
    hash->count++;
}

uint64_t keyed_hash_end(struct keyed_hash_state *hash) {
    return end(hash, hash->count << 59);
}

/* Multiply-shift by 128 random bits (Dietzfelbinger): the upper half of the product. */
uint64_t keyed_hash_number(uint64_t number) {
    pthread_once(&key_drawn, draw_key);
    return (uint64_t)((multiplier * number) >> 64);
}
