// SPDX-License-Identifier: Apache-2.0
/* A dispatcher with real connections: while it holds, no message or action of a worker changes what
 * counts. */
#include "agent/score/coordinator/dispatcher.h"

#include "agent/score/wire/request_metrics.h"
#include "lib/net/socket.h"
#include "lib/net/tls.h"
#include "lib/time/clock.h"
#include "tests/unit/agent/data/tries.h"

/* libwebsockets 4.1 leaks one TLS context if a process has a server and a client. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
    return "leak:lws_create_vhost\n";
}
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "fast_unwind_on_malloc=0";
}

enum { CELLS = 6, WORKERS = 3, SERVE_MS = 5, ROUNDS = 40, WAIT_MS = 60000 };

static char *certificate, *key;
static char sha256[65];
static struct job job = {.name = "j", .uid = "uid-1", .run = RUN};

struct visitor {
    struct socket_client *socket;
    bool is_open;
    int closes; /* it connects again by itself */
};

struct house {
    struct dispatcher dispatcher; /* first: the server's events come with its address */
    struct store *output;
    struct prepared_job prepared;
    struct visitor visitors[WORKERS];
    struct server_peer *newest; /* of the connection that was opened last */
};

static void on_newest(void *context, struct server_peer *peer) {
    ((struct house *)context)->newest = peer;
    dispatcher_opened(context, peer);
}

static struct server_page no_page(void *context UNUSED,
                                  const struct server_request *request UNUSED) {
    return (struct server_page){0};
}

static void on_opened(void *context) {
    struct visitor *visitor = context;
    visitor->is_open = true;
}

static void on_received(void *context UNUSED, const char *text UNUSED, size_t size UNUSED) {
}

static void on_closed(void *context, const struct error *why UNUSED) {
    struct visitor *visitor = context;
    visitor->is_open = false;
    visitor->closes++;
}

static void serve(struct house *house) {
    struct error err = {0};
    CHECK_OK(server_service(house->dispatcher.server, SERVE_MS, &err), &err);
    for (int i = 0; i < WORKERS; i++) {
        struct visitor *visitor = &house->visitors[i];
        if (visitor->socket) {
            CHECK_OK(socket_service(visitor->socket, SERVE_MS, &err), &err);
        }
    }
}

/* Waits until all messages sent so far have arrived: on a busy machine the time may be over before
 * both sides have had their turns. */
static void serve_for(struct house *house, int64_t ms) {
    int64_t end_ms = clock_monotonic_ms() + ms;
    for (int i = 0; i < ROUNDS || clock_monotonic_ms() < end_ms; i++) {
        serve(house);
    }
}

static struct ledger_counts counts_of(const struct house *house) {
    return ledger_read_counts(house->prepared.journal.ledger);
}

static void await_workers(struct house *house, int count) {
    int64_t end_ms = clock_monotonic_ms() + WAIT_MS;
    while (counts_of(house).workers != count && clock_monotonic_ms() < end_ms) {
        serve(house);
    }
    CHECK_INT(counts_of(house).workers, count);
}

static void visit_as(struct house *house, int index, const char *name) {
    static const struct socket_events events = {on_opened, on_received, on_closed};
    struct error err = {0};
    struct visitor *visitor = &house->visitors[index];
    AUTO(text_freep)
    char *address = x_printf("127.0.0.1:%d", server_port(house->dispatcher.server));
    AUTO(text_freep)
    char *hello = x_printf("{\"type\":\"hello\",\"worker\":\"%s\",\"slots\":1}", name);
    struct socket_options options = {address, "/work", "secret", sha256, &events, visitor};
    CHECK_OK(socket_open(&options, &visitor->socket, &err), &err);
    int64_t end_ms = clock_monotonic_ms() + WAIT_MS;
    while (!visitor->is_open && clock_monotonic_ms() < end_ms) {
        serve(house);
    }
    socket_send(visitor->socket, hello);
}

static void visit(struct house *house, int index) {
    static const char *const names[WORKERS] = {"w-0", "w-1", "w-2"};
    visit_as(house, index, names[index]);
}

