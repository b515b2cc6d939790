// SPDX-License-Identifier: Apache-2.0
#include "agent/data/parquet/write/value_table.h"

#include "lib/number/keyed_hash.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS = 2 * VALUE_TABLE_COUNT };

void value_table_init(struct value_table *table) {
    *table = (struct value_table){0};
    buffer_init(&table->bytes, VALUE_TABLE_BYTES);
}

void value_table_release(struct value_table *table) {
    buffer_release(&table->bytes);
    free(table->ends);
    free(table->slots);
    value_table_init(table);
}

void value_table_clear(struct value_table *table) {
    buffer_clear(&table->bytes);
    if (table->count) {
        memset(table->slots, 0, SLOTS * sizeof *table->slots);
    }
    table->count = 0;
}

static bool is_at(const struct value_table *table, size_t index, const void *value, size_t size) {
    size_t from = index ? table->ends[index - 1] : 0;
    return table->ends[index] - from == size && memcmp(table->bytes.data + from, value, size) == 0;
}

int64_t value_table_find(struct value_table *table, const void *value, size_t size) {
    struct error full = {0};
    if (!table->slots) {
        table->slots = x_calloc(SLOTS, sizeof *table->slots);
        table->ends = x_calloc(VALUE_TABLE_COUNT, sizeof *table->ends);
    }
    size_t slot = (size_t)keyed_hash(value, size) % SLOTS;
    for (; table->slots[slot]; slot = (slot + 1) % SLOTS) {
        if (is_at(table, table->slots[slot] - 1, value, size)) {
            return (int64_t)table->slots[slot] - 1;
        }
    }
    if (table->count == VALUE_TABLE_COUNT || buffer_append(&table->bytes, value, size, &full) < 0) {
        return -1;
    }
    table->ends[table->count++] = (uint32_t)table->bytes.size;
    table->slots[slot] = (uint32_t)table->count;
    return (int64_t)table->count - 1;
}
