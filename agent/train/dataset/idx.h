/* idx.h: the header of an IDX file (MNIST's format): 0, 0, type, rank, then sizes of 4 bytes each,
 * big-endian; elements follow. Only unsigned bytes are supported. Pure. */
#pragma once

#include "lib/error.h"

enum { IDX_RANK_MAX = 4 };

struct idx {
    int rank;                   /* 1..IDX_RANK_MAX */
    int64_t dims[IDX_RANK_MAX]; /* each >= 1 */
    size_t head_bytes;
    size_t item_bytes; /* of one index of the first axis */
};

/* Parses a whole file, which must have exactly the elements that its header announces. INVALID, or
 * UNSUPPORTED (another type); errors do not name the file. */
NODISCARD int idx_parse(const void *data, size_t size, struct idx *ret_idx, struct error *err);
/* How many bytes a file has that begins so, with all of its header; 0: idx_parse refuses it. */
size_t idx_size(const void *head, size_t size);
