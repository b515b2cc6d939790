// SPDX-License-Identifier: Apache-2.0
/* The fields that the controller keeps are enough for the plan, and small. */
#include "operator/kinds/batchscore/cache_transform.h"

#include "lib/time/clock.h"
#include "operator/control/cache.h"
#include "operator/kinds/batchscore/plan.h"
#include "operator/kinds/batchscore/pods.h"
#include "operator/kinds/job/spec_snapshot.h"
#include "operator/resource.h"
#include "tests/plan_result_json.h"
#include "tests/seed.h"
#include "tests/test.h"

#include <stdlib.h>
#include <unistd.h>

enum { FINISHED = 10000, RUNNING = 1000, WORKERS = 2, MIB = 1 << 20 };

static const char manifest[] =
    "{apiVersion: windlass.dev/v1alpha1, kind: BatchScore, metadata: {name: job}, spec: {"
    "input: {video: {path: data/in.mp4}}, scorer: {onnx: {path: data/m.onnx}},"
    "output: {path: data/out}, workers: {max: 4}, volumes: [{name: data, "
    "persistentVolumeClaim: {claimName: films}}]}}";

static json_t *load_job(void) {
    struct error err = {0};
    json_t *job = NULL;
    CHECK_OK(resource_parse("job.yaml", manifest, sizeof manifest - 1, &job, &err), &err);
    return job;
}

static json_t *progress(bool finished) {
    return json_pack("{s:s, s:s, s:{s:i, s:i, s:i, s:i}, s:{s:i, s:i, s:i, s:i}, s:i, s:s, s:i, "
                     "s:[s], s:s}",
                     "state", finished ? "Succeeded" : "Running", "message", "", "miniBatches",
                     "total", 35, "done", finished ? 35 : 3, "failed", 0, "retried", 1, "items",
                     "total", 280, "done", finished ? 280 : 24, "failed", 0, "retried", 1,
                     "workers", 4, "itemsPerSecond", "12.5", "secondsLeft", 20, "outputs",
                     "data/out/in.mp4", "summary", "data/out/summary.json");
}

/* As the API server would send it. */
static void store(json_t *object, const char *uid_prefix, int number) {
    json_t *metadata = json_object_get(object, "metadata");
    json_object_set_new(metadata, "uid",
                        json_sprintf("%s-0000-4000-8000-%012d", uid_prefix, number));
    json_object_set_new(metadata, "resourceVersion", json_sprintf("%d", 100000 + number));
    json_object_set_new(metadata, "generation", json_integer(1));
    json_object_set_new(metadata, "creationTimestamp", json_string("2026-11-21T04:00:00Z"));
    json_object_set_new(metadata, "managedFields",
                        json_pack("[{s:s, s:{s:{s:{}, s:{}}}}]", "manager", "windlass", "fieldsV1",
                                  "f:metadata", "f:labels", "f:ownerReferences"));
}

static void set_pod_status(json_t *pod, const char *message) {
    json_t *state =
        message ? json_pack("{s:{s:i, s:s, s:s, s:s}}", "terminated", "exitCode", 0, "reason",
                            "Completed", "finishedAt", "2026-11-21T04:10:00Z", "message", message)
                : json_pack("{s:{s:s}}", "running", "startedAt", "2026-11-21T04:00:05Z");
    json_object_set_new(
        pod, "status",
        json_pack("{s:s, s:s, s:s, s:[{s:s, s:s, s:s}, {s:s, s:s, s:s}], s:[{s:s, s:s, s:i, s:o}]}",
                  "phase", message ? "Succeeded" : "Running", "hostIP", "10.0.0.4", "podIP",
                  "10.244.0.17", "conditions", "type", "Ready", "status", "True",
                  "lastTransitionTime", "2026-11-21T04:00:05Z", "type", "PodScheduled", "status",
                  "True", "lastTransitionTime", "2026-11-21T04:00:01Z", "containerStatuses", "name",
                  "agent", "containerID", "containerd://0123456789abcdef", "restartCount", 0,
                  "state", state));
}

