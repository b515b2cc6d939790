// SPDX-License-Identifier: Apache-2.0
/* CSV byte by byte, Npy by npy_parse, and what does not fit. tests/e2e/formats/test_formats.sh
 * reads Parquet with other programs. */
#include "agent/data/rows/rows_form.h"

#include "agent/data/array/npy.h"
#include "tests/parse_json.h"
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>

static int take(void *context, const void *data, size_t size, struct error *err) {
    return buffer_append(context, data, size, err);
}

static int write_rows(const struct rows_form *form, struct rows_form_options *options,
                      const char *const *rows, struct buffer *out, struct error *err) {
    AUTO(row_cells_release) struct row_cells cells;
    struct rows_writer *writer = NULL;
    row_cells_init(&cells, options->columns);
    options->take = take;
    options->context = out;
    int result = form->open(options, &writer, err);
    for (; *rows && result == 0; rows++) {
        result = row_cells_read(&cells, *rows, strlen(*rows), err);
        if (result == 0) {
            result = form->add(writer, &cells, err);
        }
    }
    if (result == 0) {
        result = form->finish(writer, err);
    }
    form->free(writer);
    return result;
}

/* heads: JSON. */
static int make(const struct rows_form *form, struct rows_form_options options, const char *heads,
                const char *const *rows, struct buffer *out, struct error *err) {
    AUTO(tree_freep) json_t *names = parse(heads);
    AUTO(row_columns_release) struct row_columns columns;
    row_columns_init(&columns, names, NULL, false);
    for (size_t i = 0; rows[i]; i++) {
        CHECK_OK(row_columns_see(&columns, rows[i], strlen(rows[i]), err), err);
    }
    row_columns_end(&columns);
    options.columns = &columns;
    buffer_init(out, 1 << 20);
    return write_rows(form, &options, rows, out, err);
}

#define ROWS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_csv(void) {
    struct error err = {0};
    AUTO(buffer_release) struct buffer out;
    CHECK_OK(make(&rows_csv, (struct rows_form_options){0}, "[\"id\"]",
                  ROWS("{\"id\":\"1\",\"a,b\":\"plain\",\"n\":0.1,\"f\":[0.100000001,1]}",
                       "{\"id\":\"\",\"a,b\":\"x,\\\"y\\\"\\nz\",\"n\":1e300,\"f\":[]}",
                       "{\"id\":\"=1+1\",\"a,b\":\" s\",\"n\":null,\"f\":[null]}",
                       "{\"id\":\"4\",\"a,b\":null,\"n\":-3,\"f\":null}"),
                  &out, &err),
             &err);
    CHECK_STR(out.data, "id,\"a,b\",n,f\r\n"
                        "1,plain,0.1,\"[0.100000001,1]\"\r\n"
                        "\"\",\"x,\"\"y\"\"\nz\",1e+300,\"[]\"\r\n"
                        "=1+1,\" s\",,\"[null]\"\r\n"
                        "4,,-3,\r\n");
}

static void test_csv_of_heads(void) {
    struct error err = {0};
    AUTO(buffer_release) struct buffer out;
    CHECK_OK(make(&rows_csv, (struct rows_form_options){.only_heads = true}, "[\"id\",\"row\"]",
                  ROWS("{\"id\":1,\"row\":2,\"n\":3}"), &out, &err),
             &err);
    CHECK_STR(out.data, "id,row\r\n1,2\r\n");
    buffer_release(&out);
    // A line of nothing would be skipped by readers, and the next keys would move up.
    CHECK_OK(make(&rows_csv, (struct rows_form_options){.only_heads = true}, "[\"id\"]",
                  ROWS("{\"id\":1,\"n\":3}", "{\"id\":null,\"n\":3}", "{\"id\":2,\"n\":3}"), &out,
                  &err),
             &err);
    CHECK_STR(out.data, "id\r\n1\r\n\"\"\r\n2\r\n");
}

static void check_npy(const char *number_type, const char *const *rows, enum npy_type type,
                      int rank, const void *values, size_t size) {
    struct error err = {0};
    struct npy npy = {0};
    AUTO(buffer_release) struct buffer out;
    CHECK_OK(make(&rows_npy, (struct rows_form_options){.number_type = number_type}, "[\"id\"]",
                  rows, &out, &err),
             &err);
    CHECK_OK(npy_parse(out.data ? out.data : "", out.size, &npy, &err), &err);
    CHECK_INT(npy.head_bytes % 64, 0);
    CHECK_INT(npy.type, type);
    CHECK_INT(npy.rank, rank);
    CHECK_INT(npy.dims[0], 2);
    CHECK_INT(out.size - (size_t)npy.head_bytes, size);
    CHECK(memcmp(out.data + npy.head_bytes, values, size) == 0);
}

