// SPDX-License-Identifier: Apache-2.0
/* The record that all ranks have ended: who may write it, whose counts, and that of a hub and its
 * successor exactly one has an attempt, in whatever order they come. */
#include "agent/launch/proof/ended.h"

#include "agent/launch/proof/gang_proof.h"
#include "lib/file.h"
#include "tests/test.h"

#include <pthread.h>
#include <stdlib.h>

enum { RACES = 50 };

#define RUN "0123456789abcdef"
#define FOLDER ".windlass/" RUN "/ended/"

static struct store *store;

static struct ended_place place_of(int64_t attempt) {
    return (struct ended_place){
        .path = "endedtest/out", .run = RUN, .uid = "u-1", .token = "secret", .attempt = attempt};
}

static struct ended end_of(int64_t attempt) {
    return (struct ended){.attempt = attempt,
                          .end = json_pack("{s:s, s:{s:s, s:i, s:I, s:[]}}", "completed",
                                           "2026-11-23T10:00:00Z", "proof", "by", "Ranks", "count",
                                           4, "round", (json_int_t)(attempt << GANG_ROUND_BITS | 1),
                                           "exits")};
}

static int put_end(int64_t attempt, struct error *err) {
    struct ended_place place = place_of(attempt);
    struct ended ended = end_of(attempt);
    int result = ended_put(&place, &ended, err);
    json_decref(ended.end);
    return result;
}

/* The attempt whose end a hub of `attempt` finds; 0: none; -1: it failed. */
static int64_t found_by(int64_t attempt) {
    AUTO(ended_freep) struct ended *ended = NULL;
    struct ended_place place = place_of(attempt);
    struct error err = {0};
    if (ended_find(&place, &ended, &err) < 0) {
        printf("# %s\n", err.text);
        return -1;
    }
    return ended ? ended->attempt : 0;
}

static void put_text(int64_t attempt, const char *text) {
    struct error err = {0};
    AUTO(text_freep) char *name = x_printf("%s%06d", FOLDER, (int)attempt);
    CHECK_OK(store_put(store, name, text, strlen(text), STORE_REPLACE, &err), &err);
}

static void a_text_is_of_one_job_and_attempt(void) {
    struct ended_place place = place_of(3), other = place;
    struct ended ended = end_of(2);
    struct ended *read = NULL;
    struct error err = {0};
    AUTO(text_freep) char *text = ended_write(&place, 2, &ended);
    AUTO(text_freep) char *closed = ended_write(&place, 2, NULL);
    CHECK_OK(ended_read(&place, 2, text, strlen(text), &read, &err), &err);
    CHECK(read && read->attempt == 2 && json_equal(read->end, ended.end));
    ended_free(read);
    CHECK_OK(ended_read(&place, 2, closed, strlen(closed), &read, &err), &err);
    CHECK(read == NULL);
    CHECK(ended_read(&place, 1, text, strlen(text), &read, &err) < 0);
    other.uid = "u-2";
    CHECK(ended_read(&other, 2, text, strlen(text), &read, &err) < 0);
    other = place;
    other.token = "guessed";
    error_clear(&err);
    CHECK(ended_read(&other, 2, text, strlen(text), &read, &err) < 0);
    CHECK(strstr(err.text, "the job's token") != NULL);
    for (size_t i = 0; i < strlen(text); i++) { /* no byte of it may be another */
        AUTO(text_freep) char *changed = x_strdup(text);
        struct error ignored = {0};
        changed[i] = changed[i] == '1' ? '2' : '1';
        bool is_space = text[i] == '\n';
        CHECK(ended_read(&place, 2, changed, strlen(changed), &read, &ignored) < 0 || is_space);
    }
    json_decref(ended.end);
}

static void what_it_says_makes_sense(void) {
    struct ended_place place = place_of(3);
    static const char *const ends[] = {
        "{}", "{\"completed\": \"2026-11-23T10:00:00Z\"}",
        "{\"completed\": \"2026-11-23T10:00:00Z\", \"proof\": {\"by\": \"Words\", \"count\": 4, "
        "\"round\": 2097153, \"exits\": []}}",
        "{\"completed\": \"2026-11-23T10:00:00Z\", \"proof\": {\"by\": \"Ranks\", \"count\": 0, "
        "\"round\": 2097153, \"exits\": []}}",
        "{\"completed\": \"2026-11-23T10:00:00Z\", \"proof\": {\"by\": \"Ranks\", \"count\": 4, "
        "\"round\": 1048577, \"exits\": []}}"};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        struct ended ended = {.attempt = 2, .end = json_loads(ends[i], 0, NULL)};
        struct ended *read = NULL;
        struct error err = {0};
        AUTO(text_freep) char *text = ended_write(&place, 2, &ended);
        CHECK(ended_read(&place, 2, text, strlen(text), &read, &err) < 0);
        json_decref(ended.end);
    }
}

static void a_successor_finds_it(void) {
    struct error err = {0};
    CHECK_INT(found_by(1), 0);
    CHECK_OK(put_end(1, &err), &err);
    CHECK_OK(put_end(1, &err), &err); /* the answer to the first was lost */
    CHECK_INT(found_by(2), 1);
    CHECK_INT(found_by(4), 1); /* the second has died, too, and the third never came */
    CHECK_INT(found_by(1), 0); /* another job */
    CHECK_INT(found_by(2), 0);
}

