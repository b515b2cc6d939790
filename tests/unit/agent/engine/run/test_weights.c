// SPDX-License-Identifier: Apache-2.0
/* Weights that the processor's device has released after packing them: runs of new shapes,
 * of old ones, and of kernels that read them unpacked, equal those of the reference, which keeps
 * all. */
#include "agent/engine/session.h"

#include "agent/engine/model.h"
#include "lib/digest.h"
#include "lib/file.h"
#include "tests/conformance/network.h"
#include "tests/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { IN = 200, OUT = 120 };
static const char path[] = "build/test_weights.onnx";

static int constant(struct network *net, const char *name, struct shape shape) {
    int value = network_constant(net, shape, 0.1F, 0);
    net->values[value].name = name;
    return value;
}

static int node(struct network *net, const char *op, const char *name, const int *inputs,
                const struct attribute *attributes) {
    int value = network_node(net, op, inputs, attributes);
    net->values[value].name = name;
    network_output(net, value);
    return value;
}

/* A product alone reads w; v is also read unpacked; u in two shapes; convolutions read k and q. */
static void write_network(const char *first_name) {
    struct network net;
    struct error err = {0};
    network_init(&net, 13);
    int x = network_input(&net, (struct shape){2, {-1, IN}});
    int p = network_input(&net, (struct shape){4, {-1, 32, -1, -1}});
    net.values[p].name = "p";
    int q = constant(&net, "q", (struct shape){4, {64, 32, 3, 3}});
    int w = constant(&net, "w", (struct shape){2, {OUT, IN}});
    int v = constant(&net, "v", (struct shape){2, {IN, OUT}});
    int u = constant(&net, "u", (struct shape){2, {OUT, IN}});
    int k = constant(&net, "k", (struct shape){4, {OUT, IN, 1, 1}});
    int turned = network_integers(&net, (int64_t[]){IN, OUT}, 2);
    int picture = network_integers(&net, (int64_t[]){-1, IN, 1, 1}, 4);
    int axes = network_integers(&net, (int64_t[]){0, 1}, 2);
    net.values[axes].name = "axes";
    net.values[turned].name = "turned";
    net.values[picture].name = "picture";
    const struct attribute transposed[] = {
        {.name = "transB", .kind = ATTRIBUTE_INTEGER, .integer = 1}, {.name = NULL}};
    node(&net, "Gemm", first_name, (int[]){x, w, -2}, transposed);
    node(&net, "MatMul", "b", (int[]){x, v, -2}, NULL);
    int sum = node(&net, "ReduceSum", "s", (int[]){x, axes, -2}, NULL);
    node(&net, "Mul", "c", (int[]){v, sum, -2}, NULL);
    node(&net, "Gemm", "d", (int[]){x, u, -2}, transposed);
    int other = node(&net, "Reshape", "e", (int[]){u, turned, -2}, NULL);
    node(&net, "MatMul", "f", (int[]){x, other, -2}, NULL);
    int pictures = node(&net, "Reshape", "g", (int[]){x, picture, -2}, NULL);
    node(&net, "Conv", "h", (int[]){pictures, k, -2}, NULL);
    node(&net, "Conv", "i", (int[]){p, q, -2}, NULL);
    AUTO(buffer_release) struct buffer bytes;
    buffer_init(&bytes, WRITE_BYTES_MAX);
    const struct write_options options = {.opset = 13};
    CHECK_OK(model_write(&net.graph, &options, &bytes, &err), &err);
    CHECK_OK(file_write(path, bytes.data, bytes.size, &err), &err);
    arena_release(&net.graph.arena);
}

static struct session *open_on(const char *device) {
    struct error err = {0};
    struct session *session = NULL;
    const struct session_options options = {.threads = 2, .device = device};
    CHECK_OK(session_open(path, &options, &session, &err), &err);
    return session;
}

static double difference(const struct tensor *seen, const struct tensor *wanted) {
    double worst = shape_equal(&seen->shape, &wanted->shape) ? 0 : INFINITY;
    for (int64_t i = 0; worst == 0 && i < shape_count(&seen->shape); i++) {
        double off = (double)((float *)seen->data)[i] - (double)((float *)wanted->data)[i];
        worst = fabs(off) < 1e-4 ? 0 : INFINITY;
    }
    return worst;
}