static void house_open(struct house *house, const char *folder) {
    static const struct server_events events = {no_page, on_newest, dispatcher_received,
                                                dispatcher_closed};
    struct error err = {0};
    *house = (struct house){.dispatcher = {.job = &job}, .output = open_output(folder)};
    struct journal_options journal = {.job = &job,
                                      .output = house->output,
                                      .cells = CELLS,
                                      .items = CELLS,
                                      .ledger = {.cell_items = 1,
                                                 .max_tries = 1,
                                                 .timeout_ms = 60000,
                                                 .errors_max = -1,
                                                 .cell_errors_max = -1,
                                                 .cell_errors_percent = -1}};
    CHECK_OK(journal_open(&journal, &house->prepared.journal, &err), &err);
    house->prepared.form = SINK_NOTHING;
    struct server_options options = {.bind = "127.0.0.1:0",
                                     .certificate_pem = certificate,
                                     .key_pem = key,
                                     .socket_path = "/work",
                                     .token = "secret",
                                     .events = &events,
                                     .context = house};
    run_progress_init(&house->dispatcher.progress);
    CHECK_OK(server_open(&options, &house->dispatcher.server, &err), &err);
    dispatcher_start(&house->dispatcher, &house->prepared);
    house->dispatcher.grants = false; /* this test has no input to describe */
}

static void house_close(struct house *house) {
    for (int i = 0; i < WORKERS; i++) {
        socket_free(house->visitors[i].socket);
    }
    server_free(house->dispatcher.server);
    dispatcher_release(&house->dispatcher);
    run_progress_release(&house->dispatcher.progress);
    journal_release(&house->prepared.journal);
    store_free(house->output);
}

static int64_t lease_to(struct house *house, int worker) {
    struct ledger_lease lease = {.worker = -1};
    CHECK(ledger_next_lease(house->prepared.journal.ledger, clock_monotonic_ms(), &lease));
    CHECK_INT(lease.worker, worker);
    return lease.lease;
}

static void say_done(struct house *house, int index, int64_t lease) {
    AUTO(text_freep)
    char *text = x_printf("{\"type\":\"results\",\"epoch\":%lld,\"results\":[[\"d\",%lld,1,0,9,"
                          "\"n\"]]}",
                          (long long)house->prepared.journal.epoch, (long long)lease);
    socket_send(house->visitors[index].socket, text);
}

/* A worker that was frozen while its coordinator was replaced reports a lease of the earlier one,
 * under whichever epoch: the mini-batch is still open, and nothing counts. */
static void test_a_lease_of_an_earlier_coordinator_does_not_count(void) {
    struct house house;
    house_open(&house, "out/earlier");
    visit(&house, 0);
    await_workers(&house, 1);
    int64_t earlier_epoch = house.prepared.journal.epoch, earlier = lease_to(&house, 0);
    house_close(&house);
    house_open(&house, "out/earlier");
    int64_t epoch = house.prepared.journal.epoch;
    CHECK(epoch > earlier_epoch);
    visit(&house, 0);
    await_workers(&house, 1);
    int64_t lease = lease_to(&house, 0); /* the same mini-batch, to the same worker */
    CHECK(lease != earlier);
    for (int i = 0; i < 2; i++) {
        house.prepared.journal.epoch = i == 0 ? earlier_epoch : epoch;
        say_done(&house, 0, earlier);
        serve_for(&house, 200);
        CHECK_INT(counts_of(&house).cells.done, 0);
        CHECK_INT(counts_of(&house).leased, 1);
        CHECK_INT(house.prepared.journal.pending_count, 0);
    }
    say_done(&house, 0, lease);
    serve_for(&house, 200);
    CHECK_INT(counts_of(&house).cells.done, 1);
    house_close(&house);
}

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* The model was replaced while the job ran, and a worker has started again. */
static void test_a_worker_with_another_model_ends_the_job(void) {
    struct house house;
    house_open(&house, "out/models");
    house.prepared.files = json_pack("{s:s}", "scorer.onnx.path", DIGEST);
    visit_as(&house, 0, "w-0\",\"files\":{\"scorer.onnx.path\":\"" DIGEST "\"},\"x\":\"");
    await_workers(&house, 1);
    CHECK_INT(house.dispatcher.failure.kind, ERROR_NONE);
    visit_as(&house, 1, "w-1\",\"files\":{\"scorer.onnx.path\":\"f" DIGEST "\"},\"x\":\"");
    serve_for(&house, 200); /* 65 digits: not a hello */
    CHECK_INT(house.dispatcher.failure.kind, ERROR_NONE);
    visit(&house, 2); /* has loaded nothing */
    int64_t end_ms = clock_monotonic_ms() + WAIT_MS;
    while (!house.dispatcher.failure.kind && clock_monotonic_ms() < end_ms) {
        serve(&house);
    }
    CHECK_INT(counts_of(&house).workers, 1);
    CHECK_INT(house.dispatcher.failure.kind, ERROR_INVALID);
    CHECK(strstr(house.dispatcher.failure.text,
                 "spec.scorer.onnx.path changed while the job ran: worker w-2 has loaded a file "
                 "with SHA-256 none, the run began with 0123456789ab;"));
    json_decref(house.prepared.files);
    house_close(&house);
}

