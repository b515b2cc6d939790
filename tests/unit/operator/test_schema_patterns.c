// SPDX-License-Identifier: Apache-2.0
#include "operator/schema_patterns.h"

#include "tests/test.h"

static void each_is_found_by_its_text(void) {
    struct schema_patterns *patterns = NULL;
    CHECK_INT(schema_patterns_add(&patterns, "^[a-z]+$"), 0);
    CHECK_INT(schema_patterns_add(&patterns, "^[0-9]+$"), 0);
    struct schema_patterns *both = patterns;
    CHECK_INT(schema_patterns_add(&patterns, "^[a-z]+$"), 0);
    CHECK(patterns == both); /* it is compiled already */
    CHECK(schema_patterns_fit(patterns, "^[a-z]+$", "abc"));
    CHECK(!schema_patterns_fit(patterns, "^[a-z]+$", "123"));
    CHECK(schema_patterns_fit(patterns, "^[0-9]+$", "123"));
    CHECK(!schema_patterns_fit(patterns, "^[0-9]+$", "abc"));
    CHECK(schema_patterns_fit(patterns, "^x$", "abc")); /* was not added */
    schema_patterns_free(patterns);
}

static void what_is_not_a_pattern_is_refused(void) {
    struct schema_patterns *patterns = NULL;
    CHECK_INT(schema_patterns_add(&patterns, "(a"), -1);
    CHECK(!patterns);
    schema_patterns_free(patterns);
}

int main(void) {
    TEST(each_is_found_by_its_text);
    TEST(what_is_not_a_pattern_is_refused);
    return TEST_END();
}
