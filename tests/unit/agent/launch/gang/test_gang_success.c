// SPDX-License-Identifier: Apache-2.0
/* When a command that starts the ranks itself (mpirun) is a success: only when every rank of it is
 * known to have ended with 0. Reports in any order, lost, doubled, of other rounds (SOAK_SEED,
 * SOAK_ROUNDS); scripts with several mpiruns; limits; the check of what is stored. */
#include "agent/launch/gang/gang.h"

#include "tests/seed.h"
#include "tests/test.h"

#include <stdlib.h>

enum { WORKERS = 2, SLOTS = 2 };

static void tell(struct gang *gang, struct gang_event event, int64_t now_ms) {
    struct gang_facts facts;
    gang_read_facts(gang, &facts);
    event.incarnation = "a";
    event.round = event.round ? event.round : facts.round;
    (void)gang_handle(gang, &event, now_ms);
}

static int last_action(struct gang *gang, int64_t now_ms) {
    struct gang_action action;
    int last = -1;
    while (gang_next_action(gang, now_ms, &action)) {
        last = (int)action.kind * 10 + action.code;
    }
    return last;
}
enum {
    NOTHING = -1,
    START = GANG_ACTION_START * 10,
    STOP = GANG_ACTION_STOP * 10,
    CHECK_IT = GANG_ACTION_CHECK * 10,
    RELEASE = GANG_ACTION_RELEASE * 10,
    DONE = GANG_ACTION_FINISH * 10,
};

static void start_round(struct gang *gang, int64_t now_ms) {
    for (int i = 0; i < WORKERS; i++) {
        tell(gang, (struct gang_event){.kind = GANG_EVENT_READY, .index = i}, now_ms);
    }
    CHECK_INT(last_action(gang, now_ms), START);
}

static struct gang *running_with(const struct gang_options *options);

static struct gang *running(bool is_trainer) {
    const struct gang_options options = {.workers = WORKERS,
                                         .min_workers = WORKERS,
                                         .slots = SLOTS,
                                         .needs_all_slots = is_trainer,
                                         .checks_result = is_trainer,
                                         .max_restarts = 3,
                                         .hang_ms = 5000,
                                         .attempt = 1};
    return running_with(&options);
}

static struct gang *running_with(const struct gang_options *options) {
    struct gang *gang = gang_new(options);
    for (int i = 0; i < WORKERS; i++) {
        struct gang_event hello = {.kind = GANG_EVENT_HELLO,
                                   .index = i,
                                   .incarnation = "a",
                                   .attempt = 1,
                                   .seen = 1,
                                   .is_prepared = true};
        CHECK(gang_handle(gang, &hello, 0));
    }
    (void)last_action(gang, 0);
    start_round(gang, 0);
    return gang;
}

static struct gang_event rank(enum gang_event_kind kind, const char *launch, int size, int number) {
    return (struct gang_event){.kind = kind,
                               .launch = launch,
                               .size = size,
                               .rank = number,
                               .index = number / SLOTS % WORKERS};
}

static void starts(struct gang *gang, const char *launch, int size, int64_t now_ms) {
    for (int i = 0; i < size; i++) {
        tell(gang, rank(GANG_EVENT_RANK_STARTED, launch, size, i), now_ms);
    }
}

static void ends(struct gang *gang, const char *launch, int size, int number, int code) {
    struct gang_event event = rank(GANG_EVENT_RANK_ENDED, launch, size, number);
    event.code = code;
    tell(gang, event, 100);
}

static void all_end(struct gang *gang, const char *launch, int size) {
    for (int i = 0; i < size; i++) {
        ends(gang, launch, size, i, 0);
    }
}

static void command_ends(struct gang *gang, int64_t now_ms) {
    tell(gang, (struct gang_event){.kind = GANG_EVENT_EXITED, .rank = -1}, now_ms);
}

static bool fails_with(struct gang *gang, int number, const char *words) {
    struct gang_facts facts;
    int64_t now_ms = 13000;
    for (int i = 0; i < WORKERS; i++) {
        tell(gang, (struct gang_event){.kind = GANG_EVENT_STOPPED, .index = i}, now_ms);
    }
    (void)last_action(gang, now_ms + GANG_EXPLAIN_COMMAND_MS);
    gang_read_facts(gang, &facts);
    bool is_right = facts.last_failure.cause == GANG_CAUSE_APP &&
                    facts.last_failure.rank == number &&
                    strstr(facts.last_failure.detail, words) != NULL;
    if (!is_right) {
        printf("# rank %d: %s\n", facts.last_failure.rank, facts.last_failure.detail);
    }
    return is_right;
}

