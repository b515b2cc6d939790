// SPDX-License-Identifier: Apache-2.0
#include "lib/library/shared_library.h"

#include "tests/test.h"

#include <math.h>

/* Of this machine's libm.so.6, which has no cosinus. */
static struct {
    __typeof__(&cos) cos;
    __typeof__(&cos) cosinus;
} maths;

static void test_opens(void) {
    static const struct shared_library_call calls[] = {{"cos", &maths.cos}};
    struct error err = {0};
    maths.cos = NULL;
    CHECK_INT(shared_library_open("libm.so.6", calls, ARRAY_LEN(calls), &err), 0);
    CHECK(maths.cos && maths.cos(0) == 1);
}

static void test_missing_library(void) {
    static const struct shared_library_call calls[] = {{"cos", &maths.cos}};
    struct error err = {0};
    maths.cos = NULL;
    CHECK_INT(shared_library_open("libnot-there.so.7", calls, ARRAY_LEN(calls), &err), -1);
    CHECK_INT(err.kind, ERROR_UNSUPPORTED);
    CHECK_STR(err.text, "libnot-there.so.7: cannot open shared object file: No such file or "
                        "directory");
    CHECK(!maths.cos);
}

static void test_missing_function(void) {
    static const struct shared_library_call calls[] = {{"cos", &maths.cos},
                                                       {"cosinus", &maths.cosinus}};
    struct error err = {0};
    maths.cos = NULL;
    CHECK_INT(shared_library_open("libm.so.6", calls, ARRAY_LEN(calls), &err), -1);
    CHECK_INT(err.kind, ERROR_UNSUPPORTED);
    CHECK_STR(err.text, "libm.so.6 has no cosinus");
    CHECK(!maths.cos);
}

int main(void) {
    TEST(test_opens);
    TEST(test_missing_library);
    TEST(test_missing_function);
    return TEST_END();
}
