// SPDX-License-Identifier: Apache-2.0
#include "agent/score/feed/columns.h"
#include "agent/score/feed/slices.h"

#include "agent/engine/graph/string_table.h"
#include "lib/arena.h"
#include "tests/test.h"

#include <math.h>

static const struct feed_input input = {.name = "x", .type = TENSOR_FLOAT32, .shape = {2, {-1, 2}}};

static json_t *spec_of(const char *columns) { /* NULL: none */
    char text[128];
    struct error err = {0};
    json_t *spec = NULL;
    snprintf(text, sizeof text, "{\"scorer\":{\"onnx\":{\"path\":\"m/a.onnx\"%s%s}}}",
             columns ? ",\"columns\":" : "", columns ? columns : "");
    CHECK_OK(tree_parse(text, strlen(text), sizeof text, &spec, &err), &err);
    return spec;
}

static int make(const json_t *spec, const struct feed_input *inputs, size_t count,
                struct columns **ret_columns, struct error *err) {
    const struct columns_options options = {.names = tree_get(spec, "scorer.onnx.columns"),
                                            .field = "spec.scorer.onnx.columns",
                                            .model = "m/a.onnx"};
    return columns_new(&options, inputs, count, ret_columns, err);
}

/* A row that is not an object is NULL. The caller frees *ret_row. */
static int read_row(struct columns *columns, const char *text, json_t **ret_row,
                    const struct npy_slice **ret_slices, struct error *err) {
    if (tree_parse(text, strlen(text), strlen(text), ret_row, err) < 0) {
        return -1;
    }
    return columns_read(columns, json_is_object(*ret_row) ? *ret_row : NULL, ret_slices, err);
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
        {"{\"b\":\"3.40282347e38\",\"a\":-3e38}", 3.40282347e38, -3e38, NULL},
        {"{\"b\":\"1e-400\",\"a\":1}", 0, 1, NULL},
        {"{\"b\":\"1e39\",\"a\":1}", 0, 0, "\"b\" is \"1e39\", a number that float32 holds"},
        {"{\"b\":1,\"a\":-1e39}", 0, 0, "\"a\" is not a string, a number that"},
        {"{\"b\":\"1e400\",\"a\":1}", 0, 0, "\"b\" is \"1e400\", a number"},
        {"{\"b\":\"1\"}", 0, 0, "it has no column \"a\""},
        {"{\"b\":\"1,5\",\"a\":\"1\"}", 0, 0, "column \"b\" is \"1,5\", a number is expected"},
        {"{\"b\":\"0x10\",\"a\":\"1\"}", 0, 0, "column \"b\" is \"0x10\", a number"},
        {"{\"b\":\"one\",\"a\":\"1\"}", 0, 0, "column \"b\" is \"one\", a number"},
        {"{\"b\":[1],\"a\":\"1\"}", 0, 0, "column \"b\" is not a string, a number is expected"},
        {"[1,2]", 0, 0, "not an object"},
        {"{", 0, 0, ""},
    };
    AUTO(tree_freep) json_t *spec = spec_of("[\"b\",\"a\"]");
    struct columns *columns = NULL;
    struct error err = {0};
    CHECK_OK(make(spec, &input, 1, &columns, &err), &err);
    for (size_t i = 0; columns && i < ARRAY_LEN(rows); i++) {
        const struct npy_slice *slice = NULL;
        struct error why = {0};
        AUTO(tree_freep) json_t *row = NULL;
        int read = read_row(columns, rows[i].row, &row, &slice, &why);
        CHECK_INT(read, rows[i].fault ? -1 : 0);
        if (read < 0) {
            CHECK(rows[i].fault && strstr(why.text, rows[i].fault));
            continue;
        }
        const double *values = slice->values;
        CHECK(slice->type == NPY_FLOAT64 && slice->rank == 1 && slice->dims[0] == 2);
        CHECK(values[0] == rows[i].b || (isnan(values[0]) && isnan(rows[i].b)));
        CHECK(values[1] == rows[i].a || (isnan(values[1]) && isnan(rows[i].a)));
    }
    columns_free(columns);
}

