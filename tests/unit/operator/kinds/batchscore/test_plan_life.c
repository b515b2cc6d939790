// SPDX-License-Identifier: Apache-2.0
/* Whole lives of jobs on a cluster where everything fails: pods die with every code, are evicted,
 * leave slowly, the controller misses passes, acts twice, and is killed between any two of its
 * writes. Whatever happens, every pass keeps the contract of plan.h, every job ends, and no count
 * of attempts begins anew, so no name is used twice, except in a place whose last pod was deleted
 * alive (suspended, not needed, or by a user). Where two coordinators would both write, none is
 * made beside one that may run. A job whose pods die of their own fault only after they have
 * finished something ends with success, however often they die and whatever nodes are lost; the
 * controller may be replaced before every pass, because nothing is kept between them. SOAK_SEED,
 * SOAK_ROUNDS choose how many. */
#include "operator/kinds/batchscore/plan.h"

#include "lib/time/clock.h"
#include "operator/cluster.h"
#include "operator/kinds/job/pod_phase.h"
#include "operator/kinds/job/spec_snapshot.h"
#include "operator/object.h"
#include "tests/plan_result_json.h"
#include "tests/seed.h"
#include "tests/status_life.h"
#include "tests/test.h"

#include <stdlib.h>

enum { TOTAL = 40, STEPS_MAX = 4000 };

struct world {
    uint64_t random;
    int64_t now_ms;
    json_t *object, *service, *pods;
    json_t *given;     /* {used pod name, which may not come again: its index} */
    int done, trouble; /* of 1000: how often a pod dies in a step */
    unsigned losses;   /* of 100: how many writes are lost */
    bool shares;       /* the output is in a place where two coordinators would both write */
    int workers_max;
    bool is_steady; /* pods finish something before they die of their own fault */
    bool in_rush;   /* the status comes late: at first only the Service has what began */
};

static unsigned draw(struct world *world, unsigned below) {
    return (unsigned)test_below(&world->random, below);
}

static void make_world(struct world *world, uint64_t seed) {
    *world = (struct world){.random = seed * 7919 + 1, .now_ms = 1763700000000};
    world->workers_max = 1 + (int)draw(world, 5);
    world->is_steady = draw(world, 3) == 0;
    world->trouble = (int)draw(world, 4) * (world->is_steady ? 40 : 15);
    world->losses = draw(world, 2) ? 0 : draw(world, 60);
    world->object = json_pack(
        "{s:s, s:s, s:{s:s, s:s, s:s, s:i}, s:{s:{s:{s:s}}, s:{s:{s:s}}, s:{s:s}, s:i, s:{s:i, "
        "s:i},"
        "s:[{s:s, s:{s:s}}]}}",
        "apiVersion", "windlass.dev/v1alpha1", "kind", "BatchScore", "metadata", "name", "life",
        "namespace", "n", "uid", "u", "generation", 1, "spec", "input", "video", "path", "d/v",
        "scorer", "onnx", "path", "d/m", "output", "path", "d/o", "miniBatchSize", 8, "workers",
        "min", draw(world, 2), "max", world->workers_max, "volumes", "name", "d",
        "persistentVolumeClaim", "claimName", "d");
    world->in_rush = draw(world, 2);
    world->service = json_pack(
        "{s:{s:{s:s, s:s, s:s}}, s:{s:s, s:[{s:i}]}}", "metadata", "annotations",
        ANNOTATION_CERTIFICATE_SHA256, "ab", ANNOTATION_SECRET, "s", ANNOTATION_SPEC_SNAPSHOT,
        "{\"agentImage\": \"i\", \"generation\": 1, \"run\": \"r\", \"specHash\": \"h\"}", "spec",
        "clusterIP", "10.0.0.1", "ports", "port", 1);
    json_t *status = json_object();
    if (!world->in_rush) {
        json_object_set_new(status, "credentials",
                            json_pack("{s:s, s:s, s:b}", "secret", "s", "certificateSHA256", "ab",
                                      "created", true));
    }
    json_object_set_new(world->object, "status", status);
    world->shares = draw(world, 3) == 0;
    json_object_set_new(status, "exclusive", json_boolean(!world->shares));
    world->pods = json_array();
    world->given = json_object();
}

