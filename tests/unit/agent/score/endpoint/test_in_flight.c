// SPDX-License-Identifier: Apache-2.0
#include "agent/score/endpoint/backends.h"
#include "agent/score/endpoint/budget.h"
#include "agent/score/endpoint/in_flight.h"
#include "agent/score/endpoint/setting.h"
#include "agent/score/wire/request_metrics.h"
#include "tests/test.h"

enum { ENDS = 40000 };

/* A server that answers `parallel` requests at a time in service_ms each, and refuses more than
 * `most`. Returns the answers of the last half of a minute, in % of what it could give. */
struct machine {
    int parallel, service_ms, most;
    int64_t refusals;
    double size;
};

static int64_t run(struct in_flight *window, struct machine *machine) {
    int64_t free_at[256] = {0}, due[2048];
    int in_flight = 0;
    int64_t answers = 0;
    for (int64_t now_ms = 0; now_ms < ENDS; now_ms++) {
        for (int i = 0; i < in_flight; i++) {
            if (due[i] <= now_ms) {
                int64_t took_ms = machine->service_ms;
                took_ms = MAX(took_ms,
                              (int64_t)machine->service_ms * in_flight / MAX(machine->parallel, 1));
                in_flight_answer(window, took_ms, now_ms);
                answers += now_ms >= ENDS / 2;
                due[i--] = due[--in_flight];
            }
        }
        while (in_flight < in_flight_size(window)) {
            if (in_flight >= machine->most) {
                machine->refusals++;
                in_flight_refused(window, now_ms);
                break;
            }
            int best = 0;
            for (int i = 1; i < machine->parallel; i++) {
                best = free_at[i] < free_at[best] ? i : best;
            }
            free_at[best] = MAX(free_at[best], now_ms) + machine->service_ms;
            due[in_flight++] = free_at[best];
        }
        in_flight_full(window);
    }
    machine->size = window->size;
    return answers * 100 * machine->service_ms / (ENDS / 2) / machine->parallel;
}

static void finds_what_a_server_can_do(void) {
    for (int parallel = 1; parallel <= 64; parallel *= 4) {
        struct in_flight window;
        struct machine machine = {parallel, 20, 100000, 0, 0};
        in_flight_init(&window, 512, /* is_fixed= */ false, 0);
        CHECK_INT(in_flight_size(&window), 1);
        int64_t share = run(&window, &machine);
        printf("# %d at a time: %lld %%, window %.0f\n", parallel, (long long)share, machine.size);
        CHECK(share >= 90);
        CHECK(machine.size <= 3 * parallel + 8);
    }
}

static void yields_to_refusals(void) {
    struct in_flight window;
    struct machine machine = {32, 20, 16, 0, 0};
    in_flight_init(&window, 512, /* is_fixed= */ false, 0);
    int64_t share = run(&window, &machine);
    printf("# 16 of 32 allowed: %lld %%, %lld refusals\n", (long long)share,
           (long long)machine.refusals);
    CHECK(share >= 35 && share <= 50);
    CHECK(machine.size <= 24);
}

static void a_fixed_window_is_whole_after_the_first_answer(void) {
    struct in_flight window;
    in_flight_init(&window, 100, /* is_fixed= */ true, 0);
    CHECK_INT(in_flight_size(&window), 1);
    in_flight_answer(&window, 5, 5);
    CHECK_INT(in_flight_size(&window), 100);
    in_flight_refused(&window, 6);
    in_flight_refused(&window, 6);
    CHECK_INT(in_flight_size(&window), 66);
    for (int i = 0; i < 2000; i++) {
        in_flight_answer(&window, 5, 100 + i);
    }
    CHECK_INT(in_flight_size(&window), 100);
}

static void a_limit_holds_in_each_minute(void) {
    struct budget budget;
    int64_t taken = 0, first_ms = 1000;
    budget_init(&budget, 600, first_ms);
    for (int64_t now_ms = first_ms; now_ms < first_ms + 60000; now_ms++) {
        while (budget_wait_ms(&budget, 1, now_ms) == 0) {
            budget_take(&budget, 1);
            taken++;
        }
    }
    CHECK(taken >= 590 && taken <= 660);
    CHECK(budget_wait_ms(&budget, 1, first_ms + 60000) <= 101);
    budget_init(&budget, 60, 0);
    CHECK_INT(budget_wait_ms(&budget, 1000, 6000), 0); /* more than it holds: when it is full */
    budget_take(&budget, 1000);
    CHECK(budget_wait_ms(&budget, 1, 7000) > 900000);
    budget_init(&budget, 0, 0);
    CHECK_INT(budget_wait_ms(&budget, 1 << 30, 0), 0);
}

