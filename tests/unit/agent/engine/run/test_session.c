// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/session.h"

#include "agent/engine/device/kernel.h"
#include "agent/engine/run/session_state.h"
#include "lib/file.h"
#include "tests/device_apart.h"
#include "tests/test.h"
#include "tests/unit/agent/engine/onnx/build.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

static const char path[] = "build/test_session.onnx";

/* y = Relu(x), z = x, s = Reshape(x, to): any batch, four columns. */
static void write_model(void) {
    struct error err = {0};
    struct message graph = {0};
    add_node(&graph, (struct node_fields){.op = "Relu", .input = "x", .output = "y"});
    add_node(&graph, (struct node_fields){.op = "Identity", .input = "x", .output = "z"});
    add_node(&graph,
             (struct node_fields){.op = "Reshape", .input = "y", .second = "to", .output = "s"});
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

/* More combinations of shapes than plans are kept, and back again; values of small inputs count,
 * too. */
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
    run(session, 2, 1); /* the session still works */
}

static void test_unknown_device(void) {
    struct error err = {0};
    struct session *session = NULL;
    bool is_device = false;
    const struct session_options options = {.device = "abacus", .ret_is_device = &is_device};
    write_model();
    CHECK_INT(session_open(path, &options, &session, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    CHECK(strstr(err.text, "\"abacus\"") != NULL);
    CHECK(is_device);
    unlink(path);
    error_clear(&err);
    CHECK_INT(session_open(path, &options, &session, &err), -1); /* now there is no model */
    CHECK(!is_device);
}

/* ---- a device with little memory ------------------------------------------------------------ */

enum { PIECES = 256 };
static const struct device_ops *apart_ops;
static struct {
    void *at;
    size_t size;
} pieces[PIECES];
static size_t in_use, most_in_use, limit;

static int small_alloc(struct device *device, size_t size, void **ret_memory, struct error *err) {
    if (limit && in_use + size > limit) {
        return error_set(err, ERROR_EXHAUSTED, "%zu of %zu bytes are in use", in_use, limit);
    }
    int i = 0;
    while (pieces[i].at) {
        assert(i + 1 < PIECES);
        i++;
    }
    CHECK_INT(apart_ops->alloc(device, size, &pieces[i].at, err), 0);
    pieces[i].size = size;
    in_use += size;
    most_in_use = MAX(most_in_use, in_use);
    *ret_memory = pieces[i].at;
    return 0;
}

static void small_free(struct device *device, void *memory) {
    for (int i = 0; i < PIECES; i++) {
        if (pieces[i].at == memory) {
            in_use -= pieces[i].size;
            pieces[i].at = NULL;
        }
    }
    apart_ops->free(device, memory);
}

/* Copies in the order of the steps, which is a valid order. */
static int small_copy_async(struct device *device, const struct device_copy *copy,
                            struct device_event *after UNUSED, struct device_event *done,
                            struct error *err) {
    return apart_ops->copy(device, copy->direction, copy->to, copy->from, copy->size, err) < 0
               ? -1
               : device->training->record(device, done, err);
}

static int small_wait_event(struct device *device UNUSED, struct device_event *event UNUSED,
                            struct error *err UNUSED) {
    return 0;
}

static int small_host_alloc(struct device *device UNUSED, size_t size, void **ret_memory,
                            struct error *err UNUSED) {
    *ret_memory = x_malloc(MAX(size, (size_t)1));
    return 0;
}

static void small_host_free(struct device *device UNUSED, void *memory) {
    free(memory);
}

static struct session *open_small(bool carries) {
    static struct device_ops ops;
    static const struct device_stream_ops streams = {.host_alloc = small_host_alloc,
                                                     .host_free = small_host_free,
                                                     .copy_async = small_copy_async,
                                                     .wait_event = small_wait_event};
    struct session *session = open_session();
    device_close(session->device);
    session->device = device_apart_open(2);
    apart_ops = session->device->ops;
    ops = *apart_ops;
    ops.alloc = small_alloc;
    ops.free = small_free;
    if (carries) {
        session->device->streams = &streams;
    }
    session->device->ops = &ops;
    return session;
}

/* y of `rows` rows, from a run or a submission. */
static int run_small(struct session *session, int64_t rows, struct error *err) {
    struct tensor inputs[2], outputs[3];
    struct shape shape = {2, {rows, 4}}, pair = {1, {2}};
    struct error bug = {0};
    CHECK_OK(tensor_init(&inputs[0], TENSOR_FLOAT32, &shape, &bug), &bug);
    CHECK_OK(tensor_init(&inputs[1], TENSOR_INT64, &pair, &bug), &bug);
    ((float *)inputs[0].data)[rows * 4 - 1] = 7;
    ((int64_t *)inputs[1].data)[0] = 1;
    ((int64_t *)inputs[1].data)[1] = -1;
    bool carries = session->device->streams != NULL;
    int result =
        carries ? session_submit(session, inputs, err) : session_run(session, inputs, outputs, err);
    if (carries && result == 0) {
        result = session_collect(session, outputs, err);
    }
    CHECK(result < 0 || ((float *)outputs[0].data)[rows * 4 - 1] == 7);
    tensor_release(&inputs[0]);
    tensor_release(&inputs[1]);
    return result;
}

/* Each shape fits alone, no two do: the memory of the others is freed, without an error. */
static void test_what_is_kept_makes_room(void) {
    enum { ROWS = 4096 };
    for (int carries = 0; carries < 2; carries++) {
        struct error err = {0};
        struct session *session = open_small(carries);
        most_in_use = limit = 0;
        CHECK_OK(run_small(session, ROWS, &err), &err);
        limit = most_in_use + 8192;
        for (int64_t rows = ROWS + 1; rows < ROWS + 8; rows++) {
            CHECK_OK(run_small(session, rows, &err), &err);
            CHECK_OK(run_small(session, rows - 1, &err), &err);
        }
        CHECK_INT(run_small(session, 2 * ROWS, &err), -1);
        CHECK_INT(err.kind, ERROR_EXHAUSTED);
        error_clear(&err);
        CHECK_OK(run_small(session, ROWS, &err), &err);
        session_free(session);
        CHECK_INT(in_use, 0);
    }
}

int main(void) {
    TEST(test_what_is_kept_makes_room);
    TEST(test_inputs_and_outputs_are_described);
    TEST(test_shapes_may_change_from_run_to_run);
    TEST(test_wrong_inputs_are_named);
    TEST(test_unknown_device);
    return TEST_END();
}
