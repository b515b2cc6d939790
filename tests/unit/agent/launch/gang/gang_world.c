// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/agent/launch/gang/gang_world.h"
#include "tests/seed.h"
#include "tests/test.h"

#include <stdlib.h>

static int64_t counts[REACHED];

const int64_t *world_counts(void) {
    return counts;
}

int world_failures(void) {
    return test_failures + test_failures_total + (test_skip_reason[0] != 0);
}

int64_t world_dice(struct world *world, int64_t sides) {
    return (int64_t)test_below(&world->random, (uint64_t)sides);
}

/* ---- expectations of the model -------------------------------------------------------------- */

static bool is_conclusive(enum gang_cause cause) {
    return cause != GANG_CAUSE_APP;
}

static void fail_round(struct world *world, enum gang_cause cause, int index, int rank, int code) {
    if (world->is_configured && world->log_count < LOG) {
        world->log[world->log_count++] =
            (struct known_failure){cause, index, rank, code, false, world->now_ms};
    }
    world->is_fatal |= cause == GANG_CAUSE_FATAL && !world->is_configured;
    if (world->grace_ms >= 0) {
        world->grace_ms = world->now_ms;
    }
}

static void fail_by_silence(struct world *world, int index) {
    size_t before = world->log_count;
    fail_round(world, GANG_CAUSE_LOST, index, -1, -1);
    if (world->log_count > before) {
        world->log[before].is_silent = true;
    }
}

/* Invariant 12: what ended the round. NULL: nothing has happened. */
static const struct known_failure *expected(const struct world *world) {
    const struct known_failure *best = NULL;
    for (size_t i = 0; i < world->log_count; i++) {
        const struct known_failure *one = &world->log[i];
        if (is_conclusive(one->cause)) {
            return one;
        }
        if (!best || (best->rank < 0 && one->rank >= 0)) {
            best = one;
        }
    }
    return best;
}

static bool is_usable(const struct view *view) {
    return view->is_connected && view->is_prepared && !view->is_leaving && !view->is_lost &&
           !view->may_run;
}

static int usable(const struct world *world) {
    int count = 0;
    for (int i = 0; i < world->options.workers; i++) {
        count += is_usable(&world->views[i]);
    }
    return count;
}

/* Events caused by time alone, in the order in which the hub would see them. */
static void pass(struct world *world) {
    for (int i = 0; i < world->options.workers; i++) {
        struct view *view = &world->views[i];
        bool is_silent = view->is_known && !view->is_connected &&
                         world->now_ms - view->disconnected_ms >= GANG_LOST_MS;
        bool is_slow =
            view->stop_sent_ms >= 0 && world->now_ms - view->stop_sent_ms >= GANG_STOP_TIMEOUT_MS;
        if (view->is_known && !view->is_lost && (is_silent || is_slow)) {
            view->is_lost = true;
            if (view->is_in_table) {
                fail_by_silence(world, i);
            }
        }
    }
    for (int i = 0; i < world->options.workers; i++) {
        struct view *view = &world->views[i];
        if (world->is_configured && !world->is_started && !world->is_stopped && view->is_in_table &&
            view->is_connected && view->ready_round != world->round &&
            world->now_ms - view->configured_ms >= GANG_READY_TIMEOUT_MS) {
            view->is_lost = true;
            fail_round(world, GANG_CAUSE_LOST, i, -1, -1);
        }
    }
    int64_t timeout_ms = world->options.hang_ms * (world->moves ? 1 : 3);
    if (world->is_started && !world->is_stopped && world->options.hang_ms &&
        world->now_ms - world->progressed_ms >= timeout_ms) {
        fail_round(world, GANG_CAUSE_HANG, -2, -2, -1); /* -2: any rank, and its pod */
    }
    if (world->is_started && !world->is_stopped &&
        world->now_ms - world->started_ms >= GANG_STABLE_MS) {
        world->moves = MAX(world->moves, 2);
    }
    if (world->is_configured || usable(world) < world->options.min_workers ||
        !is_usable(&world->views[0]) || world->now_ms < world->not_before_ms) {
        world->enough_ms = -1;
    } else if (world->enough_ms < 0) {
        world->enough_ms = world->now_ms;
    }
}