/* A frozen hub that wakes up must not end a gang that runs again. */
static void who_comes_late_is_refused(void) {
    struct error err = {0};
    CHECK_INT(found_by(1), 0);
    CHECK_INT(found_by(4), 0);
    for (int64_t attempt = 1; attempt < 4; attempt++) {
        error_clear(&err);
        CHECK(put_end(attempt, &err) < 0);
        CHECK_INT(err.kind, ERROR_CONFLICT);
    }
    error_clear(&err);
    CHECK_OK(put_end(4, &err), &err);
    CHECK_INT(found_by(5), 4);
}

static void an_end_can_be_taken_back(void) {
    struct error err = {0};
    struct ended_place place = place_of(1);
    CHECK_INT(found_by(1), 0);
    CHECK_OK(put_end(1, &err), &err);
    CHECK_OK(ended_withdraw(&place, 1, &err), &err);
    CHECK_OK(put_end(1, &err), &err); /* of the hub's next round */
    CHECK_INT(found_by(2), 1);
    place = place_of(2);
    CHECK_OK(ended_withdraw(&place, 1, &err), &err);
    CHECK_INT(found_by(3), 0);
    CHECK(put_end(1, &err) < 0);
}

static void what_is_damaged_does_not_count(void) {
    struct error err = {0};
    CHECK_INT(found_by(1), 0);
    put_text(1, "{\"windlass\": 1, \"uid\": \"u-1\", \"attempt\": 1, \"ended\": {}}");
    CHECK_INT(found_by(2), 0); /* and has another name */
    CHECK(put_end(1, &err) < 0);
    put_text(2, "torn");
    error_clear(&err);
    CHECK_OK(put_end(2, &err), &err);
    CHECK_INT(found_by(3), 2);
    AUTO(text_freep) char *long_text = x_malloc(ENDED_BYTES_MAX + 2);
    memset(long_text, ' ', ENDED_BYTES_MAX + 1);
    long_text[ENDED_BYTES_MAX + 1] = 0;
    put_text(2, long_text);
    CHECK_INT(found_by(3), 2); /* what was decided beside it holds */
    CHECK(put_end(1, &err) < 0);
}

static void *run_hub(void *barrier) {
    struct error err = {0};
    pthread_barrier_wait(barrier);
    return put_end(1, &err) == 0 ? barrier : NULL;
}

/* Both see that what is there does not count: still exactly one has the attempt. */
static void what_is_damaged_makes_no_second_winner(void) {
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, 2);
    int both = 0, none = 0;
    for (int i = 0; i < RACES; i++) {
        pthread_t hub;
        void *hub_won = NULL;
        CHECK_INT(found_by(1), 0);
        put_text(1, "torn");
        CHECK_INT(pthread_create(&hub, NULL, run_hub, &barrier), 0);
        pthread_barrier_wait(&barrier);
        int64_t found = found_by(2);
        pthread_join(hub, &hub_won);
        both += hub_won && found == 0;
        none += !hub_won && found == 1;
    }
    pthread_barrier_destroy(&barrier);
    CHECK_INT(both, 0);
    CHECK_INT(none, 0);
}

/* An end beside a damaged record is taken back, and the damaged one does not come to count. */
static void an_end_beside_it_can_be_taken_back(void) {
    struct error err = {0};
    struct ended_place place = place_of(1);
    CHECK_INT(found_by(1), 0);
    put_text(1, "torn");
    CHECK_OK(put_end(1, &err), &err);
    CHECK_OK(ended_withdraw(&place, 1, &err), &err);
    CHECK_INT(found_by(2), 0);
    CHECK(put_end(1, &err) < 0);
}

static void names_are_bounded(void) {
    struct error err = {0};
    CHECK_INT(found_by(1), 0);
    put_text(1, "torn");
    for (int i = 1; i < 16; i++) {
        AUTO(text_freep) char *name = x_printf("%s000001.%d", FOLDER, i);
        CHECK_OK(store_put(store, name, "torn", 4, STORE_CREATE, &err), &err);
    }
    CHECK(put_end(1, &err) < 0);
    CHECK_INT(err.kind, ERROR_INVALID);
    CHECK_INT(found_by(2), -1);
    CHECK_INT(found_by(1), 0);
}

static void attempts_are_bounded(void) {
    struct error err = {0};
    CHECK_INT(found_by(1), 0);
    CHECK_INT(found_by(100000), 0);
    CHECK(put_end(99999, &err) < 0);
    CHECK(put_end(100000 - ENDED_ATTEMPTS_MAX, &err) < 0);
    error_clear(&err);
    CHECK_OK(put_end(100000 - ENDED_ATTEMPTS_MAX - 1, &err), &err);
    CHECK_INT(found_by(1), 0);
}

int main(void) {
    struct error err = {0};
    char folder[] = "/tmp/windlass-ended-XXXXXX";
    setenv("endedtest", mkdtemp(folder), 1);
    CHECK_OK(store_open("endedtest/out", /* writes= */ true, &store, &err), &err);
    TEST(a_text_is_of_one_job_and_attempt);
    TEST(what_it_says_makes_sense);
    TEST(a_successor_finds_it);
    TEST(who_comes_late_is_refused);
    TEST(an_end_can_be_taken_back);
    TEST(what_is_damaged_does_not_count);
    TEST(what_is_damaged_makes_no_second_winner);
    TEST(an_end_beside_it_can_be_taken_back);
    TEST(names_are_bounded);
    TEST(attempts_are_bounded);
    store_free(store);
    CHECK_OK(file_remove_tree(folder, &err), &err);
    return TEST_END();
}
