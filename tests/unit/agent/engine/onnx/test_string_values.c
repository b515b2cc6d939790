// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/onnx/string_values.h"

#include "agent/engine/graph/node.h"
#include "agent/engine/graph/string_table.h"
#include "agent/engine/model.h"
#include "build.h"
#include "tests/test.h"

enum { STRINGS = 8 }; /* ONNX's number of strings */

static void add_list(struct message *node, const char *name, const char *const *strings) {
    struct message list = {0};
    add_text(&list, 1, name);
    for (; *strings; strings++) {
        add_text(&list, 9, *strings);
    }
    add_integer(&list, 20, 8);
    add_message(node, 5, &list);
}

static void add_numbers(struct message *node, const char *name, const int64_t *numbers, int count) {
    struct message list = {0};
    add_text(&list, 1, name);
    for (int i = 0; i < count; i++) {
        add_integer(&list, 8, numbers[i]);
    }
    add_integer(&list, 20, 7);
    add_message(node, 5, &list);
}

/* Inputs "sex" and "town" of strings, "age" of floats; these nodes; the output is "y". */
static struct message model_of_version(const struct message *nodes, int count, int version) {
    struct message graph = {0};
    for (int i = 0; i < count; i++) {
        add_message(&graph, 1, &nodes[i]);
    }
    add_value(&graph, 11, "sex", STRINGS, (int64_t[]){-1, 1}, 2);
    add_value(&graph, 11, "town", STRINGS, (int64_t[]){-1, 1}, 2);
    add_value(&graph, 11, "age", 1, (int64_t[]){-1, 1}, 2);
    add_value(&graph, 12, "y", 1, NULL, 0);
    struct message model = make_model(graph, 13);
    add_domain(&model, "ai.onnx.ml", version);
    return model;
}

static struct message model_of(const struct message *nodes, int count) {
    return model_of_version(nodes, count, 2);
}

static struct message concat_of(const char *first, const char *second, const char *output) {
    struct message node = make_node("Concat", "", first, second, output), axis = {0};
    add_text(&axis, 1, "axis");
    add_integer(&axis, 3, 1);
    add_integer(&axis, 20, 2);
    add_message(&node, 5, &axis);
    return node;
}

static const char *const sexes[] = {"f", "m", NULL};
static const char *const towns[] = {"Ulm", "m", "", NULL};

static void test_texts_become_their_numbers(void) {
    struct error err = {0};
    struct model *model = NULL;
    struct message nodes[4] = {concat_of("sex", "town", "both"),
                               make_node("LabelEncoder", "ai.onnx.ml", "both", NULL, "region"),
                               make_node("Identity", "", "region", NULL, "same"),
                               make_node("OneHotEncoder", "ai.onnx.ml", "same", NULL, "y")};
    add_list(&nodes[1], "keys_strings", towns);
    add_list(&nodes[1], "values_strings", (const char *const[]){"south", "m", "south", NULL});
    add_list(&nodes[3], "cats_strings", (const char *const[]){"south", "_Unused", NULL});
    struct message bytes = model_of(nodes, 4);
    CHECK_OK(model_from_bytes(bytes.bytes, bytes.size, &model, &err), &err);
    if (!model) {
        return;
    }
    const struct graph *graph = &model->graph;
    size_t count = 0;
    CHECK_INT(string_table_find(graph->strings, "Ulm", 3), 0);
    CHECK_INT(string_table_find(graph->strings, "m", 1), 1);
    CHECK_INT(string_table_find(graph->strings, "", 0), 2);
    CHECK_INT(string_table_find(graph->strings, "south", 5), 3);
    CHECK_INT(string_table_find(graph->strings, "f", 1), -1);
    const int64_t *keys = node_integers(&graph->nodes[1], "keys_int64s", &count);
    CHECK(count == 3 && keys[0] == 0 && keys[1] == 1 && keys[2] == 2);
    const int64_t *values = node_integers(&graph->nodes[1], "values_int64s", &count);
    CHECK(count == 3 && values[0] == 3 && values[1] == 1 && values[2] == 3);
    CHECK_INT(node_integer(&graph->nodes[1], "default_int64", -7), 4); /* "_Unused" */
    const int64_t *categories = node_integers(&graph->nodes[3], "cats_int64s", &count);
    CHECK(count == 2 && categories[0] == 3 && categories[1] == 4);
    CHECK(graph->values[graph->inputs[0]].is_string && !graph->values[graph->inputs[2]].is_string);
    CHECK(!graph->values[graph->outputs[0]].is_string);
    CHECK_STR(model->note, "");
    model_free(model);
}

static void check_refused(const struct message *nodes, int count, enum error_kind kind,
                          const char *part) {
    struct error err = {0};
    struct model *model = NULL;
    struct message bytes = model_of(nodes, count);
    CHECK_INT(model_from_bytes(bytes.bytes, bytes.size, &model, &err), -1);
    CHECK_INT(err.kind, kind);
    CHECK(strstr(err.text, part));
    if (!strstr(err.text, part)) {
        printf("# %s\n", err.text);
    }
    model_free(model);
}

