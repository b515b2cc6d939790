// SPDX-License-Identifier: Apache-2.0
/* Requests of programs in a pod to its agent, over a real socket, and the program that wraps a
 * rank: every byte comes through once, into a pipe and a terminal; its end, its log, its
 * environment and its reports. */
#include "agent/launch/pod/agent_socket.h"
#include "agent/launch/rank/rank.h"
#include "lib/buffer.h"
#include "lib/file.h"
#include "lib/time/clock.h"
#include "tests/test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char *folder, *path;

/* The last request to the agent, and the child's output. */
struct heard {
    struct buffer out;
    bool is_slow; /* 16 KiB in 20 ms, and nothing is kept */
    int status;
    int alive, variables, exited, missing;
    int rank, size, code;
    bool was_signalled;
    char launch[AGENT_SOCKET_LAUNCH_MAX];
    int started; /* the rank of the last VARIABLES */
    char text[600];
};

static void serve(struct agent_socket *shell, struct heard *heard) {
    struct agent_request request;
    while (agent_socket_take(shell, &request)) {
        heard->alive += request.kind == AGENT_REQUEST_ALIVE;
        heard->variables += request.kind == AGENT_REQUEST_VARIABLES;
        heard->exited += request.kind == AGENT_REQUEST_EXITED;
        heard->missing += request.kind == AGENT_REQUEST_MISSING;
        heard->rank = request.rank;
        heard->size = request.size;
        heard->was_signalled = request.was_signalled;
        snprintf(heard->launch, sizeof heard->launch, "%s", request.launch);
        heard->started = request.kind == AGENT_REQUEST_VARIABLES ? request.rank : heard->started;
        heard->code = request.code;
        snprintf(heard->text, sizeof heard->text, "%s", request.text);
        bool is_variables = request.kind == AGENT_REQUEST_VARIABLES;
        agent_socket_answer(shell, request.id, 0,
                            is_variables ? "{\"HUSH\": \"qu\\niet\", \"MINE\": \"no\"}" : "");
    }
}

/* In a child: the program's main, its stdout at `out`. */
static pid_t fork_main(int (*run)(void *context), void *context, int out) {
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(out, 1);
        setpgid(0, 0);
        _exit(run(context));
    }
    return pid;
}

static void await(struct agent_socket *shell, pid_t pid, int from, struct heard *heard) {
    struct error err = {0};
    char data[16 << 10];
    int64_t until_ms = clock_monotonic_ms() + 60000;
    bool is_over = false;
    fcntl(from, F_SETFL, O_NONBLOCK);
    while (!is_over) {
        is_over = waitpid(pid, &heard->status, WNOHANG) == pid;
        serve(shell, heard);
        bool is_slow = heard->is_slow && read(from, data, sizeof data) > 0;
        for (ssize_t got; !heard->is_slow && (got = read(from, data, sizeof data)) > 0;) {
            CHECK_OK(buffer_append(&heard->out, data, (size_t)got, &err), &err);
        }
        poll(NULL, 0, is_slow ? 20 : 1);
        if (clock_monotonic_ms() > until_ms) {
            CHECK(is_over);
            kill(-pid, SIGKILL);
            waitpid(pid, NULL, 0);
            return;
        }
    }
}

/* ---- the socket ----------------------------------------------------------------------------- */

static int ask_all(void *context) {
    struct error err = {0};
    char *words = NULL;
    int code = -1;
    (void)context;
    struct agent_request request = {.kind = AGENT_REQUEST_ALIVE};
    bool is_right =
        agent_socket_ask(path, &request, &code, &words, &err) == 0 && code == 0 && !*words;
    free(TAKE(words));
    request.kind = AGENT_REQUEST_VARIABLES;
    is_right =
        is_right && agent_socket_ask(path, &request, &code, &words, &err) == 0 && *words == '{';
    free(TAKE(words));
    request = (struct agent_request){.kind = AGENT_REQUEST_EXITED,
                                     .rank = 7,
                                     .size = 9,
                                     .launch = "job-1.0@x",
                                     .was_signalled = true,
                                     .code = 137,
                                     .text = "a | b"};
    is_right = is_right && agent_socket_ask(path, &request, &code, &words, &err) == 0;
    free(words);
    return is_right ? 0 : 1;
}