static bool is_known_by(struct gang *gang, enum gang_proof_by by, int64_t count) {
    struct gang_facts facts;
    gang_read_facts(gang, &facts);
    return facts.proof_by == by && facts.proof_count == count;
}

/* ---- one mpirun ------------------------------------------------------------------------------ */

static void all_ranks_end_before(void) {
    struct gang *gang = running(false);
    starts(gang, "one", 4, 10);
    all_end(gang, "one", 4);
    CHECK_INT(last_action(gang, 100), NOTHING); /* the command may start more */
    command_ends(gang, 200);
    CHECK_INT(last_action(gang, 200), DONE);
    CHECK(is_known_by(gang, GANG_PROOF_RANKS, 4));
    gang_free(gang);
}

static void a_report_comes_late(void) {
    struct gang *gang = running(false);
    starts(gang, "one", 4, 10);
    for (int i = 0; i < 3; i++) {
        ends(gang, "one", 4, i, 0);
    }
    command_ends(gang, 200);
    CHECK_INT(last_action(gang, 200 + GANG_EXPLAIN_COMMAND_MS - 1), NOTHING);
    ends(gang, "one", 4, 3, 0);
    CHECK_INT(last_action(gang, 200 + GANG_EXPLAIN_COMMAND_MS - 1), DONE);
    gang_free(gang);
}

static void a_report_is_missing(void) {
    struct gang *gang = running(false);
    tell(gang, rank(GANG_EVENT_RANK_STARTED, "one", 4, 0), 10);
    tell(gang, rank(GANG_EVENT_RANK_STARTED, "one", 4, 2), 10);
    ends(gang, "one", 4, 0, 0);
    command_ends(gang, 200);
    CHECK_INT(gang_deadline_ms(gang), 200 + GANG_EXPLAIN_COMMAND_MS);
    CHECK_INT(last_action(gang, 200 + GANG_EXPLAIN_COMMAND_MS - 1), NOTHING);
    CHECK_INT(last_action(gang, 200 + GANG_EXPLAIN_COMMAND_MS), STOP);
    CHECK(fails_with(gang, 1,
                     "spec.command ended with 0, but 3 of the 4 ranks of its mpirun did not report "
                     "the end: rank 1 (not started), rank 2 on worker 1, rank 3 (not started)"));
    gang_free(gang);
}

/* Its member may bring the report when it is back, and if not, it is lost. */
static void its_member_is_silent(void) {
    struct gang *gang = running(false);
    struct gang_facts facts;
    starts(gang, "one", 4, 10);
    command_ends(gang, 200);
    int64_t cut_ms = 10000;
    tell(gang, (struct gang_event){.kind = GANG_EVENT_DISCONNECTED, .index = 1}, cut_ms);
    CHECK_INT(last_action(gang, 200 + GANG_EXPLAIN_COMMAND_MS + 1000), NOTHING);
    CHECK_INT(last_action(gang, cut_ms + GANG_LOST_MS), STOP);
    tell(gang, (struct gang_event){.kind = GANG_EVENT_STOPPED, .index = 0}, cut_ms + GANG_LOST_MS);
    (void)last_action(gang, cut_ms + GANG_LOST_MS);
    gang_read_facts(gang, &facts);
    CHECK_INT(facts.last_failure.cause, GANG_CAUSE_LOST);
    gang_free(gang);
}

