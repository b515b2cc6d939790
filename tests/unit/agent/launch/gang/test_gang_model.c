// SPDX-License-Identifier: Apache-2.0
/* The gang against a model of its pods: they come late, are cut off, leave, are replaced, hang,
 * fail and answer slowly or never, in any order; messages wait for a connection and are lost with a
 * pod. The model knows the true state of the pods, and the state known to the hub; each action is
 * checked against both (gang_world.h lists the invariants). At the end faults stop, and the job
 * must succeed. SOAK_SEED and SOAK_ROUNDS choose other courses (make soak: SOAK_ROUNDS=500000),
 * GANG_TRACE=1 shows them. */
#include "tests/seed.h"
#include "tests/test.h"
#include "tests/unit/agent/launch/gang/gang_world.h"

#include <stdlib.h>

enum { STEPS = 400, PEACE_MS = 15 * 60000 };

static void hello(struct world *world, int index) {
    struct pod *pod = &world->pods[index];
    pod->is_linked = true;
    pod->relink_ms = -1;
    world_tell(world,
               (struct gang_event){.kind = GANG_EVENT_HELLO,
                                   .index = index,
                                   .round = pod->configured_round,
                                   .attempt = pod->attempt,
                                   .seen = world->options.attempt,
                                   .is_prepared = pod->is_prepared,
                                   .is_memory = pod->is_after_memory},
               pod->serial);
}

static void cut(struct world *world, int index, int64_t for_ms) {
    struct pod *pod = &world->pods[index];
    if (pod->is_linked) {
        pod->is_linked = false;
        pod->cut_ms = world->now_ms;
        pod->relink_ms = world->now_ms + for_ms;
        world_tell(world, (struct gang_event){.kind = GANG_EVENT_DISCONNECTED, .index = index},
                   pod->serial);
    }
}

static void come(struct world *world, int index) {
    struct pod *pod = &world->pods[index];
    *pod = (struct pod){.is_up = true,
                        .serial = pod->serial + 1,
                        .attempt = pod->attempt + 1,
                        .ends_ms = -1,
                        .comes_ms = -1,
                        .is_after_memory = index && world_dice(world, 3) == 0,
                        .prepared_ms = world->now_ms + world_dice(world, 3000)};
    hello(world, index);
}

/* The hub's pod is gone: a new one comes, which knows only the counts. */
static void new_hub(struct world *world) {
    struct gang_facts facts;
    gang_read_facts(world->gang, &facts);
    world->options.counted_restarts = facts.counted_restarts;
    world->options.uncounted_restarts = facts.uncounted_restarts;
    world->options.attempt++;
    gang_free(world->gang);
    world->gang = gang_new(&world->options);
    world->is_configured = world->is_started = world->is_stopped = false;
    world->round = world->not_before_ms = 0;
    world->lost_index = -1;
    world->rounds_without_progress = 0;
    world->grace_ms = world->enough_ms = -1;
    world->log_count = 0;
    world->wake_ms = 0;
    for (int i = 0; i < world->options.workers; i++) {
        struct pod *pod = &world->pods[i];
        world->views[i] = (struct view){.stop_sent_ms = -1};
        pod->up.count = pod->down.count = 0;
        pod->relink_ms = -1;
        pod->cut_ms = pod->is_linked ? world->now_ms : pod->cut_ms;
        pod->is_linked = false;
        if (pod->is_up) {
            pod->relink_ms = world->now_ms + world_dice(world, world_dice(world, 3) ? 3000 : 50000);
        }
    }
    come(world, 0);
}

static void end_pod(struct world *world, int index) {
    struct pod *pod = &world->pods[index];
    cut(world, index, INT32_MAX);
    pod->is_up = false;
    pod->runs = pod->configured_round = 0;
    pod->ends_ms = pod->relink_ms = -1;
    pod->comes_ms = world->now_ms + world_dice(world, world_dice(world, 4) ? 5000 : 40000);
    if (index == 0) {
        new_hub(world);
    }
}

