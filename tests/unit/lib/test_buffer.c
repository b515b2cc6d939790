// SPDX-License-Identifier: Apache-2.0
#include "lib/buffer.h"

#include "tests/test.h"

#include <stdlib.h>

static void test_grows_to_the_maximum_and_no_further(void) {
    struct error err = {0};
    AUTO(buffer_release) struct buffer buffer;
    buffer_init(&buffer, 1000);
    for (int i = 0; i < 100; i++) {
        CHECK_OK(buffer_append(&buffer, "0123456789", 10, &err), &err);
    }
    CHECK_INT(buffer.size, 1000);
    CHECK_INT(buffer.data[1000], 0);
    CHECK_INT(buffer_append(&buffer, "x", 1, &err), -1);
    CHECK_INT(err.kind, ERROR_EXHAUSTED);
    CHECK_INT(buffer.size, 1000);
}

static void test_huge_append_does_not_overflow(void) {
    struct error err = {0};
    AUTO(buffer_release) struct buffer buffer;
    buffer_init(&buffer, 64);
    CHECK_OK(buffer_append(&buffer, "abc", 3, &err), &err);
    CHECK_INT(buffer_append(&buffer, "abc", SIZE_MAX - 1, &err), -1);
    CHECK_STR(buffer.data, "abc");
}

static void test_printf_drop_take(void) {
    struct error err = {0};
    struct buffer buffer;
    buffer_init(&buffer, 100);
    CHECK_OK(buffer_printf(&buffer, &err, "%d-%s", 42, "answer"), &err);
    buffer_drop(&buffer, 3);
    CHECK_STR(buffer.data, "answer");
    size_t size = 0;
    AUTO(text_freep) char *taken = buffer_take(&buffer, &size);
    CHECK_STR(taken, "answer");
    CHECK_INT(size, 6);
    CHECK(buffer.data == NULL);
    AUTO(text_freep) char *nothing = buffer_take(&buffer, NULL);
    CHECK_STR(nothing, "");
}

/* Short texts are made in a room of their own; it must not show, also of the buffer's own bytes. */
static void test_printf_of_any_length(void) {
    struct error err = {0};
    struct buffer buffer;
    buffer_init(&buffer, 10000);
    for (size_t size = 0; size<2000; size += size> 250 && size < 260 ? 1 : 50) {
        buffer_clear(&buffer);
        CHECK_OK(buffer_printf(&buffer, &err, "%*s", (int)size, size ? "x" : ""), &err);
        CHECK_INT(buffer.size, size);
        CHECK(size == 0 || buffer.data[size - 1] == 'x');
        CHECK_OK(buffer_printf(&buffer, &err, "%s.", buffer.data ? buffer.data : ""), &err);
        CHECK_INT(buffer.size, 2 * size + 1);
    }
    CHECK_INT(buffer_printf(&buffer, &err, "%9999s", "x"), -1);
    CHECK_INT(err.kind, ERROR_EXHAUSTED);
    buffer_release(&buffer);
}

int main(void) {
    TEST(test_grows_to_the_maximum_and_no_further);
    TEST(test_huge_append_does_not_overflow);
    TEST(test_printf_drop_take);
    TEST(test_printf_of_any_length);
    return TEST_END();
}
