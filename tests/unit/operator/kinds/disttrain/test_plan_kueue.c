// SPDX-License-Identifier: Apache-2.0
/* Whole lives of gangs whose pods Kueue releases together, against a model of its sources
 * (kueue.h): finalizers, gates, excess pods, groups that are over, preemption. Whatever
 * fails, Kueue never has one pod too many, every job ends, and no pod remains forever. The plan
 * sees objects as the controller's cache keeps them. SOAK_SEED, SOAK_ROUNDS choose how many. */
#include "operator/kinds/disttrain/cache_transform.h"
#include "operator/kinds/disttrain/kueue.h"
#include "operator/kinds/disttrain/plan.h"

#include "lib/time/clock.h"
#include "tests/plan_result_json.h"
#include "tests/seed.h"
#include "tests/test.h"

#include <stdlib.h>

enum { STEPS = 40, PASSES_MAX = 2000, QUIET = 200 };

struct world {
    uint64_t random;
    int64_t now_ms;
    json_t *object, *service, *pods;
    json_t *groups; /* name -> {"workload", "admitted", "over"} */
    int workers, trouble, step;
    unsigned losses; /* of 100: how many writes are lost */
    bool is_quiet;   /* no failures any more, */
    bool resumes;    /* and it is not suspended permanently */
};

static unsigned draw(struct world *world, unsigned below) {
    return (unsigned)test_below(&world->random, below);
}

static void make_world(struct world *world, uint64_t seed) {
    *world = (struct world){.random = seed * 7919 + 1, .now_ms = 1763700000000};
    world->workers = 1 + (int)draw(world, 4);
    world->trouble = (int)draw(world, 4) * 20;
    world->losses = draw(world, 2) ? 0 : draw(world, 50);
    world->object =
        json_pack("{s:s, s:s, s:{s:s, s:s, s:s, s:i}, s:{s:i, s:s, s:[s], s:s, s:s, s:s, s:{s:i}}, "
                  "s:{s:{s:s, s:s, s:b}}}",
                  "apiVersion", "windlass.dev/v1alpha1", "kind", "DistTrain", "metadata", "name",
                  "life", "namespace", "n", "uid", "0123456789", "generation", 1, "spec", "workers",
                  world->workers, "image", "i", "command", "train", "launcher", "MPI", "gang",
                  "Kueue", "queue", "q", "restart", "maxRestarts", 1000, "status", "credentials",
                  "secret", "s", "certificateSHA256", "ab", "created", true);
    world->service = json_pack("{s:{s:{s:s, s:s}}, s:{s:s, s:[{s:i}]}}", "metadata", "annotations",
                               ANNOTATION_CERTIFICATE_SHA256, "ab", ANNOTATION_SECRET, "s", "spec",
                               "clusterIP", "10.0.0.1", "ports", "port", 1);
    world->pods = json_array();
    world->groups = json_object();
}

static void end_world(struct world *world) {
    json_decref(world->object);
    json_decref(world->service);
    json_decref(world->pods);
    json_decref(world->groups);
}

/* ---- a pod ---- */

static const char *phase_of(const json_t *pod) {
    return tree_text(pod, "status.phase", "");
}

static bool is_over(const json_t *pod) {
    return strcmp(phase_of(pod), "Failed") == 0 || strcmp(phase_of(pod), "Succeeded") == 0;
}

static bool is_leaving(const json_t *pod) {
    return tree_get(pod, "metadata.deletionTimestamp") != NULL;
}

static bool has_node(const json_t *pod) {
    return tree_get(pod, "spec.nodeName") != NULL;
}

static bool is_kept(const json_t *pod) {
    return tree_get(pod, "metadata.finalizers") != NULL;
}

static bool is_gated(const json_t *pod) {
    return tree_get(pod, "spec.schedulingGates") != NULL;
}

static void let_go(json_t *pod) {
    json_object_del(json_object_get(pod, "metadata"), "finalizers");
}

static void leave(const struct world *world, json_t *pod) {
    char at[21];
    clock_format(world->now_ms + 30000, at);
    if (!is_leaving(pod)) {
        json_object_set_new(json_object_get(pod, "metadata"), "deletionTimestamp", json_string(at));
    }
}

static void end_pod(const struct world *world, json_t *pod, int code) {
    char now[21];
    clock_format(world->now_ms, now);
    json_object_set_new(pod, "status",
                        json_pack("{s:s, s:[{s:{s:{s:i, s:s}}}]}", "phase",
                                  code ? "Failed" : "Succeeded", "containerStatuses", "state",
                                  "terminated", "exitCode", code, "finishedAt", now));
}

