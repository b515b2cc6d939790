// SPDX-License-Identifier: Apache-2.0
/* Files of three writers, in all codecs, encodings and page versions, value by value; from any row
 * on; some of their columns; cut and damaged ones; and all that can be refused, with its reason. */
#include "lib/text/jsontext.h"
#include "tests/unit/agent/data/parquet/parquet_bytes.h"

enum { ROWS = 40, COLUMNS_MAX = 64 };

static char *wanted[ROWS];

static void load_wanted(void) {
    struct error err = {0};
    char *data = NULL;
    size_t size = 0, row = 0;
    CHECK_OK(file_read(PARQUET_ROWS, 1 << 20, &data, &size, &err), &err);
    for (const char *line = data, *end; row < ROWS && (end = strchr(line, '\n')); line = end + 1) {
        wanted[row++] = x_strndup(line, (size_t)(end - line));
    }
    CHECK_INT(row, ROWS);
    free(data);
}

/* The members of the wanted row that the file has. */
static char *wanted_of(const struct parquet_file *file, const char *row) {
    struct buffer text;
    struct error err = {0};
    buffer_init(&text, 1 << 20);
    const char *at = row + 1, *end = row + strlen(row);
    while (*at == '"') {
        const char *key = at, *key_end = jsontext_value(at, end);
        const char *value_end = jsontext_value(key_end + 1, end);
        char *name = x_strndup(key + 1, (size_t)(key_end - key) - 2);
        if (parquet_file_find(file, name) != SIZE_MAX) {
            CHECK_OK(buffer_printf(&text, &err, "%s%.*s", text.size ? "," : "{",
                                   (int)(value_end - key), key),
                     &err);
        }
        free(name);
        at = value_end + (*value_end == ',');
    }
    CHECK_OK(buffer_append(&text, "}", 1, &err), &err);
    return buffer_take(&text, NULL);
}

static struct row_reader *reader_of(const struct parquet_file *file) {
    size_t columns[COLUMNS_MAX], count = 0;
    for (size_t i = 0; i < file->schema.count; i++) {
        CHECK(!file->schema.columns[i].refusal);
        columns[count++] = i;
    }
    return row_reader_new(file, columns, count);
}

static void check_rows(struct row_reader *reader, const struct parquet_file *file, int64_t first,
                       int64_t end) {
    AUTO(buffer_release) struct buffer json;
    const char *fault = NULL;
    struct error err = {0};
    buffer_init(&json, 1 << 20);
    row_reader_start(reader, first, end);
    for (int64_t row = first; row < end; row++) {
        buffer_clear(&json);
        CHECK_INT(row_reader_next(reader, &json, &fault, &err), 1);
        CHECK(!fault);
        CHECK_INT(row_reader_place(reader), row);
        AUTO(text_freep) char *text = wanted_of(file, wanted[row]);
        CHECK_STR(json.data, text);
    }
    CHECK_INT(row_reader_next(reader, &json, &fault, &err), 0);
}

static void check_file(const char *name, struct parquet_bytes *bytes) {
    static const int64_t parts[][2] = {{0, ROWS}, {7, 9}, {9, 11}, {30, ROWS}, {0, 1}, {39, 40}};
    struct parquet_source source = parquet_bytes_source(bytes);
    struct parquet_file file = {0};
    struct error err = {0};
    int before = test_failures;
    CHECK_OK(parquet_file_open(&source, &file, &err), &err);
    CHECK_INT(file.rows, ROWS);
    struct row_reader *reader = reader_of(&file);
    for (size_t i = 0; i < ARRAY_LEN(parts) && file.rows == ROWS; i++) {
        check_rows(reader, &file, parts[i][0], parts[i][1]);
    }
    row_reader_free(reader);
    parquet_file_release(&file);
    if (test_failures > before) {
        printf("# file %s\n", name);
    }
}

static void test_every_value_of_three_writers(void) {
    CHECK_INT(parquet_bytes_each(check_file), 36);
}

static void check_projection(const char *name, struct parquet_bytes *bytes) {
    struct parquet_source source = parquet_bytes_source(bytes);
    struct parquet_file file = {0};
    struct error err = {0};
    if (strcmp(name, "duckdb-plain") != 0) {
        return;
    }
    CHECK_OK(parquet_file_open(&source, &file, &err), &err);
    size_t columns[] = {parquet_file_find(&file, "tags"), parquet_file_find(&file, "/user/age")};
    struct row_reader *reader = row_reader_new(&file, columns, 2);
    AUTO(buffer_release) struct buffer json;
    buffer_init(&json, 1 << 20);
    const char *fault = NULL;
    /* The other columns' bytes are not looked at. */
    memset(bytes->data + 4, 0xff,
           (size_t)file.groups[0].chunks[file.schema.columns[columns[0]].leaf].start - 4);
    row_reader_start(reader, 1, 3);
    CHECK_INT(row_reader_next(reader, &json, &fault, &err), 1);
    CHECK_STR(json.data, "{\"tags\":[\"t1\",null,\"t3\"],\"/user/age\":1}");
    row_reader_free(reader);
    parquet_file_release(&file);
}

