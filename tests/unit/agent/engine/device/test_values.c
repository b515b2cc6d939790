// SPDX-License-Identifier: Apache-2.0
/* Values on which implementations differ, against ONNX's text or numpy: NaN, numbers beyond 2^53,
 * indices that are not integers, unused outputs. */
#include "agent/engine/device/cpu/reference/reference.h"

#include "tests/conformance/attributes.h"
#include "tests/test.h"

#include <math.h>

/* A node, and its inputs and outputs; outputs have their shapes, and may be NULL. */
struct trial {
    const char *op;
    const struct attribute *attribute; /* NULL: none */
    int input_count, output_count;
    const struct tensor *const *inputs;
    struct tensor *const *outputs;
};

/* Runs the plain kernel of opset 17. */
static void run(struct trial trial) {
    struct error err = {0};
    struct node node = {.op = op_find(trial.op, 17),
                        .name = trial.op,
                        .opset = 17,
                        .input_count = trial.input_count,
                        .output_count = trial.output_count,
                        .attributes = trial.attribute,
                        .attribute_count = trial.attribute ? 1 : 0};
    struct call call = {.node = &node,
                        .inputs = trial.inputs,
                        .outputs = trial.outputs,
                        .input_count = trial.input_count,
                        .output_count = trial.output_count};
    CHECK_OK(reference_kernels[node.op->id]->run(&call, &err), &err);
}

static int64_t arg(const char *name, float a, float b, float c) {
    float x[] = {a, b, c};
    int64_t y[1];
    struct tensor in = {TENSOR_FLOAT32, {1, {3}}, x, false};
    struct tensor out = {TENSOR_INT64, {1, {1}}, y, false};
    run((struct trial){.op = name,
                       .input_count = 1,
                       .inputs = (const struct tensor *[]){&in},
                       .output_count = 1,
                       .outputs = (struct tensor *[]){&out}});
    return y[0];
}

static void the_first_nan_is_greatest_and_least(void) {
    CHECK_INT(arg("ArgMax", 1, NAN, 3), 1);
    CHECK_INT(arg("ArgMax", NAN, 1, NAN), 0);
    CHECK_INT(arg("ArgMin", 1, NAN, 0), 1);
    CHECK_INT(arg("ArgMin", 2, 1, 0), 2);
    CHECK_INT(arg("ArgMax", 2, 2, 0), 0);
}

static void nan_goes_through(void) {
    static const char *const names[] = {"Celu", "ThresholdedRelu", "Sign"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        float x = NAN, y = 0;
        struct tensor in = {TENSOR_FLOAT32, {0}, &x, false}, out = {TENSOR_FLOAT32, {0}, &y, false};
        run((struct trial){.op = names[i],
                           .input_count = 1,
                           .inputs = (const struct tensor *[]){&in},
                           .output_count = 1,
                           .outputs = (struct tensor *[]){&out}});
        if (!isnan(y)) {
            printf("# %s of NaN is %g\n", names[i], (double)y);
            test_failures++;
        }
    }
}

/* A sigmoid that is clipped by fminf makes 1 of NaN. */
static void what_is_no_number_goes_through_recurrences(void) {
    static const char *const names[] = {"RNN", "GRU"};
    static const int gates[] = {1, 3};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        float x = NAN, numbers[3] = {1, 1, 1}, y = 0, y_h = 0;
        const struct attribute hidden[] = {INT("hidden_size", 1)};
        struct tensor in = {TENSOR_FLOAT32, {3, {1, 1, 1}}, &x, false};
        struct tensor w = {TENSOR_FLOAT32, {3, {1, gates[i], 1}}, numbers, false};
        struct tensor out = {TENSOR_FLOAT32, {4, {1, 1, 1, 1}}, &y, false};
        struct tensor last = {TENSOR_FLOAT32, {3, {1, 1, 1}}, &y_h, false};
        const struct tensor *inputs[6] = {&in, &w, &w};
        run((struct trial){.op = names[i],
                           .attribute = hidden,
                           .input_count = 6,
                           .inputs = inputs,
                           .output_count = 2,
                           .outputs = (struct tensor *[]){&out, &last}});
        CHECK(isnan(y) && isnan(y_h));
    }
}

