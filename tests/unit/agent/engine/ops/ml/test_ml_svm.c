// SPDX-License-Identifier: Apache-2.0
/* Support vector machines: values by hand, and lists of hostile files. */
#include "agent/engine/device/kernel.h"
#include "agent/engine/ops/ml/ml.h"
#include "tests/test.h"

#include <math.h>

enum { LISTS = 9 };

/* Of three classes with one vector each, of two columns. */
struct machine {
    struct node node;
    struct attribute attributes[LISTS];
};

static const int64_t labels[] = {4, 2, 9}, sizes[] = {1, 1, 1};
static const float vectors[] = {1, 0, 0, 1, -1, -1}, coefficients[] = {1, -2, -3, 0.5f, 4, -1},
                   rho[] = {0.25f, -0.5f, 1}, params[] = {0.5f, 2, 3}, slopes[] = {-1, -2, -3},
                   shifts[] = {0, 0.5f, -0.5f};

static void make(struct machine *machine, const char *op, const char *kernel) {
    *machine = (struct machine){
        .attributes = {
            {.name = "coefficients",
             .kind = ATTRIBUTE_NUMBERS,
             .count = 6,
             .numbers = coefficients},
            {.name = "support_vectors", .kind = ATTRIBUTE_NUMBERS, .count = 6, .numbers = vectors},
            {.name = "rho", .kind = ATTRIBUTE_NUMBERS, .count = 3, .numbers = rho},
            {.name = "kernel_params", .kind = ATTRIBUTE_NUMBERS, .count = 3, .numbers = params},
            {.name = "kernel_type", .kind = ATTRIBUTE_STRING, .text = kernel},
            {.name = "classlabels_ints",
             .kind = ATTRIBUTE_INTEGERS,
             .count = 3,
             .integers = labels},
            {.name = "vectors_per_class",
             .kind = ATTRIBUTE_INTEGERS,
             .count = 3,
             .integers = sizes},
            {.name = "prob_a", .kind = ATTRIBUTE_NUMBERS, .count = 3, .numbers = slopes},
            {.name = "prob_b", .kind = ATTRIBUTE_NUMBERS, .count = 3, .numbers = shifts},
        }};
    machine->node = (struct node){.op = ml_table_find(op, 1),
                                  .name = "machine",
                                  .opset = 1,
                                  .input_count = 1,
                                  .output_count = 2,
                                  .attribute_count = LISTS,
                                  .attributes = machine->attributes};
}

static struct attribute *list(struct machine *machine, const char *name) {
    size_t i = 0;
    while (strcmp(machine->attributes[i].name, name) != 0) {
        i++;
    }
    return &machine->attributes[i];
}

static void check_refused(struct machine *machine, enum error_kind kind, const char *part) {
    struct error err = {0};
    struct ml_svm svm;
    CHECK_INT(ml_svm_read(&machine->node, &svm, &err), -1);
    CHECK_INT(err.kind, kind);
    CHECK(strstr(err.text, part));
    if (!strstr(err.text, part)) {
        printf("# %s\n", err.text);
    }
}

static void test_lists_that_do_not_fit_are_named(void) {
    static const struct {
        const char *name;
        size_t count;
        enum error_kind kind;
        const char *part;
    } rows[] = {
        {"coefficients", 5, ERROR_INVALID, "\"coefficients\" has 5 entries, 6 are expected"},
        {"support_vectors", 5, ERROR_INVALID, "has 5 entries, a multiple of 3"},
        {"support_vectors", 0, ERROR_INVALID, "class 0 has 1 vectors, 0 to 0 are expected"},
        {"rho", 2, ERROR_INVALID, "\"rho\" has 2 entries, 3 are expected"},
        {"kernel_params", 2, ERROR_INVALID, "\"kernel_params\" has 2 entries, 3 are expected"},
        {"kernel_params", 0, ERROR_INVALID, "\"kernel_params\" has 0 entries"},
        {"classlabels_ints", 1, ERROR_INVALID, "1 classes; 2 and more"},
        {"classlabels_ints", 0, ERROR_INVALID, "0 classes; 2 and more"},
        {"vectors_per_class", 2, ERROR_INVALID, "has 2 entries, 3 (its classes) are expected"},
        {"vectors_per_class", 0, ERROR_UNSUPPORTED, "a LinearClassifier is expected"},
        {"prob_a", 2, ERROR_INVALID, "\"prob_a\" has 2 entries, 3 are expected"},
        {"prob_a", 0, ERROR_INVALID, "\"prob_b\" has 3 entries, 0 are expected"},
        {"prob_b", 0, ERROR_INVALID, "\"prob_b\" has 0 entries, 3 are expected"},
    };
    struct machine machine;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        make(&machine, "SVMClassifier", "RBF");
        list(&machine, rows[i].name)->count = rows[i].count;
        check_refused(&machine, rows[i].kind, rows[i].part);
    }
    make(&machine, "SVMClassifier", "RBF");
    list(&machine, "vectors_per_class")->integers = (const int64_t[]){1, -1, 3};
    check_refused(&machine, ERROR_INVALID, "class 1 has -1 vectors");
    list(&machine, "vectors_per_class")->integers = (const int64_t[]){1, INT64_MAX, 3};
    check_refused(&machine, ERROR_INVALID, "class 1 has 9223372036854775807 vectors");
    list(&machine, "vectors_per_class")->integers = (const int64_t[]){0, 0, 0};
    check_refused(&machine, ERROR_INVALID, "a multiple of 0 (its vectors)");
    make(&machine, "SVMRegressor", "LINEAR");
    check_refused(&machine, ERROR_INVALID, "\"rho\" has 3 entries, 1 are expected");
    list(&machine, "rho")->count = 1;
    list(&machine, "coefficients")->count = 0;
    check_refused(&machine, ERROR_INVALID, "attribute \"coefficients\" is missing");
    list(&machine, "prob_b")->name = "n_supports";
    list(&machine, "n_supports")->kind = ATTRIBUTE_INTEGER;
    list(&machine, "n_supports")->integer = -2;
    check_refused(&machine, ERROR_INVALID, "a multiple of -2 (its vectors)");
}

