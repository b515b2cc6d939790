// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/server_warnings.h"

#include "tests/test.h"

static char told[4096];
static int count;

static void tell(void *context UNUSED, const char *text) {
    size_t used = strlen(told);
    count++;
    snprintf(told + used, sizeof told - used, "[%s]", text);
}

static void test_texts(void) {
    static const struct {
        const char *value, *told;
    } rows[] = {
        {"299 - \"a\"", "[a]"},
        {"299 - \"a\", 299 - \"b, c\"", "[a][b, c]"},
        {"299 - \"a\" \"Sat, 25 Aug 2012 23:34:45 GMT\", 299 - \"b\"", "[a][b]"},
        {"299 kube \"say \\\"x\\\" and \\\\\"", "[say \"x\" and \\]"},
        {"299 - \"a\",299 - \"a\"", "[a]"},
        {"", ""},
        {"299", ""},
        {"299 - ", ""},
        {"299 - \"no end", ""},
        {"299 - \"a\" \"no end", "[a]"},
        {"299 - \"no end \\", ""},
        {"2999 - \"a\"", ""},
        {"x - \"a\"", ""},
        {"299 - \"\"", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct server_warnings warnings = {0};
        *told = 0;
        server_warnings_read(&warnings, rows[i].value, tell, NULL);
        CHECK_STR(told, rows[i].told);
        *told = 0;
        server_warnings_read(&warnings, rows[i].value, tell, NULL);
        CHECK_STR(told, "");
    }
}

/* Long texts are cut at a whole character; endless texts end. */
static void test_limits(void) {
    struct server_warnings warnings = {0};
    AUTO(text_freep) char *dots = x_printf("299 - \"%01000d\"", 0);
    *told = 0;
    server_warnings_read(&warnings, dots, tell, NULL);
    CHECK_INT(strlen(told), SERVER_WARNING_TEXT_MAX + 2);
    char wide[1100] = "299 - \"x";
    size_t used = strlen(wide);
    for (int i = 0; i < 500; i++, used += 2) {
        memcpy(wide + used, "\xc3\xa9", 2);
    }
    memcpy(wide + used, "\"", 2);
    *told = 0;
    server_warnings_read(&warnings, wide, tell, NULL);
    CHECK_INT(strlen(told) % 2, 1); /* [x and whole characters] */
    count = 0;
    for (int i = 0; i < 2 * SERVER_WARNINGS_MAX; i++) {
        AUTO(text_freep) char *value = x_printf("299 - \"%d\"", i);
        *told = 0;
        server_warnings_read(&warnings, value, tell, NULL);
    }
    CHECK_INT(count, SERVER_WARNINGS_MAX - 2);
}

int main(void) {
    TEST(test_texts);
    TEST(test_limits);
    return TEST_END();
}
