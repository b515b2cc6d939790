// SPDX-License-Identifier: Apache-2.0
/* A coordinator looks at the log before it claims it: each commit is read from the store once, as
 * long as there is memory for it. An output that is deleted later ends it. */
#include "agent/score/log/commit.h"
#include "lib/file.h"
#include "lib/time/clock.h"
#include "tests/test.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define RUN "5f0c5f0c5f0c5f0c"
enum { COMMITS = 20 };

static struct store *store;
static char folder[] = "/tmp/windlass-seen-XXXXXX";

static char *name_of(int64_t number) {
    return x_printf(".windlass/" RUN "/commit/%012lld", (long long)number);
}

static struct commit_identity identity_of(struct commit_seen *seen) {
    return (struct commit_identity){
        .run = RUN, .uid = "u", .job = "j", .timeout_ms = 60000, .absent_ms = 100, .seen = seen};
}

static int count(void *context, const struct commit_head *head UNUSED,
                 const struct commit_record *record, struct error *err UNUSED) {
    int64_t *sum = context;
    *sum += record->first;
    return 0;
}

/* A claim, and a commit for each record. */
static void write_log(void) {
    struct error err = {0};
    struct commit_identity identity = identity_of(NULL);
    struct commit_log *log = NULL;
    int64_t stored = 0;
    CHECK_OK(commit_open(store, &identity, NULL, NULL, &log, &err), &err);
    for (int i = 1; i <= COMMITS; i++) {
        struct commit_record record = {.type = COMMIT_PUBLISHED, .first = i, .cells = 1};
        CHECK_OK(commit_add(log, &record, &err), &err);
        while (stored < i) {
            CHECK(commit_poll(log, /* at_once= */ true, clock_monotonic_ms(), &stored, &err) >= 0);
            poll(NULL, 0, 1);
        }
    }
    commit_free(log);
}

/* Every commit becomes unreadable: who reads it again fails. */
static void spoil(int64_t from) {
    struct error err = {0};
    for (int64_t number = from; number <= COMMITS; number++) {
        AUTO(text_freep) char *name = name_of(number);
        CHECK_OK(store_put(store, name, "{", 1, STORE_REPLACE, &err), &err);
    }
}

static int reopen(struct commit_seen *seen, int64_t *ret_sum) {
    struct error err = {0};
    struct commit_identity identity = identity_of(seen);
    struct commit_log *log = NULL;
    *ret_sum = 0;
    int result = commit_open(store, &identity, count, ret_sum, &log, &err);
    commit_free(log);
    return result;
}

static void each_commit_is_read_once(void) {
    struct error err = {0};
    struct commit_seen *seen = commit_seen_new(COMMIT_SEEN_BYTES);
    struct commit_identity identity = identity_of(seen);
    int64_t sum = 0, again = 0;
    write_log();
    CHECK_OK(commit_scan(store, &identity, count, &sum, &err), &err);
    CHECK_INT(sum, COMMITS * (COMMITS + 1) / 2);
    spoil(0);
    CHECK_INT(reopen(seen, &again), 0);
    CHECK_INT(again, sum);
    commit_seen_free(seen);
    CHECK_OK(store_clear(store, ".windlass/", &err), &err);
}

static void what_has_no_room_is_read_again(void) {
    struct error err = {0};
    struct commit_seen *seen = commit_seen_new(600);
    struct commit_identity identity = identity_of(seen);
    int64_t sum = 0, again = 0;
    write_log();
    CHECK_OK(commit_scan(store, &identity, count, &sum, &err), &err);
    CHECK_INT(reopen(seen, &again), 0);
    CHECK_INT(again, sum);
    spoil(COMMITS); /* the last one had no room */
    CHECK(reopen(seen, &again) < 0 || again == sum - COMMITS);
    commit_seen_free(seen);
    CHECK_OK(store_clear(store, ".windlass/", &err), &err);
}

struct told {
    enum commit_record_type types[8];
    int count, texts, firsts; /* how many have a text, and a first cell */
};

static int note(void *context, const struct commit_head *head UNUSED,
                const struct commit_record *record, struct error *err UNUSED) {
    struct told *told = context;
    told->types[told->count] = record->type;
    told->count = (told->count + 1) % (int)ARRAY_LEN(told->types);
    told->texts += record->text_size > 0;
    told->firsts += record->first > 0;
    return 0;
}