static void receive(struct world *world, int index, const struct gang_action *action) {
    struct pod *pod = &world->pods[index];
    struct gang_event answer = {.kind = GANG_EVENT_READY, .index = index, .round = action->round};
    if (action->kind == GANG_ACTION_CONFIGURE) {
        pod->configured_round = action->round;
        pod->runs = 0;
        if (world_dice(world, 15) == 0) {
            answer.kind = GANG_EVENT_UNREACHABLE;
        }
        world_post(world, &pod->up, &answer, NULL);
    } else if (action->kind == GANG_ACTION_START) {
        pod->runs = pod->configured_round == action->round ? action->round : pod->runs;
    } else if (action->kind == GANG_ACTION_STOP && pod->configured_round <= action->round) {
        if (pod->runs == action->round && world_dice(world, 3) == 0) {
            answer.kind = GANG_EVENT_SUSPENDED;
            answer.rank = (int)world_dice(world, MAX(world->table_count, 1));
            world_post(world, &pod->up, &answer, NULL);
        }
        pod->configured_round = pod->runs = 0;
        answer.kind = GANG_EVENT_STOPPED;
        world_post(world, &pod->up, &answer, NULL);
    }
}

static bool take(struct mail *mail, int64_t now_ms, struct post *ret_post) {
    if (!mail->count || mail->posts[0].due_ms > now_ms) {
        return false;
    }
    *ret_post = mail->posts[0];
    memmove(mail->posts, mail->posts + 1, --mail->count * sizeof *mail->posts);
    return true;
}

static void say(struct world *world, int index, struct gang_event event) {
    event.index = index;
    event.round = world->pods[index].runs;
    if (!world->pods[index].is_mute) {
        world_post(world, &world->pods[index].up, &event, NULL);
    }
}

/* The running program ends in one of the ways in which programs end. */
static void end_well(struct world *world) {
    for (int i = 0, place = 0; i < world->options.workers; i++) {
        if (!world->views[i].is_in_table) {
            continue;
        }
        for (int k = 0; k < world->options.processes; k++, place++) {
            say(world, i, (struct gang_event){.kind = GANG_EVENT_EXITED, .rank = place});
        }
    }
    if (world->options.processes == 0) {
        say(world, 0, (struct gang_event){.kind = GANG_EVENT_EXITED, .rank = -1});
    }
}

static void fail(struct world *world, int index) {
    int rank = (int)world_dice(world, world->table_count);
    int64_t way = world_dice(world, 4);
    if (way == 0) {
        say(world, index,
            (struct gang_event){.kind = GANG_EVENT_OOM_KILLED, .rank = rank, .code = 137});
    }
    if (way <= 2) {
        say(world, index,
            (struct gang_event){.kind = GANG_EVENT_EXITED, .rank = rank, .code = 137});
    }
    if (world->options.processes == 0) {
        say(world, 0, (struct gang_event){.kind = GANG_EVENT_EXITED, .rank = -1, .code = 205});
    }
}

static void beat(struct world *world) {
    for (int rank = 0; rank < world->table_count; rank++) {
        world_tell(world,
                   (struct gang_event){.kind = GANG_EVENT_HEARTBEAT,
                                       .rank = rank,
                                       .progress = world->now_ms,
                                       .is_waiting = world_dice(world, 2) == 0},
                   world->views[0].serial);
    }
}

