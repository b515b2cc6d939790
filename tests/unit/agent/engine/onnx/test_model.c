// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/model.h"

#include "agent/engine/graph/node.h"
#include "agent/engine/onnx/tensor_proto.h"
#include "lib/file.h"
#include "tests/test.h"
#include "tests/unit/agent/engine/onnx/build.h"

#include <stdlib.h>
#include <unistd.h>

static void check_refused(struct message model, enum error_kind kind, const char *part) {
    struct error err = {0};
    struct model *read = NULL;
    CHECK_INT(model_from_bytes(model.bytes, model.size, &read, &err), -1);
    CHECK_INT(err.kind, kind);
    if (!strstr(err.text, part)) {
        printf("# '%s' does not say '%s'\n", err.text, part);
        test_failures++;
    }
    model_free(read);
}

/* x -> Relu -> y, as one message. */
static struct message relu_graph(void) {
    struct message graph = {0};
    add_node(&graph, (struct node_fields){.op = "Relu", .input = "x", .output = "y"});
    add_value(&graph, 11, "x", 1, (int64_t[]){1, -1, 4}, 3);
    add_value(&graph, 12, "y", 1, NULL, 0);
    return graph;
}

static void test_model_is_read(void) {
    struct error err = {0};
    struct model *model = NULL;
    struct message bytes = make_model(relu_graph(), 13);
    CHECK_OK(model_from_bytes(bytes.bytes, bytes.size, &model, &err), &err);
    if (!model) {
        return;
    }
    CHECK_INT(model->opset, 13);
    CHECK_INT(model->graph.node_count, 1);
    CHECK_INT(model->graph.input_count, 1);
    CHECK_STR(model->graph.nodes[0].op->name, "Relu");
    const struct value *x = &model->graph.values[model->graph.inputs[0]];
    char text[128];
    shape_format(&x->shape, text);
    CHECK_STR(x->name, "x");
    CHECK_STR(text, "1x?x4");
    CHECK_INT(x->type, TENSOR_FLOAT32);
    model_free(model);
}

static void test_initializers_are_constants_and_no_inputs(void) {
    struct error err = {0};
    struct model *model = NULL;
    struct message graph = {0};
    static const float three[] = {1, 2, 3};
    add_node(&graph, (struct node_fields){.op = "Add", .input = "x", .second = "w", .output = "y"});
    add_tensor(&graph, 5,
               (struct tensor_fields){.name = "w",
                                      .type = 1,
                                      .rank = 1,
                                      .dims = (int64_t[]){3},
                                      .data = three,
                                      .size = sizeof three});
    add_value(&graph, 11, "x", 1, (int64_t[]){3}, 1);
    add_value(&graph, 11, "w", 1, (int64_t[]){3}, 1);
    add_value(&graph, 12, "y", 1, NULL, 0);
    struct message bytes = make_model(graph, 9);
    CHECK_OK(model_from_bytes(bytes.bytes, bytes.size, &model, &err), &err);
    if (!model) {
        return;
    }
    CHECK_INT(model->graph.input_count, 1);
    CHECK_INT(model->parameter_count, 3);
    const struct value *w = &model->graph.values[model->graph.nodes[0].inputs[1]];
    CHECK(w->is_constant);
    CHECK(memcmp(w->constant.data, three, sizeof three) == 0);
    model_free(model);
}

static void test_all_missing_operators_are_named(void) {
    struct message graph = relu_graph();
    add_node(&graph, (struct node_fields){.op = "Warp", .input = "y", .output = "a"});
    add_node(&graph, (struct node_fields){.op = "Bernoulli", .input = "a", .output = "b"});
    add_node(&graph, (struct node_fields){.op = "Warp", .input = "b", .output = "c"});
    add_node(&graph, (struct node_fields){
                         .op = "Relu", .domain = "com.example", .input = "c", .output = "d"});
    check_refused(make_model(graph, 13), ERROR_UNSUPPORTED, ": Warp, Bernoulli, com.example.Relu");
}