static void end_world(struct world *world) {
    json_decref(world->object);
    json_decref(world->service);
    json_decref(world->pods);
    json_decref(world->given);
}

static bool is_coordinator(const json_t *pod) {
    return strcmp(json_string_value(json_object_get(tree_get(pod, "metadata.labels"), LABEL_ROLE)),
                  "coordinator") == 0;
}

static json_t *progress_of(const struct world *world) {
    return json_pack("{s:s, s:{s:i, s:i}, s:{s:i, s:i}}", "state", "Running", "miniBatches",
                     "total", TOTAL, "done", world->done, "items", "total", TOTAL * 8, "done",
                     world->done * 8);
}

static void end_pod(struct world *world, json_t *pod, int exit_code) {
    char now[21];
    clock_format(world->now_ms, now);
    AUTO(tree_freep) json_t *words = is_coordinator(pod) ? progress_of(world) : json_object();
    json_object_set_new(words, "progress", json_integer(tree_integer(pod, "finished", 0)));
    AUTO(text_freep) char *message = json_dumps(words, JSON_COMPACT);
    json_object_set_new(pod, "status",
                        json_pack("{s:s, s:[{s:{s:{s:i, s:s, s:s}}}]}", "phase",
                                  exit_code ? "Failed" : "Succeeded", "containerStatuses", "state",
                                  "terminated", "exitCode", exit_code, "finishedAt", now, "message",
                                  message));
}

/* By its own fault or not. */
static void kill_pod(struct world *world, json_t *pod) {
    static const int codes[] = {137, 137, 3, 139};
    bool is_fault = !world->is_steady || tree_integer(pod, "finished", 0) > 0;
    int blameless = is_coordinator(pod) || draw(world, 2) ? 130 : 4;
    end_pod(world, pod, is_fault ? codes[draw(world, ARRAY_LEN(codes))] : blameless);
}

/* An evicted or leaving pod may still run: here it does. */
static void trouble_pod(struct world *world, json_t *pod) {
    switch (draw(world, 4)) {
    case 0:
        json_object_set_new(pod, "status",
                            json_pack("{s:s, s:s}", "phase", "Failed", "reason", "Evicted"));
        json_object_set_new(pod, "runs", json_true());
        break;
    case 1:
        json_object_set_new(json_object_get(pod, "metadata"), "deletionTimestamp",
                            json_string(world->shares ? "2025-11-21T04:00:00Z" /* long lost */
                                                      : "2026-11-21T04:00:00Z"));
        json_object_set_new(pod, "runs", json_true());
        break;
    default:
        kill_pod(world, pod);
    }
}

static void forget_place(struct world *world, int index) {
    const char *name;
    json_t *value;
    void *next;
    json_object_foreach_safe(world->given, next, name, value) {
        if (json_integer_value(value) == index) {
            json_object_del(world->given, name);
        }
    }
}

/* Some mini-batches are done and committed, by workers that know it as the coordinator does. */
static void finish_some(struct world *world, int scoring) {
    int wanted = world->done + (int)draw(world, (unsigned)scoring + 1);
    int done = MIN(wanted, TOTAL), left = done - world->done;
    for (size_t i = 0; i < json_array_size(world->pods) && done > world->done; i++) {
        json_t *pod = json_array_get(world->pods, i);
        if (pod_phase_read(pod).stage == POD_PHASE_RUNNING && (is_coordinator(pod) || left-- > 0)) {
            json_object_set_new(pod, "finished",
                                json_integer(tree_integer(pod, "finished", 0) + 1));
        }
    }
    world->done = done;
}