static void harm(struct world *world) {
    int index = (int)world_dice(world, world->options.workers);
    struct pod *pod = &world->pods[index];
    int seconds = (int)world_dice(world, 30) - 5;
    struct gang_event event = {.kind = GANG_EVENT_LEAVING, .index = index, .rank = -1, .code = -1};
    if (!pod->is_up) {
        return;
    }
    switch (world_dice(world, 15)) {
    case 14: /* the job is deleted: all get a notice, one after the other */
        for (int i = 0; i < world->options.workers && !world->is_over; i++) {
            event.index = i;
            event.seconds = MAX(seconds, 0);
            if (world->pods[i].is_up) {
                say(world, i, event);
                world->pods[i].ends_ms = world->now_ms + 1000 * (MAX(seconds, 0) + 5);
            }
        }
        break;
    case 0:
    case 1:
        event.seconds = MAX(seconds, 0);
        say(world, index, event);
        pod->ends_ms = world->now_ms + 1000 * (MAX(seconds, 0) + world_dice(world, 5));
        break;
    case 2:
    case 3:
    case 4:
        if (index) {
            cut(world, index, world_dice(world, world_dice(world, 2) ? 10000 : 50000));
        }
        break;
    case 5:
        end_pod(world, index);
        break;
    case 6:
        pod->is_mute |= pod->is_prepared && world_dice(world, 3) == 0;
        break;
    case 7:
        event.kind = GANG_EVENT_FATAL;
        if (world_dice(world, 20) == 0) {
            say(world, index, event);
        }
        break;
    case 8: /* a replaced pod that still sends (to a hub that knows its successor) */
        if (!world->views[index].is_known) {
            break;
        }
        event.kind = world_dice(world, 2)
                         ? GANG_EVENT_HELLO
                         : (enum gang_event_kind)world_dice(world, GANG_EVENT_FATAL);
        event.attempt = pod->attempt - 1;
        event.round = world->round;
        world_tell(world, event, pod->serial - 1);
        break;
    case 9:
        if (world_dice(world, 60) == 0) {
            event.kind = GANG_EVENT_HELLO;
            event.attempt = pod->attempt;
            event.seen = world->options.attempt + 1;
            world_tell(world, event, pod->serial);
        }
        break;
    default:
        if (world->is_started && pod->runs) {
            fail(world, index);
        }
    }
}

/* The plan: a pod that is lost gets a successor. */
static void control(struct world *world) {
    struct gang_facts facts;
    gang_read_facts(world->gang, &facts);
    for (int i = 0; i < world->options.workers && world->is_peace; i++) {
        struct pod *pod = &world->pods[i]; /* (its livenessProbe) */
        pod->ends_ms = pod->is_mute && pod->ends_ms < 0 ? world->now_ms + 30000 : pod->ends_ms;
    }
    for (size_t i = 0; i < facts.lost_count; i++) {
        struct pod *pod = &world->pods[facts.lost[i]];
        if (pod->is_up && pod->ends_ms < 0 && world_dice(world, world->is_peace ? 3 : 30) == 0) {
            pod->ends_ms = world->now_ms + world_dice(world, 3000);
        }
    }
}

static void live(struct world *world, int index) {
    struct pod *pod = &world->pods[index];
    struct post letter;
    if (!pod->is_up) {
        if (pod->comes_ms >= 0 && world->now_ms >= pod->comes_ms) {
            come(world, index);
        }
        return;
    }
    if (pod->ends_ms >= 0 && world->now_ms >= pod->ends_ms) {
        end_pod(world, index);
        return;
    }
    if (!pod->is_prepared && world->now_ms >= pod->prepared_ms) {
        pod->is_prepared = true;
        say(world, index, (struct gang_event){.kind = GANG_EVENT_PREPARED});
    }
    if (!pod->is_linked) {
        bool is_alone = world->now_ms - pod->cut_ms >= GANG_SELF_FENCE_MS;
        pod->configured_round = is_alone ? 0 : pod->configured_round; /* it has fenced itself */
        pod->runs = is_alone ? 0 : pod->runs;
        if (pod->relink_ms >= 0 && world->now_ms >= pod->relink_ms) {
            hello(world, index);
        }
        return;
    }
    while (pod->is_linked && take(&pod->down, world->now_ms, &letter)) {
        if (!pod->is_mute) {
            receive(world, index, &letter.action);
        }
    }
    while (pod->is_linked && !world->is_over && take(&pod->up, world->now_ms, &letter)) {
        world_tell(world, letter.event, pod->serial);
    }
}

static void step(struct world *world, bool is_hanging) {
    int64_t before = world->now_ms;
    world->now_ms += 1 + world_dice(world, world_dice(world, 10) ? 200 : 3000);
    /* 7: nothing is due before the announced time. */
    struct gang_action action;
    int64_t early_ms = MIN(world->now_ms, world->wake_ms) - 1;
    CHECK(early_ms < before || !gang_next_action(world->gang, early_ms, &action));
    world_pump(world);
    for (int i = 0; i < world->options.workers && !world->is_over; i++) {
        live(world, i);
    }
    control(world);
    if (world->is_started && !world->is_stopped && !is_hanging && !world->is_over) {
        beat(world);
    }
}

