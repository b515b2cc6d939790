// SPDX-License-Identifier: Apache-2.0
/* Answers in many lines, and with arrays, of real programs. */
#include "agent/score/worker/command.h"

#include "lib/time/clock.h"
#include "tests/test.h"

#include <signal.h>
#include <sys/resource.h>

static struct command *start(const char *const *words) {
    struct error err = {0};
    const struct command_options options = {
        .words = words,
        .environment = {.job = "churn",
                        .worker = "churn-worker-0",
                        .python = "agent/score/worker/python"},
        .init_timeout_ms = 60000,
        .line_bytes_max = COMMAND_LINE_MAX,
    };
    struct command *command = command_new(&options);
    CHECK_OK(command_start(command, &err), &err);
    return command;
}

static struct command_answer *ask(struct command *command, int64_t id, const char *items,
                                  size_t count) {
    struct error err = {0};
    struct command_answer *answer = NULL;
    const struct command_request request = {id, items, strlen(items), count, -1, 0};
    CHECK_OK(command_send(command, &request, &err), &err);
    CHECK_OK(command_wait(command, id, clock_monotonic_ms() + 60000, &answer, &err), &err);
    return answer;
}

/* The results as "[a,b]" (a failed one as "!cause"), or the answer's error. */
static char *text_of(struct command_answer *answer) {
    struct error err = {0};
    AUTO(buffer_release) struct buffer text;
    buffer_init(&text, 1 << 20);
    if (!answer || answer->error) {
        return x_strdup(answer ? answer->error : "none");
    }
    for (size_t i = 0; i < answer->items; i++) {
        struct command_result result = {0};
        CHECK_OK(command_answer_next(answer, &result, &err), &err);
        CHECK_OK(buffer_printf(&text, &err, "%s%s%.*s", i ? "," : "[", result.cause ? "!" : "",
                               (int)(result.cause ? strlen(result.cause) : result.size),
                               result.cause ? result.cause : result.json),
                 &err);
    }
    return x_printf("%s]", text.data ? text.data : "[");
}

/* Says how many results of how many numbers go as arrays, in how many lines. */
static void test_arrays_are_results(void) {
    static const char program[] =
        "import sys, json\n"
        "import numpy\n"
        "import windlass\n"
        "windlass.BODY, windlass.LINE = 100, 30\n"
        "def run(items):\n"
        "    kind, count = items[0].split()\n"
        "    vectors = numpy.arange(3 * int(count), dtype=kind).reshape(int(count), 3) / 3\n"
        "    if kind == 'f8':\n"
        "        return {'vector': vectors.T.copy().T.astype('f4'), 'index': "
        "numpy.arange(len(items), dtype='i2'), 'grid': "
        "numpy.ones((len(items), 2, 2), '>u1').astype('?')}\n"
        "    if kind == 'f2':\n"
        "        vectors[0][0] = numpy.nan\n"
        "        return vectors\n"
        "    if kind == 'i8':\n"
        "        return (numpy.int64(i) if i % 5 else ValueError(i) for i in range(len(items)))\n"
        "    return vectors.astype(kind)\n"
        "windlass.serve(run)\n";
    static const struct {
        const char *first, *wanted;
    } rows[] = {
        {"f4 4", "[[0.0,0.333333343,0.666666687],[1.0,1.33333337,1.66666663],[2.0,2.33333325,"
                 "2.66666675],[3.0,3.33333325,3.66666675]]"},
        {"f2 4", "[[null,0.333251953,0.666503906],[1.0,1.33300781,1.66699219],[2.0,2.33398438,"
                 "2.66601563],[3.0,3.33398438,3.66601563]]"},
        {"i8 4", "[!ValueError: 0,1,2,3]"},
        {">i4 4", "[[0,0,0],[1,1,1],[2,2,2],[3,3,3]]"},
        {"u2 4", "[[0,0,0],[1,1,1],[2,2,2],[3,3,3]]"},
        {">u4 4", "[[0,0,0],[1,1,1],[2,2,2],[3,3,3]]"},
        {"u8 4", "TypeError: run() returned an array of uint64, expected bool, int8 to int64, "
                 "uint8 to uint32, or float16 to float64"},
        {"f4 5", "5 results for 4 items"},
    };
    AUTO(command_freep) /* Debian's Python, which has NumPy */
    struct command *command = start((const char *const[]){"/usr/bin/python3", "-c", program, NULL});
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char items[100];
        size_t count = text_starts(rows[i].first, "f8") ? 2 : 4;
        snprintf(items, sizeof items, "[\"%s\",2%s]", rows[i].first, count > 2 ? ",3,4" : "");
        AUTO(text_freep) char *seen = text_of(ask(command, (int64_t)i, items, count));
        CHECK_STR(seen, rows[i].wanted);
    }
    CHECK(command_is_alive(command));
}

/* An answer of 400 MB, of which little is in memory. */
static void test_an_answer_of_any_size_is_kept_apart(void) {
    static const char program[] =
        "import json, sys\n"
        "print('{\"ready\":true}', flush=True)\n"
        "sys.stdin.readline()\n"
        "for line in sys.stdin:\n"
        "    number = json.loads(line)['id']\n"
        "    for i in range(400):\n"
        "        print('{\"id\":%d,\"results\":[\"%s\"],\"more\":true}' % (number, "
        "chr(97 + i % 26) * 1000000))\n"
        "    print('{\"id\":%d,\"results\":[]}' % number, flush=True)\n";
    AUTO(command_freep)
    struct command *command = start((const char *const[]){"python3", "-c", program, NULL});
    struct error err = {0};
    for (int64_t id = 1; id <= 2; id++) {
        struct command_answer *answer = ask(command, id, "[]", 400);
        CHECK(answer && !answer->error);
        for (size_t i = 0; answer && i < answer->items; i++) {
            struct command_result result = {0};
            CHECK_OK(command_answer_next(answer, &result, &err), &err);
            CHECK(result.size == 1000002 && result.json[1] == (char)('a' + i % 26) &&
                  result.json[1000000] == result.json[1]);
        }
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
#ifndef __SANITIZE_ADDRESS__ /* which keeps what was freed */
    CHECK(usage.ru_maxrss < 250000);
#endif
}

static void test_too_many_results_are_not_kept(void) {
    static const char program[] =
        "import json, sys\n"
        "print('{\"ready\":true}', flush=True)\n"
        "sys.stdin.readline()\n"
        "number = json.loads(sys.stdin.readline())['id']\n"
        "while True:\n"
        "    print('{\"id\":%d,\"results\":[],\"more\":true}' % number)\n"
        "    print('{\"id\":%d,\"results\":[\"%s\"],\"more\":true}' % (number, 'x' * 1000000))\n";
    AUTO(command_freep)
    struct command *command = start((const char *const[]){"python3", "-c", program, NULL});
    struct command_answer *answer = ask(command, 1, "[1,2,3,4,5,6,7,8,9]", 9);
    CHECK(answer && answer->error && !answer->file && answer->held.size == 0);
    AUTO(text_freep) char *seen = text_of(answer);
    CHECK_STR(seen, "10 results for 9 items");
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    TEST(test_arrays_are_results);
    TEST(test_an_answer_of_any_size_is_kept_apart);
    TEST(test_too_many_results_are_not_kept);
    return TEST_END();
}
