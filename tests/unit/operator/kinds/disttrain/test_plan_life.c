// SPDX-License-Identifier: Apache-2.0
/* Whole lives of gangs on a cluster where everything fails: pods die with every code, are evicted,
 * leave slowly, are lost to the hub, some come later than startDeadlineSeconds, nodes are fewer
 * than workers, the controller misses answers, acts twice, and is killed between any two of its
 * writes. Whatever happens, there is one hub, its attempt never falls, nothing runs of a gang that
 * has ended or waits, and every job ends. The hub is a simple one: it is done after a number of
 * steps with minWorkers present. SOAK_SEED, SOAK_ROUNDS choose how many. */
#include "operator/kinds/disttrain/plan.h"

#include "lib/time/clock.h"
#include "operator/object.h"
#include "tests/plan_result_json.h"
#include "tests/seed.h"
#include "tests/status_life.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 30, LOOKS_MAX = 6000, MAX_RESTARTS = 3, STUCK_MS = 180000 };

static int rests; /* how often all pods were released */
static int rooms; /* how often a pod was removed to make room for the hub */

struct world {
    uint64_t random;
    int64_t now_ms;
    json_t *object, *service, *pods;
    int workers, trouble; /* of 1000: how often a pod fails in a step */
    int least, nodes;     /* minWorkers; the number of pods that fit */
    int64_t stuck_ms;     /* since when enough others have nodes and the hub has none; 0: no */
    unsigned losses;      /* of 100: how many writes are lost */
    int64_t peace_ms;     /* when pods stop failing */
    unsigned calm;        /* passes until a user suspends or resumes it, on average */
    unsigned passes;      /* passes that a pod waits for its node, on average */
    int step;
    int64_t counted, disrupted; /* of the current hub */
    char lost[64]; /* a pod that the hub cannot hear, until it has heard its successor */
};

static unsigned draw(struct world *world, unsigned below) {
    return (unsigned)test_below(&world->random, below);
}

static void make_world(struct world *world, uint64_t seed) {
    *world = (struct world){.random = seed * 7919 + 1, .now_ms = 1763700000000};
    world->workers = 1 + (int)draw(world, 5);
    world->least = draw(world, 2) ? world->workers : 1 + (int)draw(world, (unsigned)world->workers);
    world->nodes = draw(world, 3) ? world->least : world->workers;
    world->trouble = (int)draw(world, 4) * 15;
    world->losses = draw(world, 2) ? 0 : draw(world, 60);
    world->peace_ms = draw(world, 2) ? INT64_MAX : world->now_ms + draw(world, 60000);
    world->calm = draw(world, 2) ? 40 : 400;
    world->passes = draw(world, 4) ? 2 : 12;
    world->object = json_pack(
        "{s:s, s:s, s:{s:s, s:s, s:s, s:i}, s:{s:i, s:i, s:s, s:[s], s:s, s:s, s:{s:i}}, "
        "s:{s:{s:s, s:s, s:b}}}",
        "apiVersion", "windlass.dev/v1alpha1", "kind", "DistTrain", "metadata", "name", "life",
        "namespace", "n", "uid", "u", "generation", 1, "spec", "workers", world->workers,
        "minWorkers", world->least, "image", "i", "command", "train", "launcher", "MPI", "gang",
        "None", "restart", "maxRestarts", MAX_RESTARTS, "status", "credentials", "secret", "s",
        "certificateSHA256", "ab", "created", true);
    if (draw(world, 2)) {
        json_object_set_new(json_object_get(world->object, "spec"), "startDeadlineSeconds",
                            json_integer(10 + draw(world, 20)));
    }
    world->service = json_pack("{s:{s:{s:s, s:s}}, s:{s:s, s:[{s:i}]}}", "metadata", "annotations",
                               ANNOTATION_CERTIFICATE_SHA256, "ab", ANNOTATION_SECRET, "s", "spec",
                               "clusterIP", "10.0.0.1", "ports", "port", 1);
    world->pods = json_array();
}

static void end_world(struct world *world) {
    json_decref(world->object);
    json_decref(world->service);
    json_decref(world->pods);
}

static void end_pod(const struct world *world, json_t *pod, int exit_code) {
    char now[21];
    clock_format(world->now_ms, now);
    json_object_set_new(pod, "status",
                        json_pack("{s:s, s:[{s:{s:{s:i, s:s}}}]}", "phase",
                                  exit_code ? "Failed" : "Succeeded", "containerStatuses", "state",
                                  "terminated", "exitCode", exit_code, "finishedAt", now));
}

