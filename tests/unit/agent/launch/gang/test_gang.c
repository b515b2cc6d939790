// SPDX-License-Identifier: Apache-2.0
/* Single decisions of the gang that courses of test_gang_model.c hardly reach. */
#include "agent/launch/gang/gang_state.h"

#include "tests/test.h"
#include "tests/unit/agent/launch/gang/gang_play.h"

static bool is_early(const struct gang *gang) {
    struct gang_event hello = {
        .kind = GANG_EVENT_HELLO, .index = 1, .incarnation = "second", .attempt = 2, .seen = 1};
    return gang_is_hello_early(gang, &hello);
}

static struct gang *running(void) {
    static const struct gang_options options = {
        .workers = 2, .min_workers = 2, .slots = 1, .attempt = 1};
    return run(&options);
}

/* A leaving pod gets its successor within seconds, and needs longer for a last checkpoint: the
 * successor does not shorten that. */
static void test_successor_waits(void) {
    struct gang *gang = running();
    CHECK(!is_early(gang)); /* no pod leaves: it disappeared without a message */
    CHECK(tell(gang, GANG_EVENT_LEAVING, 1, 1, 100));
    CHECK_INT(last_action(gang, 100), GANG_ACTION_NOTICE);
    CHECK(is_early(gang));
    CHECK_INT(last_action(gang, 100 + GANG_NOTICE_MS - 1), -1);
    CHECK_INT(last_action(gang, 100 + GANG_NOTICE_MS), GANG_ACTION_STOP);
    CHECK(is_early(gang)); /* its programs have heard SIGTERM */
    CHECK(tell(gang, GANG_EVENT_STOPPED, 1, 1, 21000));
    CHECK(!is_early(gang));
    CHECK(tell(gang, GANG_EVENT_HELLO, 1, 2, 21000));
    CHECK(tell(gang, GANG_EVENT_STOPPED, 0, 1, 21000));
    CHECK_INT(last_action(gang, 21000), GANG_ACTION_CONFIGURE);
    gang_free(gang);
}

/* The gang does not wait for a pod that no longer answers. */
static void test_successor_of_a_dead_one(void) {
    struct gang *gang = running();
    CHECK(tell(gang, GANG_EVENT_LEAVING, 1, 1, 100));
    CHECK(is_early(gang));
    CHECK(tell(gang, GANG_EVENT_DISCONNECTED, 1, 1, 200));
    CHECK(!is_early(gang));
    gang_free(gang);
    gang = running();
    CHECK(tell(gang, GANG_EVENT_LEAVING, 1, 1, 0));
    CHECK_INT(last_action(gang, GANG_NOTICE_MS), GANG_ACTION_STOP);
    CHECK_INT(last_action(gang, GANG_NOTICE_MS + GANG_STOP_TIMEOUT_MS), -1);
    CHECK(!is_early(gang)); /* it has not answered STOP: lost */
    gang_free(gang);
}

/* A pod may be evicted, and its successor continues from its checkpoint. */
static void test_one_alone_leaves(void) {
    static const struct gang_options options = {.workers = 1,
                                                .min_workers = 1,
                                                .slots = 1,
                                                .attempt = 1,
                                                .deletion_notice_ms = GANG_DELETION_NOTICE_MS};
    struct gang *gang = run(&options);
    CHECK(tell(gang, GANG_EVENT_LEAVING, 0, 1, 100));
    CHECK_INT(last_action(gang, 100 + GANG_NOTICE_MS - 1), GANG_ACTION_NOTICE);
    CHECK_INT(last_action(gang, 100 + GANG_NOTICE_MS), GANG_ACTION_STOP);
    gang_free(gang);
}

