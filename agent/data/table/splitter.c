// SPDX-License-Identifier: Apache-2.0
#include "agent/data/table/splitter.h"

#include <assert.h>
#include <stdlib.h>

struct splitter {
    struct splitter_options options;
    enum split_state state;
    int64_t at;          /* everything before is known */
    int64_t row_first;   /* where the row at `at` begins (CSV) */
    int64_t block_first; /* everything before has been emitted */
    bool waits;          /* a target has been passed, but its row has not ended */
};

struct splitter *splitter_new(const struct splitter_options *options) {
    struct splitter *splitter = x_calloc(1, sizeof *splitter);
    splitter->options = *options;
    splitter->state = SPLIT_FIELD;
    splitter->at = splitter->row_first = splitter->block_first = options->first;
    return splitter;
}

void splitter_free(struct splitter *splitter) {
    free(splitter);
}

void splitter_freep(struct splitter **splitter) {
    splitter_free(TAKE(*splitter));
}

int64_t splitter_next(const struct splitter *splitter) {
    int64_t block_bytes = splitter->options.block_bytes;
    if (splitter->options.format == SPLIT_CSV || splitter->waits) {
        return splitter->at;
    }
    return MAX(splitter->at, (splitter->at / block_bytes + 1) * block_bytes - 1);
}

/* A cut that two targets share makes one block. */
static int cut_at(struct splitter *splitter, int64_t end, split_block *block, void *context,
                  struct error *err) {
    int64_t first = splitter->block_first;
    if (end <= first) {
        return 0;
    }
    splitter->block_first = end;
    return block(context, first, end, err);
}

/* A row that ends within the chunk in which it began is no longer than a chunk. */
static int check_row(struct splitter *splitter, const struct split_chunk *chunk,
                     const struct split_run *run, struct error *err) {
    int64_t end = run->first_end < 0 ? chunk->offset + chunk->size : run->first_end;
    if (splitter->options.format == SPLIT_CSV &&
        end - splitter->row_first > splitter->options.row_bytes_max) {
        return error_set(err, ERROR_INVALID,
                         "%s: the row at byte %lld is longer than %lld bytes; is a quote not "
                         "closed?",
                         splitter->options.name, (long long)splitter->row_first,
                         (long long)splitter->options.row_bytes_max);
    }
    splitter->row_first = run->last_end < 0 ? splitter->row_first : run->last_end;
    return 0;
}

int splitter_add(struct splitter *splitter, const struct split_chunk *chunk, split_block *block,
                 void *context, struct error *err) {
    assert(chunk->offset >= splitter->at && chunk->offset <= splitter_next(splitter));
    assert(chunk->block_bytes == splitter->options.block_bytes);
    const struct split_run *run = &chunk->runs[chunk->run_of[splitter->state]];
    if (check_row(splitter, chunk, run, err) < 0) {
        return -1;
    }
    if (splitter->waits && run->first_end >= 0) {
        splitter->waits = false;
        if (cut_at(splitter, run->first_end, block, context, err) < 0) {
            return -1;
        }
    }
    int64_t end = chunk->offset + chunk->size;
    int64_t targets = end / chunk->block_bytes - chunk->offset / chunk->block_bytes;
    for (int64_t i = 0; i < targets; i++) {
        if (run->cut[i] < 0) {
            splitter->waits = true;
            break;
        }
        if (cut_at(splitter, run->cut[i], block, context, err) < 0) {
            return -1;
        }
    }
    splitter->state = run->end;
    splitter->at = end;
    return 0;
}

int splitter_end(struct splitter *splitter, int64_t size_bytes, split_block *block, void *context,
                 struct error *err) {
    return cut_at(splitter, size_bytes, block, context, err);
}
