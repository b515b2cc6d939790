// SPDX-License-Identifier: Apache-2.0
/* Requests of a pod's programs over a real socket. While the link to the hub is full, what rank 0
 * waits for is replaced by what it has said last, which is sent once there is room. A posted status
 * is progress, and the objective has one source. */
#include "agent/launch/gang/member_state.h"
#include "lib/buffer.h"
#include "lib/file.h"
#include "lib/time/clock.h"
#include "tests/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ANSWER_MS = 60000, LINE_BYTES = 512 << 10 };

static char *folder, *path;

/* The messages about what rank 0 waits for. */
struct heard {
    int count;
    char last[64];
};

static void hear(void *context, const char *text) {
    struct heard *heard = context;
    struct gang_message message;
    struct error err = {0};
    if (gang_message_read(text, strlen(text), &message, &err) < 0) {
        CHECK(!"a message that cannot be read");
        return;
    }
    if (message.type == GANG_MESSAGE_WAITS) {
        CHECK_INT(message.round, 3);
        snprintf(heard->last, sizeof heard->last, "%.63s", message.detail);
        heard->count++;
    }
    gang_message_release(&message);
}

struct asked {
    enum agent_request_kind kind;
    const char *text;
    atomic_bool is_done;
    int result, code;
};

static void *ask(void *context) {
    struct asked *asked = context;
    const struct agent_request request = {.kind = asked->kind, .round = 3, .text = asked->text};
    AUTO(text_freep) char *answer = NULL;
    struct error err = {0};
    asked->result = agent_socket_ask(path, &request, &asked->code, &answer, &err);
    atomic_store(&asked->is_done, true);
    return NULL;
}