/* ---- Kueue ---- */

/* The group's pods, borrowed, in a separate array. */
static json_t *pods_of(const struct world *world, const char *group) {
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(world->pods); i++) {
        json_t *pod = json_array_get(world->pods, i);
        if (strcmp(kueue_group_of(pod), group) == 0) {
            json_array_append(list, pod);
        }
    }
    return list;
}

/* Pods that can run, run or succeeded; others may be released when another has their place. */
static bool is_counted(const json_t *pod) {
    return strcmp(phase_of(pod), "Failed") != 0 && !(is_leaving(pod) && !has_node(pod));
}

static void let_all_go(const json_t *pods) {
    for (size_t i = 0; i < json_array_size(pods); i++) {
        let_go(json_array_get(pods, i));
    }
}

static void let_replaced_go(const struct world *world, const json_t *pods, bool has_workload,
                            int counted) {
    int inactive = (int)json_array_size(pods) - counted;
    int replaced = has_workload ? inactive + counted - world->workers : inactive;
    for (size_t i = 0; i < json_array_size(pods) && replaced > 0; i++) {
        json_t *pod = json_array_get(pods, i);
        if (!is_counted(pod)) {
            let_go(pod);
            replaced--;
        }
    }
}

static void admit(struct world *world, json_t *group, const json_t *pods) {
    if (!tree_bool(group, "admitted", false) && draw(world, 4)) {
        return;
    }
    json_object_set_new(group, "admitted", json_true());
    for (size_t i = 0; i < json_array_size(pods); i++) {
        json_t *pod = json_array_get(pods, i);
        if (!is_leaving(pod)) {
            json_object_del(json_object_get(pod, "spec"), "schedulingGates");
        }
    }
}

/* Kueue deletes pods that have passed the gate; the group waits for replacements. */
static void preempt(const struct world *world, json_t *group, const json_t *pods) {
    json_object_set_new(group, "admitted", json_false());
    for (size_t i = 0; i < json_array_size(pods); i++) {
        json_t *pod = json_array_get(pods, i);
        if (!is_gated(pod) && !is_over(pod)) {
            leave(world, pod);
        }
    }
}

static void look_at_group(struct world *world, const char *name, json_t *group) {
    AUTO(tree_freep) json_t *pods = pods_of(world, name);
    int counted = 0, active = 0;
    for (size_t i = 0; i < json_array_size(pods); i++) {
        const json_t *pod = json_array_get(pods, i);
        counted += is_counted(pod);
        active += !is_over(pod);
    }
    bool over = tree_bool(group, "over", false) || (active == 0 && json_array_size(pods) > 0);
    if (over) {
        json_object_set_new(group, "over", json_true());
        let_all_go(pods);
        return;
    }
    CHECK(counted <= world->workers); /* otherwise it would delete the newest */
    bool has_workload = tree_bool(group, "workload", false) || counted == world->workers;
    json_object_set_new(group, "workload", json_boolean(has_workload && json_array_size(pods) > 0));
    let_replaced_go(world, pods, has_workload, counted);
    if (has_workload && (int)draw(world, 1000) < world->trouble && !world->is_quiet) {
        preempt(world, group, pods);
    } else if (has_workload) {
        admit(world, group, pods);
    }
}

static void kueue(struct world *world) {
    const char *name;
    json_t *group;
    json_object_foreach(world->groups, name, group) {
        if (draw(world, 3)) {
            look_at_group(world, name, group);
        }
    }
}

/* Kueue's webhook. */
static void mark(struct world *world, json_t *pod) {
    json_t *metadata = json_object_get(pod, "metadata");
    const char *group = kueue_group_of(pod);
    char now[21];
    clock_format(world->now_ms, now);
    CHECK(is_gated(pod) && group);
    json_object_set_new(metadata, "finalizers", json_pack("[s]", LABEL_KUEUE_MANAGED));
    json_object_set_new(json_object_get(metadata, "labels"), LABEL_KUEUE_MANAGED,
                        json_string("true"));
    json_object_set_new(metadata, "creationTimestamp", json_string(now));
    if (!json_object_get(world->groups, group)) {
        json_object_set_new(world->groups, group, json_object());
    }
}

static void delete_workload(struct world *world, const char *name) {
    AUTO(tree_freep) json_t *pods = pods_of(world, name);
    json_object_set_new(json_object_get(world->groups, name), "workload", json_false());
    for (size_t i = 0; i < json_array_size(pods); i++) {
        leave(world, json_array_get(pods, i));
    }
    let_all_go(pods);
}

