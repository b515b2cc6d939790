// SPDX-License-Identifier: Apache-2.0
/* Requests to a real server with its own certificate. */
#include "operator/control/poller.h"

#include "lib/net/server.h"
#include "lib/net/tls.h"
#include "lib/time/clock.h"
#include "tests/test.h"

#include <poll.h>
#include <stdlib.h>

static struct {
    struct server *server;
    char *certificate, *key;
    struct poller *poller;
    int asked;       /* requests that reached the server */
    int asked_first; /* of these, those with priority */
    int news;
    const char *answer; /* NULL: 404 */
    const char *read_token;
} world;

static struct server_page page(void *context, const struct server_request *request) {
    const char *path = request->path;
    (void)context;
    CHECK(text_starts(path, "/progress"));
    world.asked++;
    world.asked_first += strcmp(path, "/progress/first") == 0;
    return request->may_read ? (struct server_page){.body = x_strdup(world.answer)}
                             : server_page_closed();
}

static void on_peer(void *context, struct server_peer *peer) {
    (void)context, (void)peer;
}

static void on_text(void *context, struct server_peer *peer, const char *text, size_t size) {
    (void)context, (void)peer, (void)text, (void)size;
}

static const struct server_events events = {page, on_peer, on_text, on_peer};

static void on_news(void *context, const char *key) {
    CHECK(context == &world);
    CHECK(text_starts(key, "job"));
    world.news++;
}

static void open_world(void) {
    struct error err = {0};
    memset(&world, 0, sizeof world);
    world.read_token = "reader";
    CHECK_OK(tls_make_certificate(&world.certificate, &world.key, NULL, &err), &err);
    struct server_options options = {.bind = "127.0.0.1:0",
                                     .certificate_pem = world.certificate,
                                     .key_pem = world.key,
                                     .socket_path = "/work",
                                     .token = "t",
                                     .events = &events,
                                     .read_token = "reader"};
    CHECK_OK(server_open(&options, &world.server, &err), &err);
    CHECK_OK(poller_open(on_news, &world, &world.poller, &err), &err);
}

static void close_world(void) {
    poller_free(world.poller);
    server_free(world.server);
    free(world.certificate);
    free(world.key);
}

static void run_for(int duration_ms) {
    struct error err = {0};
    int64_t end_ms = clock_monotonic_ms() + duration_ms;
    while (clock_monotonic_ms() < end_ms) {
        CHECK_OK(server_service(world.server, 1, &err), &err);
        struct pollfd fd = {.fd = poller_fd(world.poller), .events = POLLIN};
        poll(&fd, 1, 1);
        CHECK_OK(poller_step(world.poller, &err), &err);
    }
}

/* Runs until *count is `number`; a minute at most. */
static void run_until(const int *count, int number) {
    int64_t end_ms = clock_monotonic_ms() + 60000;
    while (*count < number && clock_monotonic_ms() < end_ms) {
        run_for(20);
    }
    CHECK(*count >= number);
}

static const char *ask(const char *key, const char *certificate) {
    char url[64];
    snprintf(url, sizeof url, "https://127.0.0.1:%d/progress", server_port(world.server));
    const struct poller_target place = {url, certificate, world.read_token};
    return poller_get(world.poller, key, &place, /* has_priority= */ false);
}

static void ask_first(const char *key, bool has_priority) {
    char url[64];
    snprintf(url, sizeof url, "https://127.0.0.1:%d/progress/first", server_port(world.server));
    const struct poller_target place = {url, world.certificate, world.read_token};
    poller_get(world.poller, key, &place, has_priority);
}

static void an_answer_is_news_once(void) {
    open_world();
    world.answer = "{\"a\": 1}";
    int64_t start_ms = clock_monotonic_ms();
    CHECK(!ask("job", world.certificate));
    run_until(&world.news, 1);
    CHECK_STR(ask("job", world.certificate), "{\"a\": 1}");
    run_until(&world.asked, world.asked + 2);
    /* A second apart; the same answer is not reported. */
    CHECK(world.asked <= 1 + (clock_monotonic_ms() - start_ms) / POLLER_EVERY_MS);
    CHECK_INT(world.news, 1);
    world.answer = "{\"a\": 2}";
    run_until(&world.news, 2);
    poller_stop(world.poller, "job");
    CHECK_INT(poller_count(world.poller), 0);
    int before = world.asked;
    run_for(1200);
    CHECK_INT(world.asked, before);
    close_world();
}

/* Three requests of a key that fails; true: within the time in which an answer is asked for twice.
 */
static bool is_asked_again_soon(void) {
    open_world();
    int64_t start_ms = clock_monotonic_ms();
    CHECK(!ask("job", world.certificate)); /* 404 */
    run_until(&world.asked, 3);
    bool is_soon = clock_monotonic_ms() - start_ms < POLLER_EVERY_MS;
    CHECK_INT(world.news, 0);
    CHECK(!ask("job", world.certificate));
    close_world();
    return is_soon;
}