static void store(struct house *house) {
    struct error err = {0};
    int64_t end_ms = clock_monotonic_ms() + WAIT_MS;
    while (!journal_is_stored(&house->prepared.journal) && clock_monotonic_ms() < end_ms) {
        CHECK_OK(dispatcher_turn(&house->dispatcher, /* at_once= */ true, &err), &err);
        serve(house);
    }
}

/* The image's tag leads to another release since, and a worker has started again. */
static void test_a_worker_of_another_version_ends_the_job(void) {
    struct house house;
    house_open(&house, "out/versions");
    visit_as(&house, 0, "w-0\",\"program\":\"" WINDLASS_VERSION " 01ab\",\"x\":\"");
    await_workers(&house, 1);
    visit_as(&house, 1, "w-1\",\"program\":\"" WINDLASS_VERSION " 02cd\",\"x\":\"");
    await_workers(&house, 2); /* another build is one of another machine, and is named */
    CHECK_INT(house.dispatcher.failure.kind, ERROR_NONE);
    AUTO(text_freep) char *told = scored_by_describe(house.prepared.journal.programs);
    CHECK_STR(told,
              "its workers ran 2 builds of Windlass: " WINDLASS_VERSION " 01ab, " WINDLASS_VERSION
              " 02cd; if its nodes are alike, name images by digest");
    visit_as(&house, 2, "w-2\",\"program\":\"" WINDLASS_VERSION "1 01ab\",\"x\":\"");
    int64_t end_ms = clock_monotonic_ms() + WAIT_MS;
    while (!house.dispatcher.failure.kind && clock_monotonic_ms() < end_ms) {
        serve(&house);
    }
    CHECK_INT(counts_of(&house).workers, 2);
    CHECK_INT(house.dispatcher.failure.kind, ERROR_INVALID);
    CHECK_STR(house.dispatcher.failure.text,
              "worker w-2 has version " WINDLASS_VERSION "1 of Windlass, its coordinator " //
              WINDLASS_VERSION ": all pods of a job must use one image");
    house_close(&house);
}

/* The next coordinator knows of which builds the workers were. */
static void test_the_builds_of_workers_are_committed(void) {
    struct house house;
    house_open(&house, "out/builds");
    visit_as(&house, 0, "w-0\",\"program\":\"" WINDLASS_VERSION " 01ab\",\"x\":\"");
    await_workers(&house, 1);
    say_done(&house, 0, lease_to(&house, 0));
    serve_for(&house, 200);
    store(&house);
    house_close(&house);
    house_open(&house, "out/builds");
    CHECK_INT(json_array_size(house.prepared.journal.programs), 1);
    CHECK_STR(json_string_value(json_array_get(house.prepared.journal.programs, 0)),
              WINDLASS_VERSION " 01ab");
    house_close(&house);
}

