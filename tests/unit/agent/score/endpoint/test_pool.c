// SPDX-License-Identifier: Apache-2.0
/* The pool asks real servers on this machine: tests/endpoint/model_server.c, each with a fault. */
#include "agent/score/endpoint/pool.h"

#include "agent/score/endpoint/answer_memory.h"
#include "lib/time/clock.h"
#include "tests/test.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* READY_MS: in which a server answers on a busy machine, too, where a test waits for its end. */
enum { SERVERS_MAX = 2, WAIT_MS = 60000, READY_MS = 3000 };

static struct {
    pid_t pid[SERVERS_MAX];
    struct endpoint_setting setting;
    struct pool *pool;
} house;

/* Returns the URL; the caller frees. */
static char *start_server(int index, const char *first, const char *second) {
    char self[512] = "", port[16] = "";
    int pipes[2];
    CHECK(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    char *at = strstr(self, "/tests/unit/");
    CHECK(at && pipe(pipes) == 0);
    *at = 0;
    AUTO(text_freep) char *path = x_printf("%s/tests/endpoint/model_server", self);
    house.pid[index] = fork();
    if (house.pid[index] == 0) {
        dup2(pipes[1], STDOUT_FILENO);
        execl(path, path, first, second, (char *)NULL);
        _exit(127);
    }
    close(pipes[1]);
    CHECK(read(pipes[0], port, sizeof port - 1) > 0);
    close(pipes[0]);
    port[strcspn(port, "\n")] = 0;
    return x_printf("http://127.0.0.1:%s", port);
}

static void add_url(char *url) {
    house.setting.urls[house.setting.url_count++] = url;
}

static void open_pool(const char *secret) {
    struct error err = {0};
    house.setting.in_flight_max = MAX(house.setting.in_flight_max, 1);
    house.setting.is_fixed = true;
    house.setting.tries = MAX(house.setting.tries, 2);
    house.setting.timeout_ms = house.setting.timeout_ms ? house.setting.timeout_ms : WAIT_MS;
    house.setting.ready_ms = house.setting.ready_ms ? house.setting.ready_ms : WAIT_MS;
    CHECK_OK(endpoint_setting_take_key(&house.setting, secret, &err), &err);
    CHECK_OK(pool_open(&house.setting, &house.pool, &err), &err);
}

static void close_house(void) {
    pool_close(TAKE(house.pool));
    endpoint_setting_release(&house.setting);
    for (int i = 0; i < SERVERS_MAX; i++) {
        if (house.pid[i] > 0) {
            kill(house.pid[i], SIGKILL);
            waitpid(house.pid[i], NULL, 0);
        }
        house.pid[i] = 0;
    }
}

static struct pool_ask ask(const char *text) {
    static atomic_bool never;
    AUTO(text_freep) char *body = x_printf("{\"model\":\"m\",\"content\":\"%s\"}", text);
    struct pool_ask ask = {.method = "POST",
                           .path = "/v1/chat/completions",
                           .key = "/v1/chat/completions m",
                           .body = body,
                           .body_size = strlen(body),
                           .dropped = &never,
                           .ends = &never};
    pool_send(house.pool, &ask);
    ask.body = NULL;
    if (ask.end == POOL_ANSWERED) {
        CHECK(strstr(ask.answer, text));
    }
    free(TAKE(ask.answer));
    return ask;
}

static int64_t count(enum request_metrics_count which) {
    return atomic_load(&pool_metrics(house.pool)->counts[which]);
}

/* Requests that follow one another on a connection, some of which break (http.h: kind). */
static void each_has_its_own_body_and_answer(void) {
    static const char *const texts[] = {"one", "a longer one, which is the second", "3", ""};
    house.setting.tries = 20;
    add_url(start_server(0, "reset=15", "half=10"));
    open_pool(NULL);
    for (int i = 0; i < 16; i++) {
        AUTO(text_freep) char *text = x_printf("%s-%d.", texts[(size_t)i % ARRAY_LEN(texts)], i);
        CHECK_INT(ask(text).end, POOL_ANSWERED);
    }
    CHECK(count(REQUESTS_BROKEN) > 0);
    CHECK_INT(count(REQUESTS_ANSWERS), 16);
    close_house();
}

/* And is reached under its own path, which has /v1. */
static void what_one_does_not_know_another_may(void) {
    add_url(start_server(0, "model=other", NULL));
    AUTO(text_freep) char *second = start_server(1, "latency=1", NULL);
    add_url(x_printf("%s/v1", second));
    open_pool(NULL);
    for (int i = 0; i < 8; i++) {
        CHECK_INT(ask("a").end, POOL_ANSWERED);
    }
    CHECK(count(REQUESTS_REFUSED) > 0);
    CHECK_INT(count(REQUESTS_REFUSED), count(REQUESTS_RETRIES));
    close_house();
}

static void a_model_that_none_knows_is_asked_for_once(void) {
    add_url(start_server(0, "model=other", NULL));
    open_pool(NULL);
    for (int i = 0; i < 4; i++) {
        struct pool_ask asked = ask("a");
        CHECK_INT(asked.end, POOL_REFUSED);
        CHECK_STR(asked.cause, "404 Not Found: The model `m` does not exist.");
    }
    CHECK_INT(count(REQUESTS_SENT), 1);
    CHECK_INT(count(REQUESTS_REFUSED), 1);
    close_house();
}

static void a_row_that_hangs_is_a_failed_try(void) {
    struct error err = {0};
    add_url(start_server(0, "latency=60000", NULL));
    house.setting.timeout_ms = READY_MS;
    house.setting.ready_ms = READY_MS;
    open_pool(NULL);
    CHECK_INT(ask("a").end, POOL_REFUSED);
    CHECK_INT(ask("b").end, POOL_REFUSED);
    CHECK_INT(count(REQUESTS_TIMEOUTS), 4);
    CHECK(!pool_has_failed(house.pool, &err));
    close_house();
}

static void a_busy_server_is_not_away(void) {
    struct error err = {0};
    add_url(start_server(0, "busy=50", "after=4")); /* longer than READY_MS */
    house.setting.ready_ms = READY_MS;
    open_pool(NULL);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(ask("a").end, POOL_ANSWERED);
    }
    CHECK(count(REQUESTS_BUSY) > 0);
    CHECK(!pool_has_failed(house.pool, &err));
    close_house();
}

