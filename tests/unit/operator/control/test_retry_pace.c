// SPDX-License-Identifier: Apache-2.0
/* Tries of what failed, of many resources in several namespaces, over simulated time. */
#include "operator/control/retry_pace.h"

#include "tests/test.h"

#include <stdlib.h>

enum { JOBS_MAX = 4000, MINUTE_MS = 60000 };

/* A resource of which every try fails, until `mended`. */
struct job {
    char key[32];
    const char *namespace;
    int64_t due_ms, last_ms;
    int failures, tries;
    bool is_mended, is_done;
};

static struct job jobs[JOBS_MAX];
static int job_count;
static struct retry_pace *pace;
static int64_t now_ms;

static int64_t delay_ms(int failures) {
    int64_t even_ms = 1000LL << MIN(failures - 1, 10);
    return MIN(even_ms, MINUTE_MS);
}

static void begin(void) {
    pace = retry_pace_new();
    now_ms = 1000000;
    job_count = 0;
}

static void add(const char *namespace, int count) {
    for (int i = 0; i < count; i++) {
        struct job *job = &jobs[job_count];
        *job = (struct job){.namespace = namespace, .failures = 1, .due_ms = now_ms + 1000};
        snprintf(job->key, sizeof job->key, "Kind %s/job-%d", namespace, job_count++);
    }
}

/* A pass as the controller makes it. Returns whether it tried. */
static bool visit(struct job *job) {
    struct retry_wish wish = {job->key, job->namespace, job->due_ms, job->failures};
    bool may = !job->is_done && retry_pace_ask(pace, &wish, now_ms);
    retry_pace_passed(pace, job->key);
    if (may) {
        job->tries++;
        job->last_ms = now_ms;
        job->is_done = job->is_mended;
        job->failures++;
        job->due_ms = now_ms + delay_ms(job->failures);
        retry_pace_ended(pace, job->key, job->is_done ? RETRY_SUCCEEDED : RETRY_FAILED);
        visit(job);
    }
    return may;
}

static struct job *find(const char *key) {
    long number = strtol(strrchr(key, '-') + 1, NULL, 10);
    CHECK(number >= 0 && number < job_count && strcmp(jobs[number].key, key) == 0);
    return &jobs[number];
}

/* Tries within that time, in steps of 10 ms. All jobs are looked at once a minute, as by plans. */
static int run(int64_t ms) {
    int tries = 0;
    for (int64_t end_ms = now_ms + ms; now_ms < end_ms; now_ms += 10) {
        const char *key;
        for (int i = 0; i < job_count && now_ms % MINUTE_MS == 0; i++) {
            tries += visit(&jobs[i]);
        }
        while ((key = retry_pace_take(pace, now_ms))) {
            tries += visit(find(key));
        }
        CHECK(now_ms % 10000 || retry_pace_next_ms(pace, now_ms) > now_ms - RETRY_PACE_RAMP_MS);
    }
    return tries;
}

static void fail_all(void) {
    for (int i = 0; i < job_count; i++) {
        visit(&jobs[i]);
    }
}

static int tries_of(const char *namespace, int *ret_least, int *ret_most) {
    int all = 0;
    *ret_least = 1 << 30;
    *ret_most = 0;
    for (int i = 0; i < job_count; i++) {
        if (strcmp(jobs[i].namespace, namespace) == 0) {
            all += jobs[i].tries;
            *ret_least = MIN(*ret_least, jobs[i].tries);
            *ret_most = MAX(*ret_most, jobs[i].tries);
        }
    }
    return all;
}

static void the_sum_is_bounded_however_many_fail(void) {
    static const int counts[] = {1, 20, 100, 4000};
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        begin();
        add("a", counts[i]);
        fail_all();
        int first = run(2 * MINUTE_MS), later = run(60 * MINUTE_MS);
        printf("# %d jobs: %d tries in two minutes, %d in the hour after\n", counts[i], first,
               later);
        CHECK(first <= 96 + RETRY_PACE_SAVED + RETRY_PACE_DEBT);
        CHECK(later <= 48 * 60 && later >= MIN(48 * 60 - 60, counts[i] * 55));
        retry_pace_free(pace);
    }
}

