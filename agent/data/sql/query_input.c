// SPDX-License-Identifier: Apache-2.0
#include "agent/data/sql/query_input.h"

#include "lib/log.h"
#include "lib/time/clock.h"

static int make(void *context, struct store *store, const char *name, struct error *err) {
    const struct query_file *file = context;
    if (!store) {
        return query_file_check(file, err);
    }
    int64_t from_ms = clock_monotonic_ms();
    if (query_file_make(file, store, name, err) < 0) {
        return -1;
    }
    log_event(LOG_INFO, "the rows of spec.input.table.query are in %s/%s (%.1f s)",
              store_path(store), name, (double)(clock_monotonic_ms() - from_ms) / 1000);
    return 0;
}

const struct input_query *query_input_of(const json_t *spec, const char *connection,
                                         struct query_input *query) {
    const char *sql = tree_text(spec, "input.table.query.sql", NULL);
    if (!sql) {
        return NULL;
    }
    *query = (struct query_input){.file = {.connection = connection, .sql = sql}};
    query->query = (struct input_query){.make = make, .context = &query->file};
    return &query->query;
}