static void a_server_that_is_gone_is_given_up(void) {
    struct error err = {0};
    add_url(start_server(0, "latency=1", NULL));
    house.setting.ready_ms = READY_MS;
    open_pool(NULL);
    CHECK_INT(ask("a").end, POOL_ANSWERED);
    poll(NULL, 0, READY_MS + 300); /* idle for longer than ready_ms */
    CHECK_INT(ask("a").end, POOL_ANSWERED);
    kill(house.pid[0], SIGKILL);
    CHECK_INT(ask("a").end, POOL_AWAY);
    CHECK(pool_has_failed(house.pool, &err));
    CHECK_INT(err.kind, ERROR_UNAVAILABLE);
    close_house();
}

static void the_first_server_may_be_away(void) {
    static atomic_bool never;
    struct error err = {0};
    add_url(x_strdup("http://127.0.0.1:9"));
    add_url(start_server(0, "latency=1", NULL));
    open_pool(NULL);
    CHECK_OK(pool_await(house.pool, &never, &err), &err);
    CHECK_INT(ask("a").end, POOL_ANSWERED);
    close_house();
}

static void one_that_never_comes_may_come_later(void) {
    static const struct {
        const char *url;
        enum error_kind kind;
    } rows[] = {{"http://127.0.0.1:9", ERROR_UNAVAILABLE}, {"http://169.254.1.1", ERROR_INVALID}};
    static atomic_bool never;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        add_url(x_strdup(rows[i].url));
        house.setting.ready_ms = 300;
        open_pool(NULL);
        CHECK_INT(pool_await(house.pool, &never, &err), -1);
        CHECK_INT(err.kind, rows[i].kind);
        close_house();
    }
}

/* Without the line end that its file has; the server repeats a wrong one. */
static void keys_are_sent_and_not_repeated(void) {
    struct error err = {0};
    add_url(start_server(0, "key=s3cret", NULL));
    open_pool("s3cret\r\n");
    CHECK_INT(ask("a").end, POOL_ANSWERED);
    close_house();
    add_url(start_server(0, "key=s3cret", NULL));
    open_pool("wr0ng");
    CHECK_INT(ask("a").end, POOL_AWAY);
    CHECK(pool_has_failed(house.pool, &err));
    CHECK_INT(err.kind, ERROR_DENIED);
    CHECK(strstr(err.text, "Incorrect API key provided: *****: the server wants another key"));
    CHECK_INT(count(REQUESTS_SENT), 1);
    CHECK_INT(count(REQUESTS_REFUSED), 1);
    close_house();
}

static void a_row_may_be_forbidden(void) {
    add_url(start_server(0, "forbid=a", NULL));
    open_pool(NULL);
    CHECK_INT(ask("a").end, POOL_REFUSED);
    CHECK_INT(count(REQUESTS_REFUSED), 2);
    CHECK_INT(ask("b").end, POOL_ANSWERED);
    close_house();
}