/* ---- actions -------------------------------------------------------------------------------- */

void world_post(struct world *world, struct mail *mail, const struct gang_event *event,
                const struct gang_action *action) {
    if (mail->count == QUEUE) {
        return; /* a pod that does not read: it is lost by that time */
    }
    struct post *one = &mail->posts[mail->count++];
    *one = (struct post){.due_ms = world->now_ms + world_dice(world, world->is_peace ? 50 : 300)};
    if (event) {
        one->event = *event;
    } else {
        one->action = *action;
    }
}

static void on_configure(struct world *world, const struct gang_action *action) {
    CHECK(!world->is_configured); /* 1 */
    CHECK(action->round > world->round &&
          action->round >> GANG_ROUND_BITS == world->options.attempt); /* 3 */
    CHECK(world->now_ms >= world->not_before_ms);                      /* 13 */
    CHECK(action->count >= (size_t)world->options.min_workers && action->members[0] == 0);
    CHECK((int)action->count == usable(world)); /* 8 */
    CHECK((int)action->count == world->options.workers ||
          (world->enough_ms >= 0 &&
           world->now_ms - world->enough_ms >= world->options.gather_timeout_ms)); /* 8 */
    counts[SMALLER] += (int)action->count < world->options.workers;
    world->is_configured = true;
    world->is_started = world->is_stopped = false;
    world->round = action->round;
    world->log_count = 0;
    world->moves = world->done_ranks = world->notices = 0;
    world->grace_ms = -1;
    world->table_count = (int)action->count;
    memset(world->rank_done, 0, sizeof world->rank_done);
    memset(world->rank_progress, 0, sizeof world->rank_progress);
    for (size_t i = 0; i < action->count; i++) {
        struct view *view = &world->views[action->members[i]];
        CHECK(is_usable(view)); /* 6, 8 */
        CHECK(i == 0 || action->members[i] > action->members[i - 1]);
        view->is_in_table = true;
        view->may_run = action->round;
        view->configured_ms = world->now_ms;
    }
}

static void on_start(struct world *world, const struct gang_action *action) {
    CHECK(world->is_configured && !world->is_started && !world->is_stopped); /* 1 */
    CHECK(action->round == world->round && (int)action->count == world->table_count);
    CHECK(world->log_count == 0); /* 16 */
    for (int i = 0; i < world->options.workers; i++) {
        const struct pod *pod = &world->pods[i];
        const struct view *view = &world->views[i];
        if (view->is_in_table) {
            CHECK(view->ready_round == world->round && view->is_connected &&
                  !view->is_leaving); /* 2 */
        }
        CHECK(!pod->is_up || !pod->runs || view->is_lost); /* 1 */
        CHECK(!view->is_in_table || pod->serial != view->serial || !pod->is_up ||
              pod->configured_round == world->round);
    }
    world->is_started = true;
    world->started_ms = world->progressed_ms = world->now_ms;
    counts[STARTS]++;
}

static void on_stop(struct world *world, const struct gang_action *action) {
    CHECK(action->count > 0);
    if (action->round == world->round && world->is_configured && !world->is_stopped &&
        world->views[action->members[0]].is_in_table) {
        CHECK(expected(world) != NULL); /* 16 */
        CHECK(world->grace_ms < 0 || world->now_ms >= world->grace_ms);
        world->is_stopped = true;
        CHECK_INT(action->count, world->table_count);
    }
    counts[STOPS]++;
    for (size_t i = 0; i < action->count; i++) {
        struct view *view = &world->views[action->members[i]];
        view->stop_sent_ms = view->may_run ? world->now_ms : -1;
    }
}

static void on_end(struct world *world, const struct gang_action *action) {
    CHECK(!world->is_over); /* 4 */
    world->is_over = true;
    world->code = action->code;
    if (action->kind == GANG_ACTION_STEP_DOWN) {
        CHECK(world->has_later_hub); /* 11 */
        counts[STEPPED_DOWN]++;
    } else if (action->code == 0) {
        CHECK(world->was_zero && world->is_started && !world->is_stopped); /* 9 */
        counts[SUCCESSES]++;
    } else {
        counts[FAILURES]++;
        CHECK(world->is_fatal || world->is_stopped); /* 10 */
    }
}

