// SPDX-License-Identifier: Apache-2.0
/* Which numbers of what a dropout reads belong to which sample: shown by the graph, also where
 * another axis has as many places as the batch has samples. */
#include "agent/engine/training.h"

#include "tests/conformance/attributes.h"
#include "tests/conformance/network.h"
#include "tests/test.h"

enum { PLACES = 3, WIDTH = 4 }; /* of a sample; the batch has as many samples as that has places */
enum { BATCH = 8 };             /* for networks that run with no other number of samples */

struct fixture {
    struct network network;
    struct training_graph graph;
    int x;
};

static void begin(struct fixture *f) {
    *f = (struct fixture){.x = 0};
    network_init(&f->network, 13);
    f->x = network_input(&f->network, (struct shape){3, {-1, PLACES, WIDTH}});
    f->network.values[f->x].has_shape = true;
    int scale = network_constant(&f->network, (struct shape){1, {WIDTH}}, 0.5f, 1);
    f->x = network_node(&f->network, "Mul", (int[]){f->x, scale, -2}, NULL);
}

static int reshape(struct fixture *f, int x, const int64_t *dims, int count) {
    int shape = network_integers(&f->network, dims, count);
    return network_node(&f->network, "Reshape", (int[]){x, shape, -2}, NULL);
}

static int transpose(struct fixture *f, int x, const int64_t *order, size_t count) {
    const struct attribute perm[] = {
        {.name = "perm", .kind = ATTRIBUTE_INTEGERS, .count = count, .integers = order}, {0}};
    return network_node(&f->network, "Transpose", (int[]){x, -2}, perm);
}

/* Adds the dropout and a sum over all its numbers for each sample; -1: it is refused. */
static int end(struct fixture *f, int x, int64_t *ret_each, struct error *err) {
    const struct training_options options = {.loss = TRAINING_MEAN_SQUARED};
    const struct tensor sample = {.shape = {3, {BATCH, PLACES, WIDTH}}};
    x = network_node(&f->network, "Dropout", (int[]){x, -2}, NULL);
    network_output(&f->network, x);
    CHECK_OK(training_graph_build(&f->network.graph, &options, &f->graph, err), err);
    int result = training_place_samples(&f->graph, &sample, err);
    int count = 0;
    for (size_t n = 0; n < f->graph.graph.node_count; n++) {
        const struct node *node = &f->graph.graph.nodes[n];
        if (node->op->id == OP_DROPOUT_TRAINING) {
            *ret_each = node_integer(node, "each", -1);
            count++;
        }
    }
    CHECK_INT(count, 2); /* and its gradient */
    training_graph_release(&f->graph);
    arena_release(&f->network.graph.arena);
    return result;
}

#define EACH(f, x, wanted)                                                                         \
    do {                                                                                           \
        struct error err_ = {0};                                                                   \
        int64_t each_ = -1;                                                                        \
        CHECK_OK(end(f, x, &each_, &err_), &err_);                                                 \
        CHECK_INT(each_, wanted);                                                                  \
    } while (0)

static void test_axes(void) {
    static const int64_t swapped[] = {1, 0, 2}, last[] = {1, 2, 0};
    struct fixture f;
    begin(&f);
    EACH(&f, f.x, PLACES * WIDTH);
    begin(&f); /* [places, n, width] */
    EACH(&f, transpose(&f, f.x, swapped, 3), WIDTH);
    begin(&f); /* [places, width, n] */
    EACH(&f, transpose(&f, f.x, last, 3), 1);
    begin(&f); /* does not depend on the samples */
    EACH(&f, network_node(&f.network, "Neg", (int[]){1, -2}, NULL), 0);
}

/* The axis of the samples is also that of something else. */
static void test_merged_axes(void) {
    static const int64_t rows[] = {-1, WIDTH}, swapped[] = {1, 0, 2}, turned[] = {1, 0};
    static const int64_t heads[] = {PLACES, -1, 2}, out[] = {-1, PLACES, 2};
    struct fixture f;
    begin(&f); /* [n * places, width] */
    EACH(&f, reshape(&f, f.x, rows, 2), PLACES * WIDTH);
    begin(&f); /* [places * n, width] */
    EACH(&f, reshape(&f, transpose(&f, f.x, swapped, 3), rows, 2), WIDTH);
    begin(&f); /* [width, places * n] */
    EACH(&f, transpose(&f, reshape(&f, transpose(&f, f.x, swapped, 3), rows, 2), turned, 2), 1);
    begin(&f); /* [width, n * places] */
    EACH(&f, transpose(&f, reshape(&f, f.x, rows, 2), turned, 2), PLACES);
    begin(&f); /* heads as PyTorch's attention has them: [n * heads, places, 2] */
    int x = reshape(&f, transpose(&f, f.x, swapped, 3), heads, 3);
    EACH(&f, transpose(&f, x, swapped, 3), 2 * PLACES * 2);
    begin(&f); /* windows: [n * 2, places, 2] */
    EACH(&f, reshape(&f, f.x, out, 3), 2 * PLACES * 2);
}