static void a_look_gets_only_the_type_of_tries(void) {
    static const enum commit_record_type types[] = {COMMIT_DONE,      COMMIT_PARTIAL, COMMIT_FAILED,
                                                    COMMIT_RETRY,     COMMIT_VOID,    COMMIT_BEGIN,
                                                    COMMIT_PUBLISHED, COMMIT_END};
    struct error err = {0};
    struct commit_identity identity = identity_of(NULL);
    struct commit_log *log = NULL;
    struct told looked = {0}, read = {0};
    int64_t stored = 0;
    CHECK_OK(commit_open(store, &identity, NULL, NULL, &log, &err), &err);
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        struct commit_record record = {.type = types[i],
                                       .first = 1,
                                       .cells = 1,
                                       .place = COMMIT_TEXT,
                                       .text = "a \"text\"",
                                       .text_size = 8};
        CHECK_OK(commit_add(log, &record, &err), &err);
    }
    while (stored < (int64_t)ARRAY_LEN(types)) {
        CHECK(commit_poll(log, /* at_once= */ true, clock_monotonic_ms(), &stored, &err) >= 0);
        poll(NULL, 0, 1);
    }
    CHECK_OK(commit_replay(log, note, &read, &err), &err);
    commit_free(log);
    CHECK_OK(commit_scan(store, &identity, note, &looked, &err), &err);
    CHECK(memcmp(looked.types, types, sizeof types) == 0);
    CHECK(memcmp(read.types, types, sizeof types) == 0);
    CHECK(looked.texts == 3 && looked.firsts == 3);
    CHECK(read.texts == 7 && read.firsts == 7);
    CHECK_OK(store_clear(store, ".windlass/", &err), &err);
}

static void memory_is_bounded(void) {
    struct commit_seen *seen = commit_seen_new(1000);
    struct buffer text;
    buffer_init(&text, 4096);
    char large[900] = "";
    commit_seen_add(seen, RUN, 3, "abc", 3);
    CHECK(!commit_seen_take(seen, RUN, 0, &text) && text.size == 0);
    CHECK(commit_seen_take(seen, RUN, 3, &text) && text.size == 3);
    commit_seen_add(seen, RUN, 3, "another", 7); /* a commit never changes */
    buffer_clear(&text);
    CHECK(commit_seen_take(seen, RUN, 3, &text) && text.size == 3);
    commit_seen_add(seen, RUN, INT64_MAX, "x", 1);
    commit_seen_add(seen, RUN, 1000000, "x", 1);
    commit_seen_add(seen, RUN, 4, large, sizeof large);
    commit_seen_add(seen, RUN, 4, large, sizeof large);
    CHECK(!commit_seen_take(seen, RUN, 1000000, &text) && !commit_seen_take(seen, RUN, -1, &text));
    commit_seen_add(seen, RUN, 5, large, sizeof large);
    CHECK(!commit_seen_take(seen, RUN, 5, &text));
    CHECK(!commit_seen_take(seen, "another", 3, &text));
    commit_seen_add(seen, "another", 5, large, sizeof large); /* the first one's are forgotten */
    CHECK(commit_seen_take(seen, "another", 5, &text) && !commit_seen_take(seen, RUN, 3, &text));
    buffer_release(&text);
    commit_seen_free(seen);
    commit_seen_free(NULL);
}

/* The reason is known while it waits for what may come back. */
static void a_folder_that_is_deleted_ends_it(void) {
    struct error err = {0}, why = {0};
    struct commit_identity identity = identity_of(NULL);
    struct commit_trouble trouble;
    struct commit_log *log = NULL;
    int64_t through = 0, end_ms = clock_monotonic_ms() + 60000;
    int result = 0;
    AUTO(text_freep) char *path = x_printf("%s/out", folder);
    commit_trouble_init(&trouble);
    identity.trouble = &trouble;
    CHECK_OK(commit_open(store, &identity, NULL, NULL, &log, &err), &err);
    CHECK_INT(commit_trouble_find(&trouble, clock_monotonic_ms(), &why), -1);
    CHECK_OK(file_remove_tree(path, &err), &err);
    struct commit_record record = {.type = COMMIT_PUBLISHED, .first = 1, .cells = 1};
    CHECK_OK(commit_add(log, &record, &err), &err);
    while (result >= 0 && clock_monotonic_ms() < end_ms) {
        struct error now = {0};
        result = commit_poll(log, /* at_once= */ true, clock_monotonic_ms(), &through, &err);
        why = commit_trouble_find(&trouble, clock_monotonic_ms(), &now) > 0 ? now : why;
        poll(NULL, 0, 1);
    }
    CHECK_INT(why.kind, ERROR_NOT_FOUND);
    CHECK(result < 0);
    CHECK_INT(err.kind, ERROR_NOT_FOUND);
    CHECK(strstr(err.text, "seentest/out was deleted while the job ran: "));
    CHECK_INT(commit_trouble_find(&trouble, clock_monotonic_ms(), &why), -1);
    commit_free(log);
    commit_trouble_release(&trouble);
}

int main(void) {
    struct error err = {0};
    setenv("seentest", mkdtemp(folder), 1);
    CHECK_OK(store_open("seentest/out", /* writes= */ true, &store, &err), &err);
    TEST(each_commit_is_read_once);
    TEST(what_has_no_room_is_read_again);
    TEST(a_look_gets_only_the_type_of_tries);
    TEST(memory_is_bounded);
    TEST(a_folder_that_is_deleted_ends_it);
    store_free(store);
    CHECK_OK(file_remove_tree(folder, &err), &err);
    return TEST_END();
}
