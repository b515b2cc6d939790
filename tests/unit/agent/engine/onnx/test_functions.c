// SPDX-License-Identifier: Apache-2.0
/* Calls of a model's functions are replaced by their nodes; weights in files beside the model. */
#include "agent/engine/graph/resident.h"
#include "agent/engine/model.h"

#include "agent/engine/graph/node.h"
#include "agent/engine/graph/op.h"
#include "agent/engine/onnx/functions.h"

#include "lib/file.h"
#include "tests/test.h"
#include "tests/unit/agent/engine/onnx/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- functions ------------------------------------------------------------------------------ */

static struct message attribute(const char *name, float value) {
    struct message made = {0};
    add_text(&made, 1, name);
    add_varint(&made, 2 << 3 | 5);
    memcpy(made.bytes + made.size, &value, sizeof value);
    made.size += sizeof value;
    add_integer(&made, 20, 1);
    return made;
}

static struct message reference(const char *name, const char *to) {
    struct message made = {0};
    add_text(&made, 1, name);
    add_integer(&made, 20, 1);
    add_text(&made, 21, to);
    return made;
}

/* A function of one input `a` and one output `b`. */
static struct message begin_function_of(const char *domain, const char *name, int opset) {
    struct message function = {0}, version = {0};
    add_text(&function, 1, name);
    add_text(&function, 4, "a");
    add_text(&function, 5, "b");
    add_text(&function, 10, domain);
    add_integer(&version, 2, opset);
    add_message(&function, 9, &version);
    return function;
}

static struct message begin_function(const char *name, int opset) {
    return begin_function_of("my", name, opset);
}

static void add_inner(struct message *function, struct node_fields fields) {
    struct message node = make_node(fields.op, fields.domain ? fields.domain : "", fields.input,
                                    fields.second, fields.output);
    if (fields.attribute) {
        add_message(&node, 5, fields.attribute);
    }
    add_message(function, 7, &node);
}

/* x -> my.NAME -> y, with an attribute of the call. */
static struct message make_call(const char *name, const struct message *of_call) {
    struct message graph = {0};
    add_node(&graph, (struct node_fields){name, "my", "x", NULL, "y", of_call});
    add_value(&graph, 11, "x", 1, (int64_t[]){1, 4}, 2);
    add_value(&graph, 12, "y", 1, NULL, 0);
    struct message model = make_model(graph, 13);
    add_domain(&model, "my", 1);
    return model;
}

static struct model *load(const struct message *bytes, struct error *err) {
    struct model *model = NULL;
    return model_from_bytes(bytes->bytes, bytes->size, &model, err) < 0 ? NULL : model;
}

/* leaky: LeakyRelu with its own alpha, the call's, or the operator's; then Relu. */
static void test_attributes(void) {
    static const struct {
        bool has_call, has_default;
        float alpha;
    } cases[] = {{true, false, 0.5f}, {true, true, 0.5f}, {false, true, 0.25f}, {false, false, -1}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = {0};
        struct message of_call = attribute("slope", 0.5f), usual = attribute("slope", 0.25f);
        struct message to = reference("alpha", "slope"), function = begin_function("leaky", 13);
        add_inner(&function, (struct node_fields){"LeakyRelu", "", "a", NULL, "inner", &to});
        add_inner(&function, (struct node_fields){"Relu", "", "inner", NULL, "b", NULL});
        if (cases[i].has_default) {
            add_message(&function, 11, &usual);
        }
        struct message bytes = make_call("leaky", cases[i].has_call ? &of_call : NULL);
        add_message(&bytes, 25, &function);
        AUTO(model_freep) struct model *model = load(&bytes, &err);
        CHECK_OK(model ? 0 : -1, &err);
        if (!model) {
            continue;
        }
        CHECK_INT((int)model->graph.node_count, 2);
        CHECK_STR(model->graph.nodes[0].op->name, "LeakyRelu");
        CHECK(node_number(&model->graph.nodes[0], "alpha", -1) == cases[i].alpha);
        CHECK_STR(model->graph.values[model->graph.nodes[0].outputs[0]].name, "f1/inner");
        CHECK_INT(model->graph.nodes[1].outputs[0], model->graph.outputs[0]);
    }
}