static void test_npy(void) {
    check_npy(NULL, ROWS("{\"id\":\"a\",\"v\":[0.5,0.100000001]}", "{\"id\":\"b\",\"v\":[1,-2]}"),
              NPY_FLOAT32, 2, (const float[]){0.5F, 0.1F, 1, -2}, 16);
    check_npy(NULL, ROWS("{\"v\":[0.5,0.1]}", "{\"v\":[1,-2]}"), NPY_FLOAT64, 2,
              (const double[]){0.5, 0.1, 1, -2}, 32);
    check_npy(NULL, ROWS("{\"v\":1}", "{\"v\":2}"), NPY_FLOAT32, 1, (const float[]){1, 2}, 8);
    check_npy(NULL, ROWS("{\"v\":1,\"w\":0.5}", "{\"v\":2,\"w\":3}"), NPY_FLOAT32, 2,
              (const float[]){1, 0.5F, 2, 3}, 16);
    check_npy(NULL, ROWS("{\"v\":16777217}", "{\"v\":9007199254740993}"), NPY_INT64, 1,
              (const int64_t[]){16777217, 9007199254740993}, 16);
    /* An integer beside a null, in a list or not, or of a row that lacks it. */
    check_npy(NULL, ROWS("{\"v\":16777217}", "{\"v\":null}"), NPY_FLOAT64, 1,
              (const double[]){16777217, NAN}, 16);
    check_npy(NULL, ROWS("{\"v\":16777217,\"w\":1}", "{\"v\":2}"), NPY_FLOAT64, 2,
              (const double[]){16777217, 1, 2, NAN}, 32);
    check_npy(NULL, ROWS("{\"v\":[16777217]}", "{\"v\":[null]}"), NPY_FLOAT64, 2,
              (const double[]){16777217, NAN}, 16);
    check_npy("float16", ROWS("{\"v\":[0.5]}", "{\"v\":[-2]}"), NPY_FLOAT16, 2,
              (const uint16_t[]){0x3800, 0xc000}, 4);
    check_npy("int8", ROWS("{\"v\":[-128]}", "{\"v\":[127]}"), NPY_INT8, 2,
              (const int8_t[]){-128, 127}, 2);
}

static void check_refused(const struct rows_form *form, const char *number_type,
                          const char *const *rows, const char *wanted) {
    struct error err = {0};
    AUTO(buffer_release) struct buffer out;
    CHECK_INT(make(form, (struct rows_form_options){.number_type = number_type}, "[\"id\"]", rows,
                   &out, &err),
              -1);
    CHECK_STR(err.text, wanted);
}

static void test_what_is_no_array(void) {
    check_refused(&rows_npy, NULL, ROWS("{\"v\":[1,2]}", "{\"v\":[1]}"),
                  "column \"v\" has lists of 1 to 2 numbers, and all rows of an npy file have one "
                  "length: use spec.output.format: Parquet");
    check_refused(&rows_npy, NULL, ROWS("{\"v\":[1],\"w\":[2]}"),
                  "columns \"v\" and \"w\" both have lists, and an npy file has one array: use "
                  "spec.output.format: Parquet");
    check_refused(&rows_npy, NULL, ROWS("{\"v\":\"x\"}"),
                  "column \"v\" has values of type Text, and an npy file numbers: use "
                  "spec.output.format: Parquet");
    check_refused(&rows_npy, NULL, ROWS("{\"v\":[1],\"w\":2}"),
                  "the results have 1 columns with single numbers beside 1 with lists, and an npy "
                  "file has one array: use spec.output.format: Parquet");
    check_refused(&rows_npy, "int8", ROWS("{\"v\":[128]}"),
                  "row 1, column \"v\": a number is not a value of int8");
    check_refused(&rows_npy, NULL, ROWS("{\"v\":[9007199254740993]}", "{\"v\":[null]}"),
                  "row 1, column \"v\": a number is not a value of float64");
    check_refused(&rows_npy, NULL, ROWS("{\"v\":1,\"w\":0.1}", "{\"v\":9007199254740993,\"w\":3}"),
                  "row 2, column \"v\": a number is not a value of float64");
    check_refused(&rows_npy, "float16", ROWS("{\"v\":[65520]}"),
                  "row 1, column \"v\": a number is not a value of float16");
}