static void trouble_pod(struct world *world, json_t *pod) {
    switch (draw(world, 5)) {
    case 0:
        json_object_set_new(pod, "status",
                            json_pack("{s:s, s:s}", "phase", "Failed", "reason", "Evicted"));
        break;
    case 1: /* its node does not answer: its deletion is overdue */
        json_object_set_new(
            json_object_get(pod, "metadata"), "deletionTimestamp",
            json_string(draw(world, 2) ? "2025-11-21T04:00:00Z" : "2026-11-21T04:00:00Z"));
        break;
    case 2:
        snprintf(world->lost, sizeof world->lost, "%s", pod_phase_read(pod).name);
        break;
    default:
        end_pod(world, pod, draw(world, 3) ? 137 : 3);
    }
}

/* As the hub counts: a missing pod of the gang ended a round. */
static void note_end(struct world *world, const struct pod_phase *phase) {
    if (phase->index > 0) {
        world->disrupted++;
    }
}

static int64_t number_of(const json_t *pod, const char *variable) {
    const json_t *row = tree_find(tree_get(pod, "spec.containers[0].env"), "name", variable);
    return strtoll(tree_text(row, "value", "0"), NULL, 10);
}

static json_t *running_hub(const struct world *world) {
    for (size_t i = 0; i < json_array_size(world->pods); i++) {
        json_t *pod = json_array_get(world->pods, i);
        struct pod_phase phase = pod_phase_read(pod);
        if (phase.index == 0 && phase.stage == POD_PHASE_RUNNING) {
            return pod;
        }
    }
    return NULL;
}

static void start_pod(struct world *world, json_t *pod) {
    struct pod_phase phase = pod_phase_read(pod);
    json_object_set_new(pod, "status", json_pack("{s:s}", "phase", "Running"));
    if (phase.index == 0) {
        world->counted = number_of(pod, "WINDLASS_RESTARTS");
        world->disrupted = number_of(pod, "WINDLASS_DISRUPTED");
        world->lost[0] = 0;
    }
}

/* Pods that occupy a node: a leaving pod does so until it is gone. */
static int count_placed(const struct world *world) {
    int placed = 0;
    for (size_t i = 0; i < json_array_size(world->pods); i++) {
        enum pod_phase_stage stage = pod_phase_read(json_array_get(world->pods, i)).stage;
        placed += stage == POD_PHASE_RUNNING || stage == POD_PHASE_LEAVING;
    }
    return placed;
}

/* A later pod may be placed first. */
static void place_pod(struct world *world, json_t *pod) {
    if (count_placed(world) < world->nodes) {
        start_pod(world, pod);
        return;
    }
    json_object_set_new(pod, "status",
                        json_pack("{s:s, s:[{s:s, s:s, s:s, s:s}]}", "phase", "Pending",
                                  "conditions", "type", "PodScheduled", "status", "False", "reason",
                                  "Unschedulable", "message", "0/1 nodes are available"));
}

static bool is_heard(struct world *world, const struct pod_phase *phase) {
    const char *dash = strrchr(world->lost, '-');
    AUTO(text_freep) char *place = x_printf("life-%d", phase->index);
    bool is_successor = dash && strcmp(phase->name, world->lost) != 0 &&
                        text_starts(world->lost, place) && phase->stage == POD_PHASE_RUNNING;
    return is_successor && draw(world, 5) == 0;
}

static bool is_resting(const struct world *world) {
    const char *again = tree_text(world->object, "status.gathering.againTime", NULL);
    return again && clock_parse(again) > world->now_ms;
}

static void pass_time(struct world *world) {
    int running = 0;
    world->now_ms += 1 + draw(world, is_resting(world) ? 20000 : 1500);
    if (draw(world, world->calm) == 0) {
        bool suspended = tree_bool(world->object, "spec.suspend", false);
        json_object_set_new(json_object_get(world->object, "spec"), "suspend",
                            json_boolean(!suspended));
    }
    for (size_t i = json_array_size(world->pods); i-- > 0;) {
        json_t *pod = json_array_get(world->pods, i);
        struct pod_phase phase = pod_phase_read(pod);
        if (phase.stage == POD_PHASE_LEAVING && draw(world, 3) == 0) {
            json_array_remove(world->pods, i);
        } else if (pod_phase_is_alive(&phase) && world->now_ms < world->peace_ms &&
                   (int)draw(world, 1000) < world->trouble) {
            trouble_pod(world, pod);
            note_end(world, &phase);
        } else if (phase.stage == POD_PHASE_WAITING && draw(world, world->passes) == 0) {
            place_pod(world, pod);
        } else {
            running += phase.stage == POD_PHASE_RUNNING;
            world->lost[0] = is_heard(world, &phase) ? 0 : world->lost[0];
        }
    }
    json_t *hub = running_hub(world);
    if (hub && running >= world->least && !world->lost[0] && ++world->step >= STEPS) {
        end_pod(world, hub, 0);
    }
}

