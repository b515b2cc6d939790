// SPDX-License-Identifier: Apache-2.0
/* Written models are read back unchanged: every model of the standard's tests that we read
 * (libonnx-testdata), and models that only we make. */
#include "agent/engine/graph/node.h"
#include "agent/engine/model.h"
#include "agent/engine/ops/microsoft/microsoft.h"
#include "agent/engine/ops/ml/ml.h"
#include "agent/engine/ops/table.h"
#include "tests/test.h"

#include <ftw.h>
#include <stdlib.h>
#include <string.h>

static const char *const folder = "/usr/share/libonnx-testdata/data";

/* Values are the same if they have the same name, type, shape and elements. */
static bool same_value(const struct graph *a, int left, const struct graph *b, int right,
                       bool is_declared) {
    if (left < 0 || right < 0) {
        return left < 0 && right < 0;
    }
    const struct value *x = &a->values[left], *y = &b->values[right];
    bool is_same = strcmp(x->name, y->name) == 0 && x->is_constant == y->is_constant &&
                   x->is_input == y->is_input;
    if (is_same && (is_declared || x->is_constant)) {
        is_same = x->type == y->type && x->has_shape == y->has_shape &&
                  (!x->has_shape || shape_equal(&x->shape, &y->shape));
    }
    if (is_same && x->is_constant) {
        size_t bytes = (size_t)shape_count(&x->shape) * tensor_type_size(x->type);
        is_same = bytes == 0 || memcmp(x->constant.data, y->constant.data, bytes) == 0;
    }
    return is_same;
}

static bool same_attribute(const struct attribute *x, const struct attribute *y) {
    if (strcmp(x->name, y->name) != 0 || x->kind != y->kind || x->count != y->count) {
        return false;
    }
    switch (x->kind) {
    case ATTRIBUTE_INTEGER:
        return x->integer == y->integer;
    case ATTRIBUTE_NUMBER:
        return memcmp(&x->number, &y->number, sizeof x->number) == 0;
    case ATTRIBUTE_STRING:
        return strcmp(x->text, y->text) == 0;
    case ATTRIBUTE_INTEGERS:
        return x->count == 0 || memcmp(x->integers, y->integers, 8 * x->count) == 0;
    case ATTRIBUTE_NUMBERS:
        return x->count == 0 || memcmp(x->numbers, y->numbers, 4 * x->count) == 0;
    default:
        return x->tensor.type == y->tensor.type &&
               shape_equal(&x->tensor.shape, &y->tensor.shape) &&
               memcmp(x->tensor.data, y->tensor.data,
                      (size_t)shape_count(&x->tensor.shape) * tensor_type_size(x->tensor.type)) ==
                   0;
    }
}

static bool same_node(const struct graph *a, const struct node *x, const struct graph *b,
                      const struct node *y) {
    bool is_same = x->op == y->op && strcmp(x->name, y->name) == 0 && x->opset == y->opset &&
                   x->input_count == y->input_count && x->output_count == y->output_count &&
                   x->attribute_count == y->attribute_count;
    for (int i = 0; is_same && i < x->input_count; i++) {
        is_same = same_value(a, x->inputs[i], b, y->inputs[i], false);
    }
    for (int i = 0; is_same && i < x->output_count; i++) {
        is_same = same_value(a, x->outputs[i], b, y->outputs[i], false);
    }
    for (size_t i = 0; is_same && i < x->attribute_count; i++) {
        is_same = same_attribute(&x->attributes[i], &y->attributes[i]);
    }
    return is_same;
}

static bool same_graph(const struct graph *a, const struct graph *b) {
    bool is_same = a->node_count == b->node_count && a->input_count == b->input_count &&
                   a->output_count == b->output_count;
    for (size_t i = 0; is_same && i < a->node_count; i++) {
        is_same = same_node(a, &a->nodes[i], b, &b->nodes[i]);
    }
    for (size_t i = 0; is_same && i < a->input_count; i++) {
        is_same = same_value(a, a->inputs[i], b, b->inputs[i], true);
    }
    for (size_t i = 0; is_same && i < a->output_count; i++) {
        is_same = same_value(a, a->outputs[i], b, b->outputs[i], true);
    }
    return is_same;
}

static int models_seen, models_read;

/* Writes and reads it; *ret_bytes own the copy's constants. */
static struct model *copy(const struct graph *graph, int opset, struct buffer *ret_bytes) {
    struct error err = {0};
    struct model *again = NULL;
    struct write_options options = {.opset = opset};
    buffer_init(ret_bytes, WRITE_BYTES_MAX);
    CHECK_OK(model_write(graph, &options, ret_bytes, &err), &err);
    CHECK_OK(model_from_bytes(ret_bytes->data, ret_bytes->size, &again, &err), &err);
    return again;
}