/* ---- nodes ---- */

static void live_on(struct world *world, json_t *pod, bool is_evicted) {
    if (is_evicted && has_node(pod) && !is_over(pod)) {
        json_object_set_new(pod, "status",
                            json_pack("{s:s, s:s}", "phase", "Failed", "reason", "Evicted"));
    } else if (is_leaving(pod) && has_node(pod) && !is_over(pod)) {
        if (draw(world, 3) == 0) {
            end_pod(world, pod, 137);
        }
    } else if (!is_over(pod) && !is_gated(pod) && !is_leaving(pod) && !has_node(pod)) {
        if (draw(world, 2)) {
            json_object_set_new(json_object_get(pod, "spec"), "nodeName", json_string("node"));
            json_object_set_new(pod, "status", json_pack("{s:s}", "phase", "Running"));
        }
    } else if (strcmp(phase_of(pod), "Running") == 0 && !world->is_quiet &&
               (int)draw(world, 1000) < world->trouble) {
        unsigned what = draw(world, 3);
        if (what == 0) { /* a user deletes it */
            leave(world, pod);
        } else {
            end_pod(world, pod, what == 1 ? 137 : 3);
        }
    }
}

static void pass_time(struct world *world) {
    int running = 0;
    json_t *hub = NULL;
    world->now_ms += 1 + draw(world, 1500);
    bool suspended = tree_bool(world->object, "spec.suspend", false);
    if (world->is_quiet ? world->resumes : draw(world, 400) == 0) {
        json_object_set_new(json_object_get(world->object, "spec"), "suspend",
                            json_boolean(!world->is_quiet && !suspended));
    }
    bool all_go = !world->is_quiet && (int)draw(world, 1000) < 2 * world->trouble;
    kueue(world);
    for (size_t i = json_array_size(world->pods); i-- > 0;) {
        json_t *pod = json_array_get(world->pods, i);
        live_on(world, pod, all_go);
        if (is_leaving(pod) && !is_kept(pod) && (is_over(pod) || !has_node(pod))) {
            json_array_remove(world->pods, i);
        } else if (strcmp(phase_of(pod), "Running") == 0 && !is_leaving(pod)) {
            running++;
            hub = pod_phase_read(pod).index == 0 ? pod : hub;
        }
    }
    if (hub && running >= world->workers && ++world->step >= STEPS) {
        end_pod(world, hub, 0);
    }
    kueue(world);
}

/* ---- the controller ---- */

/* The content of its cache. */
static json_t *remember(const struct world *world) {
    json_t *seen = json_array();
    for (size_t i = 0; i < json_array_size(world->pods); i++) {
        AUTO(tree_freep) json_t *kept = disttrain_transform(json_array_get(world->pods, i));
        json_object_set_new(
            json_object_get(kept, "metadata"), "name",
            json_string(tree_text(json_array_get(world->pods, i), "metadata.name", "")));
        json_array_append_new(seen, json_deep_copy(kept));
    }
    return seen;
}

static json_t *look(struct world *world, json_t *seen) {
    struct error err = {0};
    struct disttrain_observed observed = {
        .job.object = world->object, .job.service = world->service, .job.pods = seen};
    struct plan_result result = {0};
    CHECK_OK(disttrain_decide(&observed, world->now_ms, &result, &err), &err);
    return plan_result_json(&result);
}

static void delete_one(struct world *world, const json_t *named) {
    const char *name = tree_text(named, "name", "");
    if (strcmp(tree_text(named, "kind", ""), "Workload") == 0) {
        CHECK_STR(tree_text(named, "apiVersion", ""), "kueue.x-k8s.io/v1beta2");
        delete_workload(world, name);
        return;
    }
    json_t *pod = (json_t *)tree_find(world->pods, "metadata.name", name);
    if (pod) {
        leave(world, pod);
    }
}

static void carry_out(struct world *world, const json_t *result) {
    const json_t *created = json_object_get(result, "create");
    const json_t *deleted = json_object_get(result, "delete");
    for (size_t i = 0; i < json_array_size(deleted); i++) {
        if (draw(world, 100) >= world->losses) {
            delete_one(world, json_array_get(deleted, i));
        }
    }
    for (size_t i = 0; i < json_array_size(created); i++) {
        json_t *made = json_deep_copy(json_array_get(created, i));
        const char *name = tree_text(made, "metadata.name", "");
        if (draw(world, 100) < world->losses || tree_find(world->pods, "metadata.name", name)) {
            json_decref(made); /* the write is lost, or the name is still taken */
            continue;
        }
        mark(world, made);
        json_object_set_new(made, "status", json_pack("{s:s}", "phase", "Pending"));
        json_array_append_new(world->pods, made);
    }
    if (draw(world, 100) >= world->losses) {
        json_object_set(world->object, "status", json_object_get(result, "status"));
    }
}

