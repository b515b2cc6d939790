/* test.h: the whole test framework. A test program is a list of functions run by TEST(); every
 * CHECK prints the place of a failure and the value seen. Output is one line per test ("ok name",
 * "not ok name", "skip name: reason"), which tests/run.sh counts. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int test_failures, test_failures_total;
static char test_skip_reason[256];

#define TEST(function)                                                                             \
    do {                                                                                           \
        test_failures = 0;                                                                         \
        test_skip_reason[0] = 0;                                                                   \
        function();                                                                                \
        if (test_skip_reason[0]) {                                                                 \
            printf("skip " #function ": %s\n", test_skip_reason);                                  \
        } else {                                                                                   \
            printf("%s " #function "\n", test_failures ? "not ok" : "ok");                         \
        }                                                                                          \
        fflush(stdout);                                                                            \
        test_failures_total += test_failures;                                                      \
    } while (0)

/* Leaves the test function; the reason is printed and the test counts as skipped. */
#define SKIP(...)                                                                                  \
    do {                                                                                           \
        snprintf(test_skip_reason, sizeof test_skip_reason, __VA_ARGS__);                          \
        return;                                                                                    \
    } while (0)

#define TEST_END() (test_failures_total ? 1 : 0)

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("# %s:%d: %s is false\n", __FILE__, __LINE__, #condition);                      \
            test_failures++;                                                                       \
        }                                                                                          \
    } while (0)

#define CHECK_INT(seen, wanted)                                                                    \
    do {                                                                                           \
        long long seen_ = (long long)(seen), wanted_ = (long long)(wanted);                        \
        if (seen_ != wanted_) {                                                                    \
            printf("# %s:%d: %s is %lld, wanted %lld\n", __FILE__, __LINE__, #seen, seen_,         \
                   wanted_);                                                                       \
            test_failures++;                                                                       \
        }                                                                                          \
    } while (0)

#define CHECK_STR(seen, wanted)                                                                    \
    do {                                                                                           \
        const char *seen_ = (seen), *wanted_ = (wanted);                                           \
        if (!seen_ || !wanted_ || strcmp(seen_, wanted_) != 0) {                                   \
            printf("# %s:%d: %s is\n#   '%s', wanted\n#   '%s'\n", __FILE__, __LINE__, #seen,      \
                   seen_ ? seen_ : "(null)", wanted_ ? wanted_ : "(null)");                        \
            test_failures++;                                                                       \
        }                                                                                          \
    } while (0)

/* For functions that take a struct error: prints the message when the call failed. */
#define CHECK_OK(call, error)                                                                      \
    do {                                                                                           \
        if ((call) < 0) {                                                                          \
            printf("# %s:%d: %s failed: %s\n", __FILE__, __LINE__, #call, (error)->text);          \
            test_failures++;                                                                       \
        }                                                                                          \
    } while (0)