static void test_only_the_wanted_columns_are_read(void) {
    (void)parquet_bytes_each(check_projection);
}

/* ---- damage --------------------------------------------------------------------------------- */

/* Reads all rows; the number of those that have a fault, or -1: the file is refused. */
static int count_faults(struct parquet_bytes *bytes, char *ret_fault, size_t room) {
    struct parquet_source source = parquet_bytes_source(bytes);
    struct parquet_file file = {0};
    struct error err = {0};
    if (parquet_file_open(&source, &file, &err) < 0) {
        CHECK_INT(err.kind, ERROR_INVALID);
        snprintf(ret_fault, room, "%s", err.text);
        return -1;
    }
    size_t columns[COLUMNS_MAX], count = 0;
    for (size_t i = 0; i < file.schema.count && count < COLUMNS_MAX; i++) {
        if (!file.schema.columns[i].refusal) {
            columns[count++] = i;
        }
    }
    struct row_reader *reader = row_reader_new(&file, columns, count);
    AUTO(buffer_release) struct buffer json;
    const char *fault = NULL;
    int faults = 0;
    buffer_init(&json, 1 << 20);
    row_reader_start(reader, 0, MIN(file.rows, (int64_t)ROWS));
    while (buffer_clear(&json), row_reader_next(reader, &json, &fault, &err) > 0) {
        if (fault && faults++ == 0) {
            snprintf(ret_fault, room, "%s", fault);
        }
    }
    CHECK_INT(err.kind, ERROR_NONE);
    row_reader_free(reader);
    parquet_file_release(&file);
    return faults;
}

static void check_cuts(const char *name, struct parquet_bytes *bytes) {
    struct parquet_bytes cut = *bytes;
    char fault[600] = "";
    size_t step = strstr(name, "delta") ? 1 : 97;
    for (cut.size = 0; cut.size < bytes->size; cut.size += step) {
        CHECK_INT(count_faults(&cut, fault, sizeof fault), -1);
        CHECK(strstr(fault, "is not a Parquet file"));
    }
}

static void test_files_that_are_cut_are_refused(void) {
    (void)parquet_bytes_each(check_cuts);
}

static void check_damage(const char *name, struct parquet_bytes *bytes) {
    uint64_t random = 88172645463325252u + strlen(name);
    char fault[600] = "";
    for (int round = 0; round < 200; round++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        char *at = &bytes->data[random % bytes->size], was = *at;
        *at = (char)(random >> 40);
        (void)count_faults(bytes, fault, sizeof fault); /* ends, within its bounds */
        *at = was;
    }
    CHECK_INT(count_faults(bytes, fault, sizeof fault), 0);
}

static void test_files_that_are_damaged_do_no_harm(void) {
    (void)parquet_bytes_each(check_damage);
}

/* Rows behind a damaged page, to the end of its row group, have a fault that names the column. */
static void check_one_page(const char *name, struct parquet_bytes *bytes) {
    struct parquet_source source = parquet_bytes_source(bytes);
    struct parquet_file file = {0};
    struct error err = {0};
    char fault[600] = "";
    if (strcmp(name, "wasm-uncompressed-v1") != 0) {
        return;
    }
    CHECK_OK(parquet_file_open(&source, &file, &err), &err);
    const struct parquet_leaf *column = &file.schema.columns[parquet_file_find(&file, "big")];
    const struct parquet_chunk *chunk = &file.groups[0].chunks[column->leaf];
    memset(bytes->data + chunk->start, 0xff, (size_t)chunk->size);
    CHECK_INT(count_faults(bytes, fault, sizeof fault), (int)MIN(file.groups[0].rows, 40));
    CHECK(strstr(fault, "column \"big\": damaged page header"));
    parquet_file_release(&file);
}

static void test_a_damaged_page_is_named(void) {
    (void)parquet_bytes_each(check_one_page);
}

enum { PART_ROWS = 4 };

/* Reads a part of the file; bit i of the result: its row i has a fault. */
static unsigned faults_of_part(struct row_reader *reader, int64_t first) {
    AUTO(buffer_release) struct buffer json;
    const char *fault = NULL;
    struct error err = {0};
    unsigned faults = 0;
    buffer_init(&json, 1 << 20);
    row_reader_start(reader, first, first + PART_ROWS);
    for (int i = 0; buffer_clear(&json), row_reader_next(reader, &json, &fault, &err) > 0; i++) {
        faults |= (unsigned)(fault != NULL) << i;
    }
    CHECK_INT(err.kind, ERROR_NONE);
    return faults;
}