/* The job is over: a program that ignores the notice keeps its GPUs for a shorter time. */
static void test_all_leave(void) {
    static const struct gang_options options = {.workers = 2,
                                                .min_workers = 2,
                                                .slots = 1,
                                                .attempt = 1,
                                                .deletion_notice_ms = GANG_DELETION_NOTICE_MS};
    struct gang *gang = run(&options);
    CHECK(tell(gang, GANG_EVENT_LEAVING, 1, 1, 100));
    CHECK_INT(last_action(gang, 100), GANG_ACTION_NOTICE);
    CHECK_INT(last_action(gang, 100 + GANG_DELETION_NOTICE_MS),
              -1); /* a single one has its full time */
    CHECK(tell(gang, GANG_EVENT_LEAVING, 0, 1, 6000));
    CHECK_INT(last_action(gang, 6000 + GANG_DELETION_NOTICE_MS - 1), -1);
    CHECK_INT(last_action(gang, 6000 + GANG_DELETION_NOTICE_MS), GANG_ACTION_STOP);
    gang_free(gang);
    gang = run(&options);
    CHECK(tell(gang, GANG_EVENT_LEAVING, 1, 1, 100));
    CHECK(tell(gang, GANG_EVENT_LEAVING, 0, 1, 19000)); /* the first one's time ends earlier */
    CHECK_INT(last_action(gang, 100 + GANG_NOTICE_MS), GANG_ACTION_STOP);
    gang_free(gang);
}

/* ---- the named rank ------------------------------------------------------------------------- */

static void tell_one(struct gang *gang, struct gang_event event, int64_t now_ms) {
    event.incarnation = "a";
    CHECK(gang_handle(gang, &event, now_ms));
}

static struct gang *arming_with(int64_t hang_ms) {
    struct gang_options options = {.workers = 2,
                                   .min_workers = 2,
                                   .slots = 2,
                                   .max_restarts = 1,
                                   .attempt = 3,
                                   .hang_ms = hang_ms};
    struct gang *gang = gang_new(&options);
    struct gang_action action;
    int64_t round = 3 << GANG_ROUND_BITS | 1;
    for (int i = 0; i < 2; i++) {
        tell_one(gang,
                 (struct gang_event){.kind = GANG_EVENT_HELLO, .index = i, .is_prepared = true}, 1);
    }
    CHECK(gang_next_action(gang, 1, &action) && action.kind == GANG_ACTION_CONFIGURE &&
          action.round == round);
    return gang;
}

static struct gang *arming(void) {
    return arming_with(0);
}

static struct gang *started(int64_t hang_ms) {
    struct gang *gang = arming_with(hang_ms);
    struct gang_action action;
    int64_t round = 3 << GANG_ROUND_BITS | 1;
    for (int i = 0; i < 2; i++) {
        tell_one(gang, (struct gang_event){.kind = GANG_EVENT_READY, .index = i, .round = round},
                 2);
    }
    CHECK(gang_next_action(gang, 2, &action) && action.kind == GANG_ACTION_START &&
          action.count == 2);
    return gang;
}

static void beat_one(struct gang *gang, int rank, bool is_waiting, int64_t now_ms) {
    tell_one(gang,
             (struct gang_event){.kind = GANG_EVENT_HEARTBEAT,
                                 .index = rank / 2,
                                 .rank = rank,
                                 .progress = 7,
                                 .is_waiting = is_waiting},
             now_ms);
}

static void beat_all(struct gang *gang, int suspended, int64_t now_ms) {
    for (int rank = 0; rank < 4; rank++) {
        if (rank != suspended) {
            beat_one(gang, rank, rank != 2, now_ms);
        }
    }
}

/* suspended: the rank whose heartbeat stops after 3 s; -1: none. */
static void check_hung_rank(int suspended, int wanted) {
    struct gang *gang = started(30000);
    struct gang_action action;
    struct gang_facts facts;
    for (int64_t now_ms = 1000; now_ms <= 29000; now_ms += 1000) {
        beat_all(gang, now_ms < 4000 ? -1 : suspended, now_ms);
        CHECK(!gang_next_action(gang, now_ms, &action));
    }
    CHECK_INT(gang_deadline_ms(gang), 31000); /* from the first step's end: four moved */
    CHECK(gang_next_action(gang, 31000, &action) && action.kind == GANG_ACTION_STOP);
    for (int i = 0; i < 2; i++) {
        tell_one(gang,
                 (struct gang_event){.kind = GANG_EVENT_STOPPED, .index = i, .round = action.round},
                 31001);
    }
    gang_read_facts(gang, &facts);
    CHECK_INT(facts.last_failure.cause, GANG_CAUSE_HANG);
    CHECK_INT(facts.last_failure.rank, wanted);
    CHECK_INT(facts.counted_restarts, 1);
    gang_free(gang);
}

