// SPDX-License-Identifier: Apache-2.0
/* How an export by torch.export declares its initializers: parameters are weights, buffers and
 * numbers that were computed of numbers alone are parts of the formula. Names and lists are those
 * of PyTorch 2.14 with onnxscript 0.7. */
#include "agent/engine/model.h"

#include "tests/test.h"
#include "tests/unit/agent/engine/onnx/build.h"

#include <stdio.h>

#define KIND "pkg.torch.export.graph_signature.InputSpec.kind"
#define SOURCES "pkg.onnxscript.optimizer.folded_from"

struct row {
    const char *name;
    int count; /* numbers */
    const char *key, *value;
    bool is_literal;
};

static const struct row rows[] = {
    {"i.weight", 4, KIND, "PARAMETER", false},
    {"temperature", 1, KIND, "PARAMETER", false},
    {"positions", 4, KIND, "BUFFER", true},
    {"lifted_tensor_0", 1, KIND, "CONSTANT_TENSOR", true},
    {"n.running_mean", 4, KIND, "BUFFER", false}, /* a norm's statistic */
    {"val_0", 4, SOURCES, "['j.weight']", false},
    {"val_24", 4, SOURCES, "['m.weight', 'val_18', 'val_19']", false},
    {"unsqueeze_1", 4, SOURCES, "['b', 'unsqueeze', 'val_2', 'val_3']", false},
    {"exp", 1, SOURCES, "['temperature']", false},
    {"clone", 1, SOURCES, "['lifted_tensor_0']", true},
    {"scalar_tensor_default", 1, SOURCES, "['val_4']", true},
    {"min_val_cast", 1, SOURCES, "['min_val']", true},
    {"val_17", 4, SOURCES, "['arange', 'convert_element_type_default_1', 'cos_2', 'mul_12']", true},
    {"val_18", 4, SOURCES, "['mul2']", false},
    {"val_19", 4, SOURCES, "['mean']", false},
    {"val_20", 4, SOURCES, "['mean_1', 'mul']", true},
    {"val_29", 4, SOURCES, "['a name that is longer than any operator of PyTorch has']", false},
    {"val_30", 4, SOURCES, "['val_1", false}, /* cut */
    {"linear_min", 1, NULL, NULL, false},     /* a limit of Clip that is learned */
    {"0.bias", 1, NULL, NULL, false},
    {"0.weight", 4, NULL, NULL, false}, /* of a folded norm: it says nothing */
    {"val_31", 4, NULL, NULL, false},
};

static void add_info(struct message *graph, const struct row *row) {
    struct message info = {0}, entry = {0};
    add_text(&info, 1, row->name);
    if (row->key) {
        add_text(&entry, 1, row->key);
        add_text(&entry, 2, row->value);
        add_message(&info, 4, &entry);
    }
    add_message(graph, 13, &info);
}

/* The sum of all of them, and a norm. */
static struct message make_graph(bool has_infos) {
    static const float numbers[] = {0.5F, 1, 2, 3};
    static const int64_t all[] = {-1, 4}, some[] = {4};
    struct message graph = {0};
    const char *last = "x";
    add_value(&graph, 11, "x", 1, all, 2);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int count = rows[i].count;
        add_tensor(&graph, 5,
                   (struct tensor_fields){.name = rows[i].name,
                                          .type = 1,
                                          .rank = count > 1,
                                          .dims = some,
                                          .data = numbers,
                                          .size = (size_t)count * sizeof *numbers});
        if (has_infos) {
            add_info(&graph, &rows[i]);
        }
        static char sums[ARRAY_LEN(rows)][16];
        snprintf(sums[i], sizeof sums[i], "sum%zu", i);
        struct message node = make_node("Add", "", last, rows[i].name, sums[i]);
        add_message(&graph, 1, &node);
        last = sums[i];
    }
    static const char *const ports[] = {NULL, "i.weight", "val_0", "n.running_mean", "val_24"};
    struct message norm = {0};
    for (size_t i = 0; i < ARRAY_LEN(ports); i++) {
        add_text(&norm, 1, ports[i] ? ports[i] : last);
    }
    add_text(&norm, 2, "y");
    add_text(&norm, 4, "BatchNormalization");
    add_message(&graph, 1, &norm);
    add_value(&graph, 12, "y", 1, NULL, 0);
    return graph;
}

static void check(bool has_infos) {
    struct message bytes = make_model(make_graph(has_infos), 15);
    AUTO(model_freep) struct model *model = NULL;
    struct error err = {0};
    CHECK_OK(model_from_bytes(bytes.bytes, bytes.size, &model, &err), &err);
    size_t found = 0;
    for (size_t v = 0; model && v < model->graph.value_count; v++) {
        const struct value *value = &model->graph.values[v];
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            if (strcmp(value->name, rows[i].name) == 0) {
                found++;
                CHECK(value->is_literal == (has_infos && rows[i].is_literal) ||
                      (printf("# %s\n", value->name), 0));
            }
        }
    }
    CHECK_INT((int)found, (int)ARRAY_LEN(rows));
}

static void test_what_is_declared_is_believed(void) {
    check(true);
}

static void test_a_file_without_declarations_is_as_before(void) {
    check(false);
}

/* Broken metadata says nothing. */
static void test_broken_metadata(void) {
    struct message graph = make_graph(false), info = {0};
    struct error err = {0};
    add_text(&info, 1, "positions");
    add_bytes(&info, 4,
              "\x0a\x7f"
              "cut",
              5);
    add_message(&graph, 13, &info);
    struct message bytes = make_model(graph, 15);
    AUTO(model_freep) struct model *model = NULL;
    CHECK_OK(model_from_bytes(bytes.bytes, bytes.size, &model, &err), &err);
}

int main(void) {
    TEST(test_what_is_declared_is_believed);
    TEST(test_a_file_without_declarations_is_as_before);
    TEST(test_broken_metadata);
    return TEST_END();
}
