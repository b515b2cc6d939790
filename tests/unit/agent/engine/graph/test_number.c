// SPDX-License-Identifier: Apache-2.0
/* One element of a tensor of any type. */
#include "agent/engine/tensor.h"

#include "tests/test.h"

#include <math.h>

static double there_and_back(enum tensor_type type, double value) {
    uint64_t memory[2] = {~0ULL, ~0ULL};
    struct tensor tensor = {.type = type, .shape = {1, {2}}, .data = memory};
    tensor_put_number(&tensor, 1, value);
    return tensor_number(&tensor, 1);
}

static void test_put_and_get(void) {
    static const struct {
        enum tensor_type type;
        double value, wanted;
    } rows[] = {
        {TENSOR_FLOAT32, 0.1, (double)0.1f},
        {TENSOR_FLOAT64, 0.1, 0.1},
        {TENSOR_FLOAT16, 65519.0, 65504},
        {TENSOR_FLOAT16, 65520.0, INFINITY},
        {TENSOR_BFLOAT16, 257.0, 256},
        {TENSOR_BFLOAT16, 259.0, 260},
        {TENSOR_INT8, -3.9, -3},
        {TENSOR_INT8, 200, -56}, /* the low bits */
        {TENSOR_UINT8, 300, 44},
        {TENSOR_UINT8, -1, 255},
        {TENSOR_INT16, -32768, -32768},
        {TENSOR_UINT16, 65535.9, 65535},
        {TENSOR_INT32, -2147483648.0, -2147483648.0},
        {TENSOR_UINT32, 4294967295.0, 4294967295.0},
        {TENSOR_INT64, 1e30, 0x1p63},
        {TENSOR_INT64, -1e30, -0x1p63},
        {TENSOR_UINT64, 1.5e19, 1.5e19},
        {TENSOR_UINT64, 1e30, 0x1p64},
        {TENSOR_INT32, NAN, 0},
        {TENSOR_BOOL, -0.5, 1},
        {TENSOR_BOOL, 0, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        double seen = there_and_back(rows[i].type, rows[i].value);
        if (seen != rows[i].wanted) {
            printf("# %s: %g becomes %g, wanted %g\n", tensor_type_name(rows[i].type),
                   rows[i].value, seen, rows[i].wanted);
            test_failures++;
        }
    }
    CHECK(isnan(there_and_back(TENSOR_FLOAT16, NAN)));
}

/* Integers that a double cannot represent exactly. */
static void test_compare(void) {
    int64_t whole[] = {(1LL << 53) + 1, 1LL << 53, -1};
    uint64_t large[] = {UINT64_MAX, UINT64_MAX - 1};
    float real[] = {1, NAN};
    struct tensor a = {.type = TENSOR_INT64, .shape = {1, {3}}, .data = whole};
    struct tensor b = {.type = TENSOR_UINT64, .shape = {1, {2}}, .data = large};
    struct tensor c = {.type = TENSOR_FLOAT32, .shape = {1, {2}}, .data = real};
    CHECK_INT(tensor_compare(&a, 0, 1), 1);
    CHECK_INT(tensor_compare(&a, 2, 1), -1);
    CHECK_INT(tensor_compare(&b, 1, 0), -1);
    CHECK_INT(tensor_compare(&b, 1, 1), 0);
    CHECK_INT(tensor_compare(&c, 0, 1), 2);
    CHECK_INT(tensor_compare(&c, 0, 0), 0);
}

static void test_types_of_onnx(void) {
    for (int type = 0; type < TENSOR_TYPE_COUNT; type++) {
        enum tensor_type back;
        CHECK(tensor_type_from_onnx(tensor_type_onnx((enum tensor_type)type), &back));
        CHECK_INT(back, type);
    }
    enum tensor_type none;
    CHECK(!tensor_type_from_onnx(8, &none)); /* strings */
    CHECK(!tensor_type_from_onnx(0, &none));
    CHECK(!tensor_type_from_onnx(-1, &none));
}

int main(void) {
    TEST(test_put_and_get);
    TEST(test_compare);
    TEST(test_types_of_onnx);
    return TEST_END();
}