static void check_lost(struct world *world, const struct gang_facts *facts) {
    size_t lost = 0;
    for (int i = 0; i < world->options.workers; i++) {
        lost += world->views[i].is_lost && !world->views[i].is_leaving;
    }
    size_t others = (size_t)world->options.workers - 1;
    bool is_cut_off = others > 1 && lost * 2 > others;
    CHECK_INT(facts->lost_count, is_cut_off ? 1 : lost); /* 18 */
    CHECK(!is_cut_off || facts->lost[0] == 0);
    for (size_t i = 0; !is_cut_off && i < facts->lost_count; i++) {
        CHECK(world->views[facts->lost[i]].is_lost);
    }
    counts[CUT_OFF] += is_cut_off;
}

/* The end of a round: its cause, and what follows. */
static void conclude(struct world *world, const struct gang_facts *facts) {
    static const enum reached reached[] = {[GANG_CAUSE_DISRUPTION] = DISRUPTIONS,
                                           [GANG_CAUSE_LOST] = LOSSES,
                                           [GANG_CAUSE_MEMORY] = MEMORIES,
                                           [GANG_CAUSE_APP] = APPS,
                                           [GANG_CAUSE_HANG] = HANGS,
                                           [GANG_CAUSE_FATAL] = FAILURES};
    const struct known_failure *why = expected(world);
    CHECK(why != NULL);
    if (!why) {
        return;
    }
    bool is_counted = why->cause == GANG_CAUSE_APP || why->cause == GANG_CAUSE_MEMORY ||
                      why->cause == GANG_CAUSE_HANG;
    CHECK_INT(facts->last_failure.cause, why->cause); /* 12 */
    CHECK(
        facts->last_failure.index == why->index ||
        (why->index == -2 && (facts->last_failure.index >= 0) == (facts->last_failure.rank >= 0)));
    CHECK(why->rank == -2 || facts->last_failure.rank == why->rank);
    CHECK_INT(facts->last_failure.code, why->code);
    for (int i = 0; i < world->options.workers; i++) { /* 6 */
        const struct view *view = &world->views[i];
        CHECK(!view->is_in_table || view->is_lost || !view->may_run);
        /* 17 */
        CHECK(is_conclusive(why->cause) || !view->is_in_table || view->is_lost ||
              view->is_connected);
    }
    CHECK(is_conclusive(why->cause) ||
          world->now_ms - why->at_ms >=
              (why->rank < 0 ? GANG_EXPLAIN_COMMAND_MS : GANG_EXPLAIN_RANK_MS));
    counts[EXPLAINED] += why != world->log && world->log_count > 1;
    counts[reached[why->cause]]++;
    counts[COMMANDS] += why->cause == GANG_CAUSE_APP && why->rank < 0;
    world->rounds_without_progress = world->moves > 1 ? 1 : world->rounds_without_progress + 1;
    world->is_configured = false;
    for (int i = 0; i < world->options.workers; i++) {
        world->views[i].is_in_table = false;
    }
    world->lost_index = why->is_silent && why->cause == GANG_CAUSE_LOST ? why->index : -1;
    bool is_last = why->cause == GANG_CAUSE_FATAL ||
                   (is_counted && world->counted_restarts >= world->options.max_restarts);
    CHECK_INT(facts->state == GANG_STATE_FINISHED, is_last); /* 10 */
    if (is_last) {
        return;
    }
    world->counted_restarts += is_counted;
    world->uncounted_restarts += !is_counted;
    int64_t pause_ms = is_counted                           ? world->options.backoff_ms
                       : world->rounds_without_progress > 1 ? 1000
                                                            : 0;
    for (int i = is_counted ? 1 : 2; i < world->rounds_without_progress; i++) {
        pause_ms = MIN(pause_ms * 2, (int64_t)GANG_BACKOFF_MAX_MS);
    }
    world->not_before_ms = world->now_ms + MIN(pause_ms, (int64_t)GANG_BACKOFF_MAX_MS);
    CHECK(facts->state != GANG_STATE_BACKOFF ||
          gang_deadline_ms(world->gang) <= world->not_before_ms);
    CHECK_INT(facts->counted_restarts, world->counted_restarts); /* 5 */
    CHECK_INT(facts->uncounted_restarts, world->uncounted_restarts);
}