static void test_an_input_of_other_columns_is_refused(void) {
    struct machine machine;
    struct error err = {0};
    struct fact x = {.type = TENSOR_FLOAT32, .shape = {2, {5, 3}}}, outputs[2] = {{0}};
    const struct fact *inputs[] = {&x};
    make(&machine, "SVMClassifier", "RBF");
    CHECK_INT(infer_ml_svm(&machine.node, inputs, outputs, &err), -1);
    CHECK(strstr(err.text, "its vectors have 2 columns, its input has 3"));
    x.shape.dims[1] = 2;
    CHECK_OK(infer_ml_svm(&machine.node, inputs, outputs, &err), &err);
    CHECK(outputs[0].type == TENSOR_INT64 && outputs[0].shape.dims[0] == 5);
    CHECK(outputs[1].type == TENSOR_FLOAT32 && outputs[1].shape.dims[1] == 3);
}

static void run(struct machine *machine, const float *row, int64_t *label, float *scores) {
    struct error err = {0};
    struct tensor x = {TENSOR_FLOAT32, {2, {1, 2}}, (void *)(uintptr_t)row, false};
    struct tensor first = {TENSOR_INT64, {1, {1}}, label, false};
    struct tensor second = {TENSOR_FLOAT32, {2, {1, 3}}, scores, false};
    const struct tensor *inputs[] = {&x};
    struct tensor *outputs[] = {&first, &second};
    CHECK_OK(device_evaluate(&machine->node, inputs, outputs, &err), &err);
}

/* The row (2, 3) with the vectors: products 2, 3, -5, squares of the distances 10, 8, 25. */
static void test_values_by_hand(void) {
    static const float row[] = {2, 3};
    static const char *const kernels[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
    const double products[] = {2, 3, -5}, squares[] = {10, 8, 25};
    struct machine machine;
    for (size_t k = 0; k < ARRAY_LEN(kernels); k++) {
        double v[3];
        float scores[3] = {0};
        int64_t label = 0;
        for (int i = 0; i < 3; i++) {
            v[i] = k == 0   ? products[i]
                   : k == 1 ? pow(0.5 * products[i] + 2, 3)
                   : k == 2 ? exp(-0.5 * squares[i])
                            : tanh(0.5 * products[i] + 2);
        }
        /* Of class 0 against 1 and 2: 1 and 0.5; of 1: -2 and 4; of 2: -3 and -1. */
        const double wanted[] = {v[0] - 2 * v[1] + 0.25, 0.5 * v[0] - 3 * v[2] - 0.5,
                                 4 * v[1] - v[2] + 1};
        make(&machine, "SVMClassifier", kernels[k]);
        machine.node.attribute_count = LISTS - 2; /* no probabilities */
        run(&machine, row, &label, scores);
        for (int i = 0; i < 3; i++) {
            CHECK(fabs((double)scores[i] - wanted[i]) <= 1e-6 * (1 + fabs(wanted[i])));
        }
        int votes[] = {(wanted[0] > 0) + (wanted[1] > 0), (wanted[0] <= 0) + (wanted[2] > 0),
                       (wanted[1] <= 0) + (wanted[2] <= 0)};
        int best = votes[1] > votes[0];
        best = votes[2] > votes[best] ? 2 : best;
        CHECK_INT(label, labels[best]);
    }
}

/* The least value of the sum over pairs of (r_ji p_i - r_ij p_j)^2: none near by is less. */
static double unlike(const double *r, const double *p) {
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            double apart = r[j * 3 + i] * p[i] - r[i * 3 + j] * p[j];
            sum += i == j ? 0 : apart * apart;
        }
    }
    return sum;
}

static void test_probabilities_are_the_best_ones(void) {
    static const float row[] = {0.25f, -0.125f};
    struct machine machine;
    float decisions[3] = {0}, scores[3] = {0};
    int64_t label = 0, same = 0;
    double r[9] = {0}, p[3], sum = 0;
    make(&machine, "SVMClassifier", "RBF");
    machine.node.attribute_count = LISTS - 2;
    run(&machine, row, &label, decisions);
    machine.node.attribute_count = LISTS;
    run(&machine, row, &same, scores);
    CHECK_INT(same, label);
    for (int i = 0, pair = 0; i < 3; i++) {
        for (int j = i + 1; j < 3; j++, pair++) {
            r[i * 3 + j] = 1 / (1 + exp((double)(decisions[pair] * slopes[pair] + shifts[pair])));
            r[j * 3 + i] = 1 - r[i * 3 + j];
        }
        p[i] = (double)scores[i];
        sum += p[i];
    }
    CHECK(fabs(sum - 1) < 1e-6);
    for (int i = 0; i < 3; i++) {
        double other[] = {p[0], p[1], p[2]};
        other[i] += 0.02;
        other[(i + 1) % 3] -= 0.02;
        CHECK(unlike(r, p) < unlike(r, other));
        other[i] -= 0.04;
        other[(i + 1) % 3] += 0.04;
        CHECK(unlike(r, p) < unlike(r, other));
    }
}

int main(void) {
    TEST(test_lists_that_do_not_fit_are_named);
    TEST(test_an_input_of_other_columns_is_refused);
    TEST(test_values_by_hand);
    TEST(test_probabilities_are_the_best_ones);
    return TEST_END();
}