/* Each call of a function has values of its own, and a function may call another. */
static void test_nested(void) {
    struct error err = {0};
    struct message inner = begin_function("inner", 13), outer = begin_function("outer", 13);
    add_inner(&inner, (struct node_fields){"Relu", "", "a", NULL, "h", NULL});
    add_inner(&inner, (struct node_fields){"Add", "", "h", "a", "b", NULL});
    add_inner(&outer, (struct node_fields){"inner", "my", "a", NULL, "h", NULL});
    add_inner(&outer, (struct node_fields){"inner", "my", "h", NULL, "b", NULL});
    struct message bytes = make_call("outer", NULL);
    add_message(&bytes, 25, &inner);
    add_message(&bytes, 25, &outer);
    AUTO(model_freep) struct model *model = load(&bytes, &err);
    CHECK_OK(model ? 0 : -1, &err);
    if (model) {
        CHECK_INT((int)model->graph.node_count, 4);
        CHECK_INT(model->graph.nodes[2].inputs[0], model->graph.nodes[1].outputs[0]);
        CHECK_INT(model->graph.nodes[3].outputs[0], model->graph.outputs[0]);
    }
}

static void check_refused(const struct message *bytes, enum error_kind kind, const char *part) {
    struct error err = {0};
    AUTO(model_freep) struct model *model = load(bytes, &err);
    CHECK(!model);
    CHECK_INT(err.kind, kind);
    if (!strstr(err.text, part)) {
        printf("# '%s' does not say '%s'\n", err.text, part);
        test_failures++;
    }
}

static void test_refused(void) {
    struct message itself = begin_function("itself", 13), old = begin_function("old", 11);
    add_inner(&itself, (struct node_fields){"itself", "my", "a", NULL, "b", NULL});
    struct message bytes = make_call("itself", NULL);
    add_message(&bytes, 25, &itself);
    check_refused(&bytes, ERROR_INVALID, "nested more than 16 deep");
    add_inner(&old, (struct node_fields){"Relu", "", "a", NULL, "b", NULL});
    bytes = make_call("old", NULL);
    add_message(&bytes, 25, &old);
    check_refused(&bytes, ERROR_UNSUPPORTED, "of version 11");
    bytes = make_call("absent", NULL);
    check_refused(&bytes, ERROR_UNSUPPORTED, "my.absent");
}

/* 4^12 nodes from a kilobyte: the number is bounded before there is memory for them. */
static void test_growth(void) {
    struct message bytes = make_call("level12", NULL);
    for (int level = 1; level <= 12; level++) {
        char name[24], below[24];
        snprintf(name, sizeof name, "level%d", level);
        snprintf(below, sizeof below, "level%d", level - 1);
        struct message function = begin_function(name, 13);
        static const char *const values[] = {"a", "h", "i", "j", "b"};
        for (int i = 0; i < 4; i++) {
            add_inner(&function,
                      (struct node_fields){level == 1 ? "Relu" : below, level == 1 ? "" : "my",
                                           values[i], NULL, values[i + 1], NULL});
        }
        add_message(&bytes, 25, &function);
    }
    check_refused(&bytes, ERROR_UNSUPPORTED, "more than 32768 nodes");
}

/* ---- overloads ------------------------------------------------------------------------------ */

/* The functions my.f of two overloads, and a call of the third. */
static struct message make_overloads(const char *a, const char *b, const char *called) {
    struct message graph = {0}, node = make_node("f", "my", "x", NULL, "y");
    add_text(&node, 8, called);
    add_message(&graph, 1, &node);
    add_value(&graph, 11, "x", 1, (int64_t[]){1, 4}, 2);
    add_value(&graph, 12, "y", 1, NULL, 0);
    struct message model = make_model(graph, 13);
    add_domain(&model, "my", 1);
    for (int i = 0; i < 2; i++) {
        struct message function = begin_function("f", 13);
        add_text(&function, 13, i ? b : a);
        add_inner(&function, (struct node_fields){i ? "Neg" : "Relu", "", "a", NULL, "b", NULL});
        add_message(&model, 25, &function);
    }
    return model;
}

