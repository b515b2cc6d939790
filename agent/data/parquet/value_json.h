/* value_json.h: a value of a Parquet column as JSON. Pure.
 *
 * numbers, float16 and unsigned ones too: numbers, so that reading them gives the same value; NaN,
 * Infinity, -Infinity: these words as texts; decimals: numbers with all their digits; texts: as
 * they are, which must be UTF-8; bytes: texts in base64; uuid: as usual; date: "2026-11-28"; time:
 * "13:30:00.25"; timestamp: "2026-11-28T13:30:00.25", with a Z if it is in UTC; interval: an array
 * of months, days and ms. */
#pragma once

#include "agent/data/parquet/parquet_schema.h"
#include "lib/buffer.h"

/* values: as parquet_values_take gives them. EXHAUSTED: json is full; INVALID: the value has no
 * JSON; then a part may have been appended. */
NODISCARD int value_json_append(struct buffer *json, const struct parquet_leaf *column,
                                const void *values, size_t index, struct error *err);