static void jobs_and_namespaces_take_turns(void) {
    int least, most;
    begin();
    add("many", 900);
    add("few", 10);
    fail_all();
    run(300 * MINUTE_MS);
    int few = tries_of("few", &least, &most);
    CHECK(few >= 10 * 290 && most - least <= 20); /* each at its own pace of one a minute */
    int many = tries_of("many", &least, &most);
    CHECK(many >= 10000 && least >= 8 && most - least <= 6);
    retry_pace_free(pace);
}

/* A job with one failure is not behind those that have failed for hours. */
static void a_newcomer_is_early(void) {
    begin();
    add("a", 1000);
    fail_all();
    run(120 * MINUTE_MS);
    add("a", 1);
    struct job *newcomer = &jobs[job_count - 1];
    visit(newcomer);
    run(20000);
    CHECK(newcomer->tries >= 2);
    retry_pace_free(pace);
}

static void a_success_lets_its_namespace_go_on(void) {
    begin();
    add("a", 1000);
    add("stuck", 1000);
    fail_all();
    run(60 * MINUTE_MS);
    for (int i = 0; i < 1000; i++) {
        jobs[i].is_mended = true;
    }
    int least, most, before = tries_of("stuck", &least, &most);
    run(2 * MINUTE_MS);
    int left = 0;
    for (int i = 0; i < 1000; i++) {
        left += !jobs[i].is_done;
    }
    int stuck = tries_of("stuck", &least, &most) - before;
    printf("# two minutes after: %d of 1000 are left, %d tries of the namespace beside it\n", left,
           stuck);
    CHECK_INT(left, 0);
    CHECK(stuck <= 1100); /* at most one for each success */
    CHECK(run(10 * MINUTE_MS) <= 480 + RETRY_PACE_SAVED);
    retry_pace_free(pace);
}

/* Jobs of another namespace fail for a moment, and succeed, twice a second: by conflicts, or after
 * a second failure. What is stuck for its own cause is not asked for more often. */
static void a_success_elsewhere_moves_nothing(void) {
    for (int failures = 1; failures <= 3; failures++) {
        int least, most;
        begin();
        add("stuck", 1000);
        fail_all();
        run(60 * MINUTE_MS);
        int before = tries_of("stuck", &least, &most), all = 0;
        for (int i = 0; i < 10 * 60 * 2; i++) {
            add("well", 1);
            struct job *job = &jobs[job_count - 1];
            job->is_mended = true;
            job->failures = failures;
            job->due_ms = now_ms;
            all += visit(job);
            all += run(500);
        }
        int tries = tries_of("stuck", &least, &most) - before;
        printf("# %d tries in ten minutes beside successes after %d failures, %d in all\n", tries,
               failures, all);
        CHECK(tries <= 10 * 48 + 20);
        CHECK(failures > 1 || all <= 10 * 48 + RETRY_PACE_DEBT + RETRY_PACE_SAVED + 20);
        retry_pace_free(pace);
    }
}

/* What is deleted and leaves no room for what waits. */
static void deletions_that_are_of_no_use(void) {
    int least, most;
    begin();
    add("a", 1000);
    fail_all();
    run(60 * MINUTE_MS);
    int before = tries_of("a", &least, &most);
    for (int i = 0; i < 10 * 60 * 10; i++) {
        retry_pace_wake(pace, "a");
        run(100);
    }
    CHECK(tries_of("a", &least, &most) - before <= 10 * 48 + 20);
    retry_pace_free(pace);
}

/* What a waiting resource asks for besides is part of the sum. */
static void other_requests_count(void) {
    begin();
    add("a", 1000);
    fail_all();
    run(60 * MINUTE_MS);
    int others = 0, tries = 0;
    for (int i = 0; i < 60 * 60; i++) {
        int now = run(1000);
        tries += now;
        for (int k = 0; k < 2 * now; k++, others++) {
            retry_pace_charge(pace, jobs[0].key, now_ms);
        }
    }
    CHECK(tries + others <= 48 * 60 + RETRY_PACE_DEBT_MAX && tries >= 48 * 60 / 3 - 60);
    retry_pace_free(pace);
}