/* A second passes for every pod. */
static void pass_time(struct world *world) {
    world->now_ms += 1 + draw(world, 1500);
    if (draw(world, 30) == 0) { /* a user suspends or resumes the job */
        bool suspended = tree_bool(world->object, "spec.suspend", false);
        json_object_set_new(json_object_get(world->object, "spec"), "suspend",
                            json_boolean(!suspended));
    }
    bool coordinator = false;
    int scoring = 0;
    for (size_t i = json_array_size(world->pods); i-- > 0;) {
        json_t *pod = json_array_get(world->pods, i);
        struct pod_phase phase = pod_phase_read(pod);
        bool confirmed = world->shares && json_object_get(pod, "runs") && draw(world, 20) == 0;
        if (confirmed || (phase.stage == POD_PHASE_LEAVING && draw(world, 3) == 0)) {
            forget_place(world, phase.index); /* pods deleted by others are not remembered */
            json_array_remove(world->pods, i);
        } else if (pod_phase_is_alive(&phase) && (int)draw(world, 1000) < world->trouble) {
            trouble_pod(world, pod);
        } else if (phase.stage == POD_PHASE_WAITING && draw(world, 2)) {
            json_object_set_new(pod, "status", json_pack("{s:s}", "phase", "Running"));
        } else if (phase.stage == POD_PHASE_RUNNING) {
            coordinator |= is_coordinator(pod);
            scoring += !is_coordinator(pod);
        }
    }
    if (coordinator && scoring > 0 && draw(world, 3)) {
        finish_some(world, scoring);
    }
    for (size_t i = 0; i < json_array_size(world->pods) && world->done == TOTAL; i++) {
        json_t *pod = json_array_get(world->pods, i);
        if (pod_phase_read(pod).stage == POD_PHASE_RUNNING && draw(world, 2)) {
            end_pod(world, pod, 0);
        }
    }
}

static json_t *look(struct world *world, bool answers) {
    struct error err = {0};
    AUTO(tree_freep) json_t *progress = progress_of(world);
    char digest[SPEC_SNAPSHOT_DIGEST];
    CHECK(spec_snapshot_digest_of(world->service, digest));
    struct credentials stored = {
        .secret = "s", .certificate_sha256 = "ab", .begun = digest, .is_confirmed = true};
    struct batchscore_observed observed = {.job.object = world->object,
                                           .job.credentials = world->in_rush ? &stored : NULL,
                                           .job.service = world->service,
                                           .job.pods = world->pods,
                                           .job.progress = answers ? progress : NULL};
    struct plan_result result = {0};
    CHECK_OK(batchscore_decide(&observed, world->now_ms, &result, &err), &err);
    return plan_result_json(&result);
}

static json_t *find_pod(const struct world *world, const char *name, size_t *ret_index) {
    for (size_t i = 0; i < json_array_size(world->pods); i++) {
        json_t *pod = json_array_get(world->pods, i);
        if (strcmp(tree_text(pod, "metadata.name", ""), name) == 0) {
            *ret_index = i;
            return pod;
        }
    }
    return NULL;
}

static void add_pod(struct world *world, const json_t *made) {
    const char *name = tree_text(made, "metadata.name", "");
    size_t ignored;
    /* Applying a name that exists would change another pod's phase. */
    CHECK(!find_pod(world, name, &ignored));
    for (size_t i = 0; world->shares && i < json_array_size(world->pods); i++) {
        const json_t *pod = json_array_get(world->pods, i);
        CHECK(!is_coordinator(made) || !is_coordinator(pod) || !json_object_get(pod, "runs"));
    }
    if (json_object_get(world->given, name)) {
        printf("# %s was given twice\n", name);
        test_failures++;
    }
    json_object_set_new(world->given, name, json_integer(pod_phase_read(made).index));
    json_array_append_new(world->pods, json_deep_copy(made));
}

static void remove_pod(struct world *world, const char *name) {
    size_t index;
    const json_t *pod = find_pod(world, name, &index);
    if (pod) {
        struct pod_phase phase = pod_phase_read(pod);
        if (pod_phase_is_alive(&phase)) {
            forget_place(world, phase.index);
        }
        json_array_remove(world->pods, index);
    }
}

