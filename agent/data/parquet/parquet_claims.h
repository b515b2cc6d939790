/* parquet_claims.h: checks the number of rows in a Parquet file's footer before mini-batches are
 * made of it. A few bytes can hold 2^31 rows of one value, and a footer can say so of any bytes.
 */
#pragma once

#include "agent/data/parquet/parquet_file.h"

/* Looks at a row group that has many rows in few bytes, less than a bit for each: reads the
 * page headers of its smallest column. Others are believed. INVALID: the pages have another number
 * of values, or cannot be read; errors do not name the file. Others are the source's. */
NODISCARD int parquet_claims_check(const struct parquet_file *file, size_t group,
                                   struct error *err);
