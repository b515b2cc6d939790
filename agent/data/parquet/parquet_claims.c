// SPDX-License-Identifier: Apache-2.0
#include "agent/data/parquet/parquet_claims.h"

#include "agent/data/parquet/parquet_pages.h"

enum {
    ROWS_BELIEVED = 64 << 10, /* of a group, whatever its size */
    ROWS_OF_BYTE = 8,         /* believed without a look */
};

/* The column that is read with the fewest bytes; NULL: none is. */
static const struct parquet_leaf *smallest(const struct parquet_file *file,
                                           const struct parquet_group *group) {
    const struct parquet_leaf *found = NULL;
    for (size_t i = 0; i < file->schema.count; i++) {
        const struct parquet_leaf *column = &file->schema.columns[i];
        bool is_smaller =
            !found || group->chunks[column->leaf].size < group->chunks[found->leaf].size;
        found = !column->refusal && is_smaller ? column : found;
    }
    return found;
}

static int count_values(const struct parquet_file *file, const struct parquet_chunk *chunk,
                        int64_t *ret_values, struct error *err) {
    struct parquet_pages pages = {0};
    struct parquet_page_head head;
    int64_t values = 0;
    int got;
    parquet_pages_open(&pages, &file->source, chunk, PARQUET_PAGES_READ);
    while ((got = parquet_pages_head(&pages, &head, err)) > 0) {
        values +=
            head.type == PARQUET_PAGE_DATA || head.type == PARQUET_PAGE_DATA_V2 ? head.values : 0;
        parquet_pages_skip(&pages, &head);
    }
    parquet_pages_release(&pages);
    *ret_values = values;
    return got;
}

int parquet_claims_check(const struct parquet_file *file, size_t number, struct error *err) {
    const struct parquet_group *group = &file->groups[number];
    const struct parquet_leaf *column = smallest(file, group);
    const struct parquet_chunk *chunk = column ? &group->chunks[column->leaf] : NULL;
    int64_t values = 0;
    struct error why = {0};
    if (!chunk || group->rows <= ROWS_BELIEVED || group->rows / ROWS_OF_BYTE < chunk->size) {
        return 0;
    }
    if (count_values(file, chunk, &values, &why) < 0) {
        *err = why;
        return why.kind == ERROR_INVALID
                   ? error_context(err, "row group %zu: column \"%.64s\"", number, column->name)
                   : -1;
    }
    return values == chunk->values
               ? 0
               : error_set(err, ERROR_INVALID,
                           "damaged: row group %zu: column \"%.64s\": its pages have %lld values, "
                           "the footer says %lld",
                           number, column->name, (long long)values, (long long)chunk->values);
}