static void test_overloads(void) {
    static const struct {
        const char *a, *b, *called, *op;
    } cases[] = {{"1", "2", "1", "Relu"}, {"1", "2", "2", "Neg"}, {"1", "", "", "Neg"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = {0};
        struct message bytes = make_overloads(cases[i].a, cases[i].b, cases[i].called);
        AUTO(model_freep) struct model *model = load(&bytes, &err);
        CHECK_OK(model ? 0 : -1, &err);
        if (model) {
            CHECK_STR(model->graph.nodes[0].op->name, cases[i].op);
        }
    }
    struct message bytes = make_overloads("1", "2", "3");
    check_refused(&bytes, ERROR_UNSUPPORTED, "overload \"3\" of f: no function has it");
    bytes = make_overloads("1", "1", "1");
    check_refused(&bytes, ERROR_INVALID, "two functions \"f\"");
}

/* The standard domain has two names. */
static void test_standard_domain(void) {
    static const char *const names[] = {"", "ai.onnx"};
    for (int i = 0; i < 4; i++) {
        struct error err = {0};
        struct message graph = {0}, node = make_node("f", names[i & 1], "x", NULL, "y");
        add_message(&graph, 1, &node);
        add_value(&graph, 11, "x", 1, (int64_t[]){1, 4}, 2);
        add_value(&graph, 12, "y", 1, NULL, 0);
        struct message model = make_model(graph, 13);
        struct message function = begin_function_of(names[i >> 1], "f", 13);
        add_inner(&function, (struct node_fields){"Relu", "", "a", NULL, "b", NULL});
        add_message(&model, 25, &function);
        AUTO(model_freep) struct model *loaded = load(&model, &err);
        CHECK_OK(loaded ? 0 : -1, &err);
    }
}

/* ---- calls that make no nodes --------------------------------------------------------------- */

/* `calls` nodes that call `below`. */
static struct message make_caller(const char *name, const char *below, int calls) {
    struct message function = begin_function(name, 13);
    for (int i = 0; i < calls; i++) {
        struct message node = {0};
        add_text(&node, 4, below);
        add_text(&node, 7, "my");
        add_message(&function, 7, &node);
    }
    return function;
}

/* 40^3 calls of nothing; none of them counts as a node. */
static void test_empty_calls(void) {
    struct message bytes = make_call("a", NULL), empty = begin_function("d", 13);
    add_message(&bytes, 25, &empty);
    static const char *const names[] = {"a", "b", "c", "d"};
    for (int i = 0; i < 3; i++) {
        struct message caller = make_caller(names[i], names[i + 1], 40);
        add_message(&bytes, 25, &caller);
    }
    check_refused(&bytes, ERROR_UNSUPPORTED, "more than 32768 calls of functions");
}

/* 12^2 calls of a function of 1 MiB, which makes no node. */
static void test_long_calls(void) {
    enum { FILL = 1 << 20 };
    struct message bytes = make_call("a", NULL), empty = begin_function("c", 13);
    struct message caller = make_caller("a", "b", 12);
    add_message(&bytes, 25, &caller);
    caller = make_caller("b", "c", 12);
    add_message(&bytes, 25, &caller);
    add_varint(&bytes, 25 << 3 | 2);
    add_varint(&bytes, empty.size + FILL);
    uint8_t *all = x_calloc(1, bytes.size + empty.size + FILL);
    memcpy(all, bytes.bytes, bytes.size);
    memcpy(all + bytes.size, empty.bytes, empty.size);
    for (size_t i = 0; i < FILL; i += 2) { /* empty doc strings */
        all[bytes.size + empty.size + i] = 8 << 3 | 2;
    }
    struct error err = {0};
    struct model *model = NULL;
    CHECK_INT(model_from_bytes(all, bytes.size + empty.size + FILL, &model, &err), -1);
    CHECK_INT(err.kind, ERROR_UNSUPPORTED);
    CHECK(strstr(err.text, "bytes of functions to read") != NULL);
    model_free(model);
    free(all);
}

/* ---- weights in another file ---------------------------------------------------------------- */

struct outside {
    const char *location, *offset, *length; /* NULL: without */
    int64_t elements;                       /* 0: 3 */
};

static void add_entry(struct message *tensor, const char *key, const char *value) {
    struct message entry = {0};
    if (value) {
        add_text(&entry, 1, key);
        add_text(&entry, 2, value);
        add_message(tensor, 13, &entry);
    }
}

/* x + w: w is 3 floats in another file. */
static struct message make_outside(const struct outside *outside) {
    struct message graph = {0}, tensor = {0};
    add_node(&graph, (struct node_fields){.op = "Add", .input = "x", .second = "w", .output = "y"});
    add_integer(&tensor, 1, outside->elements ? outside->elements : 3);
    add_integer(&tensor, 2, 1);
    add_text(&tensor, 8, "w");
    add_entry(&tensor, "location", outside->location);
    add_entry(&tensor, "offset", outside->offset);
    add_entry(&tensor, "length", outside->length);
    add_integer(&tensor, 14, 1);
    add_message(&graph, 5, &tensor);
    add_value(&graph, 11, "x", 1, (int64_t[]){1, 3}, 2);
    add_value(&graph, 12, "y", 1, NULL, 0);
    return make_model(graph, 13);
}

static int open_outside(const char *folder, const struct outside *outside, struct model **ret_model,
                        struct error *err) {
    struct message bytes = make_outside(outside);
    AUTO(text_freep) char *path = file_join(folder, "net.onnx");
    return file_write(path, bytes.bytes, bytes.size, err) < 0 ? -1
                                                              : model_open(path, ret_model, err);
}

static void test_outside(void) {
    static const struct {
        struct outside outside;
        enum error_kind kind;
        const char *text;
    } cases[] = {
        {{"weights", NULL, NULL, 0}, ERROR_NONE, ""},
        {{"weights", "4", "12", 0}, ERROR_NONE, ""},
        {{"weights", "8", NULL, 0}, ERROR_INVALID, "beyond the end of weights, which has 16"},
        {{"weights", "922337203685477000", NULL, 0}, ERROR_INVALID, "beyond the end"},
        {{"weights", "99999999999999999999", NULL, 0}, ERROR_INVALID, "not a number"},
        {{"weights", "-4", NULL, 0}, ERROR_INVALID, "not a number"},
        {{"weights", NULL, "8", 0}, ERROR_INVALID, "8 bytes for it, its shape needs 12"},
        {{"absent", NULL, NULL, 0}, ERROR_NOT_FOUND, "must be beside the model"},
        {{"../weights", NULL, NULL, 0}, ERROR_INVALID, "in the model's own folder"},
        {{"/etc/passwd", NULL, NULL, 0}, ERROR_INVALID, "in the model's own folder"},
        {{"link", NULL, NULL, 0}, ERROR_INVALID, "link"},
        {{".", NULL, NULL, 0}, ERROR_INVALID, "in the model's own folder"},
        {{NULL, NULL, NULL, 0}, ERROR_INVALID, "does not name"},
    };
    char folder[] = "/tmp/test-functions-XXXXXX";
    static const float numbers[] = {1, 2, 3, 4};
    struct error err = {0};
    CHECK(mkdtemp(folder) != NULL);
    AUTO(text_freep) char *weights = file_join(folder, "weights");
    AUTO(text_freep) char *link = file_join(folder, "link");
    AUTO(text_freep) char *model_path = file_join(folder, "net.onnx");
    CHECK_OK(file_write(weights, numbers, sizeof numbers, &err), &err);
    CHECK_INT(symlink("/etc/passwd", link), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error cause = {0};
        AUTO(model_freep) struct model *model = NULL;
        int result = open_outside(folder, &cases[i].outside, &model, &cause);
        CHECK_INT(cause.kind, cases[i].kind);
        CHECK_INT(result, cases[i].kind == ERROR_NONE ? 0 : -1);
        if (!strstr(cause.text, cases[i].text)) {
            printf("# '%s' does not say '%s'\n", cause.text, cases[i].text);
            test_failures++;
        }
        if (model) {
            const float *seen = model->graph.values[0].constant.data;
            CHECK(seen[0] == (cases[i].outside.offset ? 2 : 1));
        }
    }
    unlink(link);
    unlink(weights);
    unlink(model_path);
    CHECK_INT(rmdir(folder), 0);
}

static void add_outside(struct message *graph, const char *name, int64_t elements) {
    struct message tensor = {0};
    add_integer(&tensor, 1, elements);
    add_integer(&tensor, 2, 1);
    add_text(&tensor, 8, name);
    add_entry(&tensor, "location", "weights");
    add_integer(&tensor, 14, 1);
    add_message(graph, 5, &tensor);
}

/* Two weights may be the same bytes: what is done with one leaves the other. */
static void test_outside_shared(void) {
    enum { ELEMENTS = 1 << 16 };
    char folder[] = "/tmp/test-functions-XXXXXX";
    struct error err = {0};
    struct message graph = {0};
    AUTO(text_freep) char *numbers = x_calloc(ELEMENTS, sizeof(float));
    memset(numbers, 1, ELEMENTS * sizeof(float));
    CHECK(mkdtemp(folder) != NULL);
    AUTO(text_freep) char *weights = file_join(folder, "weights");
    AUTO(text_freep) char *model_path = file_join(folder, "net.onnx");
    add_node(&graph, (struct node_fields){.op = "Add", .input = "x", .second = "v", .output = "z"});
    add_node(&graph, (struct node_fields){.op = "Add", .input = "z", .second = "w", .output = "y"});
    add_outside(&graph, "v", ELEMENTS);
    add_outside(&graph, "w", ELEMENTS);
    add_value(&graph, 11, "x", 1, (int64_t[]){ELEMENTS}, 1);
    add_value(&graph, 12, "y", 1, NULL, 0);
    struct message bytes = make_model(graph, 13);
    CHECK_OK(file_write(weights, numbers, ELEMENTS * sizeof(float), &err), &err);
    CHECK_OK(file_write(model_path, bytes.bytes, bytes.size, &err), &err);
    AUTO(model_freep) struct model *model = NULL;
    CHECK_OK(model_open(model_path, &model, &err), &err);
    struct value *v = &model->graph.values[0], *w = &model->graph.values[1];
    model->graph.may_evict = true;
    for (int i = 0; i < 2; i++) {
        const struct value *stays = i ? v : w, *goes = i ? w : v;
        graph_evict(&model->graph, i);
        CHECK(goes->is_evicted && !stays->is_evicted);
        CHECK_INT(memcmp(stays->constant.data, numbers, ELEMENTS * sizeof(float)), 0);
        CHECK_OK(graph_reload(&model->graph, model->file, &err), &err);
        CHECK_INT(memcmp(goes->constant.data, numbers, ELEMENTS * sizeof(float)), 0);
    }
    unlink(weights);
    unlink(model_path);
    CHECK_INT(rmdir(folder), 0);
}

/* A file of holes takes no room, but its elements would take all memory. */
static void test_outside_of_holes(void) {
    const int64_t elements = (int64_t)1 << 36;
    const struct outside outside = {.location = "holes", .elements = elements};
    char folder[] = "/tmp/test-functions-XXXXXX";
    struct error err = {0};
    struct model *model = NULL;
    CHECK(mkdtemp(folder) != NULL);
    AUTO(text_freep) char *holes = file_join(folder, "holes");
    AUTO(text_freep) char *model_path = file_join(folder, "net.onnx");
    CHECK_OK(file_write(holes, "", 0, &err), &err);
    CHECK_INT(truncate(holes, (off_t)(elements * (int64_t)sizeof(float))), 0);
    CHECK_INT(open_outside(folder, &outside, &model, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    CHECK(strstr(err.text, "more than three quarters of the memory here") != NULL);
    unlink(holes);
    unlink(model_path);
    CHECK_INT(rmdir(folder), 0);
}

/* The weights belong to what a model is, also where only they differ. */
static void test_digest(void) {
    char folder[] = "/tmp/test-functions-XXXXXX", hex[2][65];
    struct error err = {0};
    CHECK(mkdtemp(folder) != NULL);
    AUTO(text_freep) char *weights = file_join(folder, "weights");
    AUTO(text_freep) char *model_path = file_join(folder, "net.onnx");
    for (int i = 0; i < 2; i++) {
        const float numbers[] = {1, 2, (float)i};
        AUTO(model_freep) struct model *model = NULL;
        CHECK_OK(file_write(weights, numbers, sizeof numbers, &err), &err);
        CHECK_OK(open_outside(folder, &(struct outside){.location = "weights"}, &model, &err),
                 &err);
        CHECK_OK(model ? model_digest(model, hex[i], &err) : -1, &err);
    }
    CHECK(strcmp(hex[0], hex[1]) != 0);
    unlink(weights);
    unlink(model_path);
    rmdir(folder);
}

/* From memory, there is no folder. */
static void test_without_a_file(void) {
    struct message bytes = make_outside(&(struct outside){.location = "weights"});
    check_refused(&bytes, ERROR_UNSUPPORTED, "its data is in another file, weights");
}

int main(void) {
    TEST(test_attributes);
    TEST(test_nested);
    TEST(test_refused);
    TEST(test_growth);
    TEST(test_overloads);
    TEST(test_standard_domain);
    TEST(test_empty_calls);
    TEST(test_long_calls);
    TEST(test_outside);
    TEST(test_outside_shared);
    TEST(test_outside_of_holes);
    TEST(test_digest);
    TEST(test_without_a_file);
    return TEST_END();
}