static bool has_bodies(const struct graph *graph) {
    for (size_t i = 0; i < graph->node_count; i++) {
        for (size_t k = 0; k < graph->nodes[i].attribute_count; k++) {
            enum attribute_kind kind = graph->nodes[i].attributes[k].kind;
            if (kind == ATTRIBUTE_GRAPH || kind == ATTRIBUTE_OPTIONAL) {
                return true;
            }
        }
    }
    return false;
}

static int on_file(const char *path, const struct stat *info UNUSED, int type,
                   struct FTW *where UNUSED) {
    struct error err = {0};
    AUTO(model_freep) struct model *model = NULL;
    if (type != FTW_F || !text_ends(path, "model.onnx") || test_failures) {
        return 0;
    }
    models_seen++;
    if (model_open(path, &model, &err) < 0) {
        return 0; /* an unsupported operator */
    }
    models_read++;
    AUTO(buffer_release) struct buffer bytes;
    bool is_written = model_check_write(&model->graph, model->opset, &err) == 0;
    CHECK_INT(is_written, !has_bodies(&model->graph));
    err = (struct error){0};
    if (has_bodies(&model->graph)) { /* they run, but are not written */
        const struct write_options options = {.opset = model->opset};
        buffer_init(&bytes, WRITE_BYTES_MAX);
        CHECK_INT(model_write(&model->graph, &options, &bytes, &err), -1);
        CHECK_INT(err.kind, ERROR_UNSUPPORTED);
        return 0;
    }
    AUTO(model_freep) struct model *again = copy(&model->graph, model->opset, &bytes);
    if (!again || !same_graph(&model->graph, &again->graph)) {
        printf("# %s comes back as another\n", path);
        test_failures++;
    }
    return 0;
}

static void test_the_standards_own_models_come_back(void) {
    if (nftw(folder, on_file, 20, FTW_PHYS) < 0) {
        SKIP("libonnx-testdata is not installed");
    }
    CHECK(models_seen > 1000);
    CHECK(models_read > 500);
}

/* Relu of an input, of a constant that has no name. */
static void make_graph(struct graph *graph, float *numbers, int opset) {
    static const int inputs[] = {0, 1}, outputs[] = {2};
    *graph = (struct graph){.value_count = 4, .node_count = 1, .input_count = 1, .output_count = 1};
    graph->values = x_calloc(4, sizeof *graph->values);
    graph->nodes = x_calloc(1, sizeof *graph->nodes);
    graph->inputs = x_calloc(1, sizeof *graph->inputs);
    graph->outputs = x_calloc(1, sizeof *graph->outputs);
    struct shape pair = {1, {2}};
    graph->values[0] =
        (struct value){.name = "x", .shape = {2, {-1, 2}}, .has_shape = true, .is_input = true};
    for (int i = 1; i < 4; i += 2) { /* the last has no reader */
        graph->values[i] = (struct value){.shape = pair, .has_shape = true, .is_constant = true};
        graph->values[i].constant = (struct tensor){TENSOR_FLOAT32, pair, numbers, false};
    }
    graph->values[2] = (struct value){.name = "y", .shape = {2, {-1, 2}}, .has_shape = true};
    graph->nodes[0] = (struct node){.op = op_find("Add", opset),
                                    .name = "add",
                                    .opset = opset,
                                    .input_count = 2,
                                    .output_count = 1,
                                    .inputs = inputs,
                                    .outputs = outputs};
    graph->outputs[0] = 2;
}

static void free_graph(struct graph *graph) {
    free(graph->values);
    free(graph->nodes);
    free(graph->inputs);
    free(graph->outputs);
}

static void test_trained_weights_replace_the_constants(void) {
    struct error err = {0};
    struct graph graph;
    float numbers[] = {1, 2}, trained[] = {3, 4};
    const void *weights[] = {NULL, trained, NULL, NULL};
    struct write_options options = {.opset = 13, .weights = weights};
    AUTO(buffer_release) struct buffer bytes;
    AUTO(buffer_release) struct buffer plain;
    make_graph(&graph, numbers, 13);
    buffer_init(&bytes, WRITE_BYTES_MAX);
    CHECK_OK(model_write(&graph, &options, &bytes, &err), &err);
    AUTO(model_freep) struct model *model = NULL;
    CHECK_OK(model_from_bytes(bytes.data, bytes.size, &model, &err), &err);
    const struct graph *read = &model->graph;
    CHECK_INT(read->value_count, 3);
    const struct value *weight = &read->values[read->nodes[0].inputs[1]];
    CHECK_STR(weight->name, "windlass:1");
    CHECK(memcmp(weight->constant.data, trained, sizeof trained) == 0);
    CHECK_INT(read->values[read->inputs[0]].shape.dims[0], -1);
    CHECK(read->values[read->outputs[0]].has_shape);
    AUTO(model_freep) struct model *again = copy(&graph, 13, &plain);
    weight = &again->graph.values[again->graph.nodes[0].inputs[1]];
    CHECK(memcmp(weight->constant.data, numbers, sizeof numbers) == 0);
    free_graph(&graph);
}

