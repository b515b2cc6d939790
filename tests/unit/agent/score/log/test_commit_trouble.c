// SPDX-License-Identifier: Apache-2.0
/* A process that reads or claims the log says what it waits for, and goes on when it is there. */
#include "agent/score/log/commit.h"
#include "lib/file.h"
#include "lib/time/clock.h"
#include "tests/unit/agent/capabilities.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define RUN "5f0c5f0c5f0c5f0c"
#define COMMITS ".windlass/" RUN "/commit"
enum { WAIT_MS = 60000 };

static char volume[] = "/tmp/windlass-trouble-XXXXXX";

/* Of the thread that has to wait. */
struct waiting {
    struct store *store;
    struct commit_trouble trouble;
    struct commit_log *log; /* of a replay, and of read_again; else NULL */
    int (*run)(struct waiting *waiting);
    struct error err;
    int result;
};

static struct commit_identity identity_of(struct waiting *waiting, int64_t absent_ms) {
    return (struct commit_identity){.run = RUN,
                                    .uid = "u",
                                    .job = "j",
                                    .timeout_ms = WAIT_MS,
                                    .absent_ms = absent_ms,
                                    .trouble = &waiting->trouble};
}

static int claim(struct waiting *waiting) {
    struct commit_identity identity = identity_of(waiting, WAIT_MS);
    struct commit_log *log = NULL;
    int result = commit_open(waiting->store, &identity, NULL, NULL, &log, &waiting->err);
    commit_free(log);
    return result;
}

static int scan(struct waiting *waiting) {
    struct commit_identity identity = identity_of(waiting, WAIT_MS);
    return commit_scan(waiting->store, &identity, NULL, NULL, &waiting->err);
}

static int replay(struct waiting *waiting) {
    return commit_replay(waiting->log, NULL, NULL, &waiting->err);
}

static int ignore(void *context UNUSED, const struct commit_head *head UNUSED,
                  const struct commit_record *record UNUSED, struct error *err UNUSED) {
    return 0;
}

static int read_again(struct waiting *waiting) {
    return commit_read_again(waiting->log, 0, ignore, NULL, &waiting->err);
}

static void *run(void *context) {
    struct waiting *waiting = context;
    capabilities_drop(CAPABILITIES_OF_FILES);
    waiting->result = waiting->run(waiting);
    return NULL;
}

/* A store with a claim and another commit; the log stays open. absent_ms: for its readers. */
static void write_log(const char *name, int64_t absent_ms, struct waiting *waiting) {
    struct error err = {0};
    struct commit_identity identity = identity_of(waiting, absent_ms);
    struct commit_record record = {.type = COMMIT_PUBLISHED, .first = 1, .cells = 1};
    AUTO(text_freep) char *path = x_printf("troubletest/%s", name);
    int64_t through = 0;
    commit_trouble_init(&waiting->trouble);
    CHECK_OK(store_open(path, /* writes= */ true, &waiting->store, &err), &err);
    CHECK_OK(commit_open(waiting->store, &identity, NULL, NULL, &waiting->log, &err), &err);
    CHECK_OK(commit_add(waiting->log, &record, &err), &err);
    while (through == 0 && commit_poll(waiting->log, /* at_once= */ true, clock_monotonic_ms(),
                                       &through, &err) >= 0) {
        poll(NULL, 0, 1);
    }
    CHECK_INT(through, 1);
}

static void release(struct waiting *waiting) {
    commit_free(waiting->log);
    store_free(waiting->store);
    commit_trouble_release(&waiting->trouble);
}

/* What the thread waits for, as soon as it does. */
static void await_trouble(struct waiting *waiting, struct error *ret_why) {
    int64_t end_ms = clock_monotonic_ms() + WAIT_MS;
    while (commit_trouble_find(&waiting->trouble, clock_monotonic_ms(), ret_why) < 0 &&
           clock_monotonic_ms() < end_ms) {
        poll(NULL, 0, 1);
    }
}