static void check_run(struct session *session, struct session *reference, int64_t rows) {
    struct error err = {0};
    struct tensor inputs[2], seen[16], wanted[16];
    int64_t side =
        rows < 5 ? 3 : 20; /* the convolution uses another algorithm, with other packed weights */
    CHECK_OK(tensor_init(&inputs[0], TENSOR_FLOAT32, &(struct shape){2, {rows, IN}}, &err), &err);
    CHECK_OK(tensor_init(&inputs[1], TENSOR_FLOAT32, &(struct shape){4, {1, 32, side, side}}, &err),
             &err);
    network_fill(&inputs[0], (uint32_t)rows);
    network_fill(&inputs[1], (uint32_t)rows);
    CHECK_OK(session_run(session, inputs, seen, &err), &err);
    CHECK_OK(session_run(reference, inputs, wanted, &err), &err);
    for (size_t i = 0; err.kind == 0 && i < session_output_count(session); i++) {
        if (difference(&seen[i], &wanted[i]) > 0) {
            printf("# output %s of %lld rows differs\n", session_output(session, i),
                   (long long)rows);
            test_failures++;
        }
    }
    tensor_release(&inputs[0]);
    tensor_release(&inputs[1]);
}

/* Weights at odd addresses of the file are copied when it is read, others are not: a longer name
 * moves all by a byte. */
static void test_weights_come_back_for_new_shapes(void) {
    static const char *const names[] = {"a", "aa", "aaa", "aaaa"};
    for (size_t n = 0; n < ARRAY_LEN(names); n++) {
        write_network(names[n]);
        AUTO(session_freep) struct session *session = open_on("cpu");
        AUTO(session_freep) struct session *reference = open_on("reference");
        static const int64_t rows[] = {1, 3, 2, 40, 1, 5, 6, 3, 300};
        for (size_t i = 0; session && reference && i < ARRAY_LEN(rows); i++) {
            check_run(session, reference, rows[i]);
        }
        unlink(path);
    }
}

/* At every alignment: the file's memory may have been released where the constants are copies. */
static void test_the_digest_is_the_files(void) {
    static const char *const names[] = {"a", "aa", "aaa", "aaaa"};
    for (size_t n = 0; n < ARRAY_LEN(names); n++) {
        struct error err = {0};
        AUTO(session_freep) struct session *session = NULL;
        AUTO(text_freep) char *bytes = NULL;
        char wanted[65], seen[65] = "";
        size_t size = 0;
        const struct session_options options = {.threads = 1};
        write_network(names[n]);
        CHECK_OK(file_read(path, WRITE_BYTES_MAX, &bytes, &size, &err), &err);
        digest_sha256(bytes, size, wanted);
        CHECK_OK(session_open(path, &options, &session, &err), &err);
        CHECK_OK(session_model_digest(session, seen, &err), &err);
        CHECK_STR(seen, wanted);
        unlink(path);
    }
}

/* A new model is copied over the old one (the same inode) after it was loaded: the digest of the
 * file is not that of the weights in memory. */
static void test_a_file_that_was_written_over_has_no_digest(void) {
    struct error err = {0};
    AUTO(session_freep) struct session *session = NULL;
    AUTO(text_freep) char *bytes = NULL;
    char hex[65];
    size_t size = 0;
    const struct session_options options = {.threads = 1};
    write_network("a");
    CHECK_OK(file_read(path, WRITE_BYTES_MAX, &bytes, &size, &err), &err);
    CHECK_OK(session_open(path, &options, &session, &err), &err);
    FILE *file = fopen(path, "r+e");
    CHECK(file && fseek(file, (long)(size / 2), SEEK_SET) == 0);
    CHECK_INT(putc(bytes[size / 2] ^ 1, file) == EOF, 0);
    CHECK_INT(fclose(file), 0);
    CHECK_INT(session_model_digest(session, hex, &err), -1);
    CHECK_INT(error_exit_code(&err), 3);
    CHECK(strstr(err.text, path) && strstr(err.text, "was changed while it was loaded"));
    unlink(path);
}

static int run_rows(struct session *session, int64_t rows, int64_t side, struct error *err) {
    struct tensor inputs[2], outputs[16];
    struct error bug = {0};
    CHECK_OK(tensor_init(&inputs[0], TENSOR_FLOAT32, &(struct shape){2, {rows, IN}}, &bug), &bug);
    CHECK_OK(tensor_init(&inputs[1], TENSOR_FLOAT32, &(struct shape){4, {1, 32, side, side}}, &bug),
             &bug);
    int result = session_run(session, inputs, outputs, err);
    tensor_release(&inputs[0]);
    tensor_release(&inputs[1]);
    return result;
}

/* The model's file is truncated under a session, as when its mount dies: whatever address its
 * weights had, prepared shapes still run, and another shape is a storage error. */