static void test_what_cannot_be_written_is_refused(void) {
    struct error err = {0};
    struct graph graph;
    float numbers[] = {1, 2};
    struct write_options options = {.opset = 13};
    AUTO(buffer_release) struct buffer bytes;
    make_graph(&graph, numbers, 12);
    buffer_init(&bytes, WRITE_BYTES_MAX);
    CHECK_INT(model_write(&graph, &options, &bytes, &err), -1);
    CHECK_STR(err.text, "Add node \"add\" is of opset 12, not 13");
    AUTO(buffer_release) struct buffer small;
    buffer_init(&small, 50);
    err = (struct error){0};
    options.opset = 12;
    CHECK_INT(model_write(&graph, &options, &small, &err), -1);
    CHECK_INT(err.kind, ERROR_EXHAUSTED);
    free_graph(&graph);
}

/* x -> Scaler of ai.onnx.ml -> FastGelu of com.microsoft -> Relu -> y, each domain with its
 * version.
 */
static void test_each_domain_is_declared(void) {
    static const float zero[] = {0, 0}, one[] = {1, 1};
    static const int values[] = {0, 1, 2, 3};
    const struct attribute scaling[] = {
        {.name = "offset", .kind = ATTRIBUTE_NUMBERS, .count = 2, .numbers = zero},
        {.name = "scale", .kind = ATTRIBUTE_NUMBERS, .count = 2, .numbers = one}};
    struct value made[4] = {
        {.name = "x", .is_input = true}, {.name = "scaled"}, {.name = "h"}, {.name = "y"}};
    struct node nodes[3] = {{.op = ml_table_find("Scaler", 3), .name = "s", .opset = 3},
                            {.op = microsoft_find("FastGelu", 1), .name = "g", .opset = 1},
                            {.op = op_find("Relu", 17), .name = "r", .opset = 17}};
    struct graph graph = {.values = made,
                          .nodes = nodes,
                          .inputs = (int[]){0},
                          .outputs = (int[]){3},
                          .value_count = 4,
                          .node_count = 3,
                          .input_count = 1,
                          .output_count = 1};
    struct error err = {0};
    for (int i = 0; i < 4; i++) {
        made[i].has_shape = true;
        made[i].shape = (struct shape){2, {-1, 2}};
    }
    for (int i = 0; i < 3; i++) {
        nodes[i].inputs = &values[i];
        nodes[i].outputs = &values[i + 1];
        nodes[i].input_count = nodes[i].output_count = 1;
    }
    nodes[0].attributes = scaling;
    nodes[0].attribute_count = ARRAY_LEN(scaling);
    AUTO(buffer_release) struct buffer bytes;
    AUTO(model_freep) struct model *again = copy(&graph, 17, &bytes);
    CHECK(again && same_graph(&graph, &again->graph));
    CHECK_OK(model_check_write(&graph, 17, &err), &err);
    CHECK(again && again->opset == 17 && again->ml_version == 3);
    /* OperatorSetIdProto: domain 1, version 2 */
    static const char domain[] = "\x0a\x0d"
                                 "com.microsoft"
                                 "\x10\x01";
    CHECK(memmem(bytes.data, bytes.size, domain, sizeof domain - 1));
    /* Two nodes of one domain have one version. */
    struct write_options options = {.opset = 17};
    AUTO(buffer_release) struct buffer other;
    buffer_init(&other, WRITE_BYTES_MAX);
    nodes[1].op = ml_table_find("Scaler", 2);
    nodes[1].opset = 2;
    CHECK_INT(model_write(&graph, &options, &other, &err), -1);
    CHECK_STR(err.text, "Scaler node \"g\" is of opset 2, not 3");
    err = (struct error){0};
    CHECK_INT(model_check_write(&graph, 17, &err), -1);
    CHECK_STR(err.text, "Scaler node \"g\" is of opset 2, not 3");
}

/* What an ONNX file cannot hold is found without its weights being written. */
static void test_too_many_weights_are_refused_before_they_are_written(void) {
    struct error err = {0};
    struct graph graph;
    float numbers[] = {1, 2};
    make_graph(&graph, numbers, 13);
    CHECK_OK(model_check_write(&graph, 13, &err), &err);
    graph.values[1].shape = (struct shape){2, {1 << 15, 1 << 14}};
    CHECK_INT(model_check_write(&graph, 13, &err), -1);
    CHECK_INT(err.kind, ERROR_UNSUPPORTED);
    CHECK(strstr(err.text, "2147483648 bytes of weights"));
    free_graph(&graph);
}

int main(void) {
    TEST(test_the_standards_own_models_come_back);
    TEST(test_trained_weights_replace_the_constants);
    TEST(test_what_cannot_be_written_is_refused);
    TEST(test_each_domain_is_declared);
    TEST(test_too_many_weights_are_refused_before_they_are_written);
    return TEST_END();
}
