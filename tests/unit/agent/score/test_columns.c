// SPDX-License-Identifier: Apache-2.0
#include "agent/score/columns.h"

#include "tests/test.h"

#include <math.h>

static const struct shape input = {2, {-1, 2}};

static json_t *spec_of(const char *columns) {
    char text[128];
    struct error err = {0};
    json_t *spec = NULL;
    snprintf(text, sizeof text, "{\"scorer\":{\"onnx\":{\"columns\":%s}}}", columns);
    CHECK_OK(tree_parse(text, strlen(text), sizeof text, &spec, &err), &err);
    return spec;
}

static void test_rows_become_numbers_by_their_names(void) {
    static const struct {
        const char *row;
        double b, a;
        const char *fault; /* NULL: none */
    } rows[] = {
        {"{\"a\":\"1\",\"b\":\"2.5e1\",\"c\":\"x\"}", 25, 1, NULL},
        {"{\"b\":\" -3 \",\"a\":\"+.5\"}", -3, 0.5, NULL},
        {"{\"b\":7,\"a\":true}", 7, 1, NULL},
        {"{\"b\":\"\",\"a\":null}", NAN, NAN, NULL},
        {"{\"b\":\"  \",\"a\":\"nan\"}", NAN, NAN, NULL},
        {"{\"b\":\"inf\",\"a\":\"-inf\"}", INFINITY, -INFINITY, NULL},
        {"{\"b\":\"1\"}", 0, 0, "it has no column \"a\""},
        {"{\"b\":\"1,5\",\"a\":\"1\"}", 0, 0, "column \"b\" is \"1,5\", a number is expected"},
        {"{\"b\":\"0x10\",\"a\":\"1\"}", 0, 0, "column \"b\" is \"0x10\", a number"},
        {"{\"b\":\"one\",\"a\":\"1\"}", 0, 0, "column \"b\" is \"one\", a number"},
        {"{\"b\":[1],\"a\":\"1\"}", 0, 0, "column \"b\" is no text, a number is expected"},
        {"[1,2]", 0, 0, "it is no object"},
        {"{", 0, 0, ""},
    };
    AUTO(tree_freep) json_t *spec = spec_of("[\"b\",\"a\"]");
    struct columns *columns = NULL;
    struct error err = {0};
    CHECK_OK(columns_new(spec, "x", TENSOR_FLOAT32, &input, &columns, &err), &err);
    for (size_t i = 0; columns && i < ARRAY_LEN(rows); i++) {
        struct npy_slice slice = {0};
        struct error why = {0};
        int read = columns_read(columns, rows[i].row, strlen(rows[i].row), &slice, &why);
        CHECK_INT(read, rows[i].fault ? -1 : 0);
        if (read < 0) {
            CHECK(rows[i].fault && strstr(why.text, rows[i].fault));
            continue;
        }
        const double *values = slice.values;
        CHECK(slice.type == NPY_FLOAT64 && slice.rank == 1 && slice.dims[0] == 2);
        CHECK(values[0] == rows[i].b || (isnan(values[0]) && isnan(rows[i].b)));
        CHECK(values[1] == rows[i].a || (isnan(values[1]) && isnan(rows[i].a)));
    }
    columns_free(columns);
}

static void test_the_network_must_take_rows_of_so_many_columns(void) {
    static const struct {
        enum tensor_type type;
        struct shape shape;
        const char *columns, *said;
    } rows[] = {
        {TENSOR_INT64,
         {2, {-1, 2}},
         "[\"a\",\"b\"]",
         "is int64 ?x2, for a table float32 or float64"},
        {TENSOR_FLOAT16, {2, {-1, 2}}, "[\"a\",\"b\"]", "is float16 ?x2"},
        {TENSOR_FLOAT32, {3, {-1, 2, 1}}, "[\"a\",\"b\"]", "[n, columns] is expected"},
        {TENSOR_FLOAT32,
         {2, {-1, 3}},
         "[\"a\",\"b\"]",
         "names 2 columns, the network's input x is ?x3"},
        {TENSOR_FLOAT32, {2, {-1, -1}}, "[]", "names 0 columns"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *spec = spec_of(rows[i].columns);
        struct columns *columns = NULL;
        struct error err = {0};
        CHECK_INT(columns_new(spec, "x", rows[i].type, &rows[i].shape, &columns, &err), -1);
        CHECK_INT(err.kind, ERROR_INVALID);
        CHECK(strstr(err.text, rows[i].said));
    }
}

int main(void) {
    TEST(test_rows_become_numbers_by_their_names);
    TEST(test_the_network_must_take_rows_of_so_many_columns);
    return TEST_END();
}
