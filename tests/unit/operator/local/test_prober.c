// SPDX-License-Identifier: Apache-2.0
/* Liveness probes of the local cluster: against a real server, and of real pods. */
#include "operator/local/prober.h"

#include "lib/net/server.h"
#include "tests/unit/operator/local/local_fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

enum { FAILURES = 2 };

struct seen {
    int dead, asked;
    int status; /* of the server's answer */
    char why[256];
};

static void on_dead(void *context, const char *uid, const char *why) {
    struct seen *seen = context;
    CHECK_STR(uid, "u");
    seen->dead++;
    snprintf(seen->why, sizeof seen->why, "%s", why);
}

static struct server_page on_page(void *context, const struct server_request *request) {
    const char *path = request->path;
    struct seen *seen = context;
    CHECK_STR(path, "/healthz");
    seen->asked++;
    return (struct server_page){.body = x_strdup("{}"), .status = seen->status};
}

static json_t *probed(json_t *pod, int port) {
    json_object_set_new(json_array_get(tree_get(pod, "spec.containers"), 0), "livenessProbe",
                        json_pack("{s:{s:s, s:i}, s:i, s:i, s:i}", "httpGet", "path", "/healthz",
                                  "port", port, "periodSeconds", 1, "timeoutSeconds", 1,
                                  "failureThreshold", FAILURES));
    return pod;
}

struct bench {
    struct seen seen;
    struct server *server;
    struct prober *prober;
    int64_t ahead_ms; /* of the prober's clock */
};

static void open_bench(struct bench *bench) {
    static const struct server_events events = {.page = on_page};
    struct error err = {0};
    *bench = (struct bench){.seen.status = 200};
    struct server_options options = {
        .bind = "127.0.0.1:0", .events = &events, .context = &bench->seen};
    CHECK_OK(server_open(&options, &bench->server, &err), &err);
    CHECK_OK(prober_open(on_dead, &bench->seen, &bench->prober, &err), &err);
    AUTO(tree_freep)
    json_t *pod =
        probed(json_pack("{s:{s:s}, s:{s:[{}]}}", "metadata", "uid", "u", "spec", "containers"),
               server_port(bench->server));
    prober_add(bench->prober, pod, /* place= */ NULL, clock_monotonic_ms());
}

static void close_bench(struct bench *bench) {
    prober_free(bench->prober);
    server_free(bench->server);
}

/* answers: the server's event loop runs. */
static void pass(struct bench *bench, int64_t ms, bool answers) {
    struct error err = {0};
    int64_t end_ms = clock_monotonic_ms() + ms;
    while (clock_monotonic_ms() < end_ms) {
        CHECK_OK(prober_step(bench->prober, clock_monotonic_ms() + bench->ahead_ms, &err), &err);
        if (answers) {
            CHECK_OK(server_service(bench->server, 10, &err), &err);
        } else {
            poll(NULL, 0, 10);
        }
    }
}

static void pass_until_dead(struct bench *bench, bool answers) {
    for (int i = 0; i < 600 && bench->seen.dead == 0; i++) {
        pass(bench, 100, answers);
    }
    CHECK_INT(bench->seen.dead, 1);
}

/* It connects, as the kernel accepts for a loop that hangs. */
static void a_loop_that_hangs_is_found(void) {
    struct bench bench;
    open_bench(&bench);
    for (int i = 0; i < 24 && (i == 0 || bench.seen.asked == 0); i++) {
        pass(&bench, 2500, /* answers= */ true);
    }
    CHECK_INT(bench.seen.dead, 0);
    CHECK(bench.seen.asked >= 1);
    pass_until_dead(&bench, /* answers= */ false);
    CHECK(text_starts(bench.seen.why, "its liveness probe failed 2 times: "));
    pass(&bench, 1500, /* answers= */ false); /* reported once */
    CHECK_INT(bench.seen.dead, 1);
    close_bench(&bench);
}

static void a_status_that_is_no_success_is_a_failure(void) {
    struct bench bench;
    open_bench(&bench);
    bench.seen.status = 503;
    pass_until_dead(&bench, /* answers= */ true);
    CHECK_STR(bench.seen.why, "its liveness probe failed 2 times: status 503");
    close_bench(&bench);
}

