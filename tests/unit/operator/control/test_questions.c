// SPDX-License-Identifier: Apache-2.0
/* Questions to a real server with a certificate of its own. */
#include "operator/control/questions.h"

#include "lib/clock.h"
#include "lib/server.h"
#include "lib/tls.h"
#include "tests/test.h"

#include <poll.h>
#include <stdlib.h>

static struct {
    struct server *server;
    char *certificate, *key;
    struct questions *questions;
    int asked; /* questions that reached the server */
    int news;
    const char *answer; /* NULL: 404 */
} world;

static struct server_page page(void *context, const char *path) {
    (void)context;
    CHECK_STR(path, "/progress");
    world.asked++;
    return (struct server_page){.body = x_strdup(world.answer)};
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
    CHECK_OK(tls_make_certificate(&world.certificate, &world.key, NULL, &err), &err);
    struct server_options options = {.bind = "127.0.0.1:0",
                                     .certificate_pem = world.certificate,
                                     .key_pem = world.key,
                                     .socket_path = "/work",
                                     .token = "t",
                                     .events = &events};
    CHECK_OK(server_open(&options, &world.server, &err), &err);
    CHECK_OK(questions_open(on_news, &world, &world.questions, &err), &err);
}

static void close_world(void) {
    questions_free(world.questions);
    server_free(world.server);
    free(world.certificate);
    free(world.key);
}

static void run_for(int duration_ms) {
    struct error err = {0};
    int64_t end_ms = clock_monotonic_ms() + duration_ms;
    while (clock_monotonic_ms() < end_ms) {
        CHECK_OK(server_service(world.server, 1, &err), &err);
        struct pollfd fd = {.fd = questions_fd(world.questions), .events = POLLIN};
        poll(&fd, 1, 1);
        CHECK_OK(questions_step(world.questions, &err), &err);
    }
}

static const char *ask(const char *key, const char *certificate) {
    char url[64];
    snprintf(url, sizeof url, "https://127.0.0.1:%d/progress", server_port(world.server));
    return questions_ask(world.questions, key, url, certificate);
}

static void an_answer_is_news_once(void) {
    open_world();
    world.answer = "{\"a\": 1}";
    CHECK(!ask("job", world.certificate));
    run_for(400);
    CHECK_INT(world.asked, 1);
    CHECK_INT(world.news, 1);
    CHECK_STR(ask("job", world.certificate), "{\"a\": 1}");
    run_for(1000);
    CHECK_INT(world.asked, 2); /* a second later, and the same is no news */
    CHECK_INT(world.news, 1);
    world.answer = "{\"a\": 2}";
    run_for(1000);
    CHECK_INT(world.news, 2);
    questions_forget(world.questions, "job");
    CHECK_INT(questions_count(world.questions), 0);
    int before = world.asked;
    run_for(1200);
    CHECK_INT(world.asked, before);
    close_world();
}

static void what_fails_is_asked_again_soon(void) {
    open_world();
    CHECK(!ask("job", world.certificate)); /* 404 */
    run_for(600);
    CHECK(world.asked >= 3);
    CHECK_INT(world.news, 0);
    CHECK(!ask("job", world.certificate));
    close_world();
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
    CHECK(!ask("job", world.certificate)); /* the right one is another question */
    run_for(400);
    CHECK_INT(world.news, 1);
    close_world();
}

/* 200 keys: the rate is for all of them together, and forgetting in mid-question is safe. */
static void many_share_the_rate(void) {
    enum { KEYS = 200 };
    open_world();
    world.answer = "{}";
    char key[16];
    for (int i = 0; i < KEYS; i++) {
        snprintf(key, sizeof key, "job%d", i);
        ask(key, world.certificate);
    }
    run_for(2000);
    CHECK(world.asked > 60 && world.asked <= 2 * QUESTIONS_PER_SECOND + 5);
    CHECK(questions_next_ms(world.questions) < clock_monotonic_ms() + 1000);
    for (int i = 0; i < KEYS; i++) {
        snprintf(key, sizeof key, "job%d", i);
        questions_forget(world.questions, key);
    }
    CHECK_INT(questions_count(world.questions), 0);
    run_for(100);
    close_world();
}

int main(void) {
    TEST(an_answer_is_news_once);
    TEST(what_fails_is_asked_again_soon);
    TEST(another_certificate_gets_no_answer);
    TEST(many_share_the_rate);
    return TEST_END();
}