/* A process that was stopped for hours does not make up for them. */
static void a_pause_saves_up_little(void) {
    begin();
    add("a", 1000);
    fail_all();
    run(60 * MINUTE_MS);
    now_ms += 600 * MINUTE_MS;
    CHECK(run(1000) <= RETRY_PACE_SAVED + 1);
    retry_pace_free(pace);
}

static void a_deletion_wakes_one_of_its_namespace(void) {
    begin();
    add("a", 10);
    add("b", 10);
    fail_all();
    run(60 * MINUTE_MS + 500);
    for (int i = 0; i < job_count; i++) {
        jobs[i].due_ms = now_ms + MINUTE_MS;
        visit(&jobs[i]);
    }
    int least, most, before = tries_of("a", &least, &most), others = tries_of("b", &least, &most);
    retry_pace_wake(pace, "a");
    retry_pace_wake(pace, "nowhere");
    run(100);
    CHECK_INT(tries_of("a", &least, &most), before + 1);
    CHECK_INT(tries_of("b", &least, &most), others);
    retry_pace_free(pace);
}

/* The quota of what is deleted comes back a moment later: the first try after it is refused. */
static void a_deletion_beside_a_refused_try_is_not_lost(void) {
    begin();
    add("a", 1);
    fail_all();
    run(60 * MINUTE_MS + 500);
    jobs[0].due_ms = now_ms + MINUTE_MS;
    visit(&jobs[0]);
    int before = jobs[0].tries;
    retry_pace_wake(pace, "a");
    run(100);
    CHECK_INT(jobs[0].tries, before + 1);
    retry_pace_wake(pace, "a");
    jobs[0].is_mended = true;
    run(800);
    CHECK(!jobs[0].is_done); /* the first pause is a second */
    run(200);
    CHECK(jobs[0].is_done);
    CHECK_INT(jobs[0].tries, before + 2);
    retry_pace_free(pace);
}

/* Each pause is twice the one before. */
static void pauses_double(void) {
    begin();
    add("a", 1);
    fail_all();
    run(60 * MINUTE_MS + 500);
    int64_t last_ms = 0;
    for (int i = 0; i < 5; i++) {
        jobs[0].due_ms = now_ms + MINUTE_MS;
        visit(&jobs[0]);
        int before = jobs[0].tries;
        int64_t start_ms = now_ms;
        retry_pace_wake(pace, "a");
        while (jobs[0].tries == before && now_ms < start_ms + MINUTE_MS) {
            run(10);
        }
        if (i > 0) {
            CHECK(llabs((now_ms - last_ms) - (1000LL << (i - 1))) <= 50);
        }
        last_ms = now_ms;
    }
    retry_pace_free(pace);
}

static void who_does_not_ask_leaves(void) {
    begin();
    add("a", 2);
    fail_all();
    CHECK_INT(retry_pace_count(pace), 2);
    retry_pace_passed(pace, jobs[0].key);
    CHECK_INT(retry_pace_count(pace), 2);
    retry_pace_passed(pace, jobs[0].key);
    CHECK_INT(retry_pace_count(pace), 1);
    retry_pace_forget(pace, jobs[1].key);
    retry_pace_forget(pace, jobs[1].key);
    CHECK_INT(retry_pace_count(pace), 0);
    CHECK(retry_pace_next_ms(pace, now_ms) == INT64_MAX && !retry_pace_take(pace, now_ms));
    retry_pace_free(pace);
}

/* A turn for one wish is not used for another one that is not due. */
static void a_turn_is_for_what_is_due(void) {
    begin();
    add("a", 1);
    jobs[0].failures = 2;
    struct retry_wish soon = {jobs[0].key, "a", now_ms + 100, 2};
    struct retry_wish late = {jobs[0].key, "a", now_ms + MINUTE_MS, 5};
    CHECK(!retry_pace_ask(pace, &late, now_ms) && !retry_pace_ask(pace, &soon, now_ms));
    retry_pace_passed(pace, jobs[0].key);
    CHECK(!retry_pace_take(pace, now_ms));
    now_ms += 200;
    CHECK_STR(retry_pace_take(pace, now_ms), jobs[0].key);
    CHECK(!retry_pace_ask(pace, &late, now_ms));
    CHECK(retry_pace_ask(pace, &soon, now_ms));
    CHECK(!retry_pace_ask(pace, &soon, now_ms)); /* one write */
    retry_pace_free(pace);
}