/* windlass itself was stopped, or the machine slept. */
static void a_gap_counts_for_nothing(void) {
    struct bench bench;
    open_bench(&bench);
    for (int i = 0; i < 6; i++) {
        pass(&bench, 700, /* answers= */ false);
        bench.ahead_ms += 60000;
    }
    CHECK_INT(bench.seen.dead, 0);
    close_bench(&bench);
}

/* The first pod answers until it is stopped; the second never does. */
static void pods_that_hang_are_ended(void) {
    struct fixture fixture;
    struct error err = {0};
    int64_t began_ms = clock_monotonic_ms();
    fixture_open(&fixture, &err);
    AUTO(fd_closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    CHECK(bind(fd, (struct sockaddr *)&address, size) == 0 && listen(fd, 5) == 0 &&
          getsockname(fd, (struct sockaddr *)&address, &size) == 0);
    fixture_apply(&fixture, probed(fixture_pod("silent", "sleep 100"), ntohs(address.sin_port)));
    fixture_apply(&fixture, fixture_pod("unprobed", "sleep 100"));
    CHECK(fixture_wait(&fixture, "Pod silent", "status.phase", "Failed"));
    const json_t *ended = tree_get(fixture_seen(&fixture, "Pod silent"),
                                   "status.containerStatuses[0].state.terminated");
    CHECK_INT(tree_integer(ended, "exitCode", 0), 128 + SIGTERM);
    CHECK(text_starts(tree_text(ended, "message", ""), "its liveness probe failed 2 times: "));
    CHECK_STR(tree_text(fixture_seen(&fixture, "Pod unprobed"), "status.phase", ""), "Running");
    CHECK(clock_monotonic_ms() - began_ms >= 1000LL * FAILURES);
    fixture_close(&fixture);
}

/* ---- exec ----------------------------------------------------------------------------------- */

/* Only what sleeps is to be out of time, on a busy machine, too. */
static json_t *exec_probed(json_t *pod, const char *script) {
    int timeout_s = text_starts(script, "sleep") ? 1 : 60;
    json_object_set_new(json_array_get(tree_get(pod, "spec.containers"), 0), "livenessProbe",
                        json_pack("{s:{s:[s,s,s]}, s:i, s:i, s:i}", "exec", "command", "sh", "-c",
                                  script, "periodSeconds", 1, "timeoutSeconds", timeout_s,
                                  "failureThreshold", FAILURES));
    return pod;
}

/* A command that ends with 0 is an answer, another code or silence is not; it has the pod's
 * variables, but no Secret; while it runs it is not taken for an orphan. */
static void commands_are_probes(void) {
    static const struct {
        const char *script, *why; /* NULL: the pod lives */
    } rows[] = {{"exit 0", NULL},
                {"test \"$HOSTNAME\" = u && test -z \"$SECRET\"", NULL},
                {"exit 3", "its liveness probe failed 2 times: sh ended with 3"},
                {"sleep 60", "its liveness probe failed 2 times: no answer within 1 s"},
                {"kill -9 $$", "its liveness probe failed 2 times: sh was ended by signal 9"}};
    char *variables[] = {(char *)"HOSTNAME=u", (char *)"SECRET=x", (char *)"PATH=/usr/bin:/bin",
                         NULL};
    const struct probe_place place = {variables, "/", "/"};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct bench bench = {0};
        struct error err = {0};
        pid_t pids[2] = {0};
        size_t most = 0;
        CHECK_OK(prober_open(on_dead, &bench.seen, &bench.prober, &err), &err);
        AUTO(tree_freep)
        json_t *pod =
            exec_probed(json_pack("{s:{s:s}, s:{s:[{s:[{s:s, s:{s:{s:s, s:s}}}]}]}}", "metadata",
                                  "uid", "u", "spec", "containers", "env", "name", "SECRET",
                                  "valueFrom", "secretKeyRef", "name", "a", "key", "b"),
                        rows[i].script);
        prober_add(bench.prober, pod, &place, clock_monotonic_ms());
        int64_t end_ms =
            clock_monotonic_ms() + (rows[i].why ? 60000 : 1000 * (FAILURES + 1) + 2500);
        while (clock_monotonic_ms() < end_ms && !bench.seen.dead) {
            CHECK_OK(prober_step(bench.prober, clock_monotonic_ms(), &err), &err);
            most = MAX(most, prober_pids(bench.prober, pids, ARRAY_LEN(pids)));
            CHECK(bench.seen.dead || prober_next_ms(bench.prober) < clock_monotonic_ms() + 3000);
            poll(NULL, 0, 10);
        }
        CHECK_STR(bench.seen.why, rows[i].why ? rows[i].why : "");
        CHECK_INT(most, 1);
        prober_free(bench.prober);
        CHECK(kill(pids[0], 0) < 0);
    }
}