/* The heartbeat of rank 1 stops (SIGSTOP); or all are alive, and only rank 2 waits for no other. */
static void a_hang_has_a_rank(void) {
    check_hung_rank(1, 1);
    check_hung_rank(-1, 2);
}

/* The command's own exit code gets 12 s for an explanation; the output belongs to the cause. */
static void a_command_waits_for_an_explanation(void) {
    struct gang *gang = started(0);
    struct gang_action action;
    struct gang_facts facts;
    int64_t round = 3 << GANG_ROUND_BITS | 1;
    struct gang_event exit = {
        .kind = GANG_EVENT_EXITED, .round = round, .rank = -1, .code = 205, .detail = "mpirun: oh"};
    tell_one(gang, exit, 1000);
    CHECK(gang_next_action(gang, 1000, &action) && action.kind == GANG_ACTION_STOP);
    for (int i = 0; i < 2; i++) {
        tell_one(gang, (struct gang_event){.kind = GANG_EVENT_STOPPED, .index = i, .round = round},
                 1100);
    }
    CHECK_INT(gang_deadline_ms(gang), 1000 + GANG_EXPLAIN_COMMAND_MS);
    tell_one(gang,
             (struct gang_event){.kind = GANG_EVENT_OOM_KILLED,
                                 .index = 1,
                                 .rank = 3,
                                 .code = 137,
                                 .detail = "killed: resources.limits.memory"},
             5000);
    gang_read_facts(gang, &facts);
    CHECK_STR(gang_cause_name(facts.last_failure.cause), "Memory");
    CHECK_INT(facts.last_failure.index, 1);
    CHECK_STR(facts.last_failure.detail, "killed: resources.limits.memory");
    gang_free(gang);
}

/* A trainer's rank gets nothing from the others: a hang; a dead pod explains it better, and so does
 * a stopped rank, which is named. */
static void who_gives_up_tells_of_a_hang(void) {
    static const struct gang_event explanations[] = {
        {.kind = GANG_EVENT_STOPPED}, /* none */
        {.kind = GANG_EVENT_OOM_KILLED, .index = 1, .rank = 3, .code = 137, .detail = "memory"},
        {.kind = GANG_EVENT_SUSPENDED, .index = 1, .rank = -1, .detail = "process 7 is stopped"}};
    static const char *const wanted[] = {"Hang 0 0 4 silent", "Memory 1 3 137 memory",
                                         "Hang 1 -1 -1 process 7 is stopped"};
    for (size_t i = 0; i < ARRAY_LEN(explanations); i++) {
        struct gang *gang = started(0);
        struct gang_action action;
        struct gang_facts facts;
        int64_t round = 3 << GANG_ROUND_BITS | 1;
        struct gang_event event = {.kind = GANG_EVENT_EXITED,
                                   .round = round,
                                   .code = 4,
                                   .gives_up = true,
                                   .detail = "silent"};
        tell_one(gang, event, 1000);
        CHECK(gang_next_action(gang, 1000 + GANG_EXPLAIN_RANK_MS, &action) &&
              action.kind == GANG_ACTION_STOP);
        event = explanations[i];
        event.round = round;
        tell_one(gang, event, 1500);
        for (int member = 0; member < 2; member++) {
            event =
                (struct gang_event){.kind = GANG_EVENT_STOPPED, .index = member, .round = round};
            tell_one(gang, event, 1600);
        }
        gang_next_action(gang, 60000, &action);
        gang_read_facts(gang, &facts);
        AUTO(text_freep)
        char *told = x_printf("%s %d %d %d %s", gang_cause_name(facts.last_failure.cause),
                              facts.last_failure.index, facts.last_failure.rank,
                              facts.last_failure.code, facts.last_failure.detail);
        CHECK_STR(told, wanted[i]);
        CHECK_INT(facts.counted_restarts, 1);
        gang_free(gang);
    }
}

