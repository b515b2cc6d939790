/* strided.h: where the elements of a value are, behind nodes that only move them. A kernel that
 * reads its operand with strides needs no Transpose, Split, Slice, Expand, or Gather of one index
 * in front of it. */
#pragma once

#include "agent/engine/graph/schedule.h"

/* Element i of the value is at offset + the sum of i[d] * strides[d] in the memory of `slot`; all
 * in elements. */
struct strided {
    int slot;
    int64_t offset;
    struct shape shape;
    int64_t strides[TENSOR_RANK_MAX]; /* >= 0; 0: repeated */
};

/* Goes back from the slot, which has a shape of at most TENSOR_RANK_MAX dimensions, through steps
 * without a kernel and through views, as far as strides can say where elements are. */
void strided_find(const struct schedule *schedule, int slot, struct strided *ret_strided);

/* Empties steps that only move elements and whose results no step reads any longer, because their
 * readers read with strides. */
void strided_drop_unread(struct schedule *schedule);
