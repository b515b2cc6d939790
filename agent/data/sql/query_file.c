// SPDX-License-Identifier: Apache-2.0
#include "agent/data/sql/query_file.h"

#include "agent/data/parquet/write/parquet_writer.h"
#include "agent/data/sql/odbc.h"

#include <stdlib.h>

static const enum parquet_kind kinds[] = {
    [ODBC_BOOLEAN] = PARQUET_KIND_BOOLEAN,
    [ODBC_INTEGER] = PARQUET_KIND_INTEGER,
    [ODBC_NUMBER] = PARQUET_KIND_NUMBER,
    [ODBC_TEXT] = PARQUET_KIND_TEXT,
};

static int take_bytes(void *context, const void *data, size_t size, struct error *err) {
    return store_upload_add(context, data, size, err);
}

static void parquet_writer_freep(struct parquet_writer **writer) {
    parquet_writer_free(*writer);
}

static struct parquet_writer *open_writer(const struct odbc_query *query,
                                          struct store_upload *upload) {
    size_t count = 0;
    const struct odbc_column *columns = odbc_query_columns(query, &count);
    struct parquet_column *described = x_calloc(count, sizeof *described);
    for (size_t i = 0; i < count; i++) {
        described[i] =
            (struct parquet_column){.name = columns[i].name, .kind = kinds[columns[i].type]};
    }
    const struct parquet_writer_options options = {
        .columns = described,
        .count = count,
        .codec = PARQUET_ZSTD,
        .take = take_bytes,
        .context = upload,
    };
    struct parquet_writer *writer = parquet_writer_new(&options);
    free(described);
    return writer;
}

static int add_value(struct chunk_writer *chunk, enum odbc_type type,
                     const struct odbc_value *value, struct error *err) {
    if (value->is_null) {
        return chunk_writer_null(chunk, err);
    }
    switch (type) {
    case ODBC_BOOLEAN:
        return chunk_writer_boolean(chunk, value->boolean, err);
    case ODBC_INTEGER:
        return chunk_writer_integer(chunk, value->integer, err);
    case ODBC_NUMBER:
        return chunk_writer_number(chunk, value->number, err);
    case ODBC_TEXT:
    default:
        return chunk_writer_text(chunk, value->text, value->text_size, err);
    }
}

static int write_rows(struct odbc_query *query, struct parquet_writer *writer, struct error *err) {
    size_t count = 0;
    const struct odbc_column *columns = odbc_query_columns(query, &count);
    for (;;) {
        int got = odbc_query_next(query, err);
        if (got <= 0) {
            return got;
        }
        for (size_t i = 0; i < count; i++) {
            struct odbc_value value;
            if (odbc_query_value(query, i, &value, err) < 0 ||
                add_value(parquet_writer_column(writer, i), columns[i].type, &value, err) < 0) {
                return -1;
            }
        }
        if (parquet_writer_end_row(writer, err) < 0) {
            return -1;
        }
    }
}

static int open_query(const struct query_file *file, struct odbc_query **ret_query,
                      struct error *err) {
    return file->connection
               ? odbc_query_open(file->connection, file->sql, ret_query, err)
               : error_set(
                     err, ERROR_INVALID,
                     "connection is missing: WINDLASS_QUERY_CONNECTION is not set in this pod");
}

int query_file_check(const struct query_file *file, struct error *err) {
    AUTO(odbc_query_freep) struct odbc_query *query = NULL;
    return open_query(file, &query, err);
}

int query_file_make(const struct query_file *file, struct store *store, const char *name,
                    struct error *err) {
    AUTO(odbc_query_freep) struct odbc_query *query = NULL;
    AUTO(store_upload_freep) struct store_upload *upload = NULL;
    AUTO(parquet_writer_freep) struct parquet_writer *writer = NULL;
    struct store_info info;
    struct error cause = {0};
    if (store_stat(store, name, &info, &cause) == 0) {
        return 0;
    }
    if (cause.kind != ERROR_NOT_FOUND) {
        *err = cause;
        return -1;
    }
    if (open_query(file, &query, err) < 0 || odbc_query_run(query, err) < 0 ||
        store_upload_open(store, name, &upload, err) < 0) {
        return -1;
    }
    writer = open_writer(query, upload);
    if (write_rows(query, writer, err) < 0 || parquet_writer_finish(writer, err) < 0) {
        return -1;
    }
    error_clear(&cause);
    if (store_upload_commit(upload, STORE_CREATE, &cause) == 0 || cause.kind == ERROR_CONFLICT) {
        return 0; /* by us, or another coordinator, which is as good */
    }
    *err = cause;
    return -1;
}