/* The hub itself was stopped: a member that has fenced itself meanwhile cannot continue. */
static void who_comes_back_empty_is_lost(void) {
    struct gang *gang = started(0);
    struct gang_action action;
    struct gang_event hello = {.kind = GANG_EVENT_HELLO, .index = 1, .is_prepared = true};
    tell_one(gang, (struct gang_event){.kind = GANG_EVENT_DISCONNECTED, .index = 1}, 50000);
    CHECK(!gang_next_action(gang, 50000, &action));
    hello.round = 3 << GANG_ROUND_BITS | 1;
    tell_one(gang, hello, 50000);
    CHECK(!gang_next_action(gang, 50000, &action)); /* the gang goes on */
    hello.round = 0;
    tell_one(gang, hello, 50000);
    CHECK(gang_next_action(gang, 50000, &action) && action.kind == GANG_ACTION_STOP &&
          action.count == 2);
    gang_free(gang);
}

/* The kernel ended a pod with its agent (memory.oom.group): its successor reports it to the hub. */
static void who_died_of_memory_is_counted(void) {
    for (int64_t after_ms = 2000; after_ms <= 20000; after_ms += 18000) {
        struct gang *gang = started(0);
        struct gang_action action;
        struct gang_facts facts;
        struct gang_event hello = {.kind = GANG_EVENT_HELLO,
                                   .index = 1,
                                   .is_memory = true,
                                   .incarnation = "b",
                                   .detail = "raise the limit"};
        struct gang_event stopped = {.kind = GANG_EVENT_STOPPED, .round = 3 << GANG_ROUND_BITS | 1};
        tell_one(gang, (struct gang_event){.kind = GANG_EVENT_DISCONNECTED, .index = 1}, 1000);
        if (after_ms > GANG_LOST_MS) { /* it counts as lost meanwhile */
            CHECK(gang_next_action(gang, 16000, &action) && action.kind == GANG_ACTION_STOP);
            tell_one(gang, stopped, 16001);
            gang_read_facts(gang, &facts);
            CHECK(facts.last_failure.cause == GANG_CAUSE_LOST && facts.counted_restarts == 0 &&
                  facts.uncounted_restarts == 1);
        }
        for (int i = 0; i < 2; i++) { /* and reconnects after a cut */
            CHECK(gang_handle(gang, &hello, 1000 + after_ms + i));
        }
        tell_one(gang, stopped, 1002 + after_ms);
        stopped.index = 1;
        stopped.incarnation = "b";
        gang_handle(gang, &stopped, 1002 + after_ms);
        gang_read_facts(gang, &facts);
        CHECK_INT(facts.last_failure.cause, GANG_CAUSE_MEMORY);
        CHECK_INT(facts.last_failure.index, 1);
        CHECK_STR(facts.last_failure.detail, "raise the limit");
        CHECK_INT(facts.counted_restarts, 1);
        CHECK_INT(facts.uncounted_restarts, 0);
        gang_free(gang);
    }
}