/* The text is taken as it is, with the values that its tree has; or not, where is_flat is false. */
static void check_flat(struct columns *columns, const char *text, bool is_flat) {
    const struct npy_slice *flat = NULL, *slice = NULL;
    struct error why = {0};
    AUTO(tree_freep) json_t *row = NULL;
    double taken[2];
    bool is_taken = columns_read_text(columns, text, strlen(text), &flat);
    if (is_taken != is_flat) {
        CHECK_STR(text, is_flat ? "taken as it is" : "left to its tree");
    }
    if (is_taken) {
        memcpy(taken, flat->values, sizeof taken);
        CHECK_OK(read_row(columns, text, &row, &slice, &why), &why);
        const double *values = slice ? slice->values : taken;
        for (int i = 0; i < 2; i++) {
            bool is_same = (isnan(values[i]) && isnan(taken[i])) ||
                           memcmp(&values[i], &taken[i], sizeof values[i]) == 0;
            if (!is_same) {
                CHECK_STR(text, "a row whose values are those of its tree");
            }
        }
    }
}

static void test_rows_like_those_before_are_read_without_a_tree(void) {
    static const char *const same[] = {
        "{\"a\":1,\"id\":\"x\",\"b\":2.5}",
        " { \"a\" : -0 , \"id\":3,\"b\":-0.0 } ",
        "{\"a\":null,\"id\":true,\"b\":false}",
        "{\"a\":\"\",\"id\":null,\"b\":\"NaN\"}",
        "{\"a\":\"-1.5e3\",\"id\":1e5,\"b\":\"-0\"}",
        "{\"a\":0.30000000000000004,\"id\":\"\xc3\xbc\",\"b\":1e-400}"};
    static const char *const others[] = {"{\"a\":1,\"b\":2,\"id\":\"x\"}",
                                         "{\"a\":1,\"id\":\"x\"}",
                                         "{\"a\":1,\"id\":\"x\",\"b\":2,\"b\":3}",
                                         "{\"a\":1,\"id\":\"x\",\"b\":2",
                                         "{\"a\":1,\"id\":\"x\",\"b\":2}}",
                                         "{\"a\":1,\"id\":\"x\",\"b\":2,}",
                                         "[1]",
                                         "",
                                         "{\"a\":1,\"id\":\"x\",\"b\":1e39}",
                                         "{\"a\":1,\"id\":\"x\",\"b\":1e400}",
                                         "{\"a\":1,\"id\":\"x\",\"b\":\" 2\"}",
                                         "{\"a\":1,\"id\":\"\\n\",\"b\":2}",
                                         "{\"a\":1,\"id\":\"\xff\",\"b\":2}",
                                         "{\"a\":1,\"id\":[1],\"b\":2}",
                                         "{\"a\":01,\"id\":\"x\",\"b\":2}",
                                         "{\"a\":1,\"id\":12345678901234567890,\"b\":2}",
                                         "{\"a\":1;\"id\":\"x\",\"b\":2}",
                                         "{\"a\" 1,\"id\":\"x\",\"b\":2}"};
    static const char escaped[] = "{\"a\":1,\"\\u0062\":2,\"c\":2}";
    AUTO(tree_freep) json_t *spec = spec_of("[\"b\",\"a\"]");
    struct columns *columns = NULL;
    struct error err = {0};
    CHECK_OK(make(spec, &input, 1, &columns, &err), &err);
    if (!columns) {
        return;
    }
    check_flat(columns, same[0], false); /* nothing is known yet */
    columns_learn(columns, "{\"a\":1,\"c\":2}", 13);
    check_flat(columns, "{\"a\":1,\"c\":2}", false); /* lacks a column */
    columns_learn(columns, escaped, strlen(escaped));
    check_flat(columns, escaped, false);
    columns_learn(columns, same[0], strlen(same[0]));
    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        check_flat(columns, same[i], true);
    }
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        check_flat(columns, others[i], false);
    }
    columns_free(columns);
}