/* Invariant 7: a gang that waits, waits for a pod or until a time. */
static void check_wake(struct world *world, const struct gang_facts *facts) {
    world->wake_ms = gang_deadline_ms(world->gang);
    CHECK(world->wake_ms > world->now_ms);
    bool waits_for_pod =
        facts->state == GANG_STATE_GATHERING &&
        (usable(world) < world->options.min_workers || !is_usable(&world->views[0]));
    bool is_healthy = facts->state == GANG_STATE_RUNNING && !world->options.hang_ms;
    CHECK(world->wake_ms < INT64_MAX || waits_for_pod || is_healthy ||
          facts->state == GANG_STATE_FINISHED);
}

static void deliver(struct world *world, const struct gang_action *action) {
    for (size_t i = 0; i < action->count; i++) {
        world_post(world, &world->pods[action->members[i]].down, NULL, action);
    }
}

/* Takes all actions, in order, like the hub. */
void world_pump(struct world *world) {
    struct gang_action action;
    struct gang_facts facts;
    pass(world);
    while (gang_next_action(world->gang, world->now_ms, &action)) {
        CHECK(!world->is_over); /* 4 */
        if (getenv("GANG_TRACE")) {
            printf("# %lld action %d: round %llx, %zu members, code %d\n", (long long)world->now_ms,
                   (int)action.kind, (unsigned long long)action.round, action.count, action.code);
        }
        gang_read_facts(world->gang, &facts);
        if (action.kind == GANG_ACTION_CONFIGURE && world->is_configured) {
            conclude(world, &facts);
            pass(world);
        }
        if (action.kind == GANG_ACTION_CONFIGURE) {
            on_configure(world, &action);
        } else if (action.kind == GANG_ACTION_START) {
            on_start(world, &action);
        } else if (action.kind == GANG_ACTION_STOP) {
            on_stop(world, &action);
        } else if (action.kind == GANG_ACTION_NOTICE) {
            CHECK(world->is_started && !world->is_stopped && ++world->notices == 1); /* 15 */
            CHECK(world->grace_ms > world->now_ms && action.seconds > 0);
            counts[NOTICES]++;
        } else {
            on_end(world, &action);
        }
        deliver(world, &action);
    }
    gang_read_facts(world->gang, &facts);
    if (world->is_configured && world->is_stopped && !world->has_later_hub &&
        (facts.state < GANG_STATE_CONFIGURING || facts.state > GANG_STATE_STOPPING)) {
        conclude(world, &facts);
        pass(world);
    }
    /* 16: a failed round is stopped immediately. */
    CHECK(!world->is_configured || world->is_stopped || world->is_over || !expected(world) ||
          (world->is_started && world->grace_ms > world->now_ms));
    CHECK(!world->has_later_hub || world->is_over); /* 11 */
    CHECK(world->is_configured || world->is_over || facts.state == GANG_STATE_FINISHED ||
          (facts.counted_restarts == world->counted_restarts &&
           facts.uncounted_restarts == world->uncounted_restarts)); /* 19 */
    check_lost(world, &facts);
    check_wake(world, &facts);
}

/* ---- events for the hub --------------------------------------------------------------------- */