static void a_rank_fails_and_the_command_does_not(void) {
    static const struct {
        int code;
        bool was_signalled;
        const char *says;
    } rows[] = {{7, false, "no such file (spec.command ended with 0 all the same"},
                {143, true, "a signal asked it to end: no such file (spec.command"},
                {0, true, "a signal asked it to end: no such file (spec.command"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gang *gang = running(false);
        starts(gang, "one", 4, 10);
        struct gang_event event = rank(GANG_EVENT_RANK_ENDED, "one", 4, 2);
        event.code = rows[i].code;
        event.was_signalled = rows[i].was_signalled;
        event.detail = "no such file";
        tell(gang, event, 100);
        ends(gang, "one", 4, 0, 143);
        CHECK_INT(last_action(gang, 100), NOTHING);
        command_ends(gang, 200);
        CHECK_INT(last_action(gang, 200), STOP); /* at once */
        CHECK(fails_with(gang, 2, rows[i].says));
        gang_free(gang);
    }
}

static void ranks_disagree(void) {
    struct gang *gang = running(false);
    tell(gang, rank(GANG_EVENT_RANK_STARTED, "one", 2, 0), 10);
    tell(gang, rank(GANG_EVENT_RANK_STARTED, "one", 1, 1), 10);
    ends(gang, "one", 2, 0, 0);
    ends(gang, "one", 2, 1, 0);
    command_ends(gang, 200);
    CHECK_INT(last_action(gang, 200), STOP);
    CHECK(fails_with(gang, -1, "do not agree how many they are"));
    gang_free(gang);
}

/* What runs there may be ranks, whose reports come before the end of what started them. */
static void a_worker_has_not_answered(void) {
    struct gang *gang = running(false);
    tell(gang, (struct gang_event){.kind = GANG_EVENT_SPAWNED, .index = 0}, 10);
    tell(gang, (struct gang_event){.kind = GANG_EVENT_SPAWNED, .index = 0}, 10);
    command_ends(gang, 200);
    tell(gang, (struct gang_event){.kind = GANG_EVENT_SPAWN_ENDED, .index = 1}, 300);
    CHECK_INT(last_action(gang, 300), NOTHING);
    tell(gang, (struct gang_event){.kind = GANG_EVENT_SPAWN_ENDED, .index = 1}, 400);
    CHECK_INT(last_action(gang, 400), DONE);
    gang_free(gang);
    gang = running(false);
    tell(gang, (struct gang_event){.kind = GANG_EVENT_SPAWNED, .index = 0}, 10);
    command_ends(gang, 200);
    CHECK_INT(last_action(gang, 200 + GANG_EXPLAIN_COMMAND_MS), STOP);
    CHECK(fails_with(gang, -1,
                     "the exit codes of 1 of the commands that it started on other workers"));
    gang_free(gang);
}

static void without_mpi(void) {
    struct gang *gang = running(false);
    ends(gang, "one", 1, 0, 3); /* an end without a start: ignored */
    command_ends(gang, 200);
    CHECK_INT(last_action(gang, 200), DONE);
    CHECK(is_known_by(gang, GANG_PROOF_COMMAND, 1));
    gang_free(gang);
}

/* ---- several --------------------------------------------------------------------------------- */

/* "a2": launch a of 2 ranks starts; "a.": its ranks end well, "a!": its rank 0 does not. */
static void play(struct gang *gang, const char *course) {
    int sizes[128] = {0};
    for (const char *at = course; *at; at += 2) {
        char name[2] = {at[0], 0};
        int *size = &sizes[(int)*at];
        bool is_start = at[1] >= '0' && at[1] <= '9';
        if (is_start) {
            *size = at[1] - '0';
            starts(gang, name, *size, 10);
        }
        for (int k = 0; !is_start && k < *size; k++) {
            ends(gang, name, *size, k, at[1] == '!' && k == 0 ? 7 : 0);
        }
    }
}

static void scripts(void) {
    static const struct {
        const char *course;
        bool is_success;
        int64_t count;
    } rows[] = {
        {"a4a.b4b.", true, 8},         {"a2a!b2b.", true, 2},      {"a2a!b4b.", true, 4},
        {"a4a!b2b.", false, 0},        {"a2a.b2b!", false, 0},     {"a2a!", false, 0},
        {"a2b2a!b.", false, 0},        {"a2b2a.b.", true, 4},      {"a2b2b!a.", false, 0},
        {"a2a!b2b!c2c.", true, 2},     {"a4a!b2b!c2c.", false, 0}, {"a4a!b2b!c4c.", true, 4},
        {"a1a.b1b.c1c.d1d.", true, 4}, {"a2a!b2c2b.c!", false, 0}, {"a2a!b2b.c2c!", false, 0},
        {"a2a!b1b.c2c.d1d.", true, 4}, {"a1b2a!c2c.b.", true, 4},  {"a2b1a!c1c.b!", false, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gang *gang = running(false);
        play(gang, rows[i].course);
        command_ends(gang, 200);
        int action = last_action(gang, 200);
        if (action != (rows[i].is_success ? DONE : STOP)) {
            printf("# %s\n", rows[i].course);
        }
        CHECK_INT(action, rows[i].is_success ? DONE : STOP);
        CHECK(!rows[i].is_success || is_known_by(gang, GANG_PROOF_RANKS, rows[i].count));
        gang_free(gang);
    }
}

static void many_mpiruns(void) {
    struct gang *gang = running(false);
    char name[16];
    for (int i = 0; i < 10 * GANG_LAUNCHES_MAX; i++) { /* one after the other, all fail */
        snprintf(name, sizeof name, "try-%d", i);
        starts(gang, name, 2, 10);
        ends(gang, name, 2, 0, 7);
        ends(gang, name, 2, 1, 143);
    }
    starts(gang, "last", 2, 10);
    all_end(gang, "last", 2);
    command_ends(gang, 200);
    CHECK_INT(last_action(gang, 200), DONE);
    gang_free(gang);
    gang = running(false);
    for (int i = 0; i <= GANG_LAUNCHES_MAX; i++) { /* at the same time */
        snprintf(name, sizeof name, "one-%d", i);
        starts(gang, name, 1, 10);
    }
    for (int i = 0; i <= GANG_LAUNCHES_MAX; i++) {
        snprintf(name, sizeof name, "one-%d", i);
        all_end(gang, name, 1);
    }
    command_ends(gang, 200);
    CHECK_INT(last_action(gang, 200), STOP);
    CHECK(fails_with(gang, -1, "too many mpiruns at a time"));
    gang_free(gang);
    gang = running(false);
    tell(gang, rank(GANG_EVENT_RANK_STARTED, "a", GANG_LAUNCH_RANKS_MAX, 0), 10);
    tell(gang, rank(GANG_EVENT_RANK_STARTED, "b", 1, 0), 10);
    ends(gang, "b", 1, 0, 0);
    command_ends(gang, 200);
    CHECK_INT(last_action(gang, 200), STOP);
    gang_free(gang);
}

/* A rank of a launch that restarts its ranks itself; one of unknown size. */
static void rare_ranks(void) {
    struct gang *gang = running(false);
    starts(gang, "one", 2, 10);
    ends(gang, "one", 2, 1, 9);
    tell(gang, rank(GANG_EVENT_RANK_STARTED, "one", 2, 1), 20);
    all_end(gang, "one", 2);
    tell(gang, rank(GANG_EVENT_RANK_STARTED, "open", 0, 3), 20);
    tell(gang, rank(GANG_EVENT_RANK_STARTED, "open", 0, 1), 20);
    ends(gang, "open", 0, 1, 0);
    command_ends(gang, 200);
    CHECK_INT(last_action(gang, 200), NOTHING);
    ends(gang, "open", 0, 3, 0);
    CHECK_INT(last_action(gang, 200), DONE);
    CHECK(is_known_by(gang, GANG_PROOF_RANKS, 4));
    gang_free(gang);
}

static void proxies(void) {
    for (int code = 0; code < 8; code += 7) {
        struct gang *gang = running(false);
        struct gang_event start = rank(GANG_EVENT_RANK_STARTED, "proxy-0-1", 1, 0);
        start.is_proxy = true;
        tell(gang, start, 10);
        start.launch = "proxy-1-1";
        tell(gang, start, 10);
        ends(gang, "proxy-1-1", 1, 0, 0);
        command_ends(gang, 200);
        CHECK_INT(last_action(gang, 200), NOTHING);
        ends(gang, "proxy-0-1", 1, 0, code);
        CHECK_INT(last_action(gang, 200), code ? STOP : DONE);
        CHECK(code || is_known_by(gang, GANG_PROOF_PROXIES, 2));
        CHECK(!code || fails_with(gang, 0, "the proxy of MPI"));
        gang_free(gang);
    }
}

/* ---- a training ------------------------------------------------------------------------------ */

static void checked(struct gang *gang, int64_t round, int code, int64_t now_ms) {
    struct gang_event event = {.kind = GANG_EVENT_CHECKED,
                               .round = round,
                               .code = code,
                               .detail = "model.onnx is not there"};
    tell(gang, event, now_ms);
}

static void a_training_needs_all_ranks(void) {
    for (int size = 0; size <= 4; size += 2) {
        struct gang *gang = running(true);
        starts(gang, "one", size, 10);
        all_end(gang, "one", size);
        command_ends(gang, 200);
        CHECK_INT(last_action(gang, 200), size == 4 ? CHECK_IT : NOTHING);
        if (size < 4) {
            CHECK_INT(last_action(gang, 200 + GANG_EXPLAIN_COMMAND_MS), STOP);
            CHECK(fails_with(gang, -1, "mpirun ended with 0, but of the 4 ranks "));
        }
        gang_free(gang);
    }
}

static void what_is_stored_is_checked(void) {
    struct gang *gang = running(true);
    struct gang_facts facts;
    gang_read_facts(gang, &facts);
    int64_t round = facts.round;
    starts(gang, "one", 4, 10);
    all_end(gang, "one", 4);
    checked(gang, round, 0, 150); /* not asked for */
    command_ends(gang, 200);
    CHECK_INT(last_action(gang, 200), CHECK_IT);
    checked(gang, round - 1, 0, 300);
    /* Nothing runs any more: pods may go, and no rank can hang. */
    tell(gang, (struct gang_event){.kind = GANG_EVENT_DISCONNECTED, .index = 1}, 300);
    tell(gang, (struct gang_event){.kind = GANG_EVENT_FATAL, .index = 1, .rank = -1}, 300);
    CHECK_INT(last_action(gang, 60000), NOTHING);
    checked(gang, round, 0, 60000);
    CHECK_INT(last_action(gang, 60000), DONE);
    gang_free(gang);
}

static void what_is_stored_is_wrong(void) {
    for (int is_silent = 0; is_silent < 2; is_silent++) {
        struct gang *gang = running(true);
        struct gang_facts facts;
        int64_t now_ms = 60000;
        gang_read_facts(gang, &facts);
        int64_t round = facts.round;
        starts(gang, "one", 4, 10);
        all_end(gang, "one", 4);
        command_ends(gang, 200);
        CHECK_INT(last_action(gang, 200), CHECK_IT);
        CHECK_INT(gang_deadline_ms(gang), 200 + GANG_CHECK_MS);
        if (is_silent) {
            now_ms = 200 + GANG_CHECK_MS;
        } else {
            checked(gang, round, 1, now_ms);
        }
        CHECK_INT(last_action(gang, now_ms), STOP);
        for (int i = 0; i < WORKERS; i++) {
            tell(gang, (struct gang_event){.kind = GANG_EVENT_STOPPED, .index = i}, now_ms + 1000);
        }
        CHECK_INT(last_action(gang, now_ms + 1000), GANG_ACTION_CONFIGURE * 10);
        gang_read_facts(gang, &facts);
        CHECK_INT(facts.last_failure.cause, GANG_CAUSE_APP);
        CHECK_INT(facts.counted_restarts, 1);
        CHECK(strstr(facts.last_failure.detail, is_silent ? "in time" : "is not there") != NULL);
        /* The next round has a proof of its own. */
        start_round(gang, now_ms + 1000);
        ends(gang, "one", 4, 0, 0);
        command_ends(gang, now_ms + 2000);
        CHECK_INT(last_action(gang, now_ms + 2000), NOTHING);
        gang_free(gang);
    }
}

/* The exits of a command decide; what it stored is only noted. */
static void a_command_may_lack_its_result(void) {
    for (int is_silent = 0; is_silent < 2; is_silent++) {
        const struct gang_options options = {.workers = WORKERS,
                                             .min_workers = WORKERS,
                                             .slots = SLOTS,
                                             .processes = SLOTS,
                                             .checks_result = true,
                                             .may_lack_result = true,
                                             .max_restarts = 3,
                                             .attempt = 1};
        struct gang *gang = running_with(&options);
        struct gang_facts facts;
        gang_read_facts(gang, &facts);
        for (int i = 0; i < WORKERS * SLOTS; i++) {
            tell(gang,
                 (struct gang_event){.kind = GANG_EVENT_EXITED, .rank = i, .index = i / SLOTS},
                 200);
        }
        CHECK_INT(last_action(gang, 200), RELEASE);
        /* The members have ended: none of them is to be replaced. */
        tell(gang, (struct gang_event){.kind = GANG_EVENT_DISCONNECTED, .index = 1}, 210);
        CHECK_INT(last_action(gang, 250 + GANG_LOST_MS), NOTHING);
        gang_read_facts(gang, &facts);
        CHECK_INT(facts.lost_count, 0);
        if (!is_silent) {
            checked(gang, facts.round, 1, 300 + GANG_LOST_MS);
        }
        CHECK_INT(last_action(gang, is_silent ? 200 + GANG_CHECK_MS : 300 + GANG_LOST_MS), DONE);
        gang_free(gang);
    }
}

static void processes_are_of_their_workers(void) {
    const struct gang_options options = {.workers = WORKERS,
                                         .min_workers = WORKERS,
                                         .slots = SLOTS,
                                         .processes = SLOTS,
                                         .max_restarts = 3,
                                         .attempt = 1};
    struct gang *gang = running_with(&options);
    size_t count = 0;
    struct gang_exit *exits = gang_exits(gang, &count);
    CHECK_INT(count, WORKERS * SLOTS);
    for (size_t i = 0; i < count; i++) {
        CHECK_INT(exits[i].rank, i);
        CHECK_INT(exits[i].index, i / SLOTS);
    }
    free(exits);
    gang_free(gang);
}

/* ---- any order ------------------------------------------------------------------------------- */

enum { LETTERS_MAX = 64 };

/* Member 0 sends the command's end after all of its own. */
static void send_all(struct gang *gang, const struct gang_event *queue, int *next, int count) {
    while (*next < count) {
        tell(gang, queue[(*next)++], 100);
    }
}

/* Each pod's reports come in their order, the pods' in any; some are lost, doubled, of another
 * round. Success if and only if every start and a good end of each rank came. */
static void any_order(void) {
    uint64_t seed = test_seed(20261123), random = seed;
    int rounds = (int)test_rounds(300), successes = 0;
    for (int n = 0; n < rounds; n++) {
        struct gang *gang = running(false);
        struct gang_event queues[WORKERS][LETTERS_MAX];
        int counts[WORKERS] = {0}, next[WORKERS] = {0}, left = 0;
        bool is_good = true;
        int size = 1 + (int)test_below(&random, 4), first = (int)test_below(&random, 4);
        tell(gang, (struct gang_event){.kind = GANG_EVENT_SPAWNED, .index = 0}, 0);
        for (int i = 0; i < size; i++) {
            int64_t fault = (int64_t)test_below(&random, 40);
            struct gang_event start = rank(GANG_EVENT_RANK_STARTED, "one", size, i);
            struct gang_event end = rank(GANG_EVENT_RANK_ENDED, "one", size, i);
            end.code = fault == 0 ? 7 : 0;
            end.was_signalled = fault == 1;
            end.round = fault == 2 ? 7 : 0; /* of another round */
            is_good &= fault > 3;
            start.index = end.index = (i + first) / SLOTS % WORKERS; /* mpirun may begin anywhere */
            struct gang_event *queue = queues[start.index];
            int *count = &counts[start.index];
            queue[(*count)++] = start;
            if (fault != 3) { /* never reported */
                queue[(*count)++] = end;
            }
            if (fault > 30) {
                queue[(*count)++] = end;
            }
        }
        queues[1][counts[1]++] = (struct gang_event){.kind = GANG_EVENT_SPAWN_ENDED, .index = 1};
        left = counts[0] + counts[1];
        int command_at = (int)test_below(&random, (uint64_t)left + 1);
        for (int sent = 0; sent <= left; sent++) {
            if (sent == command_at) {
                send_all(gang, queues[0], &next[0], counts[0]);
                command_ends(gang, 200);
            }
            int from = next[0] == counts[0]   ? 1
                       : next[1] == counts[1] ? 0
                                              : (int)test_below(&random, 2);
            if (next[from] < counts[from]) {
                tell(gang, queues[from][next[from]++], 300);
            }
        }
        int action = last_action(gang, 200 + GANG_EXPLAIN_COMMAND_MS);
        CHECK_INT(action, is_good ? DONE : STOP);
        successes += is_good;
        gang_free(gang);
    }
    printf("# SOAK_SEED=%llu: %d of %d are successes\n", (unsigned long long)seed, successes,
           rounds);
    CHECK(successes > rounds / 4 && successes < rounds);
}

int main(void) {
    TEST(all_ranks_end_before);
    TEST(a_report_comes_late);
    TEST(a_report_is_missing);
    TEST(its_member_is_silent);
    TEST(a_rank_fails_and_the_command_does_not);
    TEST(ranks_disagree);
    TEST(a_worker_has_not_answered);
    TEST(without_mpi);
    TEST(scripts);
    TEST(many_mpiruns);
    TEST(rare_ranks);
    TEST(proxies);
    TEST(a_training_needs_all_ranks);
    TEST(what_is_stored_is_checked);
    TEST(what_is_stored_is_wrong);
    TEST(a_command_may_lack_its_result);
    TEST(processes_are_of_their_workers);
    TEST(any_order);
    return TEST_END();
}
