// SPDX-License-Identifier: Apache-2.0
#include "lib/secret.h"

#include "tests/test.h"

#include <stdlib.h>

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
    TEST(a_secret_leaves_nothing_where_it_was);
    return TEST_END();
}