static void test_while_it_holds_nothing_counts_and_then_everything(void) {
    struct house house;
    house_open(&house, "out/holds");
    visit(&house, 0);
    await_workers(&house, 1);
    visit(&house, 1);
    await_workers(&house, 2);
    int64_t first = lease_to(&house, 0), second = lease_to(&house, 1);
    dispatcher_pause(&house.dispatcher);
    say_done(&house, 0, first);
    say_done(&house, 1, second);
    serve_for(&house, 300);
    socket_free(TAKE(house.visitors[1].socket)); /* it said that it leaves, and left */
    visit(&house, 2);
    serve_for(&house, 300);
    CHECK_INT(counts_of(&house).cells.done, 0);
    CHECK_INT(counts_of(&house).leased, 2);
    CHECK_INT(counts_of(&house).workers, 2);
    CHECK_INT(house.prepared.journal.pending_count, 0);
    dispatcher_resume(&house.dispatcher);
    CHECK_INT(counts_of(&house).cells.done, 2);
    CHECK_INT(counts_of(&house).leased, 0);
    CHECK_INT(counts_of(&house).cells.retried, 0);
    CHECK_INT(counts_of(&house).workers, 2); /* the first and the third */
    CHECK_INT(house.prepared.journal.pending_count, 2);
    CHECK_INT(house.dispatcher.losses, 1);
    CHECK(!house.dispatcher.deferred && !house.dispatcher.gone &&
          house.dispatcher.deferred_bytes == 0);
    lease_to(&house, 0);
    lease_to(&house, 2);
    house_close(&house);
}

static void test_who_leaves_in_good_order_meanwhile_has_left(void) {
    struct house house;
    house_open(&house, "out/leaves");
    visit(&house, 0);
    await_workers(&house, 1);
    int64_t lease = lease_to(&house, 0);
    dispatcher_pause(&house.dispatcher);
    socket_send(house.visitors[0].socket, "{\"type\":\"leaving\"}");
    say_done(&house, 0, lease);
    serve_for(&house, 300);
    CHECK_INT(counts_of(&house).workers, 1);
    dispatcher_resume(&house.dispatcher);
    CHECK_INT(counts_of(&house).workers, 0);
    CHECK_INT(counts_of(&house).cells.done, 1);
    CHECK_INT(house.dispatcher.losses, 0);
    house_close(&house);
}

/* The messages are handed over as the server does. Through the socket they would take a busy
 * machine with sanitizers more time than a connection may be silent. */
static void test_more_than_it_can_hold_is_not_held(void) {
    enum { SIZE = 1 << 20, HELD = DISPATCHER_DEFERRED_BYTES / SIZE };
    struct house house;
    house_open(&house, "out/more");
    visit(&house, 0);
    await_workers(&house, 1);
    lease_to(&house, 0);
    dispatcher_pause(&house.dispatcher);
    AUTO(text_freep) char *text = x_malloc(SIZE);
    memset(text, ' ', SIZE);
    static const char last[] = "{\"type\":\"results\",\"epoch\":0,\"results\":[]}";
    memcpy(text + SIZE - (sizeof last - 1), last, sizeof last - 1);
    for (size_t i = 1; i <= HELD; i++) {
        dispatcher_received(&house.dispatcher, house.newest, text, SIZE);
        CHECK_INT(house.dispatcher.deferred_bytes, i * SIZE);
    }
    dispatcher_received(&house.dispatcher, house.newest, text, SIZE);
    CHECK_INT(house.dispatcher.deferred_bytes, DISPATCHER_DEFERRED_BYTES);
    dispatcher_resume(&house.dispatcher);
    int64_t until_ms = clock_monotonic_ms() + WAIT_MS;
    while (clock_monotonic_ms() < until_ms && house.dispatcher.losses == 0) {
        serve(&house);
    }
    CHECK_INT(counts_of(&house).leased, 0); /* it was cut off */
    CHECK_INT(house.dispatcher.losses, 1);
    house_close(&house);
}

/* The old connection is dead but not closed yet: the new one belongs to the worker, whichever was
 * opened first. */