/* Whether it says for each part what a reader says that has read nothing before. */
static bool reads_alike(struct row_reader *reader, const struct parquet_file *file,
                        const size_t *columns, size_t count) {
    bool are_alike = true;
    for (int64_t row = 0; row < MIN(file->rows, (int64_t)ROWS); row += PART_ROWS) {
        struct row_reader *fresh = row_reader_new(file, columns, count);
        are_alike &= faults_of_part(fresh, row) == faults_of_part(reader, row);
        row_reader_free(fresh);
    }
    return are_alike;
}

/* Which rows of a part fail does not depend on the parts that were read before it. */
static void check_parts(const char *name, struct parquet_bytes *bytes) {
    uint64_t random = 1181783497276652981u + strlen(name);
    for (int round = 0; round < 100; round++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        char *at = &bytes->data[random % bytes->size], was = *at;
        struct parquet_source source = parquet_bytes_source(bytes);
        struct parquet_file file = {0};
        struct error err = {0};
        size_t columns[COLUMNS_MAX], count = 0;
        *at = (char)(random >> 40);
        bool is_open = parquet_file_open(&source, &file, &err) == 0;
        for (size_t i = 0; is_open && i < file.schema.count && count < COLUMNS_MAX; i++) {
            columns[count] = i;
            count += !file.schema.columns[i].refusal;
        }
        if (is_open) {
            struct row_reader *reader = row_reader_new(&file, columns, count);
            CHECK(reads_alike(reader, &file, columns, count));
            row_reader_free(reader);
        }
        parquet_file_release(&file);
        *at = was;
    }
}

static void test_faults_do_not_depend_on_what_was_read_before(void) {
    (void)parquet_bytes_each(check_parts);
}

/* A footer with row groups in front of the schema by which their chunks are counted. */
static void test_row_groups_before_the_schema_are_refused(void) {
    static const char footer[] = "\x49\x1c\x19\x0c\x00\x26\x02\x00" /* 4: a group of one row */
                                 "\x05\x04"                         /* 2 by its long id ... */
                                 "\x00";
    char data[64] = "PAR1";
    size_t size = 4;
    struct error err = {0};
    struct parquet_file file = {0};
    memcpy(data + size, footer, sizeof footer - 1);
    size += sizeof footer - 1;
    memcpy(data + size, (const char[]){sizeof footer - 1, 0, 0, 0, 'P', 'A', 'R', '1'}, 8);
    struct parquet_bytes bytes = {data, size + 8};
    struct parquet_source source = parquet_bytes_source(&bytes);
    CHECK_INT(parquet_file_open(&source, &file, &err), -1);
    CHECK(strstr(err.text, "row groups before the schema"));
}

/* A file of which nothing can be read for a while: no file can be opened, or no process started. */
static int read_nothing(void *context UNUSED, int64_t offset UNUSED, void *data UNUSED,
                        size_t size UNUSED, struct error *err) {
    return error_set(err, ERROR_EXHAUSTED, "too many open files");
}

static void check_exhausted(const char *name, struct parquet_bytes *bytes) {
    struct parquet_source source = parquet_bytes_source(bytes);
    struct parquet_file file = {0};
    struct error err = {0};
    AUTO(buffer_release) struct buffer json;
    const char *fault = NULL;
    if (strcmp(name, "duckdb-plain") != 0) {
        return;
    }
    buffer_init(&json, 1 << 20);
    CHECK_OK(parquet_file_open(&source, &file, &err), &err);
    struct parquet_source was = file.source;
    file.source.read = read_nothing;
    struct row_reader *reader = reader_of(&file);
    row_reader_start(reader, 0, 1);
    CHECK_INT(row_reader_next(reader, &json, &fault, &err), -1);
    CHECK_INT(err.kind, ERROR_UNAVAILABLE); /* EXHAUSTED: the row is skipped */
    CHECK_STR(err.text, "too many open files");
    error_clear(&err);
    file.source = was;
    CHECK_INT(row_reader_next(reader, &json, &fault, &err), 1);
    CHECK(!fault);
    CHECK_INT(row_reader_place(reader), 0);
    CHECK_INT(row_reader_next(reader, &json, &fault, &err), 0);
    row_reader_free(reader);
    parquet_file_release(&file);
}

static void test_a_source_that_is_exhausted_skips_no_row(void) {
    (void)parquet_bytes_each(check_exhausted);
}

int main(void) {
    load_wanted();
    TEST(test_every_value_of_three_writers);
    TEST(test_only_the_wanted_columns_are_read);
    TEST(test_files_that_are_cut_are_refused);
    TEST(test_files_that_are_damaged_do_no_harm);
    TEST(test_a_damaged_page_is_named);
    TEST(test_faults_do_not_depend_on_what_was_read_before);
    TEST(test_row_groups_before_the_schema_are_refused);
    TEST(test_a_source_that_is_exhausted_skips_no_row);
    for (int i = 0; i < ROWS; i++) {
        free(wanted[i]);
    }
    return TEST_END();
}