static void what_is_asked_is_heard(void) {
    struct error err = {0};
    struct heard heard = {0};
    struct agent_socket *shell = NULL;
    int pipes[2];
    buffer_init(&heard.out, 1 << 10);
    CHECK_OK(agent_socket_open(path, &shell, &err), &err);
    CHECK_INT(pipe(pipes), 0);
    await(shell, fork_main(ask_all, NULL, 2), pipes[0], &heard);
    CHECK_INT(heard.status, 0);
    CHECK_INT(heard.alive * 100 + heard.variables * 10 + heard.exited, 111);
    CHECK_INT(heard.rank, 7);
    CHECK_INT(heard.size, 9);
    CHECK_STR(heard.launch, "job-1.0@x");
    CHECK(heard.was_signalled);
    CHECK_INT(heard.code, 137);
    CHECK_STR(heard.text, "a | b");
    agent_socket_free(shell);
    struct agent_request request = {.kind = AGENT_REQUEST_ALIVE};
    char *words = NULL;
    int code = 0;
    CHECK(agent_socket_ask(path, &request, &code, &words, &err) < 0); /* no listener */
    close(pipes[0]);
    close(pipes[1]);
    buffer_release(&heard.out);
}

/* An invalid request is answered by 255, and has no other effect. */
static void nonsense_is_refused(void) {
    static const char *const lines[] = {"",
                                        "\n",
                                        "start\nx",
                                        "dance\n",
                                        "alive 1\n",
                                        "exited\n",
                                        "exited 1\n",
                                        "exited a b\n",
                                        "exited 1 2 job 0\n",
                                        "exited 1 2 job 0 0 0\n",
                                        "exited -1 2 job 0 0\n",
                                        "exited 1048576 2 job 0 0\n",
                                        "exited 1 -2 job 0 0\n",
                                        "exited 1 2 job 256 0\n",
                                        "variables 1 2\n",
                                        "variables 1 2 job 3\n",
                                        "variables -1 2 job\n"};
    struct error err = {0};
    struct agent_socket *shell = NULL;
    CHECK_OK(agent_socket_open(path, &shell, &err), &err);
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        struct agent_request request;
        char answer[256] = "";
        snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
        AUTO(fd_closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        CHECK_INT(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
        CHECK_INT(write(fd, lines[i], strlen(lines[i]) + 1), strlen(lines[i]) + 1);
        CHECK(!agent_socket_take(shell, &request));
        CHECK(read(fd, answer, sizeof answer - 1) > 0);
        CHECK(text_starts(answer, "255\n"));
    }
    agent_socket_free(shell);
}

/* ---- the program around a rank -------------------------------------------------------------- */

struct job {
    const char *const *words; /* NULL-ended */
    const char *number;       /* the rank's number as Open MPI gives it; NULL: `rank --log` */
    bool is_in_terminal, is_read_slowly;
};

static int run_rank(void *context) {
    const struct job *job = context;
    const char *argv[12] = {"rank"};
    int count = 1;
    setenv("WINDLASS_SOCKET", path, 1);
    setenv("WINDLASS_LOGS", "ranktest/logs", 1);
    setenv("WINDLASS_ROUND", "5", 1);
    setenv("MINE", "yes", 1);
    unsetenv("PMIX_RANK");
    if (job->number) {
        setenv("OMPI_COMM_WORLD_RANK", job->number, 1);
    } else {
        argv[count++] = "--log";
        argv[count++] = "command";
    }
    for (size_t i = 0; job->words[i]; i++) {
        argv[count++] = job->words[i];
    }
    return rank_main(count, (char **)argv);
}

static void run(const struct job *job, struct heard *heard) {
    struct error err = {0};
    struct agent_socket *shell = NULL;
    int ends[2];
    *heard = (struct heard){.is_slow = job->is_read_slowly};
    buffer_init(&heard->out, 16 << 20);
    CHECK_OK(agent_socket_open(path, &shell, &err), &err);
    if (job->is_in_terminal) {
        ends[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        CHECK(ends[0] >= 0 && grantpt(ends[0]) == 0 && unlockpt(ends[0]) == 0);
        ends[1] = open(ptsname(ends[0]), O_RDWR | O_NOCTTY | O_CLOEXEC);
        CHECK(ends[1] >= 0);
    } else {
        CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
    }
    await(shell, fork_main(run_rank, (void *)job, ends[1]), ends[0], heard);
    close(ends[0]);
    close(ends[1]);
    agent_socket_free(shell);
}

static void read_log(const char *name, struct buffer *text) {
    struct error err = {0};
    for (int i = 0;; i++) {
        AUTO(text_freep) char *file = x_printf("%s/logs/%s/%04d", folder, name, i);
        AUTO(text_freep) char *data = NULL;
        size_t size = 0;
        if (access(file, F_OK) != 0) {
            return;
        }
        CHECK_OK(file_read(file, 2 << 20, &data, &size, &err), &err);
        CHECK_OK(buffer_append(text, data, size, &err), &err);
    }
}

/* 3 MB of all bytes, no newline at the end. */
static void every_byte_comes_through_once(void) {
    static const char *const words[] = {
        "bash", "-c", "head -c 3000001 /dev/urandom | tee \"$RANKTEST\"; [ ! -t 1 ]", NULL};
    AUTO(text_freep) char *copy = x_printf("%s/copy", folder);
    AUTO(text_freep) char *wanted = NULL;
    struct heard heard;
    struct error err = {0};
    size_t size = 0;
    setenv("RANKTEST", copy, 1);
    run(&(struct job){.words = words, .number = "0"}, &heard);
    CHECK_OK(file_read(copy, 16 << 20, &wanted, &size, &err), &err);
    CHECK_INT(heard.status, 0);
    CHECK_INT(heard.out.size, size);
    CHECK(heard.out.size == size && memcmp(heard.out.data, wanted, size) == 0);
    CHECK_INT(heard.exited, 1);
    CHECK_INT(heard.code, 0);
    CHECK(!heard.was_signalled);
    CHECK_INT(heard.size, 5);
    CHECK_STR(heard.launch, "prterun-host-7_8@1");
    buffer_release(&heard.out);
}

static void where_stdout_is_a_terminal_the_rank_has_one(void) {
    static const char *const words[] = {"bash", "-c", "[ -t 1 ] && printf 'one\\ntwo\\r\\n'", NULL};
    struct heard heard;
    run(&(struct job){.words = words, .number = "1", .is_in_terminal = true}, &heard);
    CHECK_INT(heard.status, 0);
    CHECK_STR(heard.out.data, "one\r\ntwo\r\r\n"); /* the test's terminal adds \r, ours nothing */
    AUTO(buffer_release) struct buffer log;
    buffer_init(&log, 1 << 20);
    read_log("rank.001/stdout", &log);
    CHECK(log.size && text_starts(log.data, "-- 20") &&
          text_ends(log.data, "Z round 5\none\ntwo\r\n"));
    buffer_release(&heard.out);
}

static void how_it_ends_is_told_and_kept(void) {
    static const char *const words[] = {
        "sh", "-c", "echo out; sleep 0.2; echo \"$HUSH $MINE\" >&2; exit 7", NULL};
    struct heard heard;
    run(&(struct job){.words = words, .number = "3"}, &heard);
    CHECK(WIFEXITED(heard.status) && WEXITSTATUS(heard.status) == 7);
    CHECK_INT(heard.variables, 1);
    CHECK_INT(heard.exited, 1);
    CHECK_INT(heard.started, 3);
    CHECK_INT(heard.rank, 3);
    CHECK_INT(heard.code, 7);
    CHECK_STR(heard.text, "out | qu | iet yes"); /* its secret, its own variables */
    AUTO(buffer_release) struct buffer log;
    buffer_init(&log, 1 << 20);
    read_log("rank.003/stderr", &log);
    CHECK(log.size && text_ends(log.data, "\nqu\niet yes\n"));
    buffer_release(&heard.out);
}

/* It writes faster than the reader reads, and never ends. */
static void what_it_leaves_behind_is_not_waited_for(void) {
    static const char *const words[] = {"bash", "-c", "yes & yes & yes & sleep 0.1; exit 3", NULL};
    struct heard heard;
    run(&(struct job){.words = words, .number = "4", .is_read_slowly = true}, &heard);
    CHECK(WIFEXITED(heard.status) && WEXITSTATUS(heard.status) == 3);
    CHECK_INT(heard.code, 3);
    CHECK(text_ends(heard.text, "y | y"));
    buffer_release(&heard.out);
}

static void it_ends_as_the_rank_does(void) {
    static const char *const words[] = {"sh", "-c", "kill -9 $$", NULL};
    static const char *const none[] = {"no-such-program", NULL};
    static const char *const told[] = {"sh", "-c", "trap 'exit 9' TERM; kill -TERM 0", NULL};
    static const char *const from_outside[] = {
        "bash", "-c", "trap '' TERM; setsid -w bash -c 'kill -TERM '$PPID; exit 0", NULL};
    struct heard heard;
    run(&(struct job){.words = words, .number = "2"}, &heard);
    CHECK(WIFSIGNALED(heard.status) && WTERMSIG(heard.status) == SIGKILL);
    CHECK_INT(heard.code, 137);
    buffer_release(&heard.out);
    run(&(struct job){.words = told, .number = "2"}, &heard);
    CHECK(WIFEXITED(heard.status) && WEXITSTATUS(heard.status) == 9);
    CHECK_INT(heard.code, 9);
    CHECK(!heard.was_signalled); /* by a process of its own */
    buffer_release(&heard.out);
    run(&(struct job){.words = from_outside, .number = "2"}, &heard);
    CHECK(WIFEXITED(heard.status) && WEXITSTATUS(heard.status) == 0);
    CHECK_INT(heard.exited, 1);
    CHECK(heard.was_signalled); /* it answered with 0 */
    buffer_release(&heard.out);
    run(&(struct job){.words = words}, &heard);
    CHECK(WIFSIGNALED(heard.status) && WTERMSIG(heard.status) == SIGKILL);
    CHECK_INT(heard.exited + heard.variables, 0); /* its parent sees the end itself */
    buffer_release(&heard.out);
    run(&(struct job){.words = none}, &heard);
    CHECK(WIFEXITED(heard.status) && WEXITSTATUS(heard.status) == 127);
    CHECK_INT(heard.missing, 1);
    CHECK_STR(heard.text, "cannot run no-such-program: No such file or directory");
    buffer_release(&heard.out);
}

/* Signals go to the group, and SIGKILL of the wrapper also ends the rank. */
static void it_dies_with_what_stands_before_it(void) {
    static const char *const words[] = {"sh", "-c", "echo $$; exec sleep 60", NULL};
    static const int numbers[] = {SIGTERM, SIGKILL};
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        struct job job = {.words = words};
        struct error err = {0};
        struct agent_socket *shell = NULL;
        char said[32] = "";
        int ends[2];
        CHECK_OK(agent_socket_open(path, &shell, &err), &err);
        CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
        pid_t pid = fork_main(run_rank, &job, ends[1]);
        CHECK(read(ends[0], said, sizeof said - 1) > 0);
        kill(numbers[i] == SIGKILL ? pid : -pid, numbers[i]);
        int status = 0;
        CHECK_INT(waitpid(pid, &status, 0), pid);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == numbers[i]);
        pid_t rank = (pid_t)strtol(said, NULL, 10);
        int64_t until_ms = clock_monotonic_ms() + 60000;
        while (rank > 1 && kill(rank, 0) == 0 && clock_monotonic_ms() < until_ms) {
            waitpid(rank, NULL, WNOHANG); /* in case it is our child by now */
            poll(NULL, 0, 5);
        }
        CHECK(rank > 1 && kill(rank, 0) < 0 && errno == ESRCH);
        close(ends[0]);
        close(ends[1]);
        agent_socket_free(shell);
    }
}

int main(void) {
    setenv("OMPI_COMM_WORLD_SIZE", "5", 1);
    setenv("PMIX_NAMESPACE", "prterun-host-7 8@1", 1);
    struct error err = {0};
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* no other process may reap children of this test */
    folder = x_printf("/tmp/windlass-rank-XXXXXX");
    if (!mkdtemp(folder)) {
        return 1;
    }
    path = x_printf("%s/agent", folder);
    setenv("ranktest", folder, 1);
    TEST(what_is_asked_is_heard);
    TEST(nonsense_is_refused);
    TEST(every_byte_comes_through_once);
    TEST(where_stdout_is_a_terminal_the_rank_has_one);
    TEST(how_it_ends_is_told_and_kept);
    TEST(what_it_leaves_behind_is_not_waited_for);
    TEST(it_ends_as_the_rank_does);
    TEST(it_dies_with_what_stands_before_it);
    CHECK_OK(file_remove_tree(folder, &err), &err);
    free(folder);
    free(path);
    return TEST_END();
}
