// SPDX-License-Identifier: Apache-2.0
/* Sweeps whose best trial's model is registered at the end, through their whole lives
 * (sweep_world.h): its pods die, are evicted, refused and deleted. */
#include "tests/unit/operator/kinds/sweep/sweep_world.h"

#define REGISTER ", register: {path: out/registry}"
#define PLACE "out/registry/s/20261122T094400Z-01234567"

static void test_the_best_is_registered(void) {
    struct world world;
    open_world(&world, OBJECTIVE RANGE "maxTrials: 10, maxConcurrentTrials: 4" REGISTER);
    for (int i = 0; i < LOOKS_MAX && world.pods_made == 0; i++) {
        CHECK(!is_over(&world));
        look(&world);
        turn(&world);
    }
    look(&world);
    CHECK_STR(tree_text(succeeded(&world), "reason", ""), "Registering");
    CHECK_STR(tree_text(succeeded(&world), "status", ""), "Unknown");
    const char *best = tree_text(world.sweep, "status.best.trial", "");
    CHECK(strstr(tree_text(succeeded(&world), "message", ""), best) && *best);
    live(&world);
    check_end(&world, "True", "Completed");
    CHECK(strstr(tree_text(succeeded(&world), "message", ""), ", registered as " PLACE ": X="));
    CHECK_INT(world.registered, tree_integer(world.sweep, "status.best.index", -2));
    CHECK_INT(world.pods_made, 1);
    close_world(&world);
}

static void test_three_attempts(void) {
    struct world world;
    open_world(&world, OBJECTIVE RANGE "maxTrials: 3" REGISTER);
    world.fatal = 1;
    live(&world);
    check_end(&world, "False", "RegisterFailed");
    CHECK_INT(world.pods_made, 3);
    CHECK(json_object_get(world.pods, "s-register-3") != NULL);
    CHECK(strstr(tree_text(succeeded(&world), "message", ""),
                 "could not be registered, after 3 attempts: the disk is full; its model is"));
    close_world(&world);
    open_world(&world, OBJECTIVE RANGE "maxTrials: 3" REGISTER);
    world.fatal = world.final = 1;
    live(&world);
    check_end(&world, "False", "RegisterFailed");
    CHECK_INT(world.pods_made, 1);
    close_world(&world);
}

static void set_status(struct world *world, const char *text) {
    json_t *pod = json_object_get(world->pods, "s-register");
    json_object_set_new(pod, "status", json_loads(text, 0, NULL));
}

/* The message has its cause and its time limit; then it has failed, and a pod that might still
 * start is deleted. */
