// SPDX-License-Identifier: Apache-2.0
#include "lib/environment.h"

#include "tests/test.h"

#include <stdlib.h>

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

static void a_secret_leaves_nothing_where_it_was(void) {
    setenv("WINDLASS_TEST", "secret", 1);
    const char *place = getenv("WINDLASS_TEST");
    char *secret = secret_take("WINDLASS_TEST");
    CHECK_STR(secret, "secret");
    CHECK_STR(place, ""); /* glibc keeps what setenv stored */
    CHECK(!getenv("WINDLASS_TEST"));
    CHECK(!secret_take("WINDLASS_TEST"));
    secret_forget(&secret);
    CHECK(!secret);
    secret_forget(&secret);
}

int main(void) {
    TEST(what_is_missing_is_named);
    TEST(a_secret_leaves_nothing_where_it_was);
    return TEST_END();
}
