// SPDX-License-Identifier: Apache-2.0
/* A server is started again when it ends, and ends with the worker: when that lets go of its lock,
 * whatever the server does with SIGTERM. */
#include "agent/serve/presence.h"
#include "agent/serve/serve.h"
#include "agent/serve/serve_state.h"
#include "lib/file.h"
#include "lib/time/clock.h"
#include "tests/test.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WAIT_MS = 60000, STEP_MS = 5 };

static char folder[] = "/tmp/windlass-serve-XXXXXX";
static volatile sig_atomic_t interrupted;

static void on_signal(int number UNUSED) {
    interrupted = 1;
}

static bool is_interrupted(void) {
    return interrupted;
}

/* `serve` as a process of its own. */
static pid_t start(const char *const *words) {
    pid_t pid = fork();
    if (pid == 0) {
        struct error err = {0};
        struct serve_options options = {folder, words, environ, is_interrupted};
        close_range(3, UINT_MAX, 0); /* our lock */
        int none = open("/dev/null", O_WRONLY | O_CLOEXEC);
        signal(SIGTERM, on_signal);
        dup2(none, 1);
        dup2(none, 2);
        _exit(serve_run(&options, &err) < 0 ? 3 : 0);
    }
    CHECK(pid > 0);
    return pid;
}

