// SPDX-License-Identifier: Apache-2.0
#include "lib/text/same_failure.h"

#include "tests/test.h"

#include <stdlib.h>

static void the_last_line_decides(void) {
    static const struct {
        const char *before, *output;
        bool is_same;
    } rows[] = {
        {"", "", true},
        {"KeyError: 'x'", "KeyError: 'x'", true},
        {"step 5 | KeyError: 'x'", "step 9 | loss 3 | KeyError: 'x'", true},
        {"a\nKeyError: 'x'\n", "b\nKeyError: 'x'", true},
        {"KeyError: 'x' | ------ | ====", "KeyError: 'x'", true},
        {"------", "", true},
        {"KeyError: 'x'", "KeyError: 'y'", false},
        {"KeyError: 'x'", "", false},
        {"a | KeyError: 'x'", "KeyError: 'x' | a", false},
        /* What differs in each run. */
        {"2026-11-29 10:55:56,123 ERROR no rows", "2026-11-29 10:56:02,001 ERROR no rows", true},
        {"[2026/11/29 9:55:56] no rows", "[2026/11/30 19:55:56.5] no rows", true},
        {"2026-11-29T10:55:56.5Z no rows", "2026-12-01T00:00:00Z no rows", true},
        {"<Net object at 0x7f00a4> is not callable", "<Net object at 0x55d1c0> is not callable",
         true},
        {"no rows at 10.0.0.3:4711", "no rows at 10.128.7.30:50012", true},
        {"run e3b0c442: no rows", "run 77fa03b1c: no rows", true},
        {"run 8f14e45f-ceea-467f-a2c7-1b0d2f3c4e5a has no rows",
         "run 00000000-ceea-467f-a2c7-1b0d2f3c4e5f has no rows", true},
        {"no rows after 0.35 s", "no rows after 12 s", true},
        {"no rows (12ms)", "no rows (3ms)", true},
        {"worker (pid 4711) has no rows", "worker (pid 17) has no rows", true},
        {"PID: 4711: no rows", "PID: 17: no rows", true},
        /* What says how far it has come, or another thing. */
        {"stopped at step 100", "stopped at step 200", false},
        {"epoch 1.5 is the last", "epoch 2.5 is the last", false},
        {"rows 20000101 are gone", "rows 20000102 are gone", false},
        {"shard-0007.tar is not a tar", "shard-0008.tar is not a tar", false},
        {"train.py:12: no rows", "train.py:14: no rows", false},
        {"10 samples are bad", "11 samples are bad", false},
        {"version 1.2.3 is too old", "version 1.2.4 is too old", false},
        {"rapid 12", "rapid 13", false},
        {"\xc3\xa9\xc3\xa9", "\xc3\xa9\xc3\xa8", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (same_failure_is(1, rows[i].before, rows[i].output) != rows[i].is_same ||
            (*rows[i].before && !same_failure_is(1, rows[i].before, rows[i].before))) {
            printf("# '%s', then '%s'\n", rows[i].before, rows[i].output);
            test_failures++;
        }
    }
}

static void what_may_pass_is_never_the_same(void) {
    static const struct {
        int code;
        const char *output;
        bool is_same;
    } rows[] = {
        {1, "no rows", true},
        {2, "no rows", true},
        {127, "no rows", true},
        {255, "no rows", true}, /* sys.exit(-1) */
        {0, "no rows", false},
        {-1, "no rows", false},
        {SAME_FAILURE_LATER, "no rows", false},
        {129, "no rows", false},
        {137, "no rows", false},
        {139, "", false},
        {192, "no rows", false},
        {193, "no rows", true},
        {1, "ConnectionRefusedError: [Errno 111] Connection refused", false},
        {1, "TimeoutError: [Errno 110] Connection timed out", false},
        {1, "socket.gaierror: [Errno -3] Temporary failure in name resolution", false},
        {1, "OSError: [Errno 116] Stale file handle: '/mnt/data/x'", false},
        {1, "HTTP Error 503: Service Unavailable", false},
        {1, "OSError: [Errno 98] Address already in use", false},
        {1, "OSError: [Errno 113] No route to host", false},
        {1, "ncclRemoteError: remote process exited or there was a network error", false},
        {1, "details = \"Socket closed\"", false},
        {1, "HTTP Error 502: Bad Gateway", false},
        {1, "RuntimeError: DataLoader worker (pid 12) is killed by signal: Killed. ", false},
        {1, "a.sh: line 3: 4711 Killed                  python3 train.py", false},
        {1,
         "exitcode  : -9 (pid: 12) | error_file: <N/A> | traceback : Signal 9 (SIGKILL) "
         "received by PID 12 | ======",
         false},
        /* Why what it started has failed is not in it. */
        {1,
         "exitcode  : 1 (pid: 12) | error_file: <N/A> | traceback : To enable traceback see: "
         "https://pytorch.org/docs/stable/elastic/errors.html | ======",
         false},
        {1, "subprocess.CalledProcessError: Command '['a']' returned non-zero exit status 1.",
         false},
        {1, "  Process name: [[7,1],0] |   Exit code:    1 | -----", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (same_failure_is(rows[i].code, rows[i].output, rows[i].output) != rows[i].is_same) {
            printf("# %d, '%s'\n", rows[i].code, rows[i].output);
            test_failures++;
        }
    }
}

static void lines_of_any_length_and_bytes_are_compared(void) {
    char text[5000];
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = 0;
    CHECK(same_failure_is(1, text, text));
    CHECK(!same_failure_is(1, text, "a"));
    srand(7);
    for (int round = 0; round < 20000; round++) {
        static const char bytes[] = "09:.-/xTa f|\npidms\xff";
        size_t size = (size_t)rand() % 40;
        for (size_t i = 0; i < size; i++) {
            text[i] = bytes[(size_t)rand() % (sizeof bytes - 1)];
        }
        text[size] = 0;
        CHECK(same_failure_is(1, text, text));
    }
}

int main(void) {
    TEST(the_last_line_decides);
    TEST(what_may_pass_is_never_the_same);
    TEST(lines_of_any_length_and_bytes_are_compared);
    return TEST_END();
}