static json_t *look(struct world *world, bool answers) {
    struct error err = {0};
    AUTO(tree_freep)
    json_t *progress =
        json_pack("{s:s, s:i, s:{s:i}, s:{s:I, s:I}}", "state", "Running", "step", world->step,
                  "workers", "registered", world->workers, "restarts", "counted",
                  (json_int_t)world->counted, "disrupted", (json_int_t)world->disrupted);
    if (world->lost[0]) {
        json_object_set_new(progress, "lost", json_pack("[s]", world->lost));
    }
    struct disttrain_observed observed = {.job.object = world->object,
                                          .job.service = world->service,
                                          .job.pods = world->pods,
                                          .job.progress =
                                              answers && running_hub(world) ? progress : NULL};
    struct plan_result result = {0};
    CHECK_OK(disttrain_decide(&observed, world->now_ms, &result, &err), &err);
    return plan_result_json(&result);
}

static size_t find_pod(const struct world *world, const char *name) {
    size_t i = 0;
    while (i < json_array_size(world->pods) &&
           strcmp(tree_text(json_array_get(world->pods, i), "metadata.name", ""), name) != 0) {
        i++;
    }
    return i;
}

static void remove_pod(struct world *world, const char *name) {
    size_t index = find_pod(world, name);
    json_t *pod = json_array_get(world->pods, index);
    struct pod_phase phase = pod_phase_read(pod);
    if (pod && pod_phase_is_alive(&phase) && draw(world, 2)) { /* it takes its time */
        json_object_set_new(json_object_get(pod, "metadata"), "deletionTimestamp",
                            json_string("2026-11-21T04:00:00Z"));
    } else if (pod) {
        json_array_remove(world->pods, index);
    }
}

/* The hub has found no node for a while, and enough others have one. */
static bool makes_room(const struct world *world, const struct pod_phase *one) {
    int running = 0;
    bool is_late = false;
    for (size_t i = 0; i < json_array_size(world->pods); i++) {
        struct pod_phase phase = pod_phase_read(json_array_get(world->pods, i));
        running += phase.stage == POD_PHASE_RUNNING;
        is_late |=
            phase.index == 0 && phase.is_unscheduled && world->now_ms >= phase.born_ms + 20000;
    }
    bool is_room =
        one->index > 0 && is_late && running >= world->least && world->least < world->workers;
    rooms += is_room;
    return is_room;
}

/* A running pod is ended only for a reason: the hub's loss, its lack of a node, a user's request, a
 * successor, the end. */
static void check_reason(const struct world *world, const json_t *result, const char *name) {
    const json_t *pod = json_array_get(world->pods, find_pod(world, name));
    struct pod_phase phase = pod_phase_read(pod);
    bool is_newest = pod && phase.stage == POD_PHASE_RUNNING;
    for (size_t i = 0; i < json_array_size(world->pods); i++) {
        struct pod_phase other = pod_phase_read(json_array_get(world->pods, i));
        is_newest &= other.index != phase.index || other.attempt <= phase.attempt;
    }
    CHECK(!is_newest || strcmp(name, world->lost) == 0 || is_resting(world) ||
          tree_bool(world->object, "spec.suspend", false) || conditions_is_finished(result) ||
          makes_room(world, &phase));
}

/* True when every write arrived. */
static bool carry_out(struct world *world, const json_t *result) {
    const json_t *created = json_object_get(result, "create");
    const json_t *deleted = json_object_get(result, "delete");
    int lost = 0;
    for (size_t i = 0; i < json_array_size(deleted); i++) { /* before any of them is gone */
        check_reason(world, result, tree_text(json_array_get(deleted, i), "name", ""));
    }
    for (size_t i = 0; i < json_array_size(deleted); i++) {
        if (draw(world, 100) < world->losses) {
            lost++;
        } else {
            remove_pod(world, tree_text(json_array_get(deleted, i), "name", ""));
        }
    }
    for (size_t i = 0; i < json_array_size(created); i++) {
        const json_t *made = json_array_get(created, i);
        if (draw(world, 100) < world->losses) {
            lost++;
            continue;
        }
        CHECK(find_pod(world, tree_text(made, "metadata.name", "")) ==
              json_array_size(world->pods)); /* otherwise it would be refused forever */
        struct pod_phase phase = pod_phase_read(made);
        int64_t known = tree_integer(world->object, "status.attempt", 0);
        CHECK(phase.index > 0 || phase.attempt > known); /* otherwise members would not follow it */
        json_t *pod = json_deep_copy(made);
        char now[21];
        clock_format(world->now_ms, now);
        json_object_set_new(json_object_get(pod, "metadata"), "creationTimestamp",
                            json_string(now));
        json_array_append_new(world->pods, pod);
    }
    if (draw(world, 100) < world->losses) {
        lost++;
    } else {
        test_failures += status_life_store(world->object, json_object_get(result, "status"));
    }
    return lost == 0;
}