/* The round had failed before: that pod could not reach another, and was ended later. */
static void who_was_out_of_reach_did_not_die_of_memory(void) {
    struct gang *gang = arming();
    struct gang_action action;
    struct gang_facts facts;
    int64_t round = 3 << GANG_ROUND_BITS | 1;
    struct gang_event hello = {
        .kind = GANG_EVENT_HELLO, .index = 1, .is_memory = true, .incarnation = "b"};
    tell_one(gang,
             (struct gang_event){
                 .kind = GANG_EVENT_UNREACHABLE, .index = 1, .round = round, .detail = "no route"},
             2);
    CHECK(gang_next_action(gang, 2, &action) && action.kind == GANG_ACTION_STOP);
    tell_one(gang, (struct gang_event){.kind = GANG_EVENT_STOPPED, .round = round}, 3);
    CHECK(
        gang_handle(gang, &hello, 1000)); /* while the first pod's end is waited for, or after it */
    gang_read_facts(gang, &facts);
    CHECK_INT(facts.last_failure.cause, GANG_CAUSE_LOST);
    CHECK_STR(facts.last_failure.detail, "no route");
    CHECK_INT(facts.counted_restarts, 0);
    CHECK_INT(facts.uncounted_restarts, 1);
    gang_free(gang);
}

/* Exit codes of wrong arguments end the job only with the words of such an end, and only if nothing
 * has moved before. */
