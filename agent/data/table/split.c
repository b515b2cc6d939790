// SPDX-License-Identifier: Apache-2.0
#include "agent/data/table/split.h"

#include <assert.h>
#include <string.h>

size_t split_mark(const char *data, size_t size) {
    return size >= 3 && memcmp(data, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
}

/* Offset of the byte in [at, end), or end. */
static size_t find(const char *data, size_t at, size_t end, char byte) {
    const char *found = at < end ? memchr(data + at, byte, end - at) : NULL;
    return found ? (size_t)(found - data) : end;
}

/* Outside quotes at `at`: the quote in [at, end) that opens a field, or end. begins: a field begins
 * at `at`; at other places the byte before shows whether one begins. */
static size_t outside_end(const char *data, size_t at, size_t end, bool begins) {
    for (size_t quote = find(data, at, end, '"'); quote < end;
         quote = find(data, quote + 1, end, '"')) {
        if (quote == at ? begins : data[quote - 1] == ',' || data[quote - 1] == '\n') {
            return quote;
        }
    }
    return end;
}

/* Between quotes at `at`: returns the byte after the closing quote, with *ret_state PLAIN; or end,
 * with QUOTED or QUOTE. Bytes after the closing quote are treated as in a plain field. */
static size_t inside_end(const char *data, size_t at, size_t end, enum split_state *ret_state) {
    while (true) {
        size_t quote = find(data, at, end, '"');
        if (quote + 1 >= end) {
            *ret_state = quote < end ? SPLIT_QUOTE : SPLIT_QUOTED;
            return end;
        }
        if (data[quote + 1] != '"') {
            *ret_state = SPLIT_PLAIN;
            return quote + 1;
        }
        at = quote + 2;
    }
}

/* The state at the end of [at, end), which is outside quotes: FIELD or PLAIN. */
static enum split_state outside_state(const char *data, size_t at, size_t end,
                                      enum split_state before) {
    if (end == at) {
        return before;
    }
    return data[end - 1] == ',' || data[end - 1] == '\n' ? SPLIT_FIELD : SPLIT_PLAIN;
}

struct scan {
    const char *data;
    size_t size;
    int64_t offset, block_bytes;
    size_t targets;
};

/* Collects the row ends in [at, end), which is outside quotes; the first *cuts targets already have
 * their cut. */
static void collect(const struct scan *scan, size_t at, size_t end, struct split_run *run,
                    size_t *cuts) {
    const char *last = at < end ? memrchr(scan->data + at, '\n', end - at) : NULL;
    if (!last) {
        return;
    }
    run->last_end = scan->offset + (last - scan->data) + 1;
    if (run->first_end < 0) {
        run->first_end = scan->offset + (int64_t)find(scan->data, at, end, '\n') + 1;
    }
    for (; *cuts < scan->targets; (*cuts)++) {
        int64_t number = scan->offset / scan->block_bytes + 1 + (int64_t)*cuts;
        int64_t target = number * scan->block_bytes;
        if (target > run->last_end) {
            return;
        }
        size_t from = MAX(at, (size_t)(target - scan->offset - 1));
        run->cut[*cuts] = scan->offset + (int64_t)find(scan->data, from, end, '\n') + 1;
    }
}

static void run_from(const struct scan *scan, enum split_format format, size_t at,
                     enum split_state state, struct split_run *run) {
    run->first_end = run->last_end = -1;
    size_t cuts = 0;
    while (true) {
        if (state == SPLIT_QUOTED) {
            at = inside_end(scan->data, at, scan->size, &state);
            if (state != SPLIT_PLAIN) {
                break;
            }
        }
        size_t end = format == SPLIT_CSV
                         ? outside_end(scan->data, at, scan->size, state == SPLIT_FIELD)
                         : scan->size;
        collect(scan, at, end, run, &cuts);
        if (end == scan->size) {
            state = outside_state(scan->data, at, end, state);
            break;
        }
        at = end + 1;
        state = SPLIT_QUOTED;
    }
    run->end = state;
    for (; cuts < scan->targets; cuts++) {
        run->cut[cuts] = -1;
    }
}

void split_scan(enum split_format format, const char *data, size_t size, int64_t offset,
                int64_t block_bytes, struct split_chunk *ret_chunk) {
    assert(size > 0 && size <= SPLIT_CHUNK_MAX && block_bytes > 0);
    int64_t targets = (offset + (int64_t)size) / block_bytes - offset / block_bytes;
    assert(targets <= SPLIT_CUTS);
    struct scan scan = {data, size, offset, block_bytes, (size_t)targets};
    ret_chunk->offset = offset;
    ret_chunk->size = (int64_t)size;
    ret_chunk->block_bytes = block_bytes;
    memset(ret_chunk->run_of, 0, sizeof ret_chunk->run_of);
    run_from(&scan, format, 0, SPLIT_PLAIN, &ret_chunk->runs[0]);
    if (format != SPLIT_CSV) {
        return;
    }
    run_from(&scan, format, 0, SPLIT_QUOTED, &ret_chunk->runs[1]);
    ret_chunk->run_of[SPLIT_QUOTED] = 1;
    if (data[0] == '"') { /* it opens a field or is the second of two; either way the state is
                             between quotes */
        run_from(&scan, format, 1, SPLIT_QUOTED, &ret_chunk->runs[2]);
        ret_chunk->run_of[SPLIT_FIELD] = ret_chunk->run_of[SPLIT_QUOTE] = 2;
    }
}

size_t split_row_end(enum split_format format, enum split_state *state, const char *data,
                     size_t size) {
    if (format != SPLIT_CSV) {
        size_t end = find(data, 0, size, '\n');
        return end < size ? end + 1 : 0;
    }
    size_t at = 0, newline = 0;
    enum split_state now = *state;
    if (now == SPLIT_QUOTE && size > 0) {
        at = data[0] == '"';
        now = at ? SPLIT_QUOTED : SPLIT_PLAIN;
    }
    while (at < size) {
        if (now == SPLIT_QUOTED) {
            at = inside_end(data, at, size, &now);
            continue;
        }
        if (newline <= at) { /* searched for only once, so that a row with many quotes is cheap */
            newline = find(data, at, size, '\n');
        }
        size_t end = outside_end(data, at, newline, now == SPLIT_FIELD);
        if (end == newline && newline < size) {
            *state = SPLIT_FIELD;
            return newline + 1;
        }
        now = end < newline ? SPLIT_QUOTED : outside_state(data, at, size, now);
        at = end < newline ? end + 1 : size;
    }
    *state = now;
    return 0;
}