/* Rows of 17 shapes, as they come in turn: the first 16 are read, and one of them stays known when
 * rows of it have escapes. */
static void test_rows_of_several_shapes_are_read_without_a_tree(void) {
    struct error err = {0};
    struct columns *columns = NULL;
    AUTO(tree_freep) json_t *spec = spec_of("[\"a\",\"b\"]");
    const struct feed_input of = {"x", TENSOR_FLOAT32, {2, {-1, 2}}, NULL};
    CHECK_OK(make(spec, &of, 1, &columns, &err), &err);
    char text[17][64];
    for (int i = 0; columns && i < 17; i++) {
        static const char escaped[] = "{\"b\":3,\"a\":1,\"n0\":\"\\n\"}";
        snprintf(text[i], sizeof text[i], "{\"b\":%d,\"a\":1,\"n%d\":\"x\"}", i, i);
        check_flat(columns, text[i], false);
        columns_learn(columns, text[i], strlen(text[i]));
        columns_learn(columns, escaped, strlen(escaped)); /* the first one, again */
    }
    for (int i = 0; columns && i < 2 * 17; i++) {
        check_flat(columns, text[i % 17], i % 17 < 16);
    }
    columns_free(columns);
}

static void test_what_is_never_read_without_a_tree(void) {
    static const char text[] = "{\"a\":1,\"b\":2}";
    static const struct {
        const char *names;
        enum tensor_type type;
    } rows[] = {{"[\"a\",\"a\"]", TENSOR_FLOAT32},
                {"[\"a\",\"b\"]", TENSOR_INT64},
                {"[\"a\",\"/b\"]", TENSOR_FLOAT32}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *spec = spec_of(rows[i].names);
        const struct feed_input of = {"x", rows[i].type, {2, {-1, 2}}, NULL};
        struct columns *columns = NULL;
        struct error err = {0};
        CHECK_OK(make(spec, &of, 1, &columns, &err), &err);
        columns_learn(columns, text, strlen(text));
        check_flat(columns, text, false);
        columns_free(columns);
    }
}

static void test_an_array_has_no_number_that_becomes_infinite(void) {
    static const double good[] = {1e-50, -INFINITY, NAN, 3.4028235e38}, bad[] = {1, -3.5e38};
    struct npy_slice slice = {.type = NPY_FLOAT64, .rank = 1, .dims = {4}, .values = good};
    struct error err = {0};
    CHECK_OK(slices_check_values(&slice, TENSOR_FLOAT32, &err), &err);
    slice = (struct npy_slice){.type = NPY_FLOAT64, .rank = 1, .dims = {2}, .values = bad};
    CHECK_OK(slices_check_values(&slice, TENSOR_FLOAT64, &err), &err);
    CHECK_INT(slices_check_values(&slice, TENSOR_FLOAT32, &err), -1);
    CHECK_STR(err.text,
              "value 1 of the slice is -3.5e+38, which the network's float32 cannot hold");
}