struct world {
    struct cache *cache;
    json_t *job, *service, *coordinator, *workers[WORKERS]; /* of the last job made */
};

static void release(struct world *world) {
    json_decref(world->job);
    json_decref(world->service);
    json_decref(world->coordinator);
    for (int i = 0; i < WORKERS; i++) {
        json_decref(world->workers[i]);
    }
    *world = (struct world){.cache = world->cache};
}

/* As the plan does. */
static void set_digest(json_t *pod, const json_t *service) {
    char digest[SPEC_SNAPSHOT_DIGEST];
    CHECK(spec_snapshot_digest_of(service, digest));
    json_object_set_new(tree_ensure_object(json_object_get(pod, "metadata"), "annotations"),
                        ANNOTATION_BEGUN_DIGEST, json_string(digest));
}

static void make_job(struct world *world, const json_t *like, int number, bool finished) {
    struct error err = {0};
    release(world);
    world->job = json_deep_copy(like);
    AUTO(text_freep) char *name = x_printf("style-transfer-%05d", number);
    json_object_set_new(json_object_get(world->job, "metadata"), "name", json_string(name));
    store(world->job, "aaaaaaaa", number);
    struct credentials credentials = {.secret = "style-transfer-00000-1a2b3c4d",
                                      .certificate_sha256 =
                                          "0123456789abcdef0123456789abcdef0123456789abcdef"};
    char pem[700] = "";
    memset(pem, 'A', sizeof pem - 1);
    credentials.certificate = pem;
    struct batchscore_spec spec;
    CHECK_OK(batchscore_spec_read(world->job, NULL, &spec, &err), &err);
    AUTO(text_freep) char *begun = spec_snapshot_write(&spec.job);
    world->service = owned_service(world->job, &batchscore_words.hub, &credentials, begun);
    json_object_set_new(json_object_get(world->service, "spec"), "clusterIP",
                        json_string("10.96.7.7"));
    store(world->service, "bbbbbbbb", number);
    struct endpoint endpoint;
    CHECK(owned_endpoint_read(world->service, &endpoint));
    world->coordinator = batchscore_coordinator_pod(&spec, &endpoint, 1);
    store(world->coordinator, "cccccccc", number);
    set_digest(world->coordinator, world->service);
    AUTO(tree_freep) json_t *words = progress(finished);
    AUTO(text_freep) char *message = json_dumps(words, JSON_COMPACT);
    set_pod_status(world->coordinator, finished ? message : NULL);
    for (int i = 0; i < WORKERS; i++) {
        world->workers[i] = batchscore_worker_pod(&spec, &endpoint, i, 1);
        store(world->workers[i], "dddddddd", number * 10 + i);
        set_digest(world->workers[i], world->service);
        set_pod_status(world->workers[i], NULL);
    }
    batchscore_spec_release(&spec);
}

/* Gives the job the status that the plan gives it; pods as in the cluster. */
static json_t *plan(const struct world *world, const json_t *job, const json_t *service,
                    const json_t *pods) {
    struct error err = {0};
    AUTO(tree_freep) json_t *answer = progress(false);
    struct batchscore_observed observed = {
        .job.object = job, .job.service = service, .job.pods = pods, .job.progress = answer};
    struct plan_result result = {0};
    (void)world;
    CHECK_OK(batchscore_decide(&observed, clock_parse("2026-11-21T04:10:01Z"), &result, &err),
             &err);
    return plan_result_json(&result);
}

static void set_job_status(struct world *world, bool is_written) {
    json_object_set_new(world->job, "status",
                        json_pack("{s:{s:s, s:s, s:b}}", "credentials", "secret",
                                  "style-transfer-00000-1a2b3c4d", "certificateSHA256",
                                  "0123456789abcdef0123456789abcdef0123456789abcdef", "created",
                                  true));
    AUTO(tree_freep)
    json_t *pods = json_pack("[O, O, O]", world->coordinator, world->workers[0], world->workers[1]);
    AUTO(tree_freep) json_t *result = plan(world, world->job, world->service, pods);
    json_object_set(world->job, "status", json_object_get(result, "status"));
    if (!is_written) { /* delayed: only its Service has what the job began with */
        json_object_del(world->job, "status");
    }
}