static void every_wait_says_what_for(void) {
    static const struct {
        const char *name;
        int (*run)(struct waiting *waiting);
        const char *moved;  /* a file that is away for a while; NULL: none */
        const char *closed; /* a folder that is closed for a while; NULL: none */
        mode_t mode;
        enum error_kind kind;
        const char *says; /* the path in it */
    } rows[] = {
        {"replay", replay, COMMITS "/000000000000", NULL, 0, ERROR_NOT_FOUND,
         "replay/" COMMITS "/000000000000"},
        {"again", read_again, COMMITS "/000000000000", NULL, 0, ERROR_NOT_FOUND,
         "again/" COMMITS "/000000000000"},
        {"scan", scan, COMMITS "/000000000000", NULL, 0, ERROR_NOT_FOUND,
         "scan/" COMMITS "/000000000000"},
        {"claim", claim, COMMITS "/000000000000", NULL, 0, ERROR_NOT_FOUND,
         "claim/" COMMITS "/000000000000"},
        {"owner", claim, NULL, ".windlass", 0, ERROR_DENIED, "owner/.windlass/owner"},
        {"list", claim, NULL, COMMITS, 0300, ERROR_DENIED, "list/" COMMITS},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows) && test_failures == 0; i++) {
        struct waiting waiting = {.run = rows[i].run};
        struct error why = {0};
        pthread_t thread;
        write_log(rows[i].name, WAIT_MS, &waiting);
        AUTO(text_freep) char *folder = x_printf("%s/%s", volume, rows[i].name);
        AUTO(text_freep) char *away = x_printf("%s/away", folder);
        AUTO(text_freep)
        char *path = file_join(folder, rows[i].moved ? rows[i].moved : rows[i].closed);
        CHECK_INT(commit_trouble_find(&waiting.trouble, clock_monotonic_ms(), &why), -1);
        CHECK_INT(rows[i].moved ? rename(path, away) : chmod(path, rows[i].mode), 0);
        CHECK_INT(pthread_create(&thread, NULL, run, &waiting), 0);
        await_trouble(&waiting, &why);
        CHECK_INT(rows[i].moved ? rename(away, path) : chmod(path, 0755), 0);
        CHECK_INT(pthread_join(thread, NULL), 0);
        CHECK_INT(why.kind, rows[i].kind);
        CHECK(strstr(why.text, rows[i].says));
        CHECK_OK(waiting.result, &waiting.err);
        CHECK_INT(commit_trouble_find(&waiting.trouble, clock_monotonic_ms(), &why), -1);
        release(&waiting);
    }
}

/* As when the output's folder is moved away, and an empty one made in its place. Nothing waits for
 * it twice. */
static void what_does_not_come_back_is_named(void) {
    struct waiting waiting = {.run = replay};
    struct error why = {0};
    pthread_t thread;
    write_log("gone", /* absent_ms= */ 50, &waiting);
    AUTO(text_freep) char *path = x_printf("%s/gone/" COMMITS "/000000000000", volume);
    CHECK_INT(remove(path), 0);
    CHECK_INT(replay(&waiting), -1);
    CHECK_INT(waiting.err.kind, ERROR_INVALID);
    CHECK(strstr(waiting.err.text, "gone/" COMMITS "/000000000000 is missing, although later "
                                   "commits exist (it was deleted, or the folder replaced): "));
    error_clear(&waiting.err);
    CHECK_INT(pthread_create(&thread, NULL, run, &waiting), 0);
    while (pthread_tryjoin_np(thread, NULL) == EBUSY) {
        CHECK_INT(commit_trouble_find(&waiting.trouble, clock_monotonic_ms(), &why), -1);
        poll(NULL, 0, 1);
    }
    CHECK_INT(waiting.result, -1);
    CHECK_INT(waiting.err.kind, ERROR_INVALID);
    release(&waiting);
}

int main(void) {
    struct error err = {0};
    setenv("troubletest", mkdtemp(volume), 1);
    TEST(every_wait_says_what_for);
    TEST(what_does_not_come_back_is_named);
    CHECK_OK(file_remove_tree(volume, &err), &err);
    return TEST_END();
}