static void test_who_else_reads_texts_is_refused(void) {
    struct message shape = make_node("Shape", "", "sex", NULL, "y");
    check_refused(&shape, 1, ERROR_UNSUPPORTED,
                  "Shape node \"y\": it reads \"sex\", which is strings");
    struct message scaler = make_node("Scaler", "ai.onnx.ml", "sex", NULL, "y");
    check_refused(&scaler, 1, ERROR_UNSUPPORTED, "Scaler node");
    struct message gather = make_node("Gather", "", "age", "sex", "y");
    check_refused(&gather, 1, ERROR_UNSUPPORTED, "Gather node");
    struct message zip_map = make_node("ZipMap", "ai.onnx.ml", "sex", NULL, "y");
    add_list(&zip_map, "classlabels_strings", sexes);
    check_refused(&zip_map, 1, ERROR_UNSUPPORTED, "ZipMap node");
    struct message numbers = make_node("OneHotEncoder", "ai.onnx.ml", "sex", NULL, "y");
    add_numbers(&numbers, "cats_int64s", (int64_t[]){0, 1}, 2);
    check_refused(&numbers, 1, ERROR_UNSUPPORTED, "OneHotEncoder node");
    struct message moved[2] = {make_node("Identity", "", "sex", NULL, "z"),
                               make_node("Relu", "", "z", NULL, "y")};
    check_refused(moved, 2, ERROR_UNSUPPORTED, "it reads \"z\", which is strings");
    struct message out = make_node("Identity", "", "sex", NULL, "y");
    check_refused(&out, 1, ERROR_UNSUPPORTED, "its only output is strings");
}

static void test_texts_and_numbers_are_not_mixed(void) {
    struct message mixed = concat_of("sex", "age", "y"), turned = concat_of("age", "sex", "y");
    check_refused(&mixed, 1, ERROR_INVALID, "reads \"age\", strings are expected there");
    check_refused(&turned, 1, ERROR_INVALID, "reads \"sex\", numbers are expected there");
    struct message both = make_node("OneHotEncoder", "ai.onnx.ml", "sex", NULL, "y");
    add_list(&both, "cats_strings", sexes);
    add_numbers(&both, "cats_int64s", (int64_t[]){0, 1}, 2);
    check_refused(&both, 1, ERROR_INVALID, "\"cats_strings\" and \"cats_int64s\": one of them");
    struct message of_numbers = make_node("OneHotEncoder", "ai.onnx.ml", "age", NULL, "y");
    add_list(&of_numbers, "cats_strings", sexes);
    check_refused(&of_numbers, 1, ERROR_INVALID, "reads \"age\", strings are expected there");
    struct message none = make_node("OneHotEncoder", "ai.onnx.ml", "sex", NULL, "y");
    check_refused(&none, 1, ERROR_INVALID,
                  "\"cats_int64s\" or \"cats_strings\" with the categories");
    struct message uneven = make_node("LabelEncoder", "ai.onnx.ml", "sex", NULL, "y");
    add_list(&uneven, "keys_strings", sexes);
    add_numbers(&uneven, "values_int64s", (int64_t[]){7}, 1);
    check_refused(&uneven, 1, ERROR_INVALID, "2 keys and 1 values");
}

/* Some exporters write an empty list beside the real one. */
static void test_an_empty_list_is_none(void) {
    struct error err = {0};
    struct model *model = NULL;
    struct message hot = make_node("OneHotEncoder", "ai.onnx.ml", "sex", NULL, "y");
    add_numbers(&hot, "cats_int64s", NULL, 0);
    add_list(&hot, "cats_strings", sexes);
    struct message bytes = model_of(&hot, 1);
    CHECK_OK(model_from_bytes(bytes.bytes, bytes.size, &model, &err), &err);
    size_t count = 0;
    CHECK(model && node_integers(&model->graph.nodes[0], "cats_int64s", &count) && count == 2);
    model_free(model);
}

/* From strings to numbers, on to strings and from these to numbers again. */
static void check_encoders(const struct message *nodes, int version, const int64_t *first) {
    struct error err = {0};
    struct model *model = NULL;
    struct message bytes = model_of_version(nodes, 3, version);
    CHECK_OK(model_from_bytes(bytes.bytes, bytes.size, &model, &err), &err);
    if (!model) {
        return;
    }
    const struct node *all = model->graph.nodes;
    size_t keys, values, back, words;
    const int64_t *numbers = node_integers(&all[0], "values_int64s", &values);
    CHECK(node_integers(&all[0], "keys_int64s", &keys) && keys == 3 && values == 3);
    CHECK(numbers && numbers[0] == first[0] && numbers[1] == first[1] && numbers[2] == first[2]);
    const int64_t *same = node_integers(&all[1], "keys_int64s", &back);
    CHECK(back == 3 && same && memcmp(same, first, sizeof *same * 3) == 0);
    const int64_t *texts = node_integers(&all[1], "values_int64s", &words);
    CHECK(words == 3 && texts && texts[0] == 0 && texts[1] == 1 && texts[2] == 2);
    CHECK_INT(node_integer(&all[0], "default_int64", -1), -1);
    CHECK_INT(node_integer(&all[1], "default_int64", -1),
              string_table_find(model->graph.strings, "_Unused", 7));
    CHECK(!model->graph.values[all[0].outputs[0]].is_string);
    CHECK(model->graph.values[all[1].outputs[0]].is_string);
    model_free(model);
}