static void begin(struct world *world) {
    world->options =
        (struct gang_options){.workers = 1 + (int)world_dice(world, PODS),
                              .slots = 4,
                              .processes = (int)world_dice(world, 3),
                              .max_restarts = (int)world_dice(world, 6),
                              .backoff_ms = world_dice(world, 2) * 5000,
                              .gather_timeout_ms = world_dice(world, 20000),
                              .hang_ms = world_dice(world, 3) ? 0 : 4000,
                              .notice_ms = world_dice(world, 2) * 12000,
                              .deletion_notice_ms = world_dice(world, 2) * GANG_DELETION_NOTICE_MS,
                              .attempt = 1 + world_dice(world, 3)};
    world->options.min_workers = world->options.workers;
    if (world_dice(world, 2)) {
        world->options.min_workers = 1 + (int)world_dice(world, world->options.workers);
    }
    world->gang = gang_new(&world->options);
    world->now_ms = 1000;
    world->lost_index = -1;
    world->enough_ms = world->grace_ms = -1;
    for (int i = 0; i < world->options.workers; i++) {
        world->views[i].stop_sent_ms = -1;
        world->pods[i].comes_ms = i ? world->now_ms + world_dice(world, 20000) : 0;
        world->pods[i].attempt = (int64_t)1;
    }
    world_pump(world);
}

/* Returns false if a check failed (which was printed). */
static bool course(uint64_t seed) {
    static struct world zero;
    struct world *world = &zero;
    memset(world, 0, sizeof *world);
    world->random = seed;
    int failures = world_failures();
    begin(world);
    bool is_hanging = false, does_end = world_dice(world, 4) == 0;
    for (int i = 0; i < STEPS && !world->is_over && world_failures() == failures; i++) {
        is_hanging = world_dice(world, 40) ? is_hanging : world_dice(world, 3) == 0;
        step(world, is_hanging);
        if (!world->is_over && world_dice(world, 12) == 0) {
            harm(world);
        }
        if (!world->is_over && world->is_started && does_end && world_dice(world, 60) == 0) {
            end_well(world);
        }
    }
    world->is_peace = true;
    int64_t peace_ms = world->now_ms;
    while (!world->is_over && world_failures() == failures && world->now_ms - peace_ms < PEACE_MS) {
        step(world, false);
        if (!world->is_over && world->is_started && !world->is_stopped &&
            world->now_ms - world->started_ms > 3000 && world_dice(world, 20) == 0) {
            end_well(world);
        }
    }
    CHECK(world->is_over);
    gang_free(world->gang);
    CHECK(world_failures() == failures);
    if (!world->is_over || world_failures() != failures) {
        printf("# course of SOAK_SEED=%llu with SOAK_ROUNDS=1\n", (unsigned long long)seed);
    }
    return world->is_over && world_failures() == failures;
}

static void any_course(void) {
    static const char *const names[REACHED] = {"starts",       "stops",     "successes",
                                               "failures",     "given way", "notices",
                                               "refused",      "lost",      "hung",
                                               "memory",       "app",       "of the command alone",
                                               "disrupted",    "explained", "smaller",
                                               "hub cut off",  "halted",    "memory, reported late",
                                               "out of reach", "all leave", "memory after a loss"};
    uint64_t seed = test_seed(20261121);
    int64_t rounds = test_rounds(2000);
    printf("# SOAK_SEED=%llu SOAK_ROUNDS=%lld\n", (unsigned long long)seed, (long long)rounds);
    for (int64_t i = 0; i < rounds && course(seed + (uint64_t)i); i++) {
    }
    for (int i = 0; i < REACHED; i++) {
        printf("# %s: %lld\n", names[i], (long long)world_counts()[i]);
        CHECK(world_counts()[i] > 0 || rounds < 1000);
    }
}

int main(void) {
    TEST(any_course);
    return TEST_END();
}