/* The plan from the kept fields equals the plan from whole objects, in every state of a pod. */
static void what_is_kept_is_enough(void) {
    static const char *const states[] = {
        "{\"phase\": \"Pending\", \"conditions\": [{\"type\": \"PodScheduled\", \"status\": "
        "\"False\", \"reason\": \"Unschedulable\", \"message\": \"0/3 nodes\"}]}",
        "{\"phase\": \"Pending\", \"containerStatuses\": [{\"name\": \"agent\", \"state\": "
        "{\"waiting\": {\"reason\": \"ErrImagePull\", \"message\": \"no such image\"}}}]}",
        "{\"phase\": \"Failed\", \"reason\": \"Evicted\", \"message\": \"low on memory\"}",
        "{\"phase\": \"Pending\", \"containerStatuses\": [{\"name\": \"agent\", \"state\": "
        "{\"running\": {}}}, {\"name\": \"server\", \"image\": \"llm:3\", \"state\": {\"waiting\": "
        "{\"reason\": \"ErrImagePull\", \"message\": \"no such image\"}}}]}",
        "{\"phase\": \"Pending\", \"containerStatuses\": [{\"name\": \"agent\", \"state\": "
        "{\"terminated\": {\"exitCode\": 3, \"finishedAt\": \"2026-11-21T04:09:00Z\"}}}, "
        "{\"name\": \"server\", \"state\": {\"waiting\": {\"reason\": \"ImagePullBackOff\"}}}]}",
        "{\"phase\": \"Failed\", \"containerStatuses\": [{\"name\": \"a-sidecar\", \"state\": {}}, "
        "{\"name\": \"agent\", \"state\": {\"terminated\": {\"exitCode\": 137, \"reason\": "
        "\"OOMKilled\", \"finishedAt\": \"2026-11-21T04:09:00Z\"}}}]}",
        "{\"phase\": \"Failed\", \"conditions\": [{\"type\": \"DisruptionTarget\", \"status\": "
        "\"True\"}], \"containerStatuses\": [{\"name\": \"agent\", \"state\": {\"terminated\": "
        "{\"exitCode\": 143}}}]}",
    };
    AUTO(tree_freep) json_t *like = load_job();
    struct world world = {0};
    for (size_t i = 0; i < 4 * ARRAY_LEN(states); i++) {
        make_job(&world, like, 1, false);
        set_job_status(&world, i % 4 < 2);
        json_t *troubled = i % 2 ? world.coordinator : world.workers[1];
        json_object_set_new(troubled, "status", json_loads(states[i / 4], 0, NULL));
        json_array_append_new(tree_get(troubled, "spec.containers"),
                              json_pack("{s:s, s:{s:{s:s}}}", "name", "server", "resources",
                                        "limits", "nvidia.com/gpu", "1"));
        AUTO(tree_freep)
        json_t *pods =
            json_pack("[O, O, O]", world.coordinator, world.workers[0], world.workers[1]);
        struct cache *cache = cache_new();
        cache_watch(cache, "windlass.dev/v1alpha1", "BatchScore",
                    (struct cache_rules){.transform = batchscore_transform});
        cache_watch(cache, "v1", "Service",
                    (struct cache_rules){.transform = batchscore_transform});
        cache_watch(cache, "v1", "Pod", (struct cache_rules){.transform = batchscore_transform});
        cache_put(cache, world.job);
        cache_put(cache, world.service);
        for (size_t k = 0; k < json_array_size(pods); k++) {
            cache_put(cache, json_array_get(pods, k));
        }
        AUTO(tree_freep)
        json_t *job = cache_find(cache, "BatchScore", "default", "style-transfer-00001");
        AUTO(tree_freep) json_t *kept_pods = cache_owned(cache, "Pod", job);
        AUTO(tree_freep) json_t *services = cache_owned(cache, "Service", job);
        CHECK_INT(json_array_size(kept_pods), 3);
        /* A whole pod has its statuses in the order of names; the agent's is searched for. */
        json_t *statuses = tree_get(troubled, "status.containerStatuses");
        if (strcmp(tree_text(json_array_get(statuses, 0), "name", ""), "a-sidecar") == 0) {
            json_array_remove(statuses, 0);
        }
        AUTO(tree_freep) json_t *whole = plan(&world, world.job, world.service, pods);
        AUTO(tree_freep)
        json_t *of_kept = plan(&world, job, json_array_get(services, 0), kept_pods);
        CHECK(json_equal(whole, of_kept));
        CHECK_STR(tree_text(whole, "status.credentials.secret", ""),
                  "style-transfer-00000-1a2b3c4d");
        cache_free(cache);
    }
    release(&world);
}

