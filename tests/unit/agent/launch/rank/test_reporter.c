// SPDX-License-Identifier: Apache-2.0
/* The file of metrics beside a program: new lines are reported once, whatever happens to it, and it
 * is not opened more often than necessary. */
#include "agent/launch/pod/agent_socket.h"
#include "agent/launch/rank/reporter.h"
#include "lib/file.h"
#include "lib/time/clock.h"
#include "tests/test.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

static char *folder, *path, *metrics;

struct agent {
    struct agent_socket *shell;
    pthread_t thread;
    atomic_bool is_over;
    char heard[512]; /* all lines */
};

static void *serve(void *context) {
    struct agent *agent = context;
    while (!atomic_load(&agent->is_over)) {
        struct agent_request request;
        while (agent_socket_take(agent->shell, &request)) {
            size_t size = strlen(agent->heard);
            snprintf(agent->heard + size, sizeof agent->heard - size, "%s", request.text);
            agent_socket_answer(agent->shell, request.id, 0, "");
        }
        poll(NULL, 0, 1);
    }
    return NULL;
}

static void begin(struct agent *agent) {
    struct error err = {0};
    *agent = (struct agent){0};
    CHECK_OK(agent_socket_open(path, &agent->shell, &err), &err);
    CHECK_INT(pthread_create(&agent->thread, NULL, serve, agent), 0);
}

static void end(struct agent *agent, const char *wanted) {
    atomic_store(&agent->is_over, true);
    pthread_join(agent->thread, NULL);
    CHECK_STR(agent->heard, wanted);
    agent_socket_free(agent->shell);
    unlink(metrics);
}

/* flags: O_TRUNC or O_APPEND */
static void say(int flags, const char *name, int first, int last) {
    int fd = open(metrics, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
    CHECK(fd >= 0);
    for (int i = first; i <= last; i++) {
        dprintf(fd, "{\"name\": \"%s\", \"value\": %d}\n", name, i);
    }
    close(fd);
}

static struct reporter *open_reporter(void) {
    struct error err = {0};
    struct reporter *reporter = reporter_new(0, &err);
    CHECK(reporter && reporter_has_file(reporter) && !err.kind);
    return reporter;
}

static void look(struct reporter *reporter) {
    poll(NULL, 0, REPORTER_POLL_MS + 20);
    reporter_read_file(reporter);
}

static void what_is_new_is_told_once(void) {
    struct agent agent;
    begin(&agent);
    say(O_TRUNC, "old", 1, 2);
    struct reporter *reporter = open_reporter();
    look(reporter);
    say(O_APPEND, "a", 1, 1);
    look(reporter);
    look(reporter);
    say(O_TRUNC, "b", 1, 1); /* it is shorter */
    look(reporter);
    CHECK_INT(unlink(metrics), 0);
    look(reporter);
    say(O_APPEND, "c", 1, 1);
    reporter_free(reporter); /* however recent its last look */
    end(&agent, "0 a 1 -1\n0 b 1 -1\n0 c 1 -1\n");
}

/* Same inode, longer than what was read: it was created again between two looks. */
static void another_one_of_the_same_inode(void) {
    for (int is_early = 0; is_early < 2; is_early++) {
        struct agent agent;
        begin(&agent);
        say(O_TRUNC, "a", 1, is_early ? 3 : 0);
        struct reporter *reporter = open_reporter();
        if (!is_early) {
            say(O_APPEND, "a", 1, 3);
            look(reporter);
        }
        say(O_TRUNC, "b", 1, 4);
        look(reporter);
        say(O_APPEND, "b", 5, 5);
        reporter_free(reporter);
        end(&agent, is_early ? "0 b 1 -1\n0 b 2 -1\n0 b 3 -1\n0 b 4 -1\n0 b 5 -1\n"
                             : "0 a 1 -1\n0 a 2 -1\n0 a 3 -1\n0 b 1 -1\n0 b 2 -1\n0 b 3 -1\n"
                               "0 b 4 -1\n0 b 5 -1\n");
    }
}

/* Polls as often as a rank prints, for a given time. */
static void it_is_opened_now_and_then(void) {
    struct agent agent;
    char events[64 << 10];
    begin(&agent);
    say(O_TRUNC, "a", 1, 1);
    struct reporter *reporter = open_reporter();
    AUTO(fd_closep) int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    CHECK(inotify_add_watch(watch, metrics, IN_CLOSE_NOWRITE) >= 0);
    int64_t start_ms = clock_monotonic_ms(), calls = 0, most, opened = 0;
    for (; clock_monotonic_ms() < start_ms + 3 * REPORTER_POLL_MS; calls++) {
        reporter_read_file(reporter);
        ssize_t got = read(watch, events, sizeof events);
        opened += MAX(got, 0) / (ssize_t)sizeof(struct inotify_event);
        poll(NULL, 0, 5);
    }
    most = (clock_monotonic_ms() - start_ms) / REPORTER_POLL_MS + 1;
    CHECK(opened >= 1 && opened <= most);
    CHECK(calls > 0);
    reporter_free(reporter);
    end(&agent, "");
}

int main(void) {
    folder = x_printf("/tmp/windlass-reporter-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    path = x_printf("%s/socket", folder);
    metrics = x_printf("%s/metrics.jsonl", folder);
    setenv("WINDLASS_SOCKET", path, 1);
    setenv("WINDLASS_METRICS_FILE", metrics, 1);
    unsetenv("WINDLASS_PATTERN");
    TEST(what_is_new_is_told_once);
    TEST(another_one_of_the_same_inode);
    TEST(it_is_opened_now_and_then);
    unlink(path);
    rmdir(folder);
    free(folder);
    free(path);
    free(metrics);
    return TEST_END();
}
