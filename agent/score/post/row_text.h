/* row_text.h: builds the record of a result as JSON text on one line: an object, with the item's
 * name as "file" first. Floats are written so that they read back bit for bit (decimal.h). For
 * records of many numbers, where a tree of values would take longer than the network. */
#pragma once

#include "agent/engine/tensor.h"
#include "agent/score/post/post_kind.h"
#include "lib/buffer.h"

enum { ROW_TEXT_BYTES_MAX = 64 << 20 };

struct row_text {
    struct buffer text;
};

/* All fail with EXHAUSTED if the text would be longer than ROW_TEXT_BYTES_MAX. */
NODISCARD int row_text_begin(struct row_text *row, const char *name, struct error *err);
void row_text_release(struct row_text *row); /* for AUTO, too */
/* Begins a member: the next call writes its value. */
NODISCARD int row_text_key(struct row_text *row, const char *key, struct error *err);
NODISCARD int row_text_string(struct row_text *row, const char *value, struct error *err);
/* JSON text as it is. */
NODISCARD int row_text_add(struct row_text *row, const char *json, struct error *err);
/* A list; what is not a finite number is null. */
NODISCARD int row_text_floats(struct row_text *row, const float *values, int64_t count,
                              struct error *err);
/* One number, or nested lists, of elements [first, first + count) of a tensor of any type; `shape`
 * is that of these elements. Whole numbers are exact. */
NODISCARD int row_text_values(struct row_text *row, const struct tensor *tensor, int64_t first,
                              const struct shape *shape, struct error *err);
/* Completes the record, and moves its text to the result. */
NODISCARD int row_text_end(struct row_text *row, struct post_result *result, struct error *err);

/* For records that hold outputs under their names. INVALID: one has the name of the item's own
 * member. */
NODISCARD int row_text_check_keys(const struct post_outputs *outputs, struct error *err);
