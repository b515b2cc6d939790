// SPDX-License-Identifier: Apache-2.0
/* Real programs: sh, python3, and this program itself, which misbehaves on request. */
#include "agent/score/worker/command.h"

#include "lib/time/clock.h"
#include "tests/test.h"
#include "tests/unit/agent/score/worker/misbehave.h"

#include <fcntl.h>
#include <sys/wait.h>

static char said[1 << 16]; /* all output, one line each: "1 " marks stdout */
static int said_lines;

static void on_log_line(void *context UNUSED, enum command_stream stream, const char *text,
                        size_t size) {
    size_t used = strlen(said);
    snprintf(said + used, sizeof said - used, "%d %.*s\n", stream == COMMAND_STDOUT, (int)size,
             text);
    said_lines++;
}

static struct command_options options_of(const char *const *words) {
    said[0] = 0;
    said_lines = 0;
    return (struct command_options){
        .words = words,
        .environment = {.job = "churn", .worker = "churn-worker-0", .slot = 1},
        .init_timeout_ms = 60000,
        .line_bytes_max = COMMAND_LINE_MAX,
        .log_line = on_log_line,
    };
}

static struct command *start(const struct command_options *options) {
    struct command *command = command_new(options);
    struct error err = {0};
    CHECK_OK(command_start(command, &err), &err);
    CHECK(command_is_alive(command));
    return command;
}

#define MISBEHAVE(...) ((const char *const[]){"/proc/self/exe", "misbehave", __VA_ARGS__, NULL})

static int ask(struct command *command, int64_t id, const char *items, size_t count) {
    struct error err = {0};
    struct command_request request = {id, items, strlen(items), count, -1, 0};
    int result = command_send(command, &request, &err);
    CHECK_OK(result, &err);
    return result;
}

/* The results as "[a,b]" (a failed one as "!cause"), or the answer's error, or "-KIND: error". */
static char *answer_to(struct command *command, int64_t id, int64_t within_ms) {
    struct error err = {0};
    struct command_answer *answer = NULL;
    if (command_wait(command, id, clock_monotonic_ms() + within_ms, &answer, &err) < 0) {
        CHECK(!command_is_alive(command));
        return x_printf("-%s: %s", error_kind_name(err.kind), err.text);
    }
    if (answer->error) {
        return x_strdup(answer->error);
    }
    char *text = x_strdup("[");
    for (size_t i = 0; i < answer->items; i++) {
        struct command_result result = {0};
        CHECK_OK(command_answer_next(answer, &result, &err), &err);
        char *more = result.cause
                         ? x_printf("%s%s!%s", text, i ? "," : "", result.cause)
                         : x_printf("%s%s%.*s", text, i ? "," : "", (int)result.size, result.json);
        free(text);
        text = more;
    }
    char *whole = x_printf("%s]", text);
    free(text);
    return whole;
}

static void check_answer(struct command *command, int64_t id, const char *wanted) {
    AUTO(text_freep) char *seen = answer_to(command, id, 60000);
    CHECK_STR(seen, wanted);
}

static void test_a_shell_script_answers_line_by_line(void) {
    static const char script[] =
        "read -r init; echo \"$init\" >&2; echo '{\"ready\":true}'\n"
        "while read -r line; do\n"
        "  echo \"$line\" >&2; id=${line#*:}; echo "
        "\"{\\\"id\\\":${id%%,*},\\\"results\\\":[\\\"$WINDLASS_JOB\\\",$$]}\"\n"
        "done\n";
    json_t *arguments = json_pack("{s:f}", "threshold", 0.5);
    struct command_options options = options_of((const char *const[]){"sh", "-c", script, NULL});
    options.arguments = arguments;
    AUTO(command_freep) struct command *command = start(&options);
    for (int64_t id = 0; id < 100; id++) { /* one process for all of them, one request ahead */
        struct error err = {0};
        struct command_request request = {id, "[1,2]", 5, 2, 96, 1};
        CHECK_OK(command_send(command, &request, &err), &err);
        if (id > 0) {
            AUTO(text_freep) char *seen = answer_to(command, id - 1, 60000);
            CHECK(text_starts(seen, "[\"churn\","));
        }
    }
    CHECK(strstr(said, "0 "
                       "{\"init\":{\"worker\":\"churn-worker-0\",\"slot\":1,\"arguments\":{"
                       "\"threshold\":0.5}}}\n"));
    CHECK(strstr(said, "0 {\"id\":7,\"items\":[1,2],\"miniBatch\":96,\"try\":1}\n"));
    CHECK_INT(command_failed_inits(command), 0);
    json_decref(arguments);
}

