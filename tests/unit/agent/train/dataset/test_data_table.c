// SPDX-License-Identifier: Apache-2.0
/* Rows of CSV, TSV, JSON Lines and Parquet as samples: columns by name, missing values, bad rows by
 * number.
 */
#include "agent/data/parquet/write/parquet_writer.h"
#include "lib/buffer.h"
#include "tests/unit/agent/data/fixtures.h"
#include "tests/unit/agent/train/dataset/sets.h"

#include <sys/stat.h>
#include <time.h>

static void put(const char *name, const char *text) {
    struct error err = {0};
    AUTO(text_freep) char *path = x_printf("%s/%s", fixtures_out, name);
    CHECK_OK(file_write(path, text, strlen(text), &err), &err);
}

static void check_row(struct dataset *dataset, int64_t index, const float *wanted, int64_t label) {
    AUTO(sample_release) struct sample sample = {0};
    struct error err = {0};
    CHECK_OK(dataset_read(dataset, index, &sample, &err), &err);
    CHECK_INT(sample.label, label);
    for (int64_t i = 0; err.kind == 0 && i < shape_count(&dataset->shape); i++) {
        CHECK(((const float *)sample.data)[i] == wanted[i]);
    }
}

static void test_three_formats_are_the_same(void) {
    static const char *const specs[] = {
        "{\"table\": {\"path\": \"out/t.csv\", \"label\": \"kind\"}}",
        "{\"table\": {\"path\": \"out/t.tsv\", \"format\": \"TSV\", \"label\": \"kind\"}}",
        "{\"table\": {\"path\": \"out/t.jsonl\", \"format\": \"JSONLines\", \"label\": \"kind\", "
        "\"columns\": [\"a\", \"b, c\"]}}"};
    put("t.csv", "\xef\xbb\xbf"
                 "a,kind,\"b, c\"\r\n1.5,0,-2\r\n\"3\",2,1e3\r\n");
    put("t.tsv", "a\tkind\tb, c\n1.5\t0\t-2\n3\t2\t1e3");
    put("t.jsonl",
        "{\"a\": 1.5, \"kind\": 0, \"b, c\": \"-2\"}\n{\"b, c\": 1e3, \"kind\": 2, \"a\": 3}\n");
    for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
        AUTO(dataset_closep) struct dataset *dataset = must_open(specs[i], NULL);
        CHECK(dataset->count == 2 && dataset->classes == 3 && dataset->target_count == 0);
        CHECK(shape_equal(&dataset->shape, &(struct shape){1, {2}}));
        check_row(dataset, 0, (const float[]){1.5F, -2}, 0);
        check_row(dataset, 1, (const float[]){3, 1000}, 2);
    }
    AUTO(dataset_closep)
    struct dataset *numbers = must_open("{\"table\": {\"path\": \"out/t.csv\", \"columns\": "
                                        "[\"b, c\"], \"targets\": [\"a\", \"kind\"]}}",
                                        NULL);
    AUTO(sample_release) struct sample sample = {0};
    struct error err = {0};
    CHECK_OK(dataset_read(numbers, 1, &sample, &err), &err);
    CHECK(numbers->classes == 0 && numbers->target_count == 2);
    CHECK(sample.target[0] == 3 && sample.target[1] == 2 && *(float *)sample.data == 1000);
}

static int collect(void *context, const void *data, size_t size, struct error *err) {
    return buffer_append(context, data, size, err);
}