static void a_wrong_command_line_is_final(void) {
    static const struct {
        const char *detail;
        int code, beats, earlier;
        bool is_final;
    } rows[] = {
        {"usage: a [-h] | a: error: unrecognized arguments: -x", 2, 0, 0, true},
        {"usage: a [-h] | a: error: unrecognized arguments: -x", 2, 1, 0, true}, /* it has begun */
        {"sh: 1: nonsense: not found", 127, 0, 0, true},
        {"usage: a [-h] | a: error: unrecognized arguments: -x", 2, 2, 0, false},
        {"usage: a [-h] | a: error: unrecognized arguments: -x", 2, 0, 1, false},
        {"usage: a [-h] | a: error: unrecognized arguments: -x", 1, 0, 0, false},
        {"Traceback | NameError: name 'modle' is not defined", 1, 0, 0, true},
        {"Traceback | NameError: name 'modle' is not defined", 1, 2, 0, false},
        {"the loss is nan", 2, 0, 0, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct gang_options options = {.workers = 1,
                                             .min_workers = 1,
                                             .slots = 1,
                                             .processes = 1,
                                             .max_restarts = 3,
                                             .backoff_ms = 5000,
                                             .attempt = 1,
                                             .uncounted_restarts = rows[i].earlier};
        struct gang *gang = run(&options);
        struct gang_facts facts;
        gang_read_facts(gang, &facts);
        struct gang_event event = {.kind = GANG_EVENT_HEARTBEAT,
                                   .incarnation = "first",
                                   .round = facts.round,
                                   .attempt = 1,
                                   .code = rows[i].code,
                                   .detail = rows[i].detail};
        for (int beat = 0; beat < rows[i].beats; beat++) {
            event.progress = beat + 1;
            CHECK(gang_handle(gang, &event, 10 + beat));
        }
        event.kind = GANG_EVENT_EXITED;
        CHECK(gang_handle(gang, &event, 100));
        CHECK_INT(last_action(gang, 100 + GANG_EXPLAIN_RANK_MS), GANG_ACTION_STOP);
        event.kind = GANG_EVENT_STOPPED;
        CHECK(gang_handle(gang, &event, 700));
        (void)last_action(gang, 700);
        gang_read_facts(gang, &facts);
        if ((facts.state == GANG_STATE_FINISHED) != rows[i].is_final ||
            gang_cause_is_final(facts.last_failure.cause) != rows[i].is_final) {
            printf("# %d, %d beats, %d earlier: %s\n", rows[i].code, rows[i].beats, rows[i].earlier,
                   rows[i].detail);
            test_failures++;
        }
        CHECK_INT(strstr(facts.last_failure.detail, "and would again") != NULL, rows[i].is_final);
        gang_free(gang);
    }
}

/* How a round ends: rank 0's exit, and perhaps what came before. */
struct end {
    const char *detail;
    int code;
    int seconds; /* that the round has run */
    int other;   /* the exit code of rank 1, reported later; 0: ended by our SIGTERM */
    enum gang_event_kind before; /* of rank 1; HELLO: nothing */
    bool reports;                /* a metric */
};

static void end_round(struct gang *gang, const struct end *end, int64_t *now_ms) {
    struct gang_facts facts;
    gang_read_facts(gang, &facts);
    struct gang_event event = {.kind = GANG_EVENT_EXITED,
                               .incarnation = "first",
                               .round = facts.round,
                               .attempt = 1,
                               .code = end->code,
                               .detail = end->detail};
    struct gang_event other = event;
    other.index = other.rank = 1;
    other.kind = end->before;
    *now_ms += 1000 * MAX(end->seconds, 1);
    if (end->reports) {
        gang_note_metric(gang);
    }
    if (end->before != GANG_EVENT_HELLO) {
        CHECK(gang_handle(gang, &other, *now_ms));
    }
    CHECK(gang_handle(gang, &event, *now_ms));
    other.kind = GANG_EVENT_EXITED;
    other.code = end->other ? end->other : 128 + 15;
    CHECK(gang_handle(gang, &other, *now_ms + 10));
    *now_ms += GANG_EXPLAIN_RANK_MS;
    CHECK_INT(last_action(gang, *now_ms), GANG_ACTION_STOP);
    CHECK(tell(gang, GANG_EVENT_STOPPED, 0, 1, *now_ms));
    CHECK(tell(gang, GANG_EVENT_STOPPED, 1, 1, *now_ms));
    if (last_action(gang, *now_ms) == GANG_ACTION_CONFIGURE) {
        CHECK(tell(gang, GANG_EVENT_READY, 0, 1, *now_ms));
        CHECK(tell(gang, GANG_EVENT_READY, 1, 1, *now_ms));
        CHECK_INT(last_action(gang, *now_ms), GANG_ACTION_START);
    }
}

static const struct gang_options pair = {.workers = 2,
                                         .min_workers = 2,
                                         .slots = 1,
                                         .processes = 1,
                                         .max_restarts = 9,
                                         .ends_repeated = true,
                                         .attempt = 1};

static void a_failure_that_repeats_is_final(void) {
    static const struct {
        struct end ends[3];
        int final_after; /* ends; 0: never */
    } rows[] = {
        {{{.detail = "a | KeyError: 'x'", .code = 1}, {.detail = "b | KeyError: 'x'", .code = 1}},
         2},
        {{{.detail = "", .code = 1}, {.detail = "", .code = 1}}, 2},
        {{{.detail = "at 0x7f01: no", .code = 3}, {.detail = "at 0x5501: no", .code = 3}}, 2},
        {{{.detail = "KeyError: 'x'", .code = 1},
          {.detail = "KeyError: 'y'", .code = 1},
          {.detail = "KeyError: 'y'", .code = 1}},
         3},
        {{{.detail = "KeyError: 'x'", .code = 1},
          {.detail = "KeyError: 'y'", .code = 1},
          {.detail = "KeyError: 'x'", .code = 1}},
         0},
        {{{.detail = "KeyError: 'x'", .code = 1}, {.detail = "KeyError: 'x'", .code = 2}}, 0},
        {{{.detail = "stopped at step 100", .code = 1},
          {.detail = "stopped at step 200", .code = 1}},
         0},
        /* It has done something between; what it did before the first failure does not count. */
        {{{.detail = "KeyError: 'x'", .code = 1},
          {.detail = "KeyError: 'x'", .code = 1, .reports = true}},
         0},
        {{{.detail = "KeyError: 'x'", .code = 1},
          {.detail = "KeyError: 'x'", .code = 1, .seconds = 61}},
         0},
        {{{.detail = "KeyError: 'x'", .code = 1, .reports = true, .seconds = 61},
          {.detail = "KeyError: 'x'", .code = 1}},
         2},
        {{{.detail = "KeyError: 'x'", .code = 1},
          {.detail = "no", .code = 2, .reports = true},
          {.detail = "KeyError: 'x'", .code = 1}},
         0},
        /* Signals, memory, and programs that ask for another start. */
        {{{.detail = "", .code = 139}, {.detail = "", .code = 139}}, 0},
        {{{.detail = "KeyError: 'x'", .code = 1},
          {.detail = "KeyError: 'x'", .code = 1, .other = 139},
          {.detail = "KeyError: 'x'", .code = 1}},
         0},
        {{{.detail = "KeyError: 'x'", .code = 1, .other = 137},
          {.detail = "KeyError: 'x'", .code = 1},
          {.detail = "KeyError: 'x'", .code = 1}},
         3},
        {{{.detail = "no", .code = 1},
          {.detail = "no", .code = 1, .before = GANG_EVENT_OOM_KILLED},
          {.detail = "no", .code = 1}},
         3},
        {{{.detail = "later", .code = 75}, {.detail = "later", .code = 75}}, 0},
        {{{.detail = "connection refused", .code = 1}, {.detail = "connection refused", .code = 1}},
         0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gang *gang = run(&pair);
        struct gang_facts facts;
        int64_t now_ms = 0;
        int ends = 0;
        do {
            end_round(gang, &rows[i].ends[ends++], &now_ms);
            gang_read_facts(gang, &facts);
        } while (facts.state == GANG_STATE_RUNNING && ends < 3 && rows[i].ends[ends].detail);
        bool is_final = facts.last_failure.cause == GANG_CAUSE_REPEATED;
        if ((is_final ? ends : 0) != rows[i].final_after ||
            is_final != (facts.state == GANG_STATE_FINISHED)) {
            printf("# row %zu: state %d after %d ends\n", i, (int)facts.state, ends);
            test_failures++;
        }
        CHECK_INT(facts.counted_restarts, is_final ? ends - 1 : ends);
        gang_free(gang);
    }
}

static void a_failure_that_repeats_says_so(void) {
    static const struct {
        const char *detail, *wanted;
    } rows[] = {
        {"KeyError: 'x'", "failed twice in the same way: exit code 1, \"KeyError: 'x'\""},
        {"File a.py | main() | KeyError: 'x'",
         "failed twice in the same way: exit code 1, \"KeyError: 'x'\" (before that: File a.py | "
         "main())"},
        {"", "failed twice in the same way: exit code 1, without a word"},
        {"no | ----", "failed twice in the same way: exit code 1, \"no\""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gang *gang = run(&pair);
        struct gang_facts facts;
        int64_t now_ms = 0;
        end_round(gang, &(struct end){.detail = rows[i].detail, .code = 1}, &now_ms);
        end_round(gang, &(struct end){.detail = rows[i].detail, .code = 1}, &now_ms);
        gang_read_facts(gang, &facts);
        CHECK_STR(facts.last_failure.detail, rows[i].wanted);
        CHECK_INT(facts.last_failure.code, 1);
        gang_free(gang);
    }
}

/* Our own trainer says by its exit code what is permanent. */
static void a_trainer_that_fails_alike_starts_again(void) {
    struct gang_options options = pair;
    options.ends_repeated = false;
    struct gang *gang = run(&options);
    struct gang_facts facts;
    int64_t now_ms = 0;
    for (int i = 0; i < 3; i++) {
        end_round(gang, &(struct end){.detail = "the storage is away", .code = 3}, &now_ms);
    }
    gang_read_facts(gang, &facts);
    CHECK_INT(facts.state, GANG_STATE_RUNNING);
    gang_free(gang);
}

int main(void) {
    TEST(test_one_alone_leaves);
    TEST(test_all_leave);
    TEST(test_successor_waits);
    TEST(test_successor_of_a_dead_one);
    TEST(a_hang_has_a_rank);
    TEST(a_command_waits_for_an_explanation);
    TEST(who_gives_up_tells_of_a_hang);
    TEST(who_comes_back_empty_is_lost);
    TEST(who_died_of_memory_is_counted);
    TEST(who_was_out_of_reach_did_not_die_of_memory);
    TEST(a_wrong_command_line_is_final);
    TEST(a_failure_that_repeats_is_final);
    TEST(a_failure_that_repeats_says_so);
    TEST(a_trainer_that_fails_alike_starts_again);
    return TEST_END();
}