static void test_encoders_of_other_versions(void) {
    const int64_t kinds[] = {7, -4, 12};
    struct message mappers[3] = {make_node("CategoryMapper", "ai.onnx.ml", "town", NULL, "kind"),
                                 make_node("CategoryMapper", "ai.onnx.ml", "kind", NULL, "name"),
                                 make_node("CategoryMapper", "ai.onnx.ml", "name", NULL, "y")};
    struct message encoders[3] = {make_node("LabelEncoder", "ai.onnx.ml", "town", NULL, "kind"),
                                  make_node("LabelEncoder", "ai.onnx.ml", "kind", NULL, "name"),
                                  make_node("LabelEncoder", "ai.onnx.ml", "name", NULL, "y")};
    for (int i = 0; i < 3; i++) {
        add_list(&mappers[i], "cats_strings", towns);
        add_numbers(&mappers[i], "cats_int64s", kinds, 3);
        add_list(&encoders[i], "classes_strings", towns);
    }
    check_encoders(mappers, 1, kinds);
    check_encoders(encoders, 1, (const int64_t[]){0, 1, 2});
    check_refused(encoders, 1, ERROR_UNSUPPORTED, "classes_strings"); /* of version 2 */
}

/* A label picked from a constant of strings: "x" int64 [n] -> ArrayFeatureExtractor -> "y". */
static struct message constant_model(const int64_t *dims, int rank, const char *const *strings,
                                     const char *op) {
    struct message graph = {0}, classes = {0};
    for (int i = 0; i < rank; i++) {
        add_integer(&classes, 1, dims[i]);
    }
    add_integer(&classes, 2, STRINGS);
    for (; *strings; strings++) {
        add_text(&classes, 6, *strings);
    }
    add_text(&classes, 8, "classes");
    struct message node = make_node(op, *op == 'A' ? "ai.onnx.ml" : "", "classes", "x", "y");
    struct message scores = make_node("Identity", "", "x", NULL, "scores");
    add_message(&graph, 1, &node);
    add_message(&graph, 1, &scores);
    add_message(&graph, 5, &classes);
    add_value(&graph, 11, "x", 7, (int64_t[]){-1}, 1);
    add_value(&graph, 12, "y", STRINGS, NULL, 0);
    add_value(&graph, 12, "scores", 7, NULL, 0);
    struct message model = make_model(graph, 13);
    add_domain(&model, "ai.onnx.ml", 2);
    return model;
}

static void test_a_constant_of_texts_is_read(void) {
    static const struct {
        int64_t dims[2];
        int rank;
        const char *op, *fault; /* NULL: none */
    } rows[] = {
        {{3}, 1, "ArrayFeatureExtractor", NULL},
        {{1, 3}, 2, "Gather", NULL},
        {{2}, 1, "Gather", "initializer 1: 3 strings, expected as many as shape 2 has"},
        {{1LL << 40, 1LL << 40}, 2, "Gather", "3 strings, expected as many as shape"},
        {{-3}, 1, "Gather", "its dimensions are invalid"},
        {{3}, 1, "Sub", "it reads \"classes\", which is strings"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct model *model = NULL;
        struct message bytes = constant_model(rows[i].dims, rows[i].rank, towns, rows[i].op);
        CHECK_INT(model_from_bytes(bytes.bytes, bytes.size, &model, &err), rows[i].fault ? -1 : 0);
        CHECK(!rows[i].fault || strstr(err.text, rows[i].fault));
        if (model) {
            const struct value *value = &model->graph.values[0];
            const int64_t *numbers = value->constant.data;
            CHECK(value->is_string && value->constant.type == TENSOR_INT64);
            CHECK(numbers[0] == 0 && numbers[1] == 1 && numbers[2] == 2);
            CHECK_INT(model->graph.output_count, 1); /* the strings are left out */
            CHECK(strstr(model->note, "y: left out, strings are not an output"));
        }
        model_free(model);
    }
}

int main(void) {
    TEST(test_a_constant_of_texts_is_read);
    TEST(test_texts_become_their_numbers);
    TEST(test_who_else_reads_texts_is_refused);
    TEST(test_texts_and_numbers_are_not_mixed);
    TEST(test_an_empty_list_is_none);
    TEST(test_encoders_of_other_versions);
    return TEST_END();
}