/* Columns a (numbers), name (texts) and kind (integers); the third row has no number. */
static void put_parquet(const char *name) {
    static const struct parquet_column columns[] = {
        {"a", PARQUET_KIND_NUMBER}, {"name", PARQUET_KIND_TEXT}, {"kind", PARQUET_KIND_INTEGER}};
    static const double numbers[] = {1.5, 3};
    struct error err = {0};
    AUTO(buffer_release) struct buffer file;
    buffer_init(&file, 1 << 20);
    const struct parquet_writer_options options = {
        .columns = columns, .count = ARRAY_LEN(columns), .take = collect, .context = &file};
    struct parquet_writer *writer = parquet_writer_new(&options);
    for (int i = 0; i < 3; i++) {
        struct chunk_writer *a = parquet_writer_column(writer, 0);
        CHECK_OK(i < 2 ? chunk_writer_number(a, numbers[i], &err) : chunk_writer_null(a, &err),
                 &err);
        CHECK_OK(chunk_writer_text(parquet_writer_column(writer, 1), "x", 1, &err), &err);
        CHECK_OK(chunk_writer_integer(parquet_writer_column(writer, 2), i, &err), &err);
        CHECK_OK(parquet_writer_end_row(writer, &err), &err);
    }
    CHECK_OK(parquet_writer_finish(writer, &err), &err);
    parquet_writer_free(writer);
    AUTO(text_freep) char *path = x_printf("%s/%s", fixtures_out, name);
    CHECK_OK(file_write(path, file.data, file.size, &err), &err);
}

static void test_parquet(void) {
    put_parquet("t.parquet");
    AUTO(dataset_closep)
    struct dataset *dataset =
        must_open("{\"table\": {\"path\": \"out/t.parquet\", \"format\": \"Parquet\", "
                  "\"label\": \"kind\", \"columns\": [\"a\"]}}",
                  NULL);
    AUTO(sample_release) struct sample sample = {0};
    struct error err = {0};
    CHECK(dataset->count == 3 && dataset->classes == 2);
    check_row(dataset, 0, (const float[]){1.5F}, 0);
    check_row(dataset, 1, (const float[]){3}, 1);
    CHECK_INT(dataset_read(dataset, 2, &sample, &err), -1);
    CHECK(strstr(err.text, "out/t.parquet: row 3: column \"a\" is missing") != NULL);
}

static void test_columns_of_the_training_data(void) {
    put("train.csv", "a,b,k\n1,2,0\n3,4,1\n");
    put("test.csv", "b,k,a\n20,1,10\n");
    AUTO(dataset_closep)
    struct dataset *train =
        must_open("{\"table\": {\"path\": \"out/train.csv\", \"label\": \"k\"}}", NULL);
    struct dataset_options options = {.memory_bytes = 1 << 20, .like = train};
    AUTO(dataset_closep)
    struct dataset *test =
        must_open("{\"table\": {\"path\": \"out/test.csv\", \"label\": \"k\"}}", &options);
    check_row(test, 0, (const float[]){10, 20}, 1);
}

static void test_bad_rows_are_named(void) {
    static const struct {
        const char *says;
        bool is_filled; /* by missing: "0.5" */
    } rows[] = {
        {NULL, true},
        {"out/bad.csv: row 2 (byte 13): column \"a\" is missing (table.missing declares", true},
        {"row 3 (byte 18): column \"b\" is not a number: \"high\"", false},
        {"row 4 (byte 27): column \"a\" is not a finite float32: \"nan\"", false},
        {"row 5 (byte 35): column \"a\" is not a finite float32: \"1e99\"", false},
        {"row 6 (byte 44): column \"k\" is not a class, a whole number from 0: \"cat\"", false},
        {"row 7 (byte 52): column \"k\" is not a class, a whole number from 0", false},
        {"row 8 (byte 58): ", false}, /* a field less */
    };
    put("bad.csv", "a,b,k\n"
                   "1,2,0\n\n"
                   ",5,1\n"
                   "1,high,0\n"
                   "nan,2,0\n"
                   "1e99,2,0\n"
                   "1,2,cat\n"
                   "1,2,1.5\n"
                   "1,2\n");
    for (int fills = 0; fills < 2; fills++) {
        AUTO(dataset_closep)
        struct dataset *dataset = must_open(
            fills
                ? "{\"table\": {\"path\": \"out/bad.csv\", \"label\": \"k\", \"missing\": \"0.5\"}}"
                : "{\"table\": {\"path\": \"out/bad.csv\", \"label\": \"k\"}}",
            NULL);
        CHECK_INT(dataset->count, 8);
        for (int64_t i = 0; i < dataset->count; i++) {
            AUTO(sample_release) struct sample sample = {0};
            struct error err = {0};
            bool is_good = !rows[i].says || (fills && rows[i].is_filled);
            CHECK_INT(dataset_read(dataset, i, &sample, &err), is_good ? 0 : -1);
            const char *says = i == 6   ? "column \"k\" is not a class"
                               : i == 7 ? "row 8 (byte "
                                        : rows[i].says;
            CHECK(is_good || (strstr(err.text, says) && err.kind == ERROR_INVALID) ||
                  (printf("# %s\n", err.text), 0));
        }
        if (fills) {
            check_row(dataset, 1, (const float[]){0.5F, 5}, 1);
        }
    }
}