/* How often that line is in the file of the fixture's folder. */
static int count_lines(const struct fixture *fixture, const char *line) {
    struct error err = {0};
    AUTO(text_freep) char *path = file_join(fixture->folder, "probes");
    AUTO(text_freep) char *text = NULL;
    size_t size = 0;
    int count = 0;
    if (file_read(path, 1 << 20, &text, &size, &err) < 0) {
        return 0;
    }
    for (const char *at = text; (at = strstr(at, line)); at += strlen(line)) {
        count++;
    }
    return count;
}

/* Pods end while it runs, whose orphans are killed: each command that has begun comes to its end.
 */
static void commands_are_not_orphans(void) {
    enum { ENDING = 5 };
    struct fixture fixture;
    struct error err = {0};
    fixture_open(&fixture, &err);
    AUTO(text_freep)
    char *script = x_printf("echo begun >>%s/probes; sleep 1; echo done >>%s/probes",
                            fixture.folder, fixture.folder);
    fixture_apply(&fixture, exec_probed(fixture_pod("well", "sleep 100"), script));
    for (int i = 1; i <= ENDING; i++) {
        AUTO(text_freep) char *name = x_printf("short-%d", i);
        AUTO(text_freep) char *key = x_printf("Pod %s", name);
        /* It ends in the middle of a command. */
        AUTO(text_freep)
        char *until = x_printf("until [ $(grep -c begun %s/probes) -ge %d ]; do sleep 0.1; done",
                               fixture.folder, i);
        fixture_apply(&fixture, fixture_pod(name, until));
        CHECK(fixture_wait(&fixture, key, "status.phase", "Succeeded"));
        int begun = count_lines(&fixture, "begun"), ended = count_lines(&fixture, "done");
        CHECK(begun >= i && begun - ended <= 1);
    }
    CHECK_STR(tree_text(fixture_seen(&fixture, "Pod well"), "status.phase", ""), "Running");
    fixture_close(&fixture);
}

/* Another pod ends meanwhile. */
static void a_pod_whose_command_fails_is_ended(void) {
    struct fixture fixture;
    struct error err = {0};
    fixture_open(&fixture, &err);
    fixture_apply(&fixture, exec_probed(fixture_pod("well", "sleep 100"), "exit 0"));
    fixture_apply(&fixture, exec_probed(fixture_pod("ill", "sleep 100"), "exit 1"));
    fixture_apply(&fixture, fixture_pod("short", "sleep 1.3"));
    CHECK(fixture_wait(&fixture, "Pod ill", "status.phase", "Failed"));
    CHECK(fixture_wait(&fixture, "Pod short", "status.phase", "Succeeded"));
    const json_t *ended =
        tree_get(fixture_seen(&fixture, "Pod ill"), "status.containerStatuses[0].state.terminated");
    CHECK_STR(tree_text(ended, "message", ""),
              "its liveness probe failed 2 times: sh ended with 1");
    CHECK_STR(tree_text(fixture_seen(&fixture, "Pod well"), "status.phase", ""), "Running");
    fixture_close(&fixture);
}

int main(void) {
    TEST(a_loop_that_hangs_is_found);
    TEST(a_status_that_is_no_success_is_a_failure);
    TEST(a_gap_counts_for_nothing);
    TEST(pods_that_hang_are_ended);
    TEST(commands_are_probes);
    TEST(commands_are_not_orphans);
    TEST(a_pod_whose_command_fails_is_ended);
    return TEST_END();
}
