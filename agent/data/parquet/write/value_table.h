/* value_table.h: the distinct values of a column of one row group, for a dictionary page. One
 * thread. */
#pragma once

#include "lib/buffer.h"

enum {
    VALUE_TABLE_BYTES = 1 << 20, /* maximum of all values */
    VALUE_TABLE_COUNT = 1 << 16,
};

struct value_table {
    struct buffer bytes; /* the values as a page has them (PLAIN) */
    uint32_t *ends;      /* where value i ends in bytes */
    uint32_t *slots;     /* hash table of indices plus one */
    size_t count;
};

void value_table_init(struct value_table *table);
void value_table_release(struct value_table *table);
void value_table_clear(struct value_table *table);
/* The index of the value with these bytes (PLAIN), which is added if it is new; -1: there is no
 * room for it. */
int64_t value_table_find(struct value_table *table, const void *value, size_t size);
