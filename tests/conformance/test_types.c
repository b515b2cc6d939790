// SPDX-License-Identifier: Apache-2.0
/* float16, bfloat16: every operator that takes float32 takes them, and gives the results of float32
 * on the same numbers, rounded. float64: operators that take it give the same results, too. */
#include "tests/conformance/network_run.h"
#include "tests/conformance/operators.h"
#include "tests/test.h"

#include <stdio.h>

/* Most rows leave the last fields out; -Wextra would warn. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
static const struct operator_row operator_rows[] = {
#include "tests/conformance/operator_rows.inc"
};

/* Relative to the largest element: one rounding of the result. */
static double tolerance_of(enum tensor_type type) {
    return type == TENSOR_BFLOAT16  ? 0x1p-8
           : type == TENSOR_FLOAT16 ? 0x1p-11
           : type == TENSOR_FLOAT64 ? 1e-5
                                    : 1e-6;
}

static bool agrees(const struct tensor *seen, const struct tensor *wanted, enum tensor_type half,
                   const char *what) {
    bool is_real = wanted->type == TENSOR_FLOAT32;
    enum tensor_type type = is_real && seen->type != TENSOR_FLOAT32 ? half : wanted->type;
    if (seen->type != type || !shape_equal(&seen->shape, &wanted->shape)) {
        printf("# %s: %s, or another shape\n", what, tensor_type_name(seen->type));
        return false;
    }
    int64_t count = shape_count(&seen->shape);
    double most = 0x1p-14; /* below it float16 has fewer digits */
    for (int64_t i = 0; i < count; i++) {
        double number = fabs(tensor_number(wanted, i));
        most = isfinite(number) ? fmax(most, number) : most;
    }
    for (int64_t i = 0; i < count; i++) {
        double a = tensor_number(seen, i), b = tensor_number(wanted, i);
        if (a != b && !(isnan(a) && isnan(b)) &&
            !(is_real && fabs(a - b) <= tolerance_of(type) * most)) {
            printf("# %s: element %lld of %lld is %g, float32 gives %g\n", what, (long long)i,
                   (long long)count, a, b);
            return false;
        }
    }
    return true;
}

static bool has_floats(const struct operator_row *row) {
    bool has = false;
    for (int i = 0; i < OPERANDS_MAX; i++) {
        has |= row->operands[i].kind == FED && row->operands[i].type == TENSOR_FLOAT32;
    }
    return has;
}

/* False where the type is refused. */
static bool run_row(struct device *device, const struct operator_row *row, int output,
                    enum tensor_type half) {
    struct error err = {0};
    struct network narrow, plain;
    struct tensor seen = {0}, wanted = {0};
    char what[96];
    network_of_operator(&narrow, row, output, half);
    network_of_operator(&plain, row, output, TENSOR_FLOAT32);
    for (size_t i = 0; i < plain.graph.value_count; i++) {
        bool is_float = plain.values[i].is_input && plain.values[i].type == TENSOR_FLOAT32;
        bool is_short = is_float && half != TENSOR_FLOAT64;
        plain.ranges[i].rounds_to = is_short ? half : TENSOR_FLOAT32;
    }
    snprintf(what, sizeof what, "%s row %td, output %d of %s", row->op, row - operator_rows, output,
             tensor_type_name(half));
    CHECK_OK(network_run(&plain, device, 1, &wanted, &err), &err);
    bool is_run = network_run(&narrow, device, 1, &seen, &err) == 0;
    bool has_no_halves = narrow.nodes[0].op->flags & OP_ML; /* widen.c refuses it with a message */
    if (!is_run && (half == TENSOR_FLOAT64 || has_no_halves) && err.kind == ERROR_UNSUPPORTED) {
        error_clear(&err);
    } else if (!is_run) {
        printf("# %s: %s\n", what, err.text);
        test_failures++;
    } else if (!agrees(&seen, &wanted, half, what)) {
        test_failures++;
    }
    tensor_release(&seen);
    tensor_release(&wanted);
    arena_release(&narrow.graph.arena);
    arena_release(&plain.graph.arena);
    return is_run;
}

/* The number of rows that it takes. */
static int run_type(enum tensor_type half) {
    struct error err = {0};
    struct device *device;
    int count = 0;
    if (device_open("cpu", 2, &device, &err) < 0) {
        CHECK_OK(-1, &err);
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(operator_rows); i++) {
        for (int k = 0; has_floats(&operator_rows[i]) && k < operator_rows[i].outputs; k++) {
            count += run_row(device, &operator_rows[i], k, half);
        }
    }
    device_close(device);
    return count;
}

static void test_float16(void) {
    run_type(TENSOR_FLOAT16);
}

static void test_bfloat16(void) {
    run_type(TENSOR_BFLOAT16);
}

static void test_float64(void) {
    CHECK(run_type(TENSOR_FLOAT64) >= 90);
}

int main(void) {
    TEST(test_float16);
    TEST(test_bfloat16);
    TEST(test_float64);
    return TEST_END();
}