static void test_find(void) {
    CHECK(rows_form_find("CSV") == &rows_csv);
    CHECK(rows_form_find("Parquet") == &rows_parquet);
    CHECK(rows_form_find("Npy") == &rows_npy);
    CHECK(!rows_form_find("JSONLines"));
    CHECK(!rows_form_find(""));
}

static void test_coco(void) {
    struct error err = {0};
    AUTO(buffer_release) struct buffer out;
    const char *const *rows = ROWS(
        "{\"file\":\"a/7.jpg\",\"width\":10,\"height\":8,\"boxes\":[{\"box\":[1,2,4,8],\"score\":"
        "0.5,\"class\":3,\"label\":\"cat\"}]}",
        "{\"file\":\"a/9.jpg\",\"width\":5,\"height\":6,\"boxes\":[]}");
    struct rows_numbers numbers = {0};
    for (size_t i = 0; i < 2; i++) {
        rows_numbers_see(&numbers, rows[i], strlen(rows[i]));
    }
    CHECK(rows_numbers_are(&numbers));
    CHECK_OK(make(&rows_coco, (struct rows_form_options){.are_numbered = true}, "[\"file\"]", rows,
                  &out, &err),
             &err);
    AUTO(tree_freep) json_t *seen = NULL;
    AUTO(tree_freep)
    json_t *wanted = parse("{\"annotations\":[{\"id\":1,\"image_id\":7,\"category_id\":3,\"bbox\":"
                           "[1,2,3,6],\"area\":18,\"iscrowd\":0,\"score\":0.5}],\"images\":[{"
                           "\"id\":7,\"file_name\":\"a/7.jpg\",\"width\":10,\"height\":8},{\"id\":"
                           "9,\"file_name\":\"a/9.jpg\",\"width\":5,\"height\":6}],\"categories\":"
                           "[{\"id\":3,\"name\":\"cat\"}]}");
    CHECK_OK(tree_parse(out.data, out.size, out.size, &seen, &err), &err);
    CHECK(json_equal(seen, wanted));
    buffer_release(&out);
    CHECK(make(&rows_coco, (struct rows_form_options){0}, "[\"file\"]",
               ROWS("{\"file\":\"a\",\"x\":1}"), &out, &err) < 0);
    CHECK(strstr(err.text, "COCO holds boxes"));
    error_clear(&err);
    buffer_release(&out);
    AUTO(text_freep) char *folder = getenv("TMPDIR") ? x_strdup(getenv("TMPDIR")) : NULL;
    setenv("TMPDIR", "/nowhere", 1);
    CHECK(make(&rows_coco, (struct rows_form_options){0}, "[\"file\"]", rows, &out, &err) < 0);
    CHECK(strstr(err.text, "cannot make a file in $TMPDIR (/nowhere): "));
    error_clear(&err);
    (void)(folder ? setenv("TMPDIR", folder, 1) : unsetenv("TMPDIR"));
}

static void test_numbers(void) {
    static const struct {
        const char *name;
        int64_t number;
    } names[] = {{"000000397133.jpg", 397133},
                 {"val/12.png", 12},
                 {"12", 12},
                 {"p12.png", -1},
                 {"12a.png", -1},
                 {".png", -1},
                 {"a/", -1},
                 {"", -1},
                 {"1234567890123456.jpg", -1},
                 {"1/a.jpg", -1},
                 {"0.jpg", 0}};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        CHECK_INT(rows_numbers_of(names[i].name, strlen(names[i].name)), names[i].number);
    }
    struct rows_numbers numbers = {0};
    const char *const *rows = ROWS("{\"file\":\"2.png\"}", "{\"file\":\"2.jpg\"}");
    rows_numbers_see(&numbers, rows[0], strlen(rows[0]));
    CHECK(rows_numbers_are(&numbers));
    rows_numbers_see(&numbers, rows[1], strlen(rows[1])); /* the same number again */
    CHECK(!rows_numbers_are(&numbers));
}

int main(void) {
    TEST(test_csv);
    TEST(test_csv_of_heads);
    TEST(test_npy);
    TEST(test_what_is_no_array);
    TEST(test_coco);
    TEST(test_numbers);
    TEST(test_find);
    return TEST_END();
}