static bool ends(const json_t *result) {
    const json_t *succeeded = object_condition(json_object_get(result, "status"), "Succeeded");
    return strcmp(tree_text(succeeded, "status", "Unknown"), "Unknown") != 0;
}

/* True when every write arrived. */
static bool carry_out(struct world *world, const json_t *result) {
    const json_t *created = json_object_get(result, "create");
    const json_t *deleted = json_object_get(result, "delete");
    int lost = 0;
    for (size_t i = 0; i < json_array_size(deleted); i++) {
        if (draw(world, 100) < world->losses) {
            lost++;
        } else {
            remove_pod(world, tree_text(json_array_get(deleted, i), "name", ""));
        }
    }
    for (size_t i = 0; i < json_array_size(created); i++) {
        if (draw(world, 100) < world->losses) {
            lost++;
        } else {
            add_pod(world, json_array_get(created, i));
        }
    }
    bool is_first = !tree_get(world->object, "status.credentials");
    if (world->in_rush && is_first && !ends(result) && draw(world, 20)) {
        return lost == 0; /* the status is delayed */
    }
    if (draw(world, 100) < world->losses) {
        lost++;
    } else {
        test_failures += status_life_store(world->object, json_object_get(result, "status"));
    }
    return lost == 0;
}

/* arrived: all writes of the last pass were done. */
static void check_promises(struct world *world, bool arrived) {
    int coordinators = 0, workers = 0;
    for (size_t i = 0; i < json_array_size(world->pods); i++) {
        const json_t *pod = json_array_get(world->pods, i);
        struct pod_phase phase = pod_phase_read(pod);
        if (is_coordinator(pod)) {
            coordinators += pod_phase_is_alive(&phase) || phase.stage == POD_PHASE_LEAVING;
        } else {
            workers += pod_phase_is_alive(&phase);
        }
        CHECK(phase.attempt <= (world->is_steady ? STEPS_MAX : 200));
    }
    CHECK(coordinators <= 1);
    CHECK(workers <= world->workers_max);
    if (arrived && (tree_bool(world->object, "spec.suspend", false) ||
                    conditions_is_finished(world->object))) {
        CHECK_INT(workers, 0);
    }
}

/* Returns true if all its writes were done. */
static bool take_look(struct world *world, bool answers) {
    AUTO(tree_freep) json_t *result = look(world, answers);
    bool arrived = carry_out(world, result);
    check_promises(world, arrived);
    return arrived;
}

/* Nothing more is made, and deleted is only what had to wait until something was made. */
static void check_settled(struct world *world, bool answers) {
    AUTO(tree_freep) json_t *second = look(world, answers);
    CHECK_INT(json_array_size(json_object_get(second, "create")), 0);
    if (carry_out(world, second)) {
        AUTO(tree_freep) json_t *third = look(world, answers);
        CHECK_INT(json_array_size(json_object_get(third, "create")), 0);
        CHECK_INT(json_array_size(json_object_get(third, "delete")),
                  conditions_is_finished(world->object)); /* the Service, which remains here */
    }
}

static void live(uint64_t seed) {
    struct world world;
    make_world(&world, seed);
    int steps = 0;
    for (; steps < STEPS_MAX && !conditions_is_finished(world.object); steps++) {
        pass_time(&world);
        bool answers = draw(&world, 3) > 0;
        if (take_look(&world, answers)) {
            check_settled(&world, answers);
        }
    }
    CHECK(steps < STEPS_MAX);
    AUTO(tree_freep) json_t *status = json_deep_copy(json_object_get(world.object, "status"));
    const char *result = tree_text(status, "conditions[0].status", "");
    bool must_succeed = world.is_steady || (world.done == TOTAL && world.trouble == 0);
    CHECK_STR(result, must_succeed ? "True" : result);
    for (int i = 0; i < 5; i++) {
        pass_time(&world);
        take_look(&world, true);
        CHECK(json_equal(json_object_get(world.object, "status"), status));
    }
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
}

int main(void) {
    TEST(test_lives);
    return TEST_END();
}
