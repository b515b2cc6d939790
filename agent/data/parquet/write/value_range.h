/* value_range.h: smallest and largest value of a column of one row group, for its statistics
 * (https://parquet.apache.org/docs/file-format/metadata): numbers by value, texts by their bytes.
 * Of texts longer than VALUE_RANGE_BYTES there is none. One thread. */
#pragma once

#include "agent/data/parquet/write/parquet_column.h"
#include "lib/base.h"

enum { VALUE_RANGE_BYTES = 64 };

struct value_range {
    bool is_there; /* it has seen a value */
    bool is_lost;  /* a text was too long */
    size_t min_size, max_size;
    unsigned char min[VALUE_RANGE_BYTES], max[VALUE_RANGE_BYTES]; /* PLAIN, of texts the bytes */
};

void value_range_clear(struct value_range *range);
/* value: as PLAIN, of texts the bytes alone; of a number that is finite. */
void value_range_see(struct value_range *range, enum parquet_type type, const void *value,
                     size_t size);
/* False: statistics have no smallest and largest value. Zeros of floats get the signs that the
 * format wants. */
bool value_range_end(struct value_range *range, enum parquet_type type);
