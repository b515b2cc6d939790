/* bit_runs.h: numbers packed into bits, and Parquet's RLE (Encodings.md): runs of one number and of
 * packed ones. Reads up to 8 bytes beyond the end of what it is given, so BIT_RUNS_PAD bytes must
 * be readable there. Pure. */
#pragma once

#include "lib/base.h"

enum { BIT_RUNS_PAD = 16, BIT_RUNS_WIDTH_MAX = 32 };

struct bit_runs {
    const uint8_t *at, *end; /* borrowed */
    int width;
    uint64_t left; /* of the current run */
    bool is_packed;
    uint32_t number;       /* of a run of one number */
    const uint8_t *packed; /* of a packed run ... */
    uint64_t bit;          /* ... its next bit */
};

/* width: 0 to BIT_RUNS_WIDTH_MAX */
struct bit_runs bit_runs_over(const uint8_t *data, size_t size, int width);
/* Takes `count` numbers. False: there are fewer, or the data is damaged. */
bool bit_runs_take(struct bit_runs *runs, size_t count, uint32_t *numbers);
/* If the next `count` numbers are of one run of one number, takes them. */
bool bit_runs_take_same(struct bit_runs *runs, size_t count, uint32_t *ret_number);

/* The number of this width, 1 to 64, at this bit. */
uint64_t bit_runs_number(const uint8_t *data, uint64_t bit, int width);