static void test_attributes_are_refused_by_name(void) {
    struct message graph = {0}, attribute = {0};
    add_bytes(&attribute, 1, "slope", 5);
    add_integer(&attribute, 3, 1);
    add_integer(&attribute, 20, 2);
    add_node(&graph, (struct node_fields){
                         .op = "Relu", .input = "x", .output = "y", .attribute = &attribute});
    add_value(&graph, 11, "x", 1, NULL, 0);
    add_value(&graph, 12, "y", 1, NULL, 0);
    check_refused(make_model(graph, 13), ERROR_UNSUPPORTED, "\"slope\"");
    struct message pad = {0}, mode = {0};
    add_bytes(&mode, 1, "mode", 4);
    add_bytes(&mode, 4, "wrap", 4);
    add_integer(&mode, 20, 3);
    add_node(&pad,
             (struct node_fields){
                 .op = "Pad", .input = "x", .second = "p", .output = "y", .attribute = &mode});
    add_value(&pad, 11, "x", 1, NULL, 0);
    add_value(&pad, 11, "p", 7, NULL, 0);
    add_value(&pad, 12, "y", 1, NULL, 0);
    check_refused(make_model(pad, 13), ERROR_UNSUPPORTED, "\"wrap\"");
}

static void test_broken_graphs(void) {
    struct message cycle = {0}, twice = relu_graph(), missing = {0}, no_output = {0};
    add_node(&cycle, (struct node_fields){.op = "Add", .input = "x", .second = "b", .output = "a"});
    add_node(&cycle, (struct node_fields){.op = "Relu", .input = "a", .output = "b"});
    add_value(&cycle, 11, "x", 1, NULL, 0);
    add_value(&cycle, 12, "b", 1, NULL, 0);
    check_refused(make_model(cycle, 13), ERROR_INVALID, "\"b\" is not made by an earlier node");
    add_node(&twice, (struct node_fields){.op = "Relu", .input = "x", .output = "y"});
    check_refused(make_model(twice, 13), ERROR_INVALID, "two values are named \"y\"");
    add_node(&missing, (struct node_fields){.op = "Add", .input = "x", .output = "y"});
    add_value(&missing, 11, "x", 1, NULL, 0);
    add_value(&missing, 12, "y", 1, NULL, 0);
    check_refused(make_model(missing, 13), ERROR_INVALID, "1 inputs, 2 to 2 are expected");
    add_value(&no_output, 11, "x", 1, NULL, 0);
    check_refused(make_model(no_output, 13), ERROR_INVALID, "no output");
    check_refused(make_model(relu_graph(), 29), ERROR_UNSUPPORTED, "opset 29");
    check_refused((struct message){0}, ERROR_INVALID, "empty");
}

/* A model of one node of ai.onnx.ml with these imports; versions of 0 are left out. */
static struct message ml_model(int opset, int first, int second) {
    struct message graph = {0}, model = {0};
    const int versions[] = {opset, first, second};
    add_node(&graph, (struct node_fields){
                         .op = "Scaler", .domain = "ai.onnx.ml", .input = "x", .output = "y"});
    add_value(&graph, 11, "x", 1, (int64_t[]){-1, 4}, 2);
    add_value(&graph, 12, "y", 1, NULL, 0);
    add_integer(&model, 1, 7);
    add_message(&model, 7, &graph);
    for (int i = 0; i < 3; i++) {
        struct message version = {0};
        add_text(&version, 1, i ? "ai.onnx.ml" : "");
        add_integer(&version, 2, versions[i]);
        if (versions[i]) {
            add_message(&model, 8, &version);
        }
    }
    return model;
}