/* The program has its answer when this returns. */
static void say(struct member *member, enum agent_request_kind kind, const char *text) {
    struct asked asked = {.kind = kind, .text = text, .result = -1};
    int64_t until_ms = clock_monotonic_ms() + ANSWER_MS;
    pthread_t thread;
    if (pthread_create(&thread, NULL, ask, &asked) != 0) {
        CHECK(!"a thread");
        return;
    }
    while (!atomic_load(&asked.is_done) && clock_monotonic_ms() < until_ms) {
        member_serve_requests(member);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    pthread_join(thread, NULL);
    CHECK_INT(asked.result, 0);
    CHECK_INT(asked.code, 0);
}

static void what_was_said_last_is_sent(void) {
    struct error err = {0};
    struct heard heard = {0};
    struct member member = {.round = 3, .active_rank = -1};
    AUTO(text_freep) char *line = x_malloc(LINE_BYTES + 1);
    memset(line, 'x', LINE_BYTES);
    line[LINE_BYTES] = 0;
    member.reports_end = &member.reports;
    member.link = link_new(hear, &heard);
    CHECK_OK(agent_socket_open(path, &member.requests, &err), &err);
    link_resume(member.link, 0);
    say(&member, AGENT_REQUEST_WAITS, "no room");
    CHECK_INT(heard.count, 1);
    CHECK_STR(heard.last, "no room");
    for (int i = 0; i < 8 && !link_is_full(member.link); i++) {
        link_send(member.link,
                  &(struct gang_message){.type = GANG_MESSAGE_REPORTS, .round = 3, .line = line});
    }
    CHECK(link_is_full(member.link));
    say(&member, AGENT_REQUEST_WAITS, "no such folder");
    say(&member, AGENT_REQUEST_WAITS, "");
    CHECK_INT(heard.count, 1);
    const struct gang_message all = {.type = GANG_MESSAGE_ACK, .ack = INT64_MAX};
    CHECK(!link_received(member.link, &all));
    member_serve_requests(&member);
    CHECK_INT(heard.count, 2);
    CHECK_STR(heard.last, "");
    member_serve_requests(&member);
    CHECK_INT(heard.count, 2);
    agent_socket_free(member.requests);
    member_requests_free(&member);
    link_free(member.link);
}

/* A post without a line is one, too. */
static void what_is_posted_is_progress(void) {
    struct error err = {0};
    const struct launch_job job = {.objective.name = "loss", .pattern = ""};
    struct member member = {.round = 3, .active_rank = -1, .job = &job};
    member.reports_end = &member.reports;
    CHECK_OK(agent_socket_open(path, &member.requests, &err), &err);
    say(&member, AGENT_REQUEST_POSTED, "");
    CHECK_INT(member.active_rank, 0);
    CHECK(!member.reports);
    agent_socket_free(member.requests);
    member_requests_free(&member);
}

static void hear_reports(void *context, const char *text) {
    struct gang_message message;
    struct error err = {0};
    if (gang_message_read(text, strlen(text), &message, &err) < 0) {
        CHECK(!"a message that cannot be read");
        return;
    }
    if (message.type == GANG_MESSAGE_REPORTS) {
        CHECK_OK(buffer_printf(context, &err, "%s", message.line), &err);
    }
    gang_message_release(&message);
}

/* What goes to the hub of a line that is printed, a post, and a line again. */
static void check_source(const char *pattern, char *file, const char *wanted) {
    static const char printed[] = "0 loss 3 -1\n0 acc 1 -1\n", posted[] = "0 loss 2 7\n0 lr 1 7\n";
    struct error err = {0};
    const struct launch_job job = {
        .objective.name = "loss", .pattern = pattern, .metrics_file = file};
    struct member member = {.round = 3, .active_rank = -1, .job = &job};
    AUTO(buffer_release) struct buffer heard;
    buffer_init(&heard, 1 << 10);
    member.reports_end = &member.reports;
    member.link = link_new(hear_reports, &heard);
    link_resume(member.link, 0);
    CHECK_OK(agent_socket_open(path, &member.requests, &err), &err);
    say(&member, AGENT_REQUEST_REPORT, printed);
    say(&member, AGENT_REQUEST_POSTED, posted);
    say(&member, AGENT_REQUEST_REPORT, printed);
    CHECK_STR(heard.data, wanted);
    AUTO(text_freep) char *latest = latest_metrics_write(&member.latest);
    CHECK(strstr(latest, "windlass.metrics.lr 1 ") != NULL);
    agent_socket_free(member.requests);
    member_requests_free(&member);
    link_free(member.link);
}

static void the_objective_has_one_source(void) {
    char file[] = "/metrics";
    check_source("", NULL, "0 loss 3 -1\n0 acc 1 -1\n0 loss 2 7\n0 lr 1 7\n0 acc 1 -1\n");
    check_source("(loss)=(.*)", NULL, "0 loss 3 -1\n0 acc 1 -1\n0 loss 3 -1\n0 acc 1 -1\n");
    check_source(NULL, file, "0 loss 3 -1\n0 acc 1 -1\n0 loss 3 -1\n0 acc 1 -1\n");
}

/* A rank that outlives its agent reports to the next one, whose first round may have the number of
 * the rank's. */
static void who_was_left_behind_does_not_report(void) {
    int begins[2], ends[2];
    CHECK(pipe2(begins, O_CLOEXEC) == 0 && pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
    pid_t rank = fork();
    if (rank == 0) {
        struct asked asked = {.kind = AGENT_REQUEST_REPORT, .text = "0 loss 3 64\n"};
        char byte = 0;
        _exit(read(begins[0], &byte, 1) == 1 && (ask(&asked), asked.result == 0) &&
                      write(ends[1], &byte, 1) == 1
                  ? 0
                  : 1);
    }
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL); /* several ticks */
    pid_t agent = fork();
    if (agent == 0) {
        const struct launch_job job = {.objective.name = "loss", .pattern = ""};
        struct member member = {.round = 3, .active_rank = -1, .job = &job};
        struct error err = {0};
        char byte = 0;
        AUTO(buffer_release) struct buffer heard;
        buffer_init(&heard, 1 << 10);
        member.reports_end = &member.reports;
        member.link = link_new(hear_reports, &heard);
        link_resume(member.link, 0);
        if (agent_socket_open(path, &member.requests, &err) < 0 || write(begins[1], "x", 1) != 1) {
            _exit(1);
        }
        for (int64_t end_ms = clock_monotonic_ms() + ANSWER_MS;
             read(ends[0], &byte, 1) != 1 && clock_monotonic_ms() < end_ms;) {
            member_serve_requests(&member);
        }
        _exit(byte == 'x' && heard.size == 0 && member.active_rank == -1 ? 0 : 2);
    }
    int status = -1;
    CHECK(waitpid(agent, &status, 0) == agent);
    CHECK_INT(status, 0);
    CHECK(waitpid(rank, &status, 0) == rank);
    CHECK_INT(status, 0);
    close(begins[0]), close(begins[1]), close(ends[0]), close(ends[1]);
}

int main(void) {
    char template[] = "/tmp/test_member_requests-XXXXXX";
    struct error ignored = {0};
    folder = mkdtemp(template);
    if (!folder) {
        printf("not ok a folder\n");
        return 1;
    }
    path = file_join(folder, "agent");
    TEST(what_was_said_last_is_sent);
    TEST(what_is_posted_is_progress);
    TEST(the_objective_has_one_source);
    TEST(who_was_left_behind_does_not_report);
    (void)!file_remove_tree(folder, &ignored);
    free(path);
    return TEST_END();
}