/* A quarter of 1200 per minute, a request each 200 ms; nothing is saved up before the first. */
static void a_limit_is_shared_from_the_first_request_on(void) {
    enum { SHARERS = 4, ASKED = 4, EACH_MS = 200 };
    add_url(start_server(0, NULL, NULL));
    house.setting.requests_per_minute = (int64_t)SHARERS * 60000 / EACH_MS;
    open_pool(NULL);
    pool_share(house.pool, SHARERS);
    poll(NULL, 0, ASKED * EACH_MS);
    int64_t began_ms = clock_monotonic_ms();
    for (int i = 0; i < ASKED; i++) {
        CHECK_INT(ask("a").end, POOL_ANSWERED);
    }
    CHECK(clock_monotonic_ms() - began_ms >= (ASKED - 1) * EACH_MS - 1);
    close_house();
}

/* ---- memory of answers ---------------------------------------------------------------------- */

enum { ASKERS = 12 };

static atomic_llong held_now, held_most;

/* Keeps its answer until another one was not read for it. */
static void *keep_answer(void *context) {
    static atomic_bool never;
    static const char body[] = "{\"model\":\"m\",\"content\":\"a\"}";
    struct pool_ask *asked = context;
    int64_t end_ms = clock_monotonic_ms() + WAIT_MS;
    *asked = (struct pool_ask){.method = "POST",
                               .path = "/v1/chat/completions",
                               .key = "/v1/chat/completions m",
                               .body = body,
                               .body_size = sizeof body - 1,
                               .dropped = &never,
                               .ends = &never};
    pool_send(house.pool, asked);
    long long held = asked->held, now = atomic_fetch_add(&held_now, held) + held;
    long long most = atomic_load(&held_most);
    while (now > most && !atomic_compare_exchange_weak(&held_most, &most, now)) {
    }
    while (count(REQUESTS_BUSY) == 0 && clock_monotonic_ms() < end_ms) {
        poll(NULL, 0, 1);
    }
    free(TAKE(asked->answer));
    atomic_fetch_sub(&held_now, held);
    pool_give_back(house.pool, &asked->held);
    return NULL;
}

/* Three answers of 10 MiB and their copies fit; the others are asked for again. */
static void large_answers_share_their_memory(void) {
    pthread_t threads[ASKERS];
    struct pool_ask asked[ASKERS];
    add_url(start_server(0, "big=100", "latency=1"));
    house.setting.in_flight_max = ASKERS;
    house.setting.answer_bytes = 128 << 20;
    open_pool(NULL);
    for (int i = 0; i < ASKERS; i++) {
        CHECK_INT(pthread_create(&threads[i], NULL, keep_answer, &asked[i]), 0);
    }
    for (int i = 0; i < ASKERS; i++) {
        pthread_join(threads[i], NULL);
        CHECK_INT(asked[i].end, POOL_ANSWERED);
        CHECK_INT(asked[i].tries, 0);
        CHECK(asked[i].answer_size > (size_t)10 << 20);
        CHECK_INT(asked[i].held, 0);
    }
    CHECK(count(REQUESTS_BUSY) > 0);
    CHECK(held_most >= ANSWER_MEMORY_COPIES * (10LL << 20) && held_most <= 128 << 20);
    close_house();
}

/* One answer alone is read whatever the share is; small ones take nothing of it. */
static void what_an_answer_takes(void) {
    struct answer_memory memory = {.most = 1 << 20};
    int64_t first = 0, second = 0, small = 0;
    CHECK(answer_memory_take(&memory, 1 << 20, &first));
    CHECK_INT(first, ANSWER_MEMORY_COPIES << 20);
    CHECK(answer_memory_take(&memory, 2 << 20, &first)); /* it grows */
    CHECK(!answer_memory_take(&memory, ANSWER_MEMORY_SMALL + 1, &second));
    CHECK_INT(second, 0);
    CHECK(answer_memory_take(&memory, ANSWER_MEMORY_SMALL, &small));
    CHECK_INT(small, 0);
    answer_memory_give_back(&memory, &first);
    CHECK(answer_memory_take(&memory, ANSWER_MEMORY_SMALL + 1, &second));
    answer_memory_give_back(&memory, &second);
    CHECK_INT(memory.used, 0);
    CHECK_INT(answer_memory_most(0), 1LL << 30);
    CHECK_INT(answer_memory_most(2LL << 30), 512 << 20);
    CHECK_INT(answer_memory_most(64LL << 30), 1LL << 30);
    CHECK_INT(answer_memory_most(256 << 20), 128 << 20);
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    TEST(each_has_its_own_body_and_answer);
    TEST(what_one_does_not_know_another_may);
    TEST(a_model_that_none_knows_is_asked_for_once);
    TEST(a_row_that_hangs_is_a_failed_try);
    TEST(a_busy_server_is_not_away);
    TEST(a_server_that_is_gone_is_given_up);
    TEST(the_first_server_may_be_away);
    TEST(one_that_never_comes_may_come_later);
    TEST(keys_are_sent_and_not_repeated);
    TEST(a_row_may_be_forbidden);
    TEST(a_limit_is_shared_from_the_first_request_on);
    TEST(large_answers_share_their_memory);
    TEST(what_an_answer_takes);
    return TEST_END();
}