/* A row of 24 MiB of empty lists would be a tree of more than a GiB. */
static void test_a_row_that_takes_too_much_memory_is_bad(void) {
    enum { LISTS = 8 << 20 };
    struct error err = {0};
    AUTO(sample_release) struct sample sample = {0};
    AUTO(buffer_release) struct buffer text;
    buffer_init(&text, 4 * (size_t)LISTS);
    CHECK_OK(buffer_printf(&text, &err, "{\"a\":1,\"k\":0}\n{\"a\":2,\"k\":0,\"b\":["), &err);
    for (int i = 0; i < LISTS; i++) {
        CHECK_OK(buffer_append(&text, "[],", 3, &err), &err);
    }
    CHECK_OK(buffer_printf(&text, &err, "[]]}\n"), &err);
    put("lists.jsonl", text.data);
    AUTO(dataset_closep)
    struct dataset *dataset =
        must_open("{\"table\": {\"path\": \"out/lists.jsonl\", \"format\": \"JSONLines\", "
                  "\"label\": \"k\", \"columns\": [\"a\"]}}",
                  NULL);
    CHECK_INT(dataset->count, 2);
    check_row(dataset, 0, (const float[]){1}, 0);
    CHECK_INT(dataset_read(dataset, 1, &sample, &err), -1);
    CHECK(strstr(err.text, "row 2 (byte 14): its lists, objects and values take") ||
          (printf("# %s\n", err.text), 0));
}

static void test_what_cannot_be_a_table_is_refused(void) {
    static const struct {
        const char *spec, *says;
    } rows[] = {
        {"{\"path\": \"out/t.csv\", \"label\": \"no\"}",
         "out/t.csv: its header has no column \"no\""},
        {"{\"path\": \"out/t.csv\", \"columns\": [\"x\"], \"label\": \"kind\"}",
         "has no column \"x\""},
        {"{\"path\": \"out/t.csv\"}", "exactly one of label and targets"},
        {"{\"path\": \"out/t.csv\", \"targets\": [\"a\"]}", "columns must be given"},
        {"{\"path\": \"out/t.parquet\", \"format\": \"Parquet\", \"label\": \"kind\", "
         "\"columns\": [\"b\"]}",
         "has no column \"b\", but a, name, kind"},
        {"{\"path\": \"out/t.parquet\", \"format\": \"Parquet\", \"label\": \"kind\"}",
         "columns must be given with JSONLines, Parquet or targets"},
        {"{\"path\": \"out/none.csv\", \"label\": \"k\"}", "none.csv"},
        {"{\"path\": \"out/head.csv\", \"label\": \"k\"}", "it has no row that can be used"},
        {"{\"path\": \"out/words.csv\", \"label\": \"k\"}",
         "no row that can be used; the first: column \"a\" is not a number: \"x\""},
    };
    put("head.csv", "a,k\n");
    put("words.csv", "a,k\nx,0\ny,1\n");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        AUTO(text_freep) char *spec = x_printf("{\"table\": %s}", rows[i].spec);
        AUTO(dataset_closep) struct dataset *dataset = open_set(spec, NULL, &err);
        CHECK(!dataset && (strstr(err.text, rows[i].says) || (printf("# %s\n", err.text), 0)));
    }
    struct error err = {0};
    struct dataset_options small = {.memory_bytes = 50};
    CHECK(!open_set("{\"table\": {\"path\": \"out/t.csv\", \"label\": \"kind\"}}", &small, &err));
    CHECK(err.kind == ERROR_EXHAUSTED && strstr(err.text, "raise resources.limits.memory"));
}