static size_t resident_bytes(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long size = 0, resident = 0;
    CHECK(file && fscanf(file, "%lu %lu", &size, &resident) == 2);
    if (file) {
        fclose(file);
    }
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

/* The limit is 32 MiB for the whole controller: 10,000 finished jobs with the pod whose log is
 * kept, and 1,000 that run. */
static void many_jobs_take_little(void) {
    const int all_finished = FINISHED / (int)test_divisor(),
              all_running = RUNNING * all_finished / FINISHED;
    AUTO(tree_freep) json_t *like = load_job();
    struct world world = {.cache = cache_new()};
    cache_watch(world.cache, "windlass.dev/v1alpha1", "BatchScore",
                (struct cache_rules){.transform = batchscore_transform});
    cache_watch(world.cache, "v1", "Service",
                (struct cache_rules){.transform = batchscore_transform});
    cache_watch(world.cache, "v1", "Pod", (struct cache_rules){.transform = batchscore_transform});
    size_t before = resident_bytes();
    for (int i = 0; i < all_finished; i++) {
        make_job(&world, like, i, true);
        set_job_status(&world, true);
        CHECK(conditions_is_finished(world.job));
        cache_put(world.cache, world.job);
        cache_put(world.cache, world.coordinator);
        AUTO(tree_freep)
        json_t *job = cache_find(world.cache, "BatchScore", "default",
                                 tree_text(world.job, "metadata.name", ""));
        AUTO(tree_freep) json_t *pods = cache_owned(world.cache, "Pod", job);
        CHECK_INT(json_array_size(pods), 1);
        cache_reduce(world.cache, json_array_get(pods, 0), cache_transform_leftover);
        /* After its time, it can still be found and deleted. */
        AUTO(tree_freep) json_t *left = cache_owned(world.cache, "Pod", job);
        AUTO(tree_freep) json_t *result = plan(&world, job, NULL, left);
        CHECK_INT(json_array_size(json_object_get(result, "delete")), 0);
    }
    size_t bytes = cache_bytes(world.cache), per_finished = bytes / (size_t)all_finished;
    for (int i = all_finished; i < all_finished + all_running; i++) {
        make_job(&world, like, i, false);
        set_job_status(&world, true);
        cache_put(world.cache, world.job);
        cache_put(world.cache, world.service);
        cache_put(world.cache, world.coordinator);
        for (int k = 0; k < WORKERS; k++) {
            cache_put(world.cache, world.workers[k]);
        }
    }
    size_t per_running = (cache_bytes(world.cache) - bytes) / (size_t)all_running;
    size_t resident = resident_bytes() - before;
    printf("# %zu bytes for a finished job, %zu for a running one, %.1f MiB resident\n",
           per_finished, per_running, (double)resident / MIB);
    CHECK_INT(cache_count(world.cache), 2 * all_finished + (3 + WORKERS) * all_running);
    CHECK(per_finished < 900);
    CHECK(per_running < 8000);
    CHECK(cache_bytes(world.cache) < 14 * MIB);
    release(&world);
    cache_free(world.cache);
}

int main(void) {
    TEST(what_is_kept_is_enough);
    TEST(many_jobs_take_little);
    return TEST_END();
}