static void test_the_network_must_take_rows_of_so_many_columns(void) {
    static const struct {
        enum tensor_type type;
        struct shape shape;
        const char *columns, *said;
    } rows[] = {
        {TENSOR_INT8, {2, {-1, 2}}, "[\"a\",\"b\"]", "is int8 ?x2, for a table floats (float32"},
        {TENSOR_FLOAT16, {2, {-1, 2}}, "[\"a\",\"b\"]", "is float16 ?x2"},
        {TENSOR_FLOAT32, {3, {-1, 2, 1}}, "[\"a\",\"b\"]", "strings [n, columns] are expected"},
        {TENSOR_FLOAT32,
         {2, {-1, 3}},
         "[\"a\",\"b\"]",
         "names 2 columns, the network's input x is ?x3"},
        {TENSOR_FLOAT32, {2, {-1, -1}}, "[]", "names 0 columns"},
        {TENSOR_FLOAT32, {2, {-1, 3}}, NULL, "input x is ?x3: name its columns, in their order"},
        {TENSOR_FLOAT32, {2, {-1, INT64_MAX}}, "[\"a\"]", "names 1 columns"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *spec = spec_of(rows[i].columns);
        struct columns *columns = NULL;
        struct error err = {0};
        const struct feed_input of = {"x", rows[i].type, rows[i].shape, NULL};
        CHECK_INT(make(spec, &of, 1, &columns, &err), -1);
        CHECK_INT(err.kind, ERROR_INVALID);
        CHECK(strstr(err.text, rows[i].said));
    }
}

static const struct {
    const char *row; /* age sex visits count wild */
    double age;
    int64_t sex, visits, count, wild;
    const char *fault;
} mixed[] = {
    {"{'age':'1.5','sex':'m','visits':'7','count':'-8','wild':'True'}", 1.5, 1, 7, -8, 1, NULL},
    {"{'age':2,'sex':'f','visits':9007199254740993,'count':2e9,'wild':false}", 2, 0,
     9007199254740993, 2000000000, 0, NULL},
    {"{'age':2,'sex':' f','visits':' 7.0 ','count':0,'wild':'0'}", 2, -1, 7, 0, 0, NULL},
    {"{'age':2,'sex':null,'visits':true,'count':0,'wild':1}", 2, 2, 1, 0, 1, NULL},
    {"{'age':2,'sex':17,'visits':'-9223372036854775808','count':0,'wild':1}", 2, 3, INT64_MIN, 0, 1,
     NULL},
    {"{'age':2,'sex':1.5,'visits':1,'count':0,'wild':1}", 0, 0, 0, 0, 0, "a string is expected"},
    {"{'age':2,'sex':'f','visits':'7.5','count':0,'wild':1}", 0, 0, 0, 0, 0,
     "column \"visits\" is \"7.5\", a whole number is expected"},
    {"{'age':2,'sex':'f','visits':'','count':0,'wild':1}", 0, 0, 0, 0, 0, "a whole number is"},
    {"{'age':2,'sex':'f','visits':1e30,'count':0,'wild':1}", 0, 0, 0, 0, 0, "a whole number is"},
    {"{'age':2,'sex':'f','visits':'9223372036854775808','count':0,'wild':1}", 0, 0, 0, 0, 0,
     "a whole number is"},
    {"{'age':2,'sex':'f','visits':1,'count':3000000000,'wild':1}", 0, 0, 0, 0, 0,
     "a whole number of 32 bits is expected"},
    {"{'age':2,'sex':'f','visits':1,'count':0,'wild':2}", 0, 0, 0, 0, 0, "true or false is"},
    {"{'age':2,'sex':'f','visits':1,'count':0}", 0, 0, 0, 0, 0,
     "it has no column \"wild\", which is an input of m/a.onnx"},
};

/* Each input takes the column of its name, or the one in the list, in the order of the inputs. */
static void test_inputs_of_several_types_take_a_column_each(void) {
    static const char *const known[] = {"f", "m", ""};
    struct arena arena = {0};
    struct string_table *strings = string_table_new(&arena);
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        CHECK_INT(string_table_add(strings, known[i], strlen(known[i])), (int64_t)i);
    }
    CHECK_INT(string_table_add(strings, "17", 2), 3);
    const struct feed_input inputs[] = {
        {"age", TENSOR_FLOAT32, {2, {-1, 1}}, NULL}, {"sex", TENSOR_INT64, {2, {-1, 1}}, strings},
        {"visits", TENSOR_INT64, {1, {-1}}, NULL},   {"count", TENSOR_INT32, {2, {-1, -1}}, NULL},
        {"wild", TENSOR_BOOL, {2, {-1, 1}}, NULL},
    };
    for (int is_listed = 0; is_listed < 2; is_listed++) {
        AUTO(tree_freep)
        json_t *spec =
            spec_of(is_listed ? "[\"age\",\"sex\",\"visits\",\"count\",\"wild\"]" : NULL);
        struct columns *columns = NULL;
        struct error err = {0};
        CHECK_OK(make(spec, inputs, ARRAY_LEN(inputs), &columns, &err), &err);
        for (size_t i = 0; columns && i < ARRAY_LEN(mixed) - (size_t)is_listed; i++) {
            const struct npy_slice *slices = NULL;
            struct error why = {0};
            AUTO(text_freep) char *row = x_strdup(mixed[i].row);
            for (char *at = row; *at; at++) {
                *at = *at == '\'' ? '"' : *at;
            }
            AUTO(tree_freep) json_t *json = NULL;
            int read = read_row(columns, row, &json, &slices, &why);
            CHECK_INT(read, mixed[i].fault ? -1 : 0);
            CHECK(read == 0 || strstr(why.text, mixed[i].fault));
            if (read == 0) {
                CHECK(*(const double *)slices[0].values == mixed[i].age);
                CHECK_INT(*(const int64_t *)slices[1].values, mixed[i].sex);
                CHECK_INT(*(const int64_t *)slices[2].values, mixed[i].visits);
                CHECK_INT(*(const int32_t *)slices[3].values, mixed[i].count);
                CHECK_INT(*(const uint8_t *)slices[4].values, mixed[i].wild);
                CHECK(slices[2].rank == 0 && slices[3].rank == 1 && slices[3].dims[0] == 1);
            }
        }
        columns_free(columns);
    }
    AUTO(tree_freep) json_t *few = spec_of("[\"age\",\"sex\"]");
    struct columns *columns = NULL;
    struct error err = {0};
    CHECK_INT(make(few, inputs, ARRAY_LEN(inputs), &columns, &err), -1);
    CHECK(strstr(err.text, "names 2 columns, the network's 5 inputs take 5"));
    arena_release(&arena);
}