/* 19 */
static void view_memory(struct world *world, int index) {
    const struct known_failure *why = expected(world);
    bool is_lost =
        world->is_configured && why && why->cause == GANG_CAUSE_LOST && why->index == index;
    counts[LOST_BEFORE] += is_lost && !why->is_silent;
    if (is_lost && why->is_silent) {
        world->log[why - world->log].cause = GANG_CAUSE_MEMORY;
        counts[LATE_MEMORIES]++;
    } else if (!world->is_configured && world->lost_index == index) {
        world->lost_index = -1;
        world->uncounted_restarts--;
        world->is_fatal |= world->counted_restarts >= world->options.max_restarts;
        world->counted_restarts += !world->is_fatal;
        counts[LATE_MEMORIES]++;
    }
}

static void view_hello(struct world *world, const struct gang_event *event, int serial) {
    struct view *view = &world->views[event->index];
    bool is_same = view->is_known && view->serial == serial;
    bool is_memory = view->is_known && !is_same && event->is_memory;
    if (!is_same) {
        bool was_in_table = view->is_in_table;
        *view = (struct view){.is_known = true,
                              .serial = serial,
                              .attempt = event->attempt,
                              .stop_sent_ms = -1,
                              .configured_ms = view->configured_ms,
                              .is_in_table = was_in_table && !world->is_stopped};
        view->may_run = view->is_in_table ? world->round : 0;
        if (was_in_table) {
            fail_round(world, is_memory ? GANG_CAUSE_MEMORY : GANG_CAUSE_DISRUPTION, event->index,
                       -1, -1);
        }
    }
    if (is_memory) {
        view_memory(world, event->index);
    }
    view->is_connected = true;
    view->is_lost = false;
    view->is_prepared = event->is_prepared;
    if (view->is_in_table && view->may_run == world->round) {
        if (event->round != world->round && is_same && view->ready_round == world->round &&
            view->stop_sent_ms < 0) {
            fail_round(world, GANG_CAUSE_LOST, event->index, -1, -1);
        }
        view->stop_sent_ms = view->stop_sent_ms >= 0 ? world->now_ms : -1;
    } else if (event->round) {
        view->may_run = MAX(event->round, view->may_run);
        view->stop_sent_ms = world->now_ms; /* it gets STOP immediately */
    } else {
        view->may_run = 0;
        view->stop_sent_ms = -1;
    }
}

static void view_exited(struct world *world, const struct gang_event *event) {
    if (event->round != world->round || !world->is_configured || !world->is_started) {
        return;
    }
    if (event->code) {
        fail_round(world, GANG_CAUSE_APP, event->index, event->rank, event->code);
    } else if (world->is_stopped) {
        return;
    } else if (world->options.processes == 0) {
        world->was_zero |= event->rank < 0 && event->index == 0;
    } else if (event->rank >= 0 && !world->rank_done[event->rank]) {
        world->rank_done[event->rank] = true;
        world->progressed_ms = world->now_ms;
        world->was_zero = ++world->done_ranks == world->table_count * world->options.processes;
    }
}

static void view_leaving(struct world *world, const struct gang_event *event) {
    int64_t was_ms = world->grace_ms, notice_ms = world->options.notice_ms;
    bool do_all = true;
    for (int i = 0; i < world->options.workers; i++) {
        const struct view *view = &world->views[i];
        do_all &= !view->is_in_table || view->is_leaving || view->is_lost;
    }
    do_all &= world->table_count > 1; /* a single one may be evicted, and continues elsewhere */
    notice_ms = notice_ms ? notice_ms : GANG_NOTICE_MS;
    notice_ms =
        do_all && world->options.deletion_notice_ms ? world->options.deletion_notice_ms : notice_ms;
    counts[DELETIONS] += do_all;
    int64_t grace_ms = world->now_ms + MIN(event->seconds * (int64_t)1000, notice_ms);
    bool is_healthy = world->is_started && !world->is_stopped && (!expected(world) || was_ms >= 0);
    fail_round(world, GANG_CAUSE_DISRUPTION, event->index, -1, -1);
    if (is_healthy) {
        world->grace_ms = was_ms < 0 ? grace_ms : MIN(was_ms, grace_ms);
    }
}

static void view_beat(struct world *world, const struct gang_event *event) {
    if (world->is_started && !world->is_stopped &&
        world->rank_progress[event->rank] != event->progress) {
        world->rank_progress[event->rank] = event->progress;
        world->progressed_ms = world->now_ms;
        world->moves++;
    }
}