static void test_each_domain_has_its_version(void) {
    struct error err = {0};
    struct model *model = NULL;
    struct message bytes = ml_model(17, 3, 0), alone = ml_model(0, 2, 2);
    CHECK_OK(model_from_bytes(bytes.bytes, bytes.size, &model, &err), &err);
    if (model) {
        CHECK_INT(model->opset, 17);
        CHECK_INT(model->ml_version, 3);
        CHECK_INT(model->graph.nodes[0].opset, 3);
        CHECK_STR(model->note, "");
    }
    model_free(TAKE(model));
    CHECK_OK(model_from_bytes(alone.bytes, alone.size, &model, &err), &err);
    CHECK(model && model->opset == 0 && model->graph.nodes[0].opset == 2);
    model_free(TAKE(model));
    /* An opset without nodes is ignored. */
    struct message newer = ml_model(99, 1, 0);
    CHECK_OK(model_from_bytes(newer.bytes, newer.size, &model, &err), &err);
    model_free(model);
    check_refused(ml_model(13, 0, 0), ERROR_UNSUPPORTED, "ai.onnx.ml 0; versions 1 to 5");
    check_refused(ml_model(13, 6, 0), ERROR_UNSUPPORTED, "ai.onnx.ml 6; versions 1 to 5");
    check_refused(ml_model(13, 1, 3), ERROR_INVALID, "two versions of ai.onnx.ml, 1 and 3");
    struct message graph = relu_graph();
    add_node(&graph,
             (struct node_fields){
                 .op = "DictVectorizer", .domain = "ai.onnx.ml", .input = "y", .output = "z"});
    struct message model_1 = make_model(graph, 13);
    add_domain(&model_1, "ai.onnx.ml", 1);
    check_refused(model_1, ERROR_UNSUPPORTED,
                  "operators not supported (opset 13, ai.onnx.ml 1): ai.onnx.ml.DictVectorizer");
}

/* Names, labels and producer are arbitrary bytes of the file, and go to a terminal. */
static void test_what_is_said_of_a_file_is_one_line_of_text(void) {
    struct error err = {0};
    struct model *model = NULL;
    struct message graph = {0}, file = {0}, version = {0}, labels = {0};
    static const char odd[] = "y\n\x1b[31m\xff\xc2\x9b\xc3\xa4";
    add_text(&labels, 1, "classlabels_strings");
    add_text(&labels, 9, "a\rb");
    add_integer(&labels, 20, 8);
    add_node(&graph, (struct node_fields){.op = "ZipMap",
                                          .domain = "ai.onnx.ml",
                                          .input = "x",
                                          .output = odd,
                                          .attribute = &labels});
    add_value(&graph, 11, "x", 1, (int64_t[]){-1, 1}, 2);
    add_value(&graph, 12, odd, 1, NULL, 0);
    add_text(&version, 1, "ai.onnx.ml");
    add_integer(&version, 2, 1);
    add_integer(&file, 1, 7);
    add_text(&file, 2, odd);
    add_message(&file, 7, &graph);
    add_message(&file, 8, &version);
    CHECK_OK(model_from_bytes(file.bytes, file.size, &model, &err), &err);
    if (model) {
        CHECK_STR(model->producer, "y  [31m?  \xc3\xa4");
        CHECK_STR(model->note, "y  [31m?  \xc3\xa4: given as the tensor that ZipMap reads "
                               "(columns: a b)");
        CHECK_STR(model->graph.values[model->graph.outputs[0]].name, odd); /* accepted as a name */
    }
    model_free(model);
}

