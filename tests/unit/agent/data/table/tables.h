/* tables.h: random tables, and their rows found byte by byte: slow, short, and independent of
 * split.c. */
#pragma once

#include "agent/data/table/splitter.h"
#include "tests/seed.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t table_random_state;

/* [0, below) */
static inline size_t table_random(size_t below) {
    return (size_t)test_below(&table_random_state, below);
}
static inline uint64_t table_rounds(uint64_t usual) {
    return MAX((uint64_t)test_rounds(0) * 100, MAX(usual / (uint64_t)test_divisor(), 1));
}
static inline void table_random_start(uint64_t seed, uint64_t round) {
    table_random_state = test_mix(seed) + test_mix(round + 1);
}

/* The states of Python's csv for each byte, as far as they matter for rows. */
static inline enum split_state table_step(enum split_format format, enum split_state state,
                                          char byte) {
    if (format != SPLIT_CSV) {
        return byte == '\n' ? SPLIT_FIELD : SPLIT_PLAIN;
    }
    if (state == SPLIT_QUOTED) {
        return byte == '"' ? SPLIT_QUOTE : SPLIT_QUOTED;
    }
    if (byte == '"' && (state == SPLIT_FIELD || state == SPLIT_QUOTE)) {
        return SPLIT_QUOTED;
    }
    return byte == ',' || byte == '\n' ? SPLIT_FIELD : SPLIT_PLAIN;
}

/* Sets ends[i] for each i after which a row of data ends (the last byte always ends one). */
static inline void table_row_ends(enum split_format format, const char *data, size_t size,
                                  bool *ends) {
    enum split_state state = SPLIT_FIELD;
    for (size_t i = 0; i < size; i++) {
        state = table_step(format, state, data[i]);
        ends[i] = state == SPLIT_FIELD && data[i] == '\n';
    }
}

/* size bytes, mostly those that are special in tables. */
static inline void table_noise(char *data, size_t size) {
    static const char bytes[] = "\"\"\"\",,,\n\n\n\r\t\\{}[]:ab \0\xC3\xA4";
    size_t kinds = 1 + table_random(sizeof bytes - 1), plain = table_random(20);
    for (size_t i = 0; i < size; i++) {
        data[i] = table_random(20) < plain ? 'x' : bytes[table_random(kinds)];
    }
}