static void test_python_with_the_helper(void) {
    json_t *arguments = json_pack("{s:i}", "threshold", 1);
    struct command_options options =
        options_of((const char *const[]){"python3", "examples/command/code/score.py", NULL});
    options.environment.python = "agent/score/worker/python";
    options.arguments = arguments;
    AUTO(command_freep) struct command *command = start(&options);
    ask(command, 7, "[{\"name\":\"Ada\",\"age\":\"36\"},[]]", 2);
    ask(command, 8, "[\"/no/such/file\"]", 1);
    check_answer(command, 7, "[{\"size\": 2, \"large\": true},{\"size\": 0, \"large\": false}]");
    check_answer(command, 8,
                 "FileNotFoundError: [Errno 2] No such file or directory: '/no/such/file'");
    CHECK(strstr(said, "0 Traceback (most recent call last):\n"));
    CHECK(command_is_alive(command)); /* an error is an answer */
    json_decref(arguments);
}

static void test_answers_that_break_the_rules_are_errors_that_say_so(void) {
    static const struct {
        const char *says, *wanted;
    } rows[] = {
        {"{\"id\":7,\"results\":[1,{\"a\":[2]}]}\n", "[1,{\"a\":[2]}]"},
        {" { \"results\" : [ 1 , null ] , \"new\" : {} , \"id\" : 7 } \r\n", "[1,null]"},
        {"{\"id\":7,\"error\":\"out of\\nmemory\"}\n", "out of memory"},
        {"{\"id\":7,\"error\":{\"code\":3}}\n", "{\"code\":3}"},
        {"{\"id\":7,\"error\":null,\"results\":[1,2]}\n", "[1,2]"},
        {"{\"id\":7,\"results\":[1]}\n", "1 results for 2 items"},
        {"{\"id\":7,\"results\":[1,2,3]}\n", "3 results for 2 items"},
        {"{\"id\":7,\"results\":7}\n", "the answer has neither results (a list) nor error"},
        {"{\"id\":7}\n", "the answer has neither results (a list) nor error"},
        {"{\"id\":7,\"results\":[NaN,1]}\n",
         "the answer is not JSON (NaN and Infinity are not allowed)"},
        {"{\"id\":7,\"results\":[0.5,null],\"failed\":{\"1\":\"no such shop\"}}\n",
         "[0.5,!no such shop]"},
        {"{\"id\":7,\"results\":[1,2],\"failed\":{\"0\":{\"code\":3},\"1\":\"x\",\"1\":\"y\"}}\n",
         "[!{\"code\":3},!y]"},
        {"{\"id\":7,\"results\":[1,2],\"failed\":{\"2\":\"x\"}}\n",
         "failed names item \"2\", there are 0 to 1"},
        {"{\"id\":7,\"results\":[1,2],\"failed\":{\"-1\":\"x\"}}\n",
         "failed names item \"-1\", there are 0 to 1"},
        {"{\"id\":7,\"results\":[1,2],\"failed\":[1]}\n",
         "failed is not an object of indexes and causes"},
        {"{\"id\":7,\"results\":[1],\"more\":true}\n{\"id\":7,\"results\":[{\"a\":2}]}\n",
         "[1,{\"a\":2}]"},
        {"{\"id\":7,\"results\":[],\"more\":true}\n{\"id\":7,\"results\":[1,2],\"more\":true}\n"
         "{\"id\":7,\"results\":[],\"failed\":{\"0\":\"late\"}}\n",
         "[!late,2]"},
        {"{\"id\":7,\"results\":[1],\"more\":true}\n{\"id\":7,\"results\":[2,3]}\n",
         "3 results for 2 items"},
        {"{\"id\":7,\"results\":[1],\"more\":true}\n{\"id\":7,\"error\":\"out of memory\"}\n",
         "out of memory"},
        {"{\"id\":7,\"npy\":\"3\"}\n",
         "npy: \"\"3\"\" is not a size, expected how many bytes follow"},
        {"{\"id\":7,\"npy\":{}}\n", "npy names no array"},
        {"{\"id\":7,\"npy\":3,\"results\":[1,2]}\nabc",
         "a line of the answer has both results and npy"},
        {"{\"id\":7,\"npy\":3}\nabc", "the array: not a .npy file"},
        {"{\"id\":7,\"npy\":{\"a\":1,\"b\":70000000000}}\n", "-timeout: no answer within "},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct command_options options = options_of(MISBEHAVE("say", rows[i].says));
        AUTO(command_freep) struct command *command = start(&options);
        ask(command, 7, "[1,2]", 2);
        bool is_late = text_starts(rows[i].wanted, "-timeout");
        AUTO(text_freep) char *seen = answer_to(command, 7, is_late ? 300 : 60000);
        if (!is_late || !text_starts(seen, rows[i].wanted)) {
            CHECK_STR(seen, rows[i].wanted);
        }
        CHECK(command_is_alive(command) != is_late);
    }
}