static void test_a_pod_that_does_not_start(void) {
    static const struct {
        const char *status, *cause;
    } rows[] = {
        {"{\"phase\": \"Pending\", \"conditions\": [{\"type\": \"PodScheduled\", \"status\": "
         "\"False\", \"reason\": \"Unschedulable\", \"message\": \"0/3 nodes are available\"}]}",
         "no node for pod s-register: 0/3 nodes are available"},
        {"{\"phase\": \"Pending\", \"containerStatuses\": [{\"name\": \"agent\", \"state\": "
         "{\"waiting\": {\"reason\": \"ImagePullBackOff\"}}}]}",
         "cannot be pulled: ImagePullBackOff (is its name right, and "},
        {"{\"phase\": \"Pending\"}", "pod s-register waits to start"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world world;
        open_world(&world, OBJECTIVE RANGE "maxTrials: 2" REGISTER);
        while (world.pods_made == 0 && !is_over(&world)) {
            look(&world);
            turn(&world);
        }
        set_status(&world, rows[i].status);
        int64_t made_ms = world.now_ms;
        for (int minute = 0; minute < 29; minute++, world.now_ms += 60000) {
            AUTO(tree_freep) json_t *result = plan(&world);
            CHECK(tree_integer(result, "again_ms", 0) > 0);
            CHECK_INT(json_array_size(json_object_get(result, "delete")), 0);
            json_object_set(world.sweep, "status", json_object_get(result, "status"));
            CHECK_STR(tree_text(succeeded(&world), "reason", ""), "Registering");
            const char *message = tree_text(succeeded(&world), "message", "");
            CHECK(strstr(message, rows[i].cause) && strstr(message, "; it is waited for until 20"));
        }
        world.now_ms = made_ms + 30 * 60000;
        look(&world);
        check_end(&world, "False", "RegisterFailed");
        const char *message = tree_text(succeeded(&world), "message", "");
        CHECK(strstr(message, rows[i].cause) && strstr(message, "did not start in 30 minutes: "));
        AUTO(tree_freep) json_t *result = plan(&world);
        const json_t *deleted = json_object_get(result, "delete");
        CHECK_STR(tree_text(json_array_get(deleted, 0), "name", ""), "s-register");
        set_status(&world, "{\"phase\": \"Running\"}"); /* it started in time: it may finish */
        AUTO(tree_freep) json_t *late = plan(&world);
        CHECK_INT(json_array_size(json_object_get(late, "delete")), 0);
        close_world(&world);
    }
}

/* The message has its start time; after two hours it has failed, and the pod is deleted. */
static void test_a_pod_that_has_no_end(void) {
    struct world world;
    char since[21];
    open_world(&world, OBJECTIVE RANGE "maxTrials: 2" REGISTER);
    while (world.pods_made == 0 && !is_over(&world)) {
        look(&world);
        turn(&world);
    }
    int64_t since_ms = world.now_ms;
    clock_format(since_ms, since);
    AUTO(text_freep)
    char *status =
        x_printf("{\"phase\": \"Running\", \"containerStatuses\": [{\"name\": \"agent\", "
                 "\"state\": {\"running\": {\"startedAt\": \"%s\"}}}]}",
                 since);
    set_status(&world, status);
    AUTO(text_freep)
    char *words = x_printf(", is registered: its pod has run since %s", since);
    for (int minute = 0; minute < 120; minute++, world.now_ms += 60000) {
        AUTO(tree_freep) json_t *result = plan(&world);
        CHECK_INT(tree_integer(result, "again_ms", 0), since_ms + 120 * 60000 - world.now_ms);
        CHECK_INT(json_array_size(json_object_get(result, "delete")), 0);
        json_object_set(world.sweep, "status", json_object_get(result, "status"));
        CHECK_STR(tree_text(succeeded(&world), "reason", ""), "Registering");
        CHECK(text_ends(tree_text(succeeded(&world), "message", ""), words));
    }
    look(&world);
    check_end(&world, "False", "RegisterFailed");
    CHECK(strstr(tree_text(succeeded(&world), "message", ""),
                 "could not be registered in 2 hours: pod s-register has run since "));
    AUTO(tree_freep) json_t *result = plan(&world);
    const json_t *deleted = json_object_get(result, "delete");
    CHECK_STR(tree_text(json_array_get(deleted, 0), "name", ""), "s-register");
    close_world(&world);
}

/* Meanwhile a user raises maxTrials, deletes trials that have ended, and pods that have died. */
static void meddle(struct world *world) {
    const char *name;
    json_t *one;
    void *next;
    if (world->pods_made == 0) {
        return;
    }
    json_object_set_new(json_object_get(world->sweep, "spec"), "maxTrials", json_integer(14));
    bool is_told = strcmp(tree_text(succeeded(world), "reason", ""), "Registering") == 0;
    json_object_foreach_safe(world->trials, next, name, one) {
        if (is_told && one_of(world, 8)) {
            json_object_del(world->trials, name);
        }
    }
    if (world->pods_made > 1 && one_of(world, 2)) {
        json_object_del(world->pods, "s-register");
    }
}

static void test_registering_killed_between_any_two_writes(void) {
    int ends[2] = {0};
    for (int64_t round = 0; round < test_rounds(90); round++) {
        struct world world;
        open_world(&world, OBJECTIVE RANGE "maxTrials: 12, maxConcurrentTrials: 4" REGISTER);
        world.chance += (uint64_t)round;
        world.lossy = 2;
        world.refusing = round % 3 == 0 ? 4 : 0;
        world.fatal = round % 2 == 0 ? 2 : 0;
        world.final = round % 4 == 0 ? 5 : 0;
        world.evicting = round % 5 == 0 ? 2 : 0;
        for (int i = 0; i < LOOKS_MAX && !is_over(&world); i++) {
            look(&world);
            turn(&world);
            meddle(&world);
        }
        bool is_well = !world.is_final && world.died < 3;
        check_end(&world, is_well ? "True" : "False", is_well ? "Completed" : "RegisterFailed");
        check_made_once(&world, 12);
        CHECK_INT(world.registered,
                  is_well ? tree_integer(world.sweep, "status.best.index", -2) : -1);
        CHECK(world.died <= 3);
        ends[is_well]++;
        if (test_failures) {
            AUTO(text_freep) char *status = json_dumps(json_object_get(world.sweep, "status"), 0);
            printf("# SOAK_SEED=%llu round %lld: %s\n", (unsigned long long)test_seed(1),
                   (long long)round, status);
            close_world(&world);
            return;
        }
        close_world(&world);
    }
    CHECK(ends[0] > 0 && ends[1] > ends[0]);
}

/* A trial that was being made at the deadline is seen late: it stops, and changes nothing. */
static void test_a_late_trial_changes_nothing(void) {
    struct world world;
    open_world(&world, OBJECTIVE RANGE "maxTrials: 6, maxConcurrentTrials: 2" REGISTER);
    while (world.pods_made == 0 && !is_over(&world)) {
        look(&world);
        turn(&world);
    }
    look(&world);
    AUTO(text_freep) char *best = x_strdup(tree_text(world.sweep, "status.best.trial", ""));
    AUTO(tree_freep) json_t *late = json_deep_copy(json_object_get(world.trials, "s-0005"));
    json_object_del(late, "status");
    json_object_set_new(json_object_get(late, "spec"), "environment",
                        json_pack("{s:s}", "PARAM_X", "0.7"));
    json_object_set_new(tree_get(late, "metadata.annotations"), "windlass.dev/trial",
                        json_string("{\"index\":6,\"values\":{\"X\":\"0.7\"}}"));
    json_object_set_new(json_object_get(late, "metadata"), "name", json_string("s-0006"));
    json_object_set_new(json_object_get(late, "metadata"), "uid", json_string("s-0006"));
    report(&world, late, REPORTS);
    end_trial(late, "True", "Completed", "");
    json_object_set(world.trials, "s-0006", late);
    live(&world);
    check_end(&world, "True", "Completed");
    CHECK_STR(tree_text(world.sweep, "status.best.trial", ""), best);
    CHECK_INT(world.registered, tree_integer(world.sweep, "status.best.index", -2));
    close_world(&world);
}

static void test_suspended_before_it_registers(void) {
    struct world world;
    open_world(&world, OBJECTIVE RANGE "maxTrials: 2" REGISTER);
    json_t *spec = json_object_get(world.sweep, "spec");
    while (tree_integer(world.sweep, "status.trials.completed", 0) < 1 && !is_over(&world)) {
        look(&world);
        turn(&world);
    }
    const char *name;
    json_t *trial;
    json_object_foreach(world.trials, name, trial) {
        if (!has_ended(trial)) {
            end_trial(trial, "False", "RankFailed", "rank 0 ended with 7");
        }
    }
    json_object_set_new(spec, "suspend", json_true());
    look(&world);
    look(&world);
    CHECK_STR(tree_text(succeeded(&world), "reason", ""), "Suspended");
    CHECK_INT(world.pods_made, 0);
    json_object_set_new(spec, "suspend", json_false());
    live(&world);
    check_end(&world, "True", "Completed");
    CHECK_INT(world.pods_made, 1);
    close_world(&world);
}

static void test_the_pod_s_name_is_taken(void) {
    struct world world;
    open_world(&world, OBJECTIVE RANGE "maxTrials: 2" REGISTER);
    while (world.pods_made == 0 && !is_over(&world)) {
        look(&world);
        turn(&world);
    }
    json_object_clear(world.pods);
    json_object_set_new(world.write_failures, "DistTrain s-0000", /* no longer of interest */
                        json_pack("{s:s, s:s}", "why", "Taken", "text", "old"));
    json_object_set_new(world.write_failures, "Pod s-register",
                        json_pack("{s:s, s:s}", "why", "Taken", "text", "because"));
    AUTO(tree_freep) json_t *result = plan(&world);
    CHECK_STR(tree_text(result, "create[0].metadata.name", ""), "s-register-2");
    CHECK(!object_condition(json_object_get(result, "status"), "Stalled"));
    for (int i = 2; i <= OWNED_NAMES_MAX; i++) {
        AUTO(text_freep) char *name = x_printf("Pod s-register-%d", i);
        json_object_set_new(world.write_failures, name,
                            json_pack("{s:s, s:s}", "why", "Taken", "text", "because"));
    }
    AUTO(tree_freep) json_t *all = plan(&world);
    const json_t *stalled = object_condition(json_object_get(all, "status"), "Stalled");
    CHECK_STR(tree_text(stalled, "reason", ""), "NameTaken");
    CHECK(text_starts(tree_text(stalled, "message", ""), "Pod s-register-10: because; it is not"));
    close_world(&world);
}

int main(void) {
    struct error err = {0};
    CHECK_OK(kinds_schema(kinds_find("DistTrain"), &train, &err), &err);
    TEST(test_the_best_is_registered);
    TEST(test_three_attempts);
    TEST(test_a_pod_that_does_not_start);
    TEST(test_a_pod_that_has_no_end);
    TEST(test_registering_killed_between_any_two_writes);
    TEST(test_a_late_trial_changes_nothing);
    TEST(test_suspended_before_it_registers);
    TEST(test_the_pod_s_name_is_taken);
    schema_free(train);
    return TEST_END() || world_failures() > 0;
}
