/* level_runs.h: Parquet's hybrid of run lengths and bit packing, for levels and for indices of a
 * dictionary (https://parquet.apache.org/docs/file-format/data-pages/encodings, RLE). Pure. */
#pragma once

#include "lib/buffer.h"

/* Bits for values up to this one: 0 for 0, 3 for 5. */
int level_runs_bits(uint32_t most);
/* Appends the values, each below 2^bits; bits: 1 to 32. The last packed run is filled up with
 * zeros. EXHAUSTED: the buffer is full. */
NODISCARD int level_runs_add(struct buffer *out, const uint32_t *values, size_t count, int bits,
                             struct error *err);