static void powers_of_integers_are_exact(void) {
    int64_t base[] = {3, -3, 2, 0}, exponent[] = {39, 39, 64, 0}, y[4];
    struct tensor a = {TENSOR_INT64, {1, {4}}, base, false};
    struct tensor b = {TENSOR_INT64, {1, {4}}, exponent, false};
    struct tensor out = {TENSOR_INT64, {1, {4}}, y, false};
    run((struct trial){.op = "Pow",
                       .input_count = 2,
                       .inputs = (const struct tensor *[]){&a, &b},
                       .output_count = 1,
                       .outputs = (struct tensor *[]){&out}});
    CHECK_INT(y[0], 4052555153018976267);
    CHECK_INT(y[1], -4052555153018976267);
    CHECK_INT(y[2], 0); /* wrapped around */
    CHECK_INT(y[3], 1);
}

static void indices_count_by_their_whole_part(void) {
    float indices[] = {1.7f, -0.5f, 2, -1}, values[] = {0, 1}, depth = 3, y[12];
    struct tensor a = {TENSOR_FLOAT32, {1, {4}}, indices, false};
    struct tensor b = {TENSOR_FLOAT32, {0}, &depth, false};
    struct tensor c = {TENSOR_FLOAT32, {1, {2}}, values, false};
    struct tensor out = {TENSOR_FLOAT32, {2, {4, 3}}, y, false};
    static const float wanted[] = {0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1};
    run((struct trial){.op = "OneHot",
                       .input_count = 3,
                       .inputs = (const struct tensor *[]){&a, &b, &c},
                       .output_count = 1,
                       .outputs = (struct tensor *[]){&out}});
    CHECK(memcmp(y, wanted, sizeof wanted) == 0);
}

static void a_loss_that_nobody_wants(void) {
    float x[] = {0, 0}, logs[2] = {0};
    int64_t label = 0;
    struct tensor a = {TENSOR_FLOAT32, {2, {1, 2}}, x, false};
    struct tensor b = {TENSOR_INT64, {1, {1}}, &label, false};
    struct tensor out = {TENSOR_FLOAT32, {2, {1, 2}}, logs, false};
    run((struct trial){.op = "SoftmaxCrossEntropyLoss",
                       .input_count = 2,
                       .inputs = (const struct tensor *[]){&a, &b},
                       .output_count = 2,
                       .outputs = (struct tensor *[]){NULL, &out}});
    CHECK(fabs((double)logs[1] + log(2)) < 1e-6);
}

static void rests_have_the_sign_that_is_asked_for(void) {
    int8_t u[] = {-7, 7, -128, 5}, v[] = {3, -3, -1, 0}, y[4];
    struct tensor a = {TENSOR_INT8, {1, {4}}, u, false}, b = {TENSOR_INT8, {1, {4}}, v, false};
    struct tensor out = {TENSOR_INT8, {1, {4}}, y, false};
    const struct tensor *inputs[] = {&a, &b};
    run((struct trial){.op = "Mod",
                       .input_count = 2,
                       .inputs = inputs,
                       .output_count = 1,
                       .outputs = (struct tensor *[]){&out}});
    CHECK(y[0] == 2 && y[1] == -2 && y[2] == 0 && y[3] == 0);
    const struct attribute as_c[] = {INT("fmod", 1)};
    run((struct trial){.op = "Mod",
                       .attribute = as_c,
                       .input_count = 2,
                       .inputs = inputs,
                       .output_count = 1,
                       .outputs = (struct tensor *[]){&out}});
    CHECK(y[0] == -1 && y[1] == 1 && y[2] == 0 && y[3] == 0);
}

int main(void) {
    TEST(the_first_nan_is_greatest_and_least);
    TEST(nan_goes_through);
    TEST(what_is_no_number_goes_through_recurrences);
    TEST(powers_of_integers_are_exact);
    TEST(indices_count_by_their_whole_part);
    TEST(a_loss_that_nobody_wants);
    TEST(rests_have_the_sign_that_is_asked_for);
    return TEST_END();
}
