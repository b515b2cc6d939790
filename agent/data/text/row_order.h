/* row_order.h: the "post_processor" of a tokenizer file: the order of one text or two, and of the
 * tokens that are added to them. Read-only once it is made. */
#pragma once

#include "agent/data/text/text_model.h"

enum { ROW_PARTS_MAX = 64 };

enum row_what { ROW_FIRST, ROW_SECOND, ROW_TOKEN };
struct row_part {
    enum row_what what;
    int32_t id;   /* ROW_TOKEN */
    uint8_t type; /* of its tokens, for an input like BERT's token_type_ids */
};
/* For one text, or for two. */
struct row_order {
    struct row_part parts[ROW_PARTS_MAX];
    size_t count;
    size_t added;  /* tokens */
    bool is_whole; /* it has a place for each text */
};
struct row_orders {
    struct row_order orders[2]; /* one text, two texts */
};
/* tree: NULL or null: the texts alone. UNSUPPORTED: a type that is not read. */
NODISCARD int row_order_read(const json_t *tree, struct row_orders *ret_orders, struct error *err);