/* Workers of one job come and go: what they take together stays within its limit. */
static void a_limit_can_be_shared(void) {
    struct budget budgets[3];
    int64_t taken = 0;
    for (size_t i = 0; i < ARRAY_LEN(budgets); i++) {
        budget_init(&budgets[i], 600, 0);
    }
    for (int64_t now_ms = 0; now_ms < 60000; now_ms++) {
        int workers = 1 + (int)(now_ms / 20000);
        for (int i = 0; i < workers; i++) {
            budget_limit(&budgets[i], 600.0 / workers, now_ms);
            while (budget_wait_ms(&budgets[i], 1, now_ms) == 0) {
                budget_take(&budgets[i], 1);
                taken++;
            }
        }
    }
    CHECK(taken >= 590 && taken <= 660);
}

static void backends_share(void) {
    static const char *const urls[] = {"http://a", "http://b"};
    const struct backends_options options = {urls, 2, 4, true, 7};
    struct backends servers;
    backends_init(&servers, &options, 0);
    int first = backends_pick(&servers, -1, 0, 0);
    backends_began(&servers, first);
    int second = backends_pick(&servers, -1, 0, 0);
    CHECK(first != second && second >= 0);
    backends_began(&servers, second);
    CHECK_INT(backends_pick(&servers, -1, 0, 0), -1); /* one each, until they have answered */
    CHECK(backends_due_ms(&servers) == INT64_MAX);
    backends_answered(&servers, first, "/x m", 3, 3);
    CHECK_INT(backends_pick(&servers, -1, 0, 3), first);
    backends_broke(&servers, second, 3); /* pauses, then is asked one at a time */
    CHECK_INT(backends_pick(&servers, first, 0, 4), first);
    CHECK_INT(backends_pick(&servers, first, 0, 5000), second); /* not where it was tried before */
    backends_busy(&servers, first, 0, 5000);
    backends_learn_unknown(&servers, "/x m", "404", false);
    CHECK(backends_unknown(&servers, "/x m") == NULL); /* it was answered before */
    backends_learn_unknown(&servers, "/x n", "404 no n", false);
    CHECK(backends_unknown(&servers, "/x n") == NULL); /* one row says little */
    backends_learn_unknown(&servers, "/x n", "404 no n", false);
    CHECK_STR(backends_unknown(&servers, "/x n"), "404 no n");
    backends_learn_unknown(&servers, "/x p", "404 no model p", true);
    CHECK_STR(backends_unknown(&servers, "/x p"), "404 no model p");
    backends_learn_unknown(&servers, "/x o", "404 no o", false);
    backends_began(&servers, first);
    backends_answered(&servers, first, "/x o", 3, 9000);
    backends_learn_unknown(&servers, "/x o", "404 no o", false);
    CHECK(backends_unknown(&servers, "/x o") == NULL); /* forgotten, and known from now on */
    backends_release(&servers);
}

static void a_busy_server_is_left_alone(void) {
    static const char *const urls[] = {"http://a"};
    const struct backends_options options = {urls, 1, 4, true, 7};
    struct backends servers;
    backends_init(&servers, &options, 0);
    backends_began(&servers, 0);
    backends_busy(&servers, 0, 2000, 100);
    CHECK_INT(backends_pick(&servers, -1, 0, 2099), -1);
    CHECK_INT(backends_due_ms(&servers), 2100);
    CHECK_INT(backends_pick(&servers, -1, 0, 2100), 0);
    backends_began(&servers, 0);
    backends_busy(&servers, 0, INT64_MAX / 2, 3000); /* a day and more: ten minutes */
    CHECK_INT(backends_due_ms(&servers), 3000 + REACTION_AFTER_MS_MAX);
    backends_release(&servers);
}

static void one_that_lacks_a_model_is_not_asked_for_it(void) {
    static const char *const urls[] = {"http://a", "http://b"};
    const struct backends_options options = {urls, 2, 4, true, 7};
    struct backends servers;
    backends_init(&servers, &options, 0);
    CHECK_INT(backends_pick(&servers, -1, 1, 0), 1);
    CHECK_INT(backends_pick(&servers, 0, 2, 0), 0); /* though it was asked last */
    CHECK_INT(backends_pick(&servers, -1, 3, 0), -1);
    backends_release(&servers);
}

/* What happened at a server, and for how long none counts as reached after it. */
static void only_failures_make_a_server_away(void) {
    static const char *const urls[] = {"http://a"};
    const struct backends_options options = {urls, 1, 4, true, 7};
    enum { BROKE, SLOW, BUSY, ERRED, REFUSED, DENIED, ANSWERED, IDLE };
    static const struct {
        int what, at_s, away_s;
    } rows[] = {
        {SLOW, 700, 0}, /* the server is not at fault for a row that hangs */
        {BROKE, 1000, 0},    {BROKE, 1500, 500},  {SLOW, 1600, 500}, {BROKE, 1601, 601},
        {ANSWERED, 1602, 0}, {BROKE, 3000, 0},    {IDLE, 3001, 0},   {BROKE, 9000, 0},
        {ERRED, 9001, 0},    {BROKE, 9700, 0},    {DENIED, 9701, 0}, {BROKE, 10400, 0},
        {REFUSED, 10401, 0}, {BROKE, 11100, 0},   {BUSY, 11200, 0}, /* Retry-After: 300 */
        {BROKE, 11400, 0},   {BROKE, 11600, 100},
    };
    struct backends servers;
    backends_init(&servers, &options, 0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t now_ms = rows[i].at_s * INT64_C(1000);
        if (rows[i].what != IDLE) {
            backends_began(&servers, 0);
        }
        switch (rows[i].what) {
        case BROKE:
            backends_broke(&servers, 0, now_ms);
            break;
        case BUSY:
            backends_busy(&servers, 0, 300000, now_ms);
            break;
        case REFUSED:
            backends_refused(&servers, 0);
            break;
        case DENIED:
            backends_denied(&servers, 0, now_ms);
            break;
        case ANSWERED:
            backends_answered(&servers, 0, "/x", 1, now_ms);
            break;
        case IDLE:
            backends_idle(&servers);
            break;
        default:
            backends_erred(&servers, 0, rows[i].what == ERRED, now_ms);
            break;
        }
        CHECK_INT(backends_away_ms(&servers), rows[i].away_s * 1000);
        CHECK_INT(servers.of[0].in_flight, 0);
    }
    backends_release(&servers);
}