/* 2,000 rows of one column and the label, the first row good, the others with this value. */
static void put_many(const char *name, const char *value) {
    struct error err = {0};
    AUTO(buffer_release) struct buffer text;
    buffer_init(&text, 1 << 20);
    CHECK_OK(buffer_printf(&text, &err, "a,k\n1,0\n"), &err);
    for (int i = 1; i < 2000; i++) {
        CHECK_OK(buffer_printf(&text, &err, "%s,1\n", value), &err);
    }
    AUTO(text_freep) char *path = x_printf("%s/%s", fixtures_out, name);
    CHECK_OK(file_write(path, text.data, text.size, &err), &err);
}

static void test_all_memory_may_be_used_and_no_more(void) {
    static const struct {
        const char *value, *says; /* NULL: it fits */
        int64_t memory_bytes;
    } rows[] = {
        {"2", NULL, 60000}, /* 28 bytes a row */
        {"2", "rows of 1 columns need more than the 0 MiB that data may take", 50000},
        {"", NULL, 250000}, /* and why each row is bad */
        {"", "many are bad: row 2: column \"a\" is missing (table.missing declares", 100000},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct dataset_options options = {.memory_bytes = rows[i].memory_bytes};
        put_many("many.csv", rows[i].value);
        AUTO(dataset_closep)
        struct dataset *dataset =
            open_set("{\"table\": {\"path\": \"out/many.csv\", \"label\": \"k\"}}", &options, &err);
        CHECK(!dataset == !!rows[i].says);
        CHECK(!dataset || dataset->count == 2000);
        CHECK(!rows[i].says || (err.kind == ERROR_EXHAUSTED && strstr(err.text, rows[i].says)) ||
              (printf("# %s\n", err.text), 0));
    }
}

static double describe_seconds(const struct dataset *dataset, int64_t index) {
    clock_t start = clock();
    for (int i = 0; i < 5000; i++) {
        char text[DATASET_NAME_MAX];
        dataset->ops->describe(dataset, index, text);
    }
    return (double)(clock() - start) / CLOCKS_PER_SEC;
}

/* Numbers of rows are of their file, and a row at the end costs what one at the beginning does. */
static void test_rows_are_counted_from_their_file(void) {
    enum { ROWS = 200000 };
    char text[DATASET_NAME_MAX];
    struct error err = {0};
    AUTO(buffer_release) struct buffer rows;
    buffer_init(&rows, 16 << 20);
    CHECK_OK(buffer_printf(&rows, &err, "a,k\n"), &err);
    for (int i = 0; i < ROWS; i++) {
        CHECK_OK(buffer_append(&rows, "1,0\n", 4, &err), &err);
    }
    AUTO(text_freep) char *folder = x_printf("%s/two", fixtures_out);
    CHECK_INT(mkdir(folder, 0700), 0);
    AUTO(text_freep) char *path = x_printf("%s/b.csv", folder);
    CHECK_OK(file_write(path, rows.data, rows.size, &err), &err);
    put("two/a.csv", "a,k\n1,0\n2,1\n");
    AUTO(dataset_closep)
    struct dataset *dataset =
        must_open("{\"table\": {\"path\": \"out/two\", \"label\": \"k\"}}", NULL);
    CHECK_INT(dataset->count, ROWS + 2);
    dataset->ops->describe(dataset, 1, text);
    CHECK(strstr(text, "out/two/a.csv: row 2 (byte "));
    dataset->ops->describe(dataset, 2, text);
    CHECK(strstr(text, "out/two/b.csv: row 1 (byte 4)"));
    dataset->ops->describe(dataset, ROWS + 1, text);
    CHECK(strstr(text, "out/two/b.csv: row 200000 (byte "));
    CHECK(describe_seconds(dataset, ROWS + 1) < 10 * describe_seconds(dataset, 2) + 0.1);
}

int main(void) {
    fixtures_start("data-table");
    TEST(test_three_formats_are_the_same);
    TEST(test_parquet);
    TEST(test_columns_of_the_training_data);
    TEST(test_bad_rows_are_named);
    TEST(test_a_row_that_takes_too_much_memory_is_bad);
    TEST(test_what_cannot_be_a_table_is_refused);
    TEST(test_all_memory_may_be_used_and_no_more);
    TEST(test_rows_are_counted_from_their_file);
    return TEST_END();
}