static void test_noise_is_told_and_is_no_answer(void) {
    struct command_options options = options_of(MISBEHAVE("noise"));
    AUTO(command_freep) struct command *command = start(&options);
    ask(command, 7, "[\"first\"]", 1);
    ask(command, 8, "[\"next\"]", 1);
    /* A line that begins like an answer and breaks off is one. */
    check_answer(command, 7, "the answer is not JSON (NaN and Infinity are not allowed)");
    check_answer(command, 8, "[\"next\"]");
    struct error err = {0};
    CHECK_OK(command_listen(command, clock_monotonic_ms() + 1200, &err), &err);
    command_stop(command, clock_monotonic_ms() + 60000);
    CHECK(strstr(said, "1 hello\n"));
    CHECK(strstr(said, "1 {'id': 7}\n"));
    CHECK(strstr(said, "1 {\"id\":99,\"results\":[1]}\n"));
    CHECK(strstr(said, "more lines of stdout)\n"));
    CHECK_INT(said_lines <= 2 * COMMAND_NOISE_PER_SECOND + 3, true);
}

static void test_a_second_answer_is_noise_and_order_is_free(void) {
    struct command_options options = options_of(MISBEHAVE("twice"));
    AUTO(command_freep) struct command *command = start(&options);
    ask(command, 7, "[1]", 1);
    check_answer(command, 7, "[1]");
    ask(command, 8, "[2]", 1);
    check_answer(command, 8, "[2]");
    CHECK(strstr(said, "1 {\"id\":7,\"results\":[\"second\"]}\n"));
    struct command_options backwards = options_of(MISBEHAVE("backwards"));
    AUTO(command_freep) struct command *other = start(&backwards);
    ask(other, 1, "[1]", 1);
    ask(other, 2, "[2]", 1);
    check_answer(other, 1, "[1]");
    check_answer(other, 2, "[2]");
}

/* Each fault ends the program; restarted, it works normally. */
static void test_ends_of_all_kinds_cost_one_try(void) {
    static const struct {
        const char *mode, *wanted;
        int within_ms;
    } rows[] = {
        {"crash",
         "-failed: the program ended by signal 11 (Segmentation fault); its last line of stderr: "
         "about to "
         "crash",
         60000},
        {"exit", "-failed: the program ended with exit code 3", 60000},
        {"close", "-failed: the program closed its stdout", 60000},
        {"silent", "-timeout: no answer within ", 2000},
        {"never-reads", "-timeout: no answer within ", 300},
        {"flood", "-timeout: no answer within ", 300},
        {"endless", "-failed: a line of more than 1000000 bytes on stdout", 60000},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct command_options options = options_of(MISBEHAVE(rows[i].mode));
        options.line_bytes_max = 1000000;
        AUTO(command_freep) struct command *command = start(&options);
        for (int life = 0; life < 2; life++) {
            static char items[900000];
            memset(items, ' ', sizeof items - 1); /* more than a pipe holds */
            memcpy(items, "[1]", 3);
            ask(command, 7, items, 1);
            int64_t before_ms = clock_monotonic_ms();
            AUTO(text_freep) char *seen = answer_to(command, 7, rows[i].within_ms);
            if (!text_starts(seen, rows[i].wanted)) {
                CHECK_STR(seen, rows[i].wanted);
            }
            CHECK(clock_monotonic_ms() - before_ms < rows[i].within_ms + 30000);
            if (strcmp(rows[i].mode, "silent") == 0) {
                CHECK(text_ends(seen, "; the last line on stdout was: working on it"));
            }
            struct error err = {0};
            CHECK_INT(command_send(command, &(struct command_request){9, "[]", 2, 0, -1, 0}, &err),
                      -1);
            CHECK_INT(err.kind, ERROR_FAILED);
            error_clear(&err);
            CHECK_OK(command_start(command, &err), &err);
        }
    }
}