static void test_a_file_that_is_gone_ends_no_process(void) {
    static const char *const names[] = {"a", "aa", "aaa", "aaaa"};
    for (size_t n = 0; n < ARRAY_LEN(names); n++) {
        struct error err = {0};
        write_network(names[n]);
        AUTO(session_freep) struct session *session = open_on("cpu");
        CHECK_OK(run_rows(session, 1, 3, &err), &err);
        CHECK_INT(truncate(path, 100), 0);
        CHECK_INT(run_rows(session, 40, 20, &err), -1);
        CHECK_INT(error_exit_code(&err), 3);
        CHECK(strstr(err.text, path) && strstr(err.text, "it was changed meanwhile"));
        error_clear(&err);
        CHECK_OK(run_rows(session, 1, 3, &err), &err);
        unlink(path);
    }
}

/* More shapes than there are plans: the weights are read once more, and stay, so that a new shape
 * needs no file. */
static void test_weights_stay_if_shapes_keep_changing(void) {
    struct error err = {0};
    write_network("a");
    AUTO(session_freep) struct session *session = open_on("cpu");
    for (int rows = 1; rows < 7; rows++) {
        CHECK_OK(run_rows(session, rows, 3, &err), &err);
    }
    CHECK_INT(truncate(path, 100), 0);
    CHECK_OK(run_rows(session, 40, 20, &err), &err);
    CHECK_OK(run_rows(session, 1, 3, &err), &err);
    unlink(path);
}

enum { CHANNELS = 2048, SIDE = 4 };

/* r is read by two depthwise convolutions, the second of which is fused with the 1x1 convolution
 * before it, and packs r after the first has done so. */
static void write_depthwise(const char *first_name) {
    struct network net;
    struct error err = {0};
    network_init(&net, 13);
    int x = network_input(&net, (struct shape){4, {1, CHANNELS, SIDE, SIDE}});
    int p = network_input(&net, (struct shape){4, {1, 8, SIDE, SIDE}});
    net.values[p].name = "p";
    int r = constant(&net, "r", (struct shape){4, {CHANNELS, 1, 3, 3}});
    int w = constant(&net, "w", (struct shape){4, {CHANNELS, 8, 1, 1}});
    const struct attribute alone[] = {
        {.name = "group", .kind = ATTRIBUTE_INTEGER, .integer = CHANNELS}, {.name = NULL}};
    node(&net, "Conv", first_name, (int[]){x, r, -2}, alone);
    int between = network_node(&net, "Conv", (int[]){p, w, -2}, NULL);
    net.values[between].name = "between";
    node(&net, "Conv", "b", (int[]){between, r, -2}, alone);
    AUTO(buffer_release) struct buffer bytes;
    buffer_init(&bytes, WRITE_BYTES_MAX);
    const struct write_options options = {.opset = 13};
    CHECK_OK(model_write(&net.graph, &options, &bytes, &err), &err);
    CHECK_OK(file_write(path, bytes.data, bytes.size, &err), &err);
    arena_release(&net.graph.arena);
}

static void test_weights_that_a_fused_step_packs_stay_until_then(void) {
    static const char *const names[] = {"a", "aa", "aaa", "aaaa"};
    for (size_t n = 0; n < ARRAY_LEN(names); n++) {
        struct error err = {0};
        struct tensor inputs[2], seen[2], wanted[2];
        write_depthwise(names[n]);
        AUTO(session_freep) struct session *session = open_on("cpu");
        AUTO(session_freep) struct session *reference = open_on("reference");
        for (int i = 0; i < 2; i++) {
            struct shape shape = {4, {1, i ? 8 : CHANNELS, SIDE, SIDE}};
            CHECK_OK(tensor_init(&inputs[i], TENSOR_FLOAT32, &shape, &err), &err);
            network_fill(&inputs[i], 1);
        }
        CHECK_OK(session_run(session, inputs, seen, &err), &err);
        CHECK_OK(session_run(reference, inputs, wanted, &err), &err);
        for (int i = 0; i < 2; i++) {
            CHECK(difference(&seen[i], &wanted[i]) == 0);
            tensor_release(&inputs[i]);
        }
        unlink(path);
    }
}

int main(void) {
    TEST(test_weights_that_a_fused_step_packs_stay_until_then);
    TEST(test_a_file_that_is_gone_ends_no_process);
    TEST(test_weights_stay_if_shapes_keep_changing);
    TEST(test_weights_come_back_for_new_shapes);
    TEST(test_the_digest_is_the_files);
    TEST(test_a_file_that_was_written_over_has_no_digest);
    return TEST_END();
}