/* It names the hung rank, and changes nothing else. */
static void view_halted(struct world *world, const struct gang_event *event) {
    const struct known_failure *why = expected(world);
    if (why && why->cause == GANG_CAUSE_HANG && world->is_configured && world->is_stopped &&
        event->round == world->round) {
        struct known_failure *hung = &world->log[why - world->log];
        hung->index = event->index;
        hung->rank = event->rank;
        counts[SUSPENDED]++;
    }
}

static void view_known(struct world *world, const struct gang_event *event) {
    struct view *view = &world->views[event->index];
    switch (event->kind) {
    case GANG_EVENT_PREPARED:
        view->is_prepared = true;
        break;
    case GANG_EVENT_RANK_STARTED: /* test_gang_success.c */
    case GANG_EVENT_RANK_ENDED:
    case GANG_EVENT_SPAWNED:
    case GANG_EVENT_SPAWN_ENDED:
    case GANG_EVENT_CHECKED:
        break;
    case GANG_EVENT_READY:
        view->ready_round = event->round == world->round ? event->round : view->ready_round;
        break;
    case GANG_EVENT_UNREACHABLE:
        if (view->is_in_table && event->round == world->round) {
            fail_round(world, GANG_CAUSE_LOST, event->index, -1, -1);
            counts[UNREACHABLE]++;
        }
        break;
    case GANG_EVENT_EXITED:
        view_exited(world, event);
        break;
    case GANG_EVENT_STOPPED:
        if (event->round >= view->may_run) {
            view->may_run = 0;
            view->stop_sent_ms = -1;
            view->is_lost = false;
        }
        break;
    case GANG_EVENT_LEAVING:
        view->is_leaving = true;
        if (view->is_in_table) {
            view_leaving(world, event);
        }
        break;
    case GANG_EVENT_DISCONNECTED:
        view->disconnected_ms = view->is_connected ? world->now_ms : view->disconnected_ms;
        view->is_connected = false;
        if (view->is_in_table && view->is_leaving && world->grace_ms >= 0) {
            world->grace_ms = world->now_ms;
        }
        break;
    case GANG_EVENT_HEARTBEAT:
        if (view->is_in_table) {
            view_beat(world, event);
        }
        break;
    case GANG_EVENT_OOM_KILLED:
        if (view->is_in_table) {
            fail_round(world, GANG_CAUSE_MEMORY, event->index, event->rank, event->code);
        }
        break;
    case GANG_EVENT_SUSPENDED:
        view_halted(world, event);
        break;
    case GANG_EVENT_FATAL:
        fail_round(world, GANG_CAUSE_FATAL, event->index, event->rank, event->code);
        break;
    case GANG_EVENT_HELLO:
        break;
    }
}

void world_tell(struct world *world, struct gang_event event, int serial) {
    const struct view *view = &world->views[event.index];
    char name[16];
    snprintf(name, sizeof name, "%d", serial);
    event.incarnation = name;
    bool is_known = view->is_known && view->serial == serial;
    bool is_current = is_known;
    if (world->is_over) {
        return;
    }
    if (getenv("GANG_TRACE")) {
        printf("# %lld sent %d by %d (serial %d): round %llx rank %d code %d\n",
               (long long)world->now_ms, (int)event.kind, event.index, serial,
               (unsigned long long)event.round, event.rank, event.code);
    }
    if (event.kind == GANG_EVENT_HELLO) {
        is_current = !view->is_known || is_known || event.attempt >= view->attempt;
        world->has_later_hub |= event.seen > world->options.attempt;
        counts[REFUSED] += !is_current;
    }
    if (event.kind == GANG_EVENT_HELLO && is_current && !world->has_later_hub) {
        view_hello(world, &event, serial);
    } else if (is_known && event.kind != GANG_EVENT_HELLO) {
        view_known(world, &event);
    }
    bool told = gang_handle(world->gang, &event, world->now_ms);
    CHECK_INT(told, is_current || world->has_later_hub); /* 14 */
    world_pump(world);
}