/* An array's columns, in the order of the inputs. */
static void test_a_slice_is_parted_among_the_inputs(void) {
    static const float values[] = {1, 2, 3, 4};
    struct feed_input inputs[] = {{"a", TENSOR_FLOAT32, {2, {-1, 1}}, NULL},
                                  {"b", TENSOR_FLOAT32, {2, {-1, 2}}, NULL},
                                  {"c", TENSOR_FLOAT64, {1, {-1}}, NULL}};
    struct npy_slice slice = {NPY_FLOAT32, 1, {4}, values}, parts[3];
    struct error err = {0};
    CHECK_OK(slices_part(&slice, inputs, 3, parts, &err), &err);
    CHECK(parts[0].values == values && parts[1].values == values + 1 &&
          parts[2].values == values + 3 && parts[1].dims[0] == 2 && parts[2].rank == 0);
    slice.dims[0] = 3;
    CHECK_INT(slices_part(&slice, inputs, 3, parts, &err), -1);
    CHECK(strstr(err.text, "3 inputs have 4 columns, a slice of spec.input.npy has 3 values"));
    struct arena arena = {0};
    struct error other = {0};
    inputs[1].strings = string_table_new(&arena);
    CHECK_INT(slices_part(&slice, inputs, 3, parts, &other), -1);
    CHECK(strstr(other.text, "input b takes strings, which spec.input.npy does not have"));
    arena_release(&arena);
}

int main(void) {
    TEST(test_inputs_of_several_types_take_a_column_each);
    TEST(test_a_slice_is_parted_among_the_inputs);
    TEST(test_rows_become_numbers_by_their_names);
    TEST(test_rows_like_those_before_are_read_without_a_tree);
    TEST(test_rows_of_several_shapes_are_read_without_a_tree);
    TEST(test_what_is_never_read_without_a_tree);
    TEST(test_an_array_has_no_number_that_becomes_infinite);
    TEST(test_the_network_must_take_rows_of_so_many_columns);
    return TEST_END();
}
