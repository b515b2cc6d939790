// SPDX-License-Identifier: Apache-2.0
#include "lib/environment.h"

#include "tests/test.h"

#include <stdlib.h>
#include <string.h>

static void what_is_missing_is_named(void) {
    struct error err = {0};
    const char *value = NULL;
    setenv("WINDLASS_TEST", "x", 1);
    CHECK_OK(environment_read("WINDLASS_TEST", &value, &err), &err);
    CHECK_STR(value, "x");
    setenv("WINDLASS_TEST", "", 1);
    CHECK(environment_read("WINDLASS_TEST", &value, &err) < 0 && err.kind == ERROR_INVALID);
    CHECK(strstr(err.text, "the environment variable WINDLASS_TEST is missing") != NULL);
    unsetenv("WINDLASS_TEST");
    CHECK(environment_read("WINDLASS_TEST", &value, &err) < 0);
}

int main(void) {
    TEST(what_is_missing_is_named);
    return TEST_END();
}