static void test_repeated_samples(void) {
    static const int64_t many[] = {2, 1, 1}, swapped[] = {1, 0, 2};
    const struct attribute first[] = {INT("axis", 0), {0}};
    struct fixture f;
    begin(&f); /* two branches with the same weights: [2 * n, places, width] */
    int other = network_node(&f.network, "Neg", (int[]){f.x, -2}, NULL);
    EACH(&f, network_node(&f.network, "Concat", (int[]){f.x, other, -2}, first), PLACES * WIDTH);
    begin(&f);
    int repeats = network_integers(&f.network, many, 3);
    EACH(&f, network_node(&f.network, "Tile", (int[]){f.x, repeats, -2}, NULL), PLACES * WIDTH);
    begin(&f); /* a token before each sequence, sequences first */
    int token = network_constant(&f.network, (struct shape){3, {1, 1, WIDTH}}, 1, 0);
    int x = transpose(&f, f.x, swapped, 3);
    int rest = network_node(&f.network, "Mul", (int[]){x, token, -2}, NULL);
    EACH(&f, network_node(&f.network, "Concat", (int[]){x, rest, -2}, first), WIDTH);
}

/* Networks that say how many samples there are. */
static void test_one_batch_size(void) {
    static const int64_t flat[] = {BATCH, PLACES * WIDTH}, rows[] = {BATCH * PLACES, WIDTH};
    static const int64_t whole[] = {BATCH, PLACES, WIDTH}, swapped[] = {1, 0, 2}, turned[] = {1, 0};
    struct fixture f;
    struct error err = {0};
    int64_t each;
    begin(&f);
    EACH(&f, reshape(&f, f.x, flat, 2), PLACES * WIDTH);
    begin(&f);
    EACH(&f, reshape(&f, f.x, rows, 2), PLACES * WIDTH);
    begin(&f); /* [places, batch, width] */
    EACH(&f, transpose(&f, reshape(&f, f.x, whole, 3), swapped, 3), WIDTH);
    begin(&f); /* [places * batch, width]: rows of one sample are not together */
    int x = transpose(&f, reshape(&f, f.x, whole, 3), swapped, 3);
    EACH(&f, reshape(&f, x, rows, 2), WIDTH);
    begin(&f); /* [batch, batch] */
    int square = network_constant(&f.network, (struct shape){2, {PLACES * WIDTH, BATCH}}, 0.5f, 1);
    x = network_node(&f.network, "MatMul", (int[]){reshape(&f, f.x, flat, 2), square, -2}, NULL);
    CHECK_INT(end(&f, x, &each, &err), -1);
    CHECK(err.kind == ERROR_UNSUPPORTED && strstr(err.text, "it reads 8x8 for 8 samples"));
    begin(&f);
    x = transpose(&f, reshape(&f, f.x, rows, 2), turned, 2);
    CHECK_INT(end(&f, x, &each, &err), -1);
    CHECK(err.kind == ERROR_UNSUPPORTED);
}

static void test_unknown(void) {
    static const int64_t picked[] = {0, 1};
    struct fixture f;
    struct error err = {0};
    int64_t each;
    begin(&f); /* one row more than samples */
    int row = network_constant(&f.network, (struct shape){3, {1, PLACES, WIDTH}}, 1, 0);
    const struct attribute first[] = {INT("axis", 0), {0}};
    int x = network_node(&f.network, "Concat", (int[]){row, f.x, -2}, first);
    CHECK_INT(end(&f, x, &each, &err), -1);
    CHECK(err.kind == ERROR_UNSUPPORTED);
    CHECK(strstr(err.text, "Dropout node \"Dropout\" cannot be trained: it reads 4x3x4") != NULL);
    begin(&f); /* two samples of the batch, for all: they belong to the first */
    int rows = network_integers(&f.network, picked, 2);
    EACH(&f, network_node(&f.network, "Gather", (int[]){f.x, rows, -2}, first), 0);
}

int main(void) {
    TEST(test_axes);
    TEST(test_merged_axes);
    TEST(test_repeated_samples);
    TEST(test_one_batch_size);
    TEST(test_unknown);
    return TEST_END();
}
