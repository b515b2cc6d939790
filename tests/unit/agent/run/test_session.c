// SPDX-License-Identifier: Apache-2.0
#include "agent/run/session.h"

#include "lib/file.h"
#include "tests/test.h"
#include "tests/unit/agent/onnx/build.h"

#include <stdlib.h>
#include <unistd.h>

static const char path[] = "build/test_session.onnx";

/* y = Relu(x), z = x, s = Reshape(x, to): any batch, four columns. */
static void write_model(void) {
    struct error err = {0};
    struct message graph = {0};
    add_node(&graph, "Relu", "", "x", NULL, "y", NULL);
    add_node(&graph, "Identity", "", "x", NULL, "z", NULL);
    add_node(&graph, "Reshape", "", "y", "to", "s", NULL);
    add_value(&graph, 11, "x", 1, (int64_t[]){-1, 4}, 2);
    add_value(&graph, 11, "to", 7, (int64_t[]){2}, 1);
    add_value(&graph, 12, "y", 1, NULL, 0);
    add_value(&graph, 12, "z", 1, NULL, 0);
    add_value(&graph, 12, "s", 1, NULL, 0);
    struct message model = make_model(graph, 13);
    CHECK_OK(file_write(path, model.bytes, model.size, &err), &err);
}

static struct session *open_session(void) {
    struct error err = {0};
    struct session *session = NULL;
    const struct session_options options = {.threads = 2};
    write_model();
    CHECK_OK(session_open(path, &options, &session, &err), &err);
    unlink(path);
    return session;
}

static void test_inputs_and_outputs_are_described(void) {
    AUTO(session_freep) struct session *session = open_session();
    enum tensor_type type;
    struct shape shape;
    char text[128];
    CHECK_INT(session_input_count(session), 2);
    CHECK_INT(session_output_count(session), 3);
    CHECK_STR(session_input(session, 0, &type, &shape), "x");
    shape_format(&shape, text);
    CHECK_STR(text, "?x4");
    CHECK_STR(session_output(session, 1), "z");
}

static void run(struct session *session, int64_t rows, int64_t to_rows) {
    struct error err = {0};
    struct tensor inputs[2], outputs[3];
    struct shape shape = {2, {rows, 4}}, pair = {1, {2}};
    CHECK_OK(tensor_init(&inputs[0], TENSOR_FLOAT32, &shape, &err), &err);
    CHECK_OK(tensor_init(&inputs[1], TENSOR_INT64, &pair, &err), &err);
    for (int64_t i = 0; i < rows * 4; i++) {
        ((float *)inputs[0].data)[i] = (float)(i % 2 ? i : -i);
    }
    ((int64_t *)inputs[1].data)[0] = to_rows;
    ((int64_t *)inputs[1].data)[1] = -1;
    CHECK_OK(session_run(session, inputs, outputs, &err), &err);
    tensor_release(&inputs[0]); /* outputs must not depend on the caller's inputs */
    tensor_release(&inputs[1]);
    if (err.kind) {
        return;
    }
    CHECK(shape_equal(&outputs[0].shape, &shape));
    CHECK_INT(outputs[2].shape.dims[0], to_rows);
    CHECK_INT(outputs[2].shape.dims[1], rows * 4 / to_rows);
    for (int64_t i = 0; i < rows * 4; i++) {
        CHECK(((float *)outputs[0].data)[i] == (float)(i % 2 ? i : 0));
        CHECK(((float *)outputs[1].data)[i] == (float)(i % 2 ? i : -i));
        CHECK(((float *)outputs[2].data)[i] == (float)(i % 2 ? i : 0));
    }
}

/* More combinations than plans are kept, and back again; values of small inputs count, too. */
static void test_shapes_may_change_from_run_to_run(void) {
    AUTO(session_freep) struct session *session = open_session();
    for (int64_t rows = 1; rows <= 7; rows++) {
        run(session, rows, 1);
        run(session, rows, rows);
    }
    run(session, 1, 1);
    run(session, 6, 3);
    run(session, 6, 2);
}

static void test_wrong_inputs_are_named(void) {
    AUTO(session_freep) struct session *session = open_session();
    struct error err = {0};
    struct tensor inputs[2], outputs[3];
    struct shape shape = {2, {2, 5}}, pair = {1, {2}};
    CHECK_OK(tensor_init(&inputs[0], TENSOR_FLOAT32, &shape, &err), &err);
    CHECK_OK(tensor_init(&inputs[1], TENSOR_INT64, &pair, &err), &err);
    CHECK_INT(session_run(session, inputs, outputs, &err), -1);
    CHECK_STR(err.text, "input \"x\" is float32 2x5, float32 ?x4 is expected");
    tensor_release(&inputs[0]);
    tensor_release(&inputs[1]);
    run(session, 2, 1); /* and it still works */
}

static void test_unknown_device(void) {
    struct error err = {0};
    struct session *session = NULL;
    const struct session_options options = {.device = "abacus"};
    write_model();
    CHECK_INT(session_open(path, &options, &session, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    CHECK(strstr(err.text, "\"abacus\"") != NULL);
    unlink(path);
}

int main(void) {
    TEST(test_inputs_and_outputs_are_described);
    TEST(test_shapes_may_change_from_run_to_run);
    TEST(test_wrong_inputs_are_named);
    TEST(test_unknown_device);
    return TEST_END();
}