static int exit_code(pid_t pid) {
    int status = -1;
    int64_t until_ms = clock_monotonic_ms() + WAIT_MS;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (clock_monotonic_ms() > until_ms) {
            kill(pid, SIGKILL);
        }
        poll(NULL, 0, STEP_MS);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static struct serve_state await_ends(int64_t ends) {
    struct serve_state state = {0};
    int64_t until_ms = clock_monotonic_ms() + WAIT_MS;
    while (clock_monotonic_ms() < until_ms) {
        struct error err = {0};
        if (serve_state_read(folder, &state, &err) == 0 && state.ends >= ends) {
            return state;
        }
        poll(NULL, 0, STEP_MS);
    }
    CHECK(state.ends >= ends);
    return state;
}

static void await_file(const char *name) {
    AUTO(text_freep) char *path = file_join(folder, name);
    int64_t until_ms = clock_monotonic_ms() + WAIT_MS;
    while (access(path, F_OK) != 0 && clock_monotonic_ms() < until_ms) {
        poll(NULL, 0, STEP_MS);
    }
    CHECK_INT(access(path, F_OK), 0);
}

static void clear(void) {
    struct error err = {0};
    CHECK_OK(file_remove_tree(folder, &err), &err);
    CHECK_OK(file_make_folders(folder, &err), &err);
}

static int hold(void) {
    struct error err = {0};
    int fd = -1;
    CHECK_OK(presence_hold(folder, SERVE_AGENT, &fd, &err), &err);
    return fd;
}

static void a_lock_ends_with_its_process(void) {
    clear();
    CHECK_INT(presence_of(folder, "a"), PRESENCE_NOT_YET);
    pid_t pid = fork();
    if (pid == 0) {
        struct error err = {0};
        int fd = -1;
        _exit(presence_hold(folder, "a", &fd, &err) < 0 ? 3 : pause());
    }
    await_file("a");
    CHECK_INT(presence_of(folder, "a"), PRESENCE_THERE);
    kill(pid, SIGKILL);
    CHECK_INT(exit_code(pid), 128 + SIGKILL);
    CHECK_INT(presence_of(folder, "a"), PRESENCE_GONE);
    int fd = -1;
    struct error err = {0};
    CHECK_OK(presence_hold(folder, "a", &fd, &err), &err); /* a new one, whatever was before */
    CHECK_INT(presence_of(folder, "a"), PRESENCE_THERE);
    close(fd);
}

static void a_server_is_started_again(void) {
    static const char *const words[] = {"sh", "-c", "echo 'no model' >&2; exit 7", NULL};
    clear();
    int fd = hold();
    pid_t pid = start(words);
    struct serve_state state = await_ends(2);
    CHECK(state.starts >= 2 && !state.is_final);
    CHECK_STR(state.words, "exit code 7: no model");
    CHECK_INT(presence_of(folder, SERVE_SERVER), PRESENCE_THERE);
    close(fd);
    CHECK_INT(exit_code(pid), 0);
    CHECK_INT(presence_of(folder, SERVE_SERVER), PRESENCE_GONE);
}

static void a_program_that_is_not_there_is_not(void) {
    static const char *const words[] = {"/none/server", NULL};
    clear();
    int fd = hold();
    pid_t pid = start(words);
    struct serve_state state = await_ends(1);
    CHECK(state.is_final);
    CHECK(strstr(state.words, "cannot run /none/server: No such file or directory") != NULL);
    close(fd);
    CHECK_INT(exit_code(pid), 0);
}

/* An interrupt does not end it before its worker. The server ignores SIGTERM. */
static void it_ends_with_its_worker(void) {
    static const char script[] = "trap : TERM; echo $$ >\"$0/pid\"; mv \"$0/pid\" \"$0/there\";"
                                 "while :; do sleep 0.1; done";
    clear();
    const char *words[] = {"sh", "-c", script, folder, NULL};
    int fd = hold();
    pid_t pid = start(words);
    await_file("there");
    kill(pid, SIGTERM);
    poll(NULL, 0, 300);
    CHECK_INT(waitpid(pid, NULL, WNOHANG), 0);
    AUTO(text_freep) char *path = file_join(folder, "there");
    AUTO(text_freep) char *text = NULL;
    size_t size = 0;
    struct error err = {0};
    CHECK_OK(file_read(path, 100, &text, &size, &err), &err);
    pid_t server = (pid_t)strtol(text, NULL, 10);
    CHECK(server > 0 && kill(server, 0) == 0);
    close(fd);
    CHECK_INT(exit_code(pid), 0);
    CHECK(kill(server, 0) < 0);
}

/* A worker that was seen and whose folder is gone does not come again. */
static void it_ends_when_its_folder_is_removed(void) {
    static const char *const words[] = {"sleep", "1000", NULL};
    struct error err = {0};
    clear();
    int fd = hold();
    pid_t pid = start(words);
    await_file("state"); /* it looks for the worker before */
    CHECK_OK(file_remove_tree(folder, &err), &err);
    CHECK_INT(exit_code(pid), 0);
    close(fd);
}

/* Without a worker the server is not needed. */
static void an_interrupt_ends_it_before_the_worker_came(void) {
    static const char *const words[] = {"sleep", "1000", NULL};
    clear();
    pid_t pid = start(words);
    await_file("state");
    kill(pid, SIGTERM);
    CHECK_INT(exit_code(pid), 0);
}

static void pauses_grow(void) {
    CHECK_INT(serve_pause_ms(0), 0);
    CHECK_INT(serve_pause_ms(1), 500);
    CHECK_INT(serve_pause_ms(3), 2000);
    CHECK_INT(serve_pause_ms(INT64_MAX), 30000);
}

/* The server's container may write anything there. */
static void a_state_is_not_trusted(void) {
    static const char *const texts[] = {"", "{", "[]", "{\"starts\": \"x\", \"words\": 7}",
                                        "{\"starts\": -9223372036854775807}"};
    clear();
    AUTO(text_freep) char *path = file_join(folder, "state");
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct error err = {0};
        struct serve_state state = {0};
        CHECK_OK(file_write(path, texts[i], strlen(texts[i]), &err), &err);
        (void)!serve_state_read(folder, &state, &err);
        CHECK_INT(state.starts, 0);
        CHECK_STR(state.words, "");
    }
    static const char large[] = "{\"starts\": 9223372036854775807, \"ends\": 9223372036854775807}";
    struct error err = {0};
    struct serve_state state;
    CHECK_OK(file_write(path, large, strlen(large), &err), &err);
    CHECK_OK(serve_state_read(folder, &state, &err), &err);
    CHECK(state.starts == SERVE_COUNT_MAX && state.ends == SERVE_COUNT_MAX);
}

int main(void) {
    struct error err = {0};
    CHECK(mkdtemp(folder));
    TEST(a_lock_ends_with_its_process);
    TEST(a_server_is_started_again);
    TEST(a_program_that_is_not_there_is_not);
    TEST(it_ends_with_its_worker);
    TEST(it_ends_when_its_folder_is_removed);
    TEST(an_interrupt_ends_it_before_the_worker_came);
    TEST(pauses_grow);
    TEST(a_state_is_not_trusted);
    (void)!file_remove_tree(folder, &err);
    return TEST_END();
}