/* A turn that is not used, because the wish that was due is gone, is not the last one. */
static void an_unused_turn_is_given_again(void) {
    begin();
    add("a", 1);
    struct retry_wish soon = {jobs[0].key, "a", now_ms + 10000, 2};
    struct retry_wish late = {jobs[0].key, "a", now_ms + MINUTE_MS, 5};
    int64_t due_ms = late.due_ms;
    CHECK(!retry_pace_ask(pace, &soon, now_ms) && !retry_pace_ask(pace, &late, now_ms));
    retry_pace_passed(pace, jobs[0].key);
    now_ms += 10000;
    CHECK_STR(retry_pace_take(pace, now_ms), jobs[0].key);
    CHECK(!retry_pace_ask(pace, &late, now_ms));
    retry_pace_passed(pace, jobs[0].key);
    CHECK(!retry_pace_take(pace, now_ms));
    CHECK_INT(retry_pace_next_ms(pace, now_ms), due_ms);
    now_ms = due_ms;
    const char *key = retry_pace_take(pace, now_ms);
    CHECK(key && strcmp(key, jobs[0].key) == 0);
    CHECK(retry_pace_ask(pace, &late, now_ms));
    retry_pace_free(pace);
}

/* Asks once more after the try, as the first pass after it, or does not. */
static void who_succeeded_leaves(void) {
    for (int asks = 0; asks < 2; asks++) {
        begin();
        add("a", 1);
        struct retry_wish wish = {jobs[0].key, "a", now_ms, 1};
        CHECK(retry_pace_ask(pace, &wish, now_ms));
        retry_pace_passed(pace, jobs[0].key);
        retry_pace_ended(pace, jobs[0].key, RETRY_SUCCEEDED);
        wish.failures = 2;
        wish.due_ms += 1000;
        CHECK(!asks || !retry_pace_ask(pace, &wish, now_ms));
        retry_pace_passed(pace, jobs[0].key);
        CHECK_INT(retry_pace_count(pace), asks);
        retry_pace_free(pace);
    }
}

/* A question was asked, and its answer left nothing to try: at most one turn finds that out. */
static void who_has_its_answer_leaves(void) {
    begin();
    add("a", 1);
    struct retry_wish wish = {jobs[0].key, "a", now_ms, 1};
    CHECK(retry_pace_ask(pace, &wish, now_ms));
    retry_pace_passed(pace, jobs[0].key);
    retry_pace_ended(pace, jobs[0].key, RETRY_UNKNOWN);
    CHECK(retry_pace_next_ms(pace, now_ms) == INT64_MAX);
    retry_pace_passed(pace, jobs[0].key); /* the pass after the answer */
    CHECK_INT(retry_pace_count(pace), 1);
    now_ms += 2 * RETRY_PACE_MS;
    CHECK(retry_pace_next_ms(pace, now_ms) <= now_ms);
    CHECK(retry_pace_take(pace, now_ms) != NULL);
    retry_pace_passed(pace, jobs[0].key);
    CHECK_INT(retry_pace_count(pace), 0);
    retry_pace_free(pace);
}

int main(void) {
    TEST(the_sum_is_bounded_however_many_fail);
    TEST(jobs_and_namespaces_take_turns);
    TEST(a_newcomer_is_early);
    TEST(a_success_lets_its_namespace_go_on);
    TEST(a_success_elsewhere_moves_nothing);
    TEST(deletions_that_are_of_no_use);
    TEST(other_requests_count);
    TEST(a_pause_saves_up_little);
    TEST(a_deletion_wakes_one_of_its_namespace);
    TEST(a_deletion_beside_a_refused_try_is_not_lost);
    TEST(pauses_double);
    TEST(who_does_not_ask_leaves);
    TEST(a_turn_is_for_what_is_due);
    TEST(an_unused_turn_is_given_again);
    TEST(who_succeeded_leaves);
    TEST(who_has_its_answer_leaves);
    return TEST_END();
}