static void test_an_answer_before_the_end_counts(void) {
    struct command_options options = options_of(MISBEHAVE("answer-exit"));
    AUTO(command_freep) struct command *command = start(&options);
    ask(command, 7, "[1]", 1);
    ask(command, 8, "[2]", 1);
    check_answer(command, 7, "[1]");
    check_answer(command, 8, "-failed: the program ended with exit code 4");
}

static void test_inits_that_fail_say_why(void) {
    static const struct {
        const char *mode, *wanted;
        enum error_kind kind;
    } rows[] = {
        {"init-error", "init: no such model: \xC3\xA4 ", ERROR_FAILED},
        {"init-exit",
         "init: the program ended with exit code 1; its last line of stderr: ModuleNotFoundError: "
         "No module "
         "named 'torch'",
         ERROR_FAILED},
        {"init-silent", "init: did not report that it is ready within ", ERROR_TIMEOUT},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct command_options options = options_of(MISBEHAVE(rows[i].mode));
        options.init_timeout_ms = rows[i].kind == ERROR_TIMEOUT ? 300 : 60000;
        AUTO(command_freep) struct command *command = command_new(&options);
        for (int life = 1; life <= 4; life++) {
            struct error err = {0};
            CHECK_INT(command_start(command, &err), -1);
            CHECK_INT(err.kind, rows[i].kind);
            if (!text_starts(err.text, rows[i].wanted)) {
                CHECK_STR(err.text, rows[i].wanted);
            }
            CHECK(!command_is_alive(command));
            CHECK_INT(command_failed_inits(command), life);
            int64_t wait_ms = command_back_off_ms(command, clock_monotonic_ms());
            int64_t most_ms = life < 3 ? 0 : life == 3 ? 1000 : 2000;
            CHECK(wait_ms <= most_ms && wait_ms >= most_ms - 500 * (most_ms > 0));
        }
    }
    struct command_options options =
        options_of((const char *const[]){"no-such-program-here", NULL});
    AUTO(command_freep) struct command *command = command_new(&options);
    struct error err = {0};
    CHECK_INT(command_start(command, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    CHECK_STR(err.text, "init: cannot run no-such-program-here: No such file or directory");
}

/* A wrong command line and wrong code stay wrong; what was ready once is started again, whatever it
 * ends with. */
static void test_a_wrong_command_line_is_useless(void) {
    static const struct {
        const char *const words[5];
        bool starts, is_useless;
    } rows[] = {
        {{"sh", "-c", "echo 'usage: score FILE' >&2; echo 'no FILE' >&2; exit 2", NULL},
         false,
         true},
        {{"/proc/self/exe", "misbehave", "init-exit", NULL}, false, true}, /* a module is missing */
        {{"sh", "-c", "echo 'OSError: Stale file handle' >&2; exit 1", NULL}, false, false},
        {{"/proc/self/exe", "misbehave", "init-error", NULL}, false, false},
        {{"sh", "-c", "echo '{\"ready\":true}'; sleep 0.2; echo 'usage: 81 %' >&2; exit 2", NULL},
         true,
         false},
        {{"sh", "-c", "nonsense-here", NULL}, false, true},
        {{"sh", "-c", "exit 2", NULL}, false, false},
        {{"no-such-program-here", NULL}, false, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct command_options options = options_of(rows[i].words);
        AUTO(command_freep) struct command *command = command_new(&options);
        CHECK_INT(command_start(command, &err), rows[i].starts ? 0 : -1);
        if (rows[i].starts) {
            (void)!command_listen(command, clock_monotonic_ms() + 60000, &err);
            CHECK(!command_is_alive(command));
        }
        if (command_is_useless(command) != rows[i].is_useless) {
            printf("# %s: %s\n", rows[i].words[2] ? rows[i].words[2] : rows[i].words[0], err.text);
            test_failures++;
        }
    }
}

/* All processes that it started die with it, inside and outside its group. */
static void test_children_die_with_the_program(void) {
    struct command_options options = options_of(MISBEHAVE("fork"));
    AUTO(command_freep) struct command *command = start(&options);
    ask(command, 7, "[1]", 1);
    check_answer(command, 7, "-failed: the program ended with exit code 5");
    int found = 0;
    for (const char *at = said; (at = strstr(at, "1 pid ")); at++) {
        pid_t pid = (pid_t)strtol(at + 6, NULL, 10);
        char path[64], state[512] = "";
        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        FILE *file = fopen(path, "r");
        if (file) { /* dead, if not reaped yet */
            size_t got = fread(state, 1, sizeof state - 1, file);
            state[got] = 0;
            fclose(file);
        }
        CHECK(!file || strstr(state, ") Z "));
        found++;
    }
    CHECK_INT(found, 2);
}

/* Two slots of one worker: the end of one does not affect the other. */
static void test_a_neighbour_lives_on(void) {
    struct command_options options = options_of(MISBEHAVE("good"));
    AUTO(command_freep) struct command *neighbour = start(&options);
    struct command_options other_options = options_of(MISBEHAVE("fork"));
    AUTO(command_freep) struct command *command = start(&other_options);
    ask(neighbour, 1, "[1]", 1);
    ask(command, 7, "[1]", 1);
    check_answer(command, 7, "-failed: the program ended with exit code 5");
    check_answer(neighbour, 1, "[1]");
    ask(neighbour, 2, "[2]", 1);
    check_answer(neighbour, 2, "[2]");
}

/* kill -9 of the worker: the kernel ends the program, which holds the other end of our pipe. */
static void test_the_program_dies_with_its_worker(void) {
    int fds[2];
    CHECK_INT(pipe(fds), 0);
    pid_t worker = fork();
    if (worker == 0) {
        char script[200];
        snprintf(script, sizeof script,
                 "exec 9>/proc/%d/fd/%d; echo '{\"ready\":true}'; echo up >&9; exec sleep 1000",
                 (int)getppid(), fds[1]);
        struct command_options options =
            options_of((const char *const[]){"sh", "-c", script, NULL});
        AUTO(command_freep) struct command *command = start(&options);
        signal(SIGALRM, SIG_DFL);
        alarm(60);
        pause();
    }
    char text[300];
    ssize_t got = read(fds[0], text, sizeof text);
    CHECK(got >= 3 && memcmp(text, "up\n", 3) == 0);
    close(fds[1]);
    kill(worker, SIGKILL);
    CHECK_INT(waitpid(worker, NULL, 0), worker);
    while ((got = read(fds[0], text, sizeof text)) > 0) {
    }
    CHECK_INT(got, 0); /* no writer is left */
    close(fds[0]);
}

static void test_stop_lets_it_end_by_itself(void) {
    struct command_options options = options_of(MISBEHAVE("stop"));
    AUTO(command_freep) struct command *command = start(&options);
    command_stop(command, clock_monotonic_ms() + 60000);
    CHECK(!command_is_alive(command));
    CHECK(strstr(said, "1 stdin has ended\n"));
}

static void test_lines_of_many_megabytes_go_both_ways(void) {
    struct command_options options = options_of(MISBEHAVE("good"));
    AUTO(command_freep) struct command *command = start(&options);
    enum { SIZE = 30 << 20 };
    char *items = x_malloc(SIZE + 1);
    memset(items, 'x', SIZE);
    memcpy(items, "[\"", 2);
    memcpy(items + SIZE - 2, "\"]", 3);
    ask(command, 7, items, 1);
    ask(command, 8, items, 1);
    AUTO(text_freep) char *first = answer_to(command, 7, 60000);
    AUTO(text_freep) char *second = answer_to(command, 8, 60000);
    CHECK(strcmp(first, items) == 0);
    CHECK(strcmp(second, items) == 0);
    ask(command, 9, "[]", 0);
    check_answer(command, 9, "[]");
    struct error err = {0};
    struct command_request large = {10, items, COMMAND_LINE_MAX, 1, -1, 0};
    free(items);
    large.items = items = x_calloc(1, COMMAND_LINE_MAX);
    CHECK_INT(command_send(command, &large, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    CHECK(strstr(err.text, "bytes for the program, at most"));
    ask(command, 11, "[1]", 1); /* the program works, and was not notified */
    check_answer(command, 11, "[1]");
    free(items);
}

/* The environment as a shell sees it. */
static void check_environment(const char *listed, int slot, int gpus, const char *more,
                              const char *wanted) {
    static const char script[] =
        "read -r init; echo '{\"ready\":true}'; read -r line\n"
        "[ -e /proc/$$/fd/50 ] && leak=leaked\n"
        "echo \"{\\\"id\\\":1,\\\"results\\\":[\\\"$WINDLASS_SLOT/$CUDA_VISIBLE_DEVICES/"
        "$WINDLASS_TOKEN$WINDLASS_TLS_KEY$leak/$MORE\\\"]}\"";
    listed ? setenv("CUDA_VISIBLE_DEVICES", listed, 1) : unsetenv("CUDA_VISIBLE_DEVICES");
    struct command_options options =
        options_of((const char *const[]){"/bin/sh", "-c", script, NULL});
    options.environment.slot = slot;
    options.environment.gpus = gpus;
    options.environment.variables = (const char *const[]){"MORE=$(x)=1", more, NULL};
    AUTO(command_freep) struct command *command = start(&options);
    ask(command, 1, "[1]", 1);
    check_answer(command, 1, wanted);
}

static void test_the_environment_has_a_gpu_and_no_token(void) {
    setenv("WINDLASS_TOKEN", "secret", 1);
    setenv("WINDLASS_TLS_KEY", "secret", 1);
    int leak = fcntl(1, F_DUPFD, 50); /* the program inherits no descriptor of ours */
    check_environment(NULL, 3, 0, NULL, "[\"3///$(x)=1\"]");
    check_environment(NULL, 5, 4, NULL, "[\"5/1//$(x)=1\"]");
    check_environment("7", 1, 0, NULL, "[\"1/7//$(x)=1\"]");
    check_environment("2,5", 3, 2, NULL, "[\"3/5//$(x)=1\"]");
    check_environment("GPU-a,GPU-b,GPU-c", 2, 3, NULL, "[\"2/GPU-c//$(x)=1\"]");
    check_environment("2,5", 3, 2, "CUDA_VISIBLE_DEVICES=9", "[\"3/9//$(x)=1\"]");
    CHECK_INT(leak, 50);
    close(leak);
    unsetenv("CUDA_VISIBLE_DEVICES");
}

static void check_python_path(const char *ours, const char *given, const char *wanted) {
    ours ? setenv("PYTHONPATH", ours, 1) : unsetenv("PYTHONPATH");
    struct command_environment environment = {
        .job = "churn",
        .worker = "churn-worker-0",
        .python = "/windlass/python",
        .variables = given ? (const char *const[]){given, NULL} : NULL,
    };
    char **variables = command_environment_new(&environment);
    const char *seen = NULL;
    for (char **variable = variables; *variable; variable++) {
        seen = text_starts(*variable, "PYTHONPATH=") ? *variable : seen;
    }
    CHECK_STR(seen, wanted);
    command_environment_free(variables);
    unsetenv("PYTHONPATH");
}

static void test_our_folder_is_the_last_of_python_path(void) {
    check_python_path(NULL, NULL, "PYTHONPATH=/windlass/python");
    check_python_path("", NULL, "PYTHONPATH=/windlass/python");
    check_python_path("/a:/b", NULL, "PYTHONPATH=/a:/b:/windlass/python");
    check_python_path("/a", "PYTHONPATH=/c", "PYTHONPATH=/c:/windlass/python");
}

int main(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[1], "misbehave") == 0) {
        return misbehave(argv[2], argc > 3 ? argv[3] : "");
    }
    signal(SIGPIPE, SIG_IGN);
    TEST(test_a_shell_script_answers_line_by_line);
    TEST(test_python_with_the_helper);
    TEST(test_answers_that_break_the_rules_are_errors_that_say_so);
    TEST(test_noise_is_told_and_is_no_answer);
    TEST(test_a_second_answer_is_noise_and_order_is_free);
    TEST(test_ends_of_all_kinds_cost_one_try);
    TEST(test_an_answer_before_the_end_counts);
    TEST(test_inits_that_fail_say_why);
    TEST(test_a_wrong_command_line_is_useless);
    TEST(test_children_die_with_the_program);
    TEST(test_a_neighbour_lives_on);
    TEST(test_the_program_dies_with_its_worker);
    TEST(test_stop_lets_it_end_by_itself);
    TEST(test_lines_of_many_megabytes_go_both_ways);
    TEST(test_the_environment_has_a_gpu_and_no_token);
    TEST(test_our_folder_is_the_last_of_python_path);
    return TEST_END();
}