/* Events about others' writes may come late; those about its own do not. */
static void pass(struct world *world) {
    AUTO(tree_freep) json_t *before = remember(world);
    pass_time(world);
    AUTO(tree_freep) json_t *after = remember(world);
    AUTO(tree_freep) json_t *result = look(world, draw(world, 2) ? after : before);
    carry_out(world, result);
}

static void check_nothing_kept(const struct world *world) {
    for (size_t i = 0; i < json_array_size(world->pods); i++) {
        const json_t *pod = json_array_get(world->pods, i);
        CHECK(!is_leaving(pod) && !is_kept(pod) && is_over(pod));
    }
}

static void live(uint64_t seed) {
    struct world world;
    make_world(&world, seed);
    world.resumes = true;
    int passes = 0;
    for (; passes < PASSES_MAX && !conditions_is_finished(world.object); passes++) {
        world.is_quiet = passes > PASSES_MAX / 10;
        pass(&world);
    }
    const char *result = tree_text(conditions_find(world.object, "Succeeded"), "status", "");
    CHECK_STR(result, "True");
    world.is_quiet = true;
    for (int i = 0; i < QUIET; i++) {
        pass(&world);
    }
    check_nothing_kept(&world);
    if (test_failures) {
        AUTO(text_freep) char *groups = json_dumps(world.groups, JSON_COMPACT);
        printf("# SOAK_SEED=%llu: %d workers, %zu pods, groups %s\n", (unsigned long long)seed,
               world.workers, json_array_size(world.pods), groups);
    }
    end_world(&world);
}

/* A permanently suspended job leaves no pods, whether they ran or waited. */
static void stop(uint64_t seed) {
    struct world world;
    make_world(&world, seed);
    for (unsigned i = 0; i < 5 + seed % 40 && !conditions_is_finished(world.object); i++) {
        pass(&world);
    }
    world.is_quiet = true;
    json_object_set_new(json_object_get(world.object, "spec"), "suspend", json_true());
    for (int i = 0; i < QUIET; i++) {
        pass(&world);
    }
    check_nothing_kept(&world);
    end_world(&world);
}

static void repeat(void (*what)(uint64_t seed)) {
    uint64_t seed = test_seed(200);
    int64_t lives = test_rounds(100);
    for (int64_t i = 0; i < lives && test_failures == 0; i++) {
        what(seed + (uint64_t)i);
    }
}

static void test_lives(void) {
    repeat(live);
}

static void test_stops(void) {
    repeat(stop);
}

static int count_workloads(const json_t *result) {
    const json_t *deleted = json_object_get(result, "delete");
    int count = 0;
    for (size_t i = 0; i < json_array_size(deleted); i++) {
        count += strcmp(tree_text(json_array_get(deleted, i), "kind", ""), "Workload") == 0;
    }
    return count;
}

/* A pod that is deleted while it waits, in the group of somebody else: by its label, or by the
 * job's template. Its Workload stays, for other jobs' pods wait in it. */
static void test_the_workload_of_others_stays(void) {
    static const struct {
        const char *group; /* NULL: the job's own */
        int workloads;
    } rows[] = {{NULL, 1}, {"team", 0}, {"life-01234568-1", 0} /* of an earlier job of the name */};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world world;
        make_world(&world, 1);
        world.losses = 0;
        AUTO(tree_freep) json_t *none = json_array();
        AUTO(tree_freep) json_t *first = look(&world, none);
        carry_out(&world, first);
        CHECK_INT(json_array_size(world.pods), world.workers);
        for (size_t k = 0; k < json_array_size(world.pods); k++) {
            json_t *pod = json_array_get(world.pods, k);
            leave(&world, pod);
            if (rows[i].group) {
                json_object_set_new(tree_get(pod, "metadata.labels"), LABEL_KUEUE_GROUP,
                                    json_string(rows[i].group));
            }
        }
        json_object_set_new(json_object_get(world.object, "spec"), "suspend", json_true());
        AUTO(tree_freep) json_t *seen = remember(&world);
        AUTO(tree_freep) json_t *last = look(&world, seen);
        CHECK_INT(count_workloads(last), rows[i].workloads);
        end_world(&world);
    }
}

int main(void) {
    TEST(test_lives);
    TEST(test_stops);
    TEST(test_the_workload_of_others_stays);
    return TEST_END();
}