/* The others have the nodes that the hub needs: not so from the start, and it must end. */
static void check_lead(struct world *world) {
    int others = 0, placed = 0;
    bool is_first = false, is_stuck = false;
    for (size_t i = 0; i < json_array_size(world->pods); i++) {
        struct pod_phase phase = pod_phase_read(json_array_get(world->pods, i));
        bool waits = phase.index == 0 && phase.stage == POD_PHASE_WAITING;
        others += phase.index > 0 && pod_phase_is_alive(&phase);
        placed += phase.index > 0 && phase.stage == POD_PHASE_RUNNING;
        is_first |=
            waits && phase.attempt == 1 && world->losses == 0; /* otherwise it may be another's */
        is_stuck |= waits && phase.is_unscheduled;
    }
    CHECK(!is_first || others < world->least || world->least == world->workers);
    is_stuck &= placed >= world->least;
    world->stuck_ms = !is_stuck ? 0 : world->stuck_ms ? world->stuck_ms : world->now_ms;
    CHECK(!is_stuck || world->now_ms < world->stuck_ms + STUCK_MS);
}

/* arrived: all writes of the last pass were done. rested: it found all pods released. */
static void check_promises(struct world *world, bool arrived, bool rested) {
    int hubs = 0, alive = 0;
    for (size_t i = 0; i < json_array_size(world->pods); i++) {
        struct pod_phase phase = pod_phase_read(json_array_get(world->pods, i));
        hubs += phase.index == 0 && pod_phase_is_alive(&phase);
        alive += pod_phase_is_alive(&phase);
    }
    CHECK(hubs <= 1);
    CHECK(!arrived || !rested || alive == 0);
    CHECK(!arrived || alive <= world->workers);
    if (arrived && (tree_bool(world->object, "spec.suspend", false) ||
                    conditions_is_finished(world->object))) {
        CHECK_INT(alive, 0);
    }
}

static void take_look(struct world *world, bool answers) {
    bool rested = is_resting(world);
    AUTO(tree_freep) json_t *result = look(world, answers);
    bool arrived = carry_out(world, result);
    check_promises(world, arrived, rested);
    check_lead(world);
    rests += rested && json_array_size(json_object_get(result, "delete")) > 0;
    /* Planning again at once makes nothing more, except replacements of pods gone meanwhile. */
    if (arrived && json_array_size(json_object_get(result, "delete")) == 0) {
        AUTO(tree_freep) json_t *second = look(world, answers);
        CHECK_INT(json_array_size(json_object_get(second, "create")), 0);
    }
}

static void live(uint64_t seed) {
    struct world world;
    make_world(&world, seed);
    int looks = 0;
    for (; looks < LOOKS_MAX && !conditions_is_finished(world.object); looks++) {
        pass_time(&world);
        take_look(&world, draw(&world, 3) > 0);
    }
    CHECK(looks < LOOKS_MAX);
    const json_t *succeeded = conditions_find(world.object, "Succeeded");
    const char *result = tree_text(succeeded, "status", "");
    CHECK_STR(result, world.trouble == 0 ? "True" : result);
    CHECK(strcmp(result, "True") != 0 || world.step >= STEPS);
    if (test_failures) {
        printf("# SOAK_SEED=%llu\n", (unsigned long long)seed);
    }
    end_world(&world);
}

static void test_lives(void) {
    uint64_t seed = test_seed(1);
    int64_t lives = test_rounds(20) * 10;
    for (int64_t i = 0; i < lives && test_failures == 0; i++) {
        live(seed + (uint64_t)i);
    }
    printf("# let go: %d, made room: %d\n", rests, rooms);
    CHECK(lives < 100 || rests > 0);
    CHECK(lives < 1000 || rooms > 0);
}

int main(void) {
    TEST(test_lives);
    return TEST_END();
}