static void test_who_came_again_meanwhile_is_the_last_that_came(void) {
    for (int is_listing = 0; is_listing < 2; is_listing++) {
        struct house house;
        house_open(&house, is_listing ? "out/listing" : "out/again");
        if (is_listing) {
            house.dispatcher.prepared = NULL;
        }
        visit(&house, 0);
        if (is_listing) {
            serve_for(&house, 200);
        } else {
            await_workers(&house, 1);
            dispatcher_pause(&house.dispatcher);
        }
        visit_as(&house, 1, "w-0");
        serve_for(&house, 200);
        if (is_listing) {
            house.dispatcher.failure.kind = ERROR_BUG; /* nothing is leased automatically */
            dispatcher_start(&house.dispatcher, &house.prepared);
            house.dispatcher.grants = false;
        } else {
            dispatcher_resume(&house.dispatcher);
        }
        serve_for(&house, 200);
        CHECK_INT(house.visitors[0].closes, 1);
        CHECK_INT(house.visitors[1].closes, 0);
        CHECK_INT(counts_of(&house).workers, 1);
        say_done(&house, 1, lease_to(&house, 0));
        serve_for(&house, 200);
        CHECK_INT(counts_of(&house).cells.done, 1);
        house_close(&house);
    }
}

static int64_t tokens_in(const struct house *house) {
    AUTO(tree_freep)
    json_t *told = run_progress_json(&house->dispatcher.progress, NULL, clock_monotonic_ms());
    return tree_integer(told, "requests.tokensIn", -1);
}

/* More processes than a commit has room for, all but one of them lost: the next coordinator knows
 * what they have cost. */
static void test_the_cost_of_lost_workers_is_committed(void) {
    enum { LOST = 1500, TOKENS = 7, HOUR_MS = 3600000 };
    struct house house;
    struct request_metrics metrics = {.began_ms = 1};
    request_metrics_add(&metrics, REQUESTS_TOKENS_IN, TOKENS);
    AUTO(tree_freep) json_t *told = request_metrics_json(&metrics);
    AUTO(text_freep) char *text = json_dumps(told, JSON_COMPACT);
    house_open(&house, "out/cost");
    visit(&house, 0);
    await_workers(&house, 1);
    for (int i = 0; i < LOST; i++) {
        char name[32];
        snprintf(name, sizeof name, "lost-%d", i);
        run_progress_metrics(&house.dispatcher.progress, name, told);
        run_progress_gone(&house.dispatcher.progress, name);
    }
    house.dispatcher.noted_ms = -HOUR_MS; /* it is noted now */
    AUTO(text_freep)
    char *report = x_printf("{\"type\":\"results\",\"epoch\":%lld,\"results\":[],\"requests\":%s}",
                            (long long)house.prepared.journal.epoch, text);
    socket_send(house.visitors[0].socket, report);
    say_done(&house, 0, lease_to(&house, 0));
    serve_for(&house, 200);
    CHECK_INT(tokens_in(&house), (LOST + 1) * TOKENS);
    CHECK_INT(json_object_size(house.dispatcher.progress.connected), 1);
    store(&house);
    socket_free(TAKE(house.visitors[0].socket));
    await_workers(&house, 0);
    CHECK_INT(json_object_size(house.dispatcher.progress.connected), 0);
    house_close(&house);
    house_open(&house, "out/cost");
    CHECK_INT(tokens_in(&house), (LOST + 1) * TOKENS);
    house_close(&house);
}

int main(void) {
    struct error err = {0};
    fixtures_start("dispatcher");
    CHECK_OK(tls_make_certificate(&certificate, &key, NULL, &err), &err);
    CHECK_OK(tls_certificate_sha256(certificate, sha256, &err), &err);
    TEST(test_a_lease_of_an_earlier_coordinator_does_not_count);
    TEST(test_a_worker_with_another_model_ends_the_job);
    TEST(test_a_worker_of_another_version_ends_the_job);
    TEST(test_the_builds_of_workers_are_committed);
    TEST(test_while_it_holds_nothing_counts_and_then_everything);
    TEST(test_who_leaves_in_good_order_meanwhile_has_left);
    TEST(test_who_came_again_meanwhile_is_the_last_that_came);
    TEST(test_more_than_it_can_hold_is_not_held);
    TEST(test_the_cost_of_lost_workers_is_committed);
    free(certificate);
    free(key);
    return TEST_END();
}