static void test_lying_tensors(void) {
    static const float data[] = {1, 2};
    static const struct {
        int64_t dims[2];
        int type;
        size_t size;
        enum error_kind kind;
        const char *part;
    } rows[] = {
        {{2, 2}, 1, sizeof data, ERROR_INVALID, "8 bytes of data, its shape needs 16"},
        {{-2, 1}, 1, sizeof data, ERROR_INVALID, "a dimension of -2"},
        {{(int64_t)1 << 40, (int64_t)1 << 40}, 1, sizeof data, ERROR_INVALID, "larger than"},
        {{1, 2}, 14, sizeof data, ERROR_UNSUPPORTED, "complex64"},
        {{1, 2}, 99, sizeof data, ERROR_INVALID, "element type 99"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct message graph = relu_graph();
        add_tensor(&graph, 5,
                   (struct tensor_fields){.name = "w",
                                          .type = rows[i].type,
                                          .rank = 2,
                                          .dims = rows[i].dims,
                                          .data = data,
                                          .size = rows[i].size});
        check_refused(make_model(graph, 13), rows[i].kind, rows[i].part);
    }
}

static void test_every_cut_is_refused_or_read(void) {
    struct message bytes = make_model(relu_graph(), 13);
    for (size_t size = 0; size < bytes.size; size++) {
        struct error err = {0};
        struct model *model = NULL;
        unsigned char *copy = malloc(size + 1); /* lets a sanitizer see reads past the end */
        memcpy(copy, bytes.bytes, size);
        if (model_from_bytes(copy, size, &model, &err) < 0) {
            CHECK(err.text[0] != 0);
        }
        model_free(model);
        free(copy);
    }
}

static void test_files(void) {
    struct error err = {0};
    struct model *model = NULL;
    CHECK_INT(model_open("/nonexistent/m.onnx", &model, &err), -1);
    CHECK_STR(err.text, "model /nonexistent/m.onnx: cannot open: No such file or directory");
    error_clear(&err);
    CHECK_INT(model_open("/dev/null", &model, &err), -1);
    CHECK_STR(err.text, "model /dev/null: not a regular file");
}

static void test_tensor_files_round_trip(void) {
    struct error err = {0};
    char path[] = "build/test_tensor_XXXXXX";
    AUTO(fd_closep) int fd = mkstemp(path);
    struct tensor tensor, again;
    struct shape shape = {2, {2, 3}};
    CHECK_OK(tensor_init(&tensor, TENSOR_INT64, &shape, &err), &err);
    for (int i = 0; i < 6; i++) {
        ((int64_t *)tensor.data)[i] = i - 3;
    }
    CHECK_OK(tensor_proto_save(path, "t", &tensor, &err), &err);
    CHECK_OK(tensor_proto_load(path, &again, &err), &err);
    CHECK(shape_equal(&again.shape, &shape));
    CHECK(memcmp(again.data, tensor.data, 48) == 0);
    tensor_release(&tensor);
    tensor_release(&again);
    unlink(path);
}

static void test_files_of_other_programs_are_named(void) {
    static const struct {
        const char *bytes;
        size_t size;
        const char *part;
    } files[] = {
        {"PK\3\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10\0\0\0archive/data.pkl", 46,
         "torch.onnx.export("},
        {"\x80\4\x95\x10\0\0", 6, "skl2onnx.to_onnx("},
        {"\x09\0\0\0\0\0\0\0{\"w\": {}}", 17, "optimum-cli export onnx"},
        {"GGUF\3\0\0\0", 8, "scorer.endpoint"},
        {"\x89HDF\r\n\x1a\n", 8, "format=\"onnx\""},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct message file = {0};
        memcpy(file.bytes, files[i].bytes, files[i].size);
        file.size = files[i].size;
        check_refused(file, ERROR_INVALID, files[i].part);
    }
    /* A zip archive of other things is none of them. */
    struct message zip = {.size = 31};
    memcpy(zip.bytes, "PK\3\4", 4);
    check_refused(zip, ERROR_INVALID, "a field");
}

int main(void) {
    TEST(test_model_is_read);
    TEST(test_initializers_are_constants_and_no_inputs);
    TEST(test_all_missing_operators_are_named);
    TEST(test_attributes_are_refused_by_name);
    TEST(test_broken_graphs);
    TEST(test_each_domain_has_its_version);
    TEST(test_what_is_said_of_a_file_is_one_line_of_text);
    TEST(test_lying_tensors);
    TEST(test_every_cut_is_refused_or_read);
    TEST(test_files);
    TEST(test_tensor_files_round_trip);
    TEST(test_files_of_other_programs_are_named);
    return TEST_END();
}