/* A busy machine may be slow at times, not always. */
static void what_fails_is_asked_again_soon(void) {
    int64_t end_ms = clock_monotonic_ms() + 60000;
    bool is_soon = false;
    while (!is_soon && clock_monotonic_ms() < end_ms) {
        is_soon = is_asked_again_soon();
    }
    CHECK(is_soon);
}

static void another_certificate_gets_no_answer(void) {
    open_world();
    struct error err = {0};
    AUTO(text_freep) char *certificate = NULL;
    AUTO(text_freep) char *key = NULL;
    CHECK_OK(tls_make_certificate(&certificate, &key, NULL, &err), &err);
    world.answer = "{}";
    CHECK(!ask("job", certificate));
    run_for(300);
    CHECK_INT(world.news, 0);
    CHECK(!ask("job", world.certificate)); /* with the right one it is another request */
    run_until(&world.news, 1);
    close_world();
}

/* 200 keys: the rate is for all together, and forgetting a key during its request is safe. */
static void many_share_the_rate(void) {
    enum { KEYS = 200 };
    int64_t start_ms = clock_monotonic_ms();
    open_world();
    world.answer = "{}";
    char key[16];
    for (int i = 0; i < KEYS; i++) {
        snprintf(key, sizeof key, "job%d", i);
        ask(key, world.certificate);
    }
    run_until(&world.asked, 100);
    int64_t took_ms = clock_monotonic_ms() - start_ms;
    CHECK(world.asked <= took_ms * POLLER_PER_SECOND / 1000 + 5);
    CHECK(poller_next_ms(world.poller) < clock_monotonic_ms() + 1000);
    for (int i = 0; i < KEYS; i++) {
        snprintf(key, sizeof key, "job%d", i);
        poller_stop(world.poller, key);
    }
    CHECK_INT(poller_count(world.poller), 0);
    run_for(100);
    close_world();
}

static void open_many(int others, int first) {
    open_world();
    world.answer = "{}";
    char key[32];
    for (int i = 0; i < others; i++) {
        snprintf(key, sizeof key, "job%d", i);
        ask(key, world.certificate);
    }
    for (int i = 0; i < first; i++) {
        snprintf(key, sizeof key, "job-first%d", i);
        ask_first(key, true);
    }
}

/* 60 priority keys after a thousand others: they get four of five requests, the others the rest. */
static void some_come_first(void) {
    open_many(1000, 60);
    run_until(&world.asked, 100);
    CHECK(world.asked_first * 10 >= world.asked * 7 && world.asked_first * 10 <= world.asked * 9);
    close_world();
}

/* No key waits for an unused share of the 50 requests a second. */
static void none_is_kept_for_nobody(void) {
    static const struct {
        int others, first;
        int64_t first_ms, others_ms;
    } rows[] = {
        {0, 50, 1000, 1000},                                 /* 50/50 s, not 50/40 */
        {3, 50, 50000 / 47, 1000}, {1000, 50, 1250, 100000}, /* each its share */
        {50, 1, 1000, 50000 / 49}, {100, 0, 1000, 2000},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        open_many(rows[i].others, rows[i].first);
        CHECK_INT(poller_interval_ms(world.poller, true), rows[i].first_ms);
        CHECK_INT(poller_interval_ms(world.poller, false), rows[i].others_ms);
        close_world();
    }
}

/* A key that gets priority does not wait for its turn among the others. */
static void one_may_come_first_later(void) {
    open_many(1000, 0);
    ask_first("job-late", false);
    run_until(&world.asked, 30);
    CHECK_INT(world.asked_first, 0);
    ask_first("job-late", true);
    int64_t end_ms = clock_monotonic_ms() + 60000;
    while (world.asked_first == 0 && clock_monotonic_ms() < end_ms) {
        run_for(20);
    }
    /* In its turn it would be the 1,001st; those under way come before it. */
    CHECK(world.asked_first >= 1 && world.asked < 500);
    CHECK_INT(poller_count(world.poller), 1001);
    ask_first("job-late", false);
    poller_stop(world.poller, "job-late");
    CHECK_INT(poller_count(world.poller), 1000);
    run_until(&world.asked, world.asked + 5);
    close_world();
}

int main(void) {
    TEST(an_answer_is_news_once);
    TEST(what_fails_is_asked_again_soon);
    TEST(another_certificate_gets_no_answer);
    TEST(many_share_the_rate);
    TEST(some_come_first);
    TEST(none_is_kept_for_nobody);
    TEST(one_may_come_first_later);
    return TEST_END();
}
