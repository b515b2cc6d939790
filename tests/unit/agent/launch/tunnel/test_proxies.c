// SPDX-License-Identifier: Apache-2.0
/* What the library in MPI's proxies notes of their ranks, and that waitpid is what it was: for the
 * handlers of signals, and for threads. */
#include "lib/base.h"
#include "lib/time/clock.h"
#include "tests/test.h"
#include "tests/unit/agent/launch/tunnel/programs.h"

#include <poll.h>
#include <pthread.h>
#include <string.h>

enum { WAIT_MS = 60000, WORDS_MAX = 200 };

/* ---- what a proxy does ----------------------------------------------------------------------- */

/* A rank that ends with 7. */
static void start_rank(void) {
    if (fork() == 0) {
        _exit(7);
    }
}

static volatile sig_atomic_t ended_as = -1;
static char *volatile handler_at;

static void take_end(int signal UNUSED) {
    int status = 0;
    handler_at = __builtin_frame_address(0);
    ended_as = waitpid(-1, &status, WNOHANG) > 0 ? WEXITSTATUS(status) : -1;
}

/* Waits for a rank in a handler; prints its code, whether the handler's stack might be small, and
 * whether ranks get the variable. */
static int wait_in_handler(void) {
    enum { ROOM = 1 << 17, SMALL = 2048, UNUSED_BYTE = 0x5a };
    static char room[ROOM];
    stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
    struct sigaction action = {.sa_handler = take_end, .sa_flags = SA_ONSTACK | SA_NOCLDSTOP};
    size_t untouched = 0;
    waitpid(-1, NULL, WNOHANG); /* a dynamic loader may look for it now */
    memset(room, UNUSED_BYTE, sizeof room);
    sigaltstack(&stack, NULL);
    sigaction(SIGCHLD, &action, NULL);
    start_rank();
    for (int64_t end_ms = clock_monotonic_ms() + WAIT_MS;
         ended_as < 0 && clock_monotonic_ms() < end_ms;) {
        poll(NULL, 0, 10);
    }
    while (untouched < sizeof room && room[untouched] == UNUSED_BYTE) {
        untouched++;
    }
    printf("%d %s %s\n", (int)ended_as, handler_at - (room + untouched) < SMALL ? "small" : "large",
           getenv(PRELOAD_ENDS) ? "kept" : "gone");
    return 0;
}

static void *wait_for_child(void *child) {
    waitpid(*(pid_t *)child, NULL, 0);
    return NULL;
}

/* A thread that waits for a program can be cancelled. */
static int cancel_waiting(void) {
    pthread_t thread;
    void *result = NULL;
    pid_t child = fork();
    if (child == 0) {
        close(1);
        alarm(2 * WAIT_MS / 1000);
        pause();
    }
    alarm(WAIT_MS / 1000);
    pthread_create(&thread, NULL, wait_for_child, &child);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    kill(child, SIGKILL);
    printf("%s\n", result == PTHREAD_CANCELED ? "cancelled" : "not cancelled");
    return 0;
}

/* ---- the tests ------------------------------------------------------------------------------- */

static void check_line(struct launcher launcher, const char *wanted) {
    char said[WORDS_MAX] = "";
    CHECK(fgets(said, sizeof said, launcher.said));
    said[strcspn(said, "\n")] = 0;
    CHECK_STR(said, wanted);
    stop(&launcher);
}

/* What was noted of a rank, if anything; it is removed. */
static void check_noted(const char *path, const char *wanted) {
    AUTO(text_freep) char *text = NULL;
    struct error err = {0};
    size_t size = 0;
    if (file_read(path, WORDS_MAX, &text, &size, &err) < 0) {
        CHECK_INT(err.kind, ERROR_NOT_FOUND);
    }
    CHECK_STR(text ? text : "", wanted);
    unlink(path);
}

/* The proxies of MPICH and Intel MPI, also when a loader starts them. Intel's bootstrap starts the
 * proxy that starts the ranks. */
static void test_proxies(void) {
    const char *waits[] = {"wait", "handler", NULL, NULL}, *loader = find_loader();
    if (!has_library) {
        SKIP("no library in this build");
    }
    AUTO(text_freep) char *ends = file_join(folder, "ends");
    AUTO(text_freep) char *path = file_join(folder, "hydra_pmi_proxy");
    const char *words[] = {loader, "--library-path", "/lib", path, "wait", "handler", NULL};
    setenv(PRELOAD_ENDS, ends, 1);
    check_line(start("hydra_pmi_proxy", NULL, waits), "7 small gone");
    check_noted(ends, "007\n");
    check_line(start("hydra_bstrap_proxy", NULL, waits), "7 small kept");
    check_noted(ends, "007\n");
    check_line(start("other", NULL, waits), "7 small kept");
    check_noted(ends, "");
    if (loader) {
        check_line(start_program(loader, NULL, words), "7 small gone");
        check_noted(ends, "007\n");
    }
    unsetenv(PRELOAD_ENDS);
}

static void test_waiting_can_be_cancelled(void) {
    const char *waits[] = {"wait", "cancelled", NULL, NULL};
    if (!has_library) {
        SKIP("no library in this build");
    }
    check_line(start("other", NULL, waits), "cancelled");
}

int main(int argc, char **argv) {
    static const char *const names[] = {"hydra_pmi_proxy", PRELOAD_BOOTSTRAP, "other", NULL};
    if (argc > 2 && strcmp(argv[1], "wait") == 0) {
        return strcmp(argv[2], "handler") == 0 ? wait_in_handler() : cancel_waiting();
    }
    make_programs(names);
    TEST(test_proxies);
    TEST(test_waiting_can_be_cancelled);
    remove_programs();
    return TEST_END();
}