static void a_row_may_be_forbidden(void) {
    static const char *const urls[] = {"http://a"};
    const struct backends_options options = {urls, 1, 4, true, 7};
    struct backends servers;
    bool was_forbidden[4] = {false};
    backends_init(&servers, &options, 0);
    for (int i = 0; i < 9; i++) { /* two rows, again and again */
        CHECK(!backends_deny(&servers, 403, &was_forbidden[i % 2]));
    }
    CHECK(backends_deny(&servers, 403, &was_forbidden[2]));
    CHECK(backends_deny(&servers, 401, &was_forbidden[3]));
    backends_began(&servers, 0);
    backends_answered(&servers, 0, "/x", 1, 1);
    CHECK(!backends_deny(&servers, 403, &was_forbidden[3]));
    CHECK(!backends_deny(&servers, 401, &was_forbidden[3])); /* it may be renewed */
    backends_release(&servers);
}

static void keys_are_one_line(void) {
    static const char *const good[][2] = {
        {"k", "k"}, {"a b\n", "a b"}, {"k\r\n\n", "k"}, {"k \t", "k"}};
    static const char *const bad[] = {"", "\n", "a\nHost: b", "a\rb", "a\x7f", "a\x01\n"};
    struct endpoint_setting setting = {0};
    struct error none = {0};
    CHECK_OK(endpoint_setting_take_key(&setting, NULL, &none), &none);
    CHECK(setting.secret == NULL);
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct error err = {0};
        CHECK_OK(endpoint_setting_take_key(&setting, good[i][0], &err), &err);
        CHECK_STR(setting.secret, good[i][1]);
        endpoint_setting_release(&setting);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct error err = {0};
        CHECK_INT(endpoint_setting_take_key(&setting, bad[i], &err), -1);
        CHECK_STR(err.text, i < 2 ? "the key of spec.scorer.endpoint.key is empty"
                                  : "the key of spec.scorer.endpoint.key has a control character");
    }
}

static void slow_answers_have_their_latency(void) {
    static const int64_t rows[] = {1, 900, 64000, 600000, 86400000};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct request_metrics metrics = {0};
        request_metrics_latency(&metrics, rows[i]);
        int64_t told = request_metrics_quantile_ms(&metrics, 0.99);
        CHECK(told >= rows[i] && told <= rows[i] + rows[i] / 10);
    }
}

static void pauses_double(void) {
    CHECK_INT(reaction_wait_ms(1, 0), REACTION_WAIT_MS_MIN);
    CHECK_INT(reaction_wait_ms(3, 0), 4 * REACTION_WAIT_MS_MIN);
    CHECK_INT(reaction_wait_ms(3, UINT32_MAX), 2 * REACTION_WAIT_MS_MIN);
    CHECK_INT(reaction_wait_ms(1000, 0), REACTION_WAIT_MS_MAX);
    CHECK_INT(reaction_to(200), REACTION_ANSWER);
    CHECK_INT(reaction_to(429), REACTION_BUSY);
    CHECK_INT(reaction_to(302), REACTION_BROKEN);
    CHECK_INT(reaction_to(401), REACTION_DENIED);
    CHECK_INT(reaction_to(404), REACTION_UNKNOWN);
    CHECK_INT(reaction_to(422), REACTION_REFUSED);
}

int main(void) {
    TEST(finds_what_a_server_can_do);
    TEST(yields_to_refusals);
    TEST(a_fixed_window_is_whole_after_the_first_answer);
    TEST(a_limit_holds_in_each_minute);
    TEST(a_limit_can_be_shared);
    TEST(backends_share);
    TEST(a_busy_server_is_left_alone);
    TEST(one_that_lacks_a_model_is_not_asked_for_it);
    TEST(only_failures_make_a_server_away);
    TEST(a_row_may_be_forbidden);
    TEST(keys_are_one_line);
    TEST(slow_answers_have_their_latency);
    TEST(pauses_double);
    return TEST_END();
}
