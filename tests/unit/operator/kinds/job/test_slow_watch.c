// SPDX-License-Identifier: Apache-2.0
/* A controller whose watch is seconds late and that loses the answers to its creations never makes
 * a second pod for a place: it asks who has the name. An object that lost its owner is adopted, one
 * whose labels were changed is released, a foreign one is left alone; the job goes on. */
#include "operator/kinds/batchscore/reconcile.h"

#include "lib/time/clock.h"
#include "operator/control/claim.h"
#include "operator/control/controller.h"
#include "operator/kinds/job/conditions.h"
#include "operator/object.h"
#include "tests/unit/operator/kinds/job/local_world.h"

static const char manifest[] =
    "{apiVersion: windlass.dev/v1alpha1, kind: BatchScore, metadata: {name: job}, spec: {"
    "input: {video: {path: data/in.mp4}}, scorer: {onnx: {path: data/m.onnx}},"
    "output: {path: data/out}, workers: {min: 2, max: 2}, volumes: [{name: data, "
    "persistentVolumeClaim: {claimName: films}}]}}";
/* A coordinator dies once if there is a file "die". */
static const char agent[] =
    "#!/bin/sh\necho $WINDLASS_WORKER >>\"$data/started\"\n"
    "[ \"$WINDLASS_BIND\" ] && rm \"$data/die\" 2>/dev/null && exit 3\nexec sleep 100\n";

enum { LATE_MS = 3000, EVENTS_MAX = 4096 };

struct late_event {
    int64_t due_ms;
    enum cluster_event event;
    json_t *object;
};

/* The local cluster, whose events come late, and whose answers to the creations of pods are lost as
 * long as `losing`. The first `hiding` questions by name find nothing; while `fails` those for pods
 * fail. */
struct late {
    struct cluster base;
    struct cluster *inner;
    int64_t late_ms;
    int losing, hiding, creations;
    bool fails;
    cluster_listener *listener;
    void *context;
    struct late_event events[EVENTS_MAX];
    size_t count;
};

static struct {
    struct local_world local;
    struct late late;
    struct controller *controller;
} world;

struct lost {
    cluster_done *done;
    void *context;
};

static void on_lost(void *context, const json_t *stored, const struct error *err) {
    struct lost *lost = context;
    struct error timeout = {0};
    error_set(&timeout, ERROR_TIMEOUT, "no answer");
    lost->done(lost->context, NULL, err ? err : &timeout);
    (void)stored;
    free(lost);
}

static void late_write(struct cluster *cluster, enum cluster_verb verb, const json_t *object,
                       cluster_done *done, void *context) {
    struct late *late = (struct late *)cluster;
    bool is_pod = verb == CLUSTER_CREATE && strcmp(tree_text(object, "kind", ""), "Pod") == 0;
    late->creations += is_pod;
    if (is_pod && late->losing > 0) {
        struct lost *lost = x_calloc(1, sizeof *lost);
        *lost = (struct lost){done, context};
        late->losing--;
        late->inner->ops->write(late->inner, verb, object, on_lost, lost);
    } else {
        late->inner->ops->write(late->inner, verb, object, done, context);
    }
}

static void on_hidden(void *context, const json_t *stored, const struct error *err) {
    struct lost *lost = context;
    AUTO(tree_freep) json_t *none = json_pack("{s:[]}", "items");
    lost->done(lost->context, err ? stored : none, err);
    free(lost);
}

static void on_failed(void *context, const json_t *stored UNUSED, const struct error *err UNUSED) {
    struct lost *lost = context;
    struct error failed = {0};
    error_set(&failed, ERROR_DENIED, "may not list pods");
    lost->done(lost->context, NULL, &failed);
    free(lost);
}

static void late_list(struct cluster *cluster, const json_t *like, const char *fields,
                      cluster_done *done, void *context) {
    struct late *late = (struct late *)cluster;
    bool is_by_name = fields && text_starts(fields, "metadata.name=");
    bool fails = late->fails && strcmp(tree_text(like, "kind", ""), "Pod") == 0;
    if (is_by_name && (fails || late->hiding > 0)) {
        struct lost *lost = x_calloc(1, sizeof *lost);
        *lost = (struct lost){done, context};
        late->hiding -= !fails;
        late->inner->ops->list(late->inner, like, fields, fails ? on_failed : on_hidden, lost);
    } else {
        late->inner->ops->list(late->inner, like, fields, done, context);
    }
}

static int late_watch(struct cluster *cluster, const char *api_version, const char *kind,
                      const char *label, bool may_be_absent, struct error *err) {
    struct cluster *inner = ((struct late *)cluster)->inner;
    return inner->ops->watch(inner, api_version, kind, label, may_be_absent, err);
}

static void keep_event(void *context, enum cluster_event event, const json_t *object) {
    struct late *late = context;
    bool is_late = strcmp(tree_text(object, "kind", ""), "Pod") == 0 &&
                   (event == CLUSTER_APPLIED || event == CLUSTER_DELETED);
    if (!is_late || late->late_ms == 0) {
        late->listener(late->context, event, object);
        return;
    }
    CHECK(late->count < EVENTS_MAX);
    late->events[late->count++] = (struct late_event){clock_monotonic_ms() + late->late_ms, event,
                                                      json_incref((json_t *)object)};
}

static int late_wait(struct cluster *cluster, int timeout_ms, cluster_listener *listener,
                     void *context, struct error *err) {
    struct late *late = (struct late *)cluster;
    late->listener = listener;
    late->context = context;
    int result = late->inner->ops->wait(late->inner, timeout_ms, keep_event, late, err);
    size_t told = 0;
    while (told < late->count && late->events[told].due_ms <= clock_monotonic_ms()) {
        listener(context, late->events[told].event, late->events[told].object);
        json_decref(late->events[told++].object);
    }
    memmove(late->events, late->events + told, (late->count - told) * sizeof *late->events);
    late->count -= told;
    return result;
}

static int late_wait_fd(struct cluster *cluster) {
    struct cluster *inner = ((struct late *)cluster)->inner;
    return inner->ops->wait_fd(inner);
}

static const struct cluster_ops late_ops = {.watch = late_watch,
                                            .write = late_write,
                                            .list = late_list,
                                            .wait = late_wait,
                                            .wait_fd = late_wait_fd};

static void report(void *context, const char *key, const struct error *err, int64_t retry_ms,
                   int failures) {
    (void)context, (void)key, (void)retry_ms, (void)failures;
    printf("# %s\n", err->text);
}

static void open_world(int64_t late_ms, int losing) {
    static const struct kind *const kinds[] = {&batchscore_kind, NULL};
    struct error err = {0};
    memset(&world, 0, sizeof world);
    local_world_open(&world.local, agent);
    world.late.inner = world.local.cluster;
    world.late.base.ops = &late_ops;
    world.late.late_ms = late_ms;
    world.late.losing = losing;
    CHECK_OK(controller_new(&world.late.base, kinds, report, NULL, &world.controller, &err), &err);
    local_world_apply(&world.local, manifest);
}

static void close_world(void) {
    controller_free(world.controller);
    for (size_t i = 0; i < world.late.count; i++) {
        json_decref(world.late.events[i].object);
    }
    local_world_close(&world.local);
}

static const json_t *pod(const char *name) {
    return local_find(world.late.inner, "Pod", "default", name);
}

static const json_t *job(void) {
    return local_find(world.late.inner, "BatchScore", "default", "job");
}

static void check_first_names_only(void) {
    static const char *const second[] = {"job-coordinator-2", "job-worker-0-2", "job-worker-1-2"};
    for (size_t i = 0; i < ARRAY_LEN(second); i++) {
        CHECK(!pod(second[i]));
    }
}

static void check_no_other_coordinator(void) {
    CHECK(!pod("job-coordinator-1") && !pod("job-coordinator-3"));
}

static void run_ms(int64_t ms, void (*check)(void)) {
    struct error err = {0};
    for (int64_t end_ms = clock_monotonic_ms() + ms; clock_monotonic_ms() < end_ms;) {
        CHECK_OK(controller_step(world.controller, 20, &err), &err);
        if (check) {
            check();
        }
    }
}

/* Runs until that pod exists, for at most 60 s. */
static void run_until(const char *name) {
    struct error err = {0};
    int64_t end_ms = clock_monotonic_ms() + 60000;
    while (!pod(name) && clock_monotonic_ms() < end_ms) {
        CHECK_OK(controller_step(world.controller, 20, &err), &err);
    }
    CHECK(pod(name) != NULL);
}

/* Runs until that is so, for at most 60 s. */
static void run_until_so(bool (*is_so)(void), void (*check)(void)) {
    struct error err = {0};
    int64_t end_ms = clock_monotonic_ms() + 60000;
    while (!is_so() && clock_monotonic_ms() < end_ms) {
        CHECK_OK(controller_step(world.controller, 20, &err), &err);
        check();
    }
    CHECK(is_so());
}

static const json_t *service(void) {
    return local_find(world.late.inner, "Service", "default", "job-coordinator");
}

static const char *secret_of(const char *name) {
    return json_string_value(
        json_object_get(tree_get(pod(name), "metadata.annotations"), "windlass.dev/secret"));
}

static bool is_ours(const json_t *object) {
    return object_is_owned_by(object, tree_text(job(), "metadata.uid", "?"));
}

/* Three creations, whose answers are all lost: each is asked for once more, and found. */
static void test_a_late_watch_makes_no_second_pod(void) {
    open_world(LATE_MS, 3);
    run_ms(2 * LATE_MS + 2000, check_first_names_only);
    CHECK(pod("job-coordinator-1") && pod("job-worker-0") && pod("job-worker-1"));
    CHECK(world.late.creations >= 4 && world.late.creations <= 6);
    const json_t *stalled = conditions_find(job(), "Stalled");
    CHECK(strcmp(tree_text(stalled, "status", "False"), "False") == 0);
    close_world();
}

/* What was found by its name is known from then on, however late the watch is: nothing is created
 * for it again. */
static void test_what_is_found_is_known(void) {
    open_world(1000 * LATE_MS, 3);
    run_ms(2 * LATE_MS, check_first_names_only);
    CHECK(pod("job-coordinator-1") && pod("job-worker-0") && pod("job-worker-1"));
    CHECK_INT(world.late.creations, 6);
    close_world();
}

/* Answers come and events are late: nothing is asked for twice. */
static void test_answers_count_before_events(void) {
    open_world(LATE_MS, 0);
    run_ms(LATE_MS + 1000, check_first_names_only);
    CHECK_INT(world.late.creations, 3);
    close_world();
}

static void remove_object(const char *kind, const char *name) {
    AUTO(tree_freep)
    json_t *gone = json_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", kind, "metadata",
                             "name", name);
    world.late.inner->ops->write(world.late.inner, CLUSTER_DELETE, gone, NULL, NULL);
}

static void merge_kind(const char *kind, const char *name, json_t *metadata_new) {
    json_object_set_new(metadata_new, "name", json_string(name));
    AUTO(tree_freep)
    json_t *change =
        json_pack("{s:s, s:s, s:o}", "apiVersion", "v1", "kind", kind, "metadata", metadata_new);
    world.late.inner->ops->write(world.late.inner, CLUSTER_MERGE, change, NULL, NULL);
}

static void merge(const char *name, json_t *metadata_new) {
    merge_kind("Pod", name, metadata_new);
}

/* Its owner is removed: it is adopted, and no other is made. */
static void test_a_lost_pod_is_adopted(void) {
    open_world(0, 0);
    run_until("job-worker-1");
    run_ms(300, NULL);
    int creations = world.late.creations;
    AUTO(text_freep) char *uid = x_strdup(tree_text(pod("job-worker-0"), "metadata.uid", ""));
    merge("job-worker-0", json_pack("{s:[]}", "ownerReferences"));
    run_ms(3000, check_first_names_only);
    CHECK(is_ours(pod("job-worker-0")));
    CHECK_STR(tree_text(pod("job-worker-0"), "metadata.uid", ""), uid);
    CHECK(world.late.creations <= creations + 1);
    close_world();
}

/* All that it has: Service and pods, before or after its first status is written. */
static void lose_all_of_it(int64_t after_ms) {
    static const char *const pods[] = {"job-coordinator-1", "job-worker-0", "job-worker-1"};
    struct error err = {0};
    char *uids[ARRAY_LEN(pods)];
    open_world(0, 0);
    run_until("job-worker-1");
    run_ms(after_ms, NULL);
    for (size_t i = 0; i < ARRAY_LEN(pods); i++) {
        uids[i] = x_strdup(tree_text(pod(pods[i]), "metadata.uid", ""));
        merge(pods[i], json_pack("{s:[]}", "ownerReferences"));
    }
    AUTO(text_freep) char *secret = x_strdup(secret_of("job-worker-0"));
    merge_kind("Service", "job-coordinator", json_pack("{s:[]}", "ownerReferences"));
    int64_t end_ms = clock_monotonic_ms() + 60000;
    while (clock_monotonic_ms() < end_ms && !(is_ours(service()) && is_ours(pod(pods[0])) &&
                                              is_ours(pod(pods[1])) && is_ours(pod(pods[2])))) {
        CHECK_OK(controller_step(world.controller, 20, &err), &err);
        check_first_names_only();
    }
    run_ms(1500, check_first_names_only);
    CHECK_STR(tree_text(job(), "status.credentials.secret", ""), secret);
    for (size_t i = 0; i < ARRAY_LEN(pods); i++) {
        CHECK_STR(tree_text(pod(pods[i]), "metadata.uid", ""), uids[i]);
        CHECK(is_ours(pod(pods[i])));
        free(uids[i]);
    }
    CHECK_INT(world.late.creations, 3);
    close_world();
}

static void test_a_job_takes_back_all_that_it_has(void) {
    lose_all_of_it(0);
    lose_all_of_it(1500);
}

/* It is not found when it is asked for: the job goes on, and meets it when it makes another. */
static void test_a_lost_pod_that_is_gone_stops_nothing(void) {
    struct error err = {0};
    open_world(0, 0);
    run_until("job-worker-1");
    run_ms(300, NULL);
    world.late.hiding = 1;
    merge("job-worker-0", json_pack("{s:[]}", "ownerReferences"));
    int64_t end_ms = clock_monotonic_ms() + 60000;
    do {
        CHECK_OK(controller_step(world.controller, 20, &err), &err);
    } while (!(world.late.hiding == 0 && is_ours(pod("job-worker-0"))) &&
             clock_monotonic_ms() < end_ms);
    CHECK_INT(world.late.hiding, 0);
    CHECK(is_ours(pod("job-worker-0")));
    close_world();
}

/* It has our labels and even our uid, as anybody can write them, but another Secret. */
static void test_a_pod_of_another_secret_is_not_adopted(void) {
    open_world(0, 0);
    run_until("job-worker-1");
    run_ms(300, NULL);
    AUTO(text_freep) char *uid = x_strdup(tree_text(pod("job-worker-0"), "metadata.uid", ""));
    merge("job-worker-0", json_pack("{s:{s:s}, s:[]}", "annotations", "windlass.dev/secret",
                                    "job-other", "ownerReferences"));
    run_until("job-worker-0-2"); /* another one works */
    run_ms(500, NULL);
    CHECK(!is_ours(pod("job-worker-0")));
    CHECK_STR(tree_text(pod("job-worker-0"), "metadata.uid", ""), uid); /* nor deleted */
    CHECK(is_ours(pod("job-worker-0-2")));
    close_world();
}

/* Its labels are changed: it is released, runs on, and the place gets the next name. */
static void test_a_relabelled_pod_is_released(void) {
    open_world(0, 0);
    run_until("job-worker-1");
    run_ms(300, NULL);
    merge("job-worker-0", json_pack("{s:{s:s}}", "labels", LABEL_JOB, "other"));
    run_until("job-worker-0-2");
    run_ms(500, NULL);
    CHECK(pod("job-worker-0") && !is_ours(pod("job-worker-0")));
    CHECK(!json_object_get(tree_get(pod("job-worker-0"), "metadata.annotations"), ANNOTATION_UID));
    CHECK(is_ours(pod("job-worker-0-2")));
    CHECK(!pod("job-worker-0-3"));
    close_world();
}

static bool is_stalled(void) {
    const json_t *stalled = conditions_find(job(), "Stalled");
    return strcmp(tree_text(stalled, "reason", ""), "NameTaken") == 0 &&
           strstr(tree_text(stalled, "message", ""), " was taken out of this job");
}

static bool is_not_stalled(void) {
    const json_t *stalled = conditions_find(job(), "Stalled");
    return strcmp(tree_text(stalled, "status", "False"), "False") == 0;
}

/* The coordinator's storage is not known to keep two apart: there is no second one. */
static void test_a_relabelled_coordinator_is_held(void) {
    open_world(0, 0);
    run_until("job-worker-1");
    run_ms(300, NULL);
    merge("job-coordinator-1", json_pack("{s:{s:s}}", "labels", LABEL_JOB, "other"));
    run_until_so(is_stalled, check_first_names_only);
    run_ms(1500, check_first_names_only);
    CHECK(is_ours(pod("job-coordinator-1")));
    close_world();
}

/* The same of the second one, after the first, which had died, was deleted: the next one would get
 * the first one's name. Deleted, it is replaced. */
static void test_a_relabelled_second_coordinator_is_held(void) {
    struct error err = {0};
    open_world(0, 0);
    AUTO(text_freep) char *die = file_join(world.local.folder, "data/die");
    CHECK_OK(file_write(die, "", 0, &err), &err);
    run_until("job-coordinator-2");
    remove_object("Pod", "job-coordinator-1");
    run_ms(1500, check_no_other_coordinator);
    merge("job-coordinator-2", json_pack("{s:{s:s}}", "labels", LABEL_JOB, "other"));
    run_until_so(is_stalled, check_no_other_coordinator);
    CHECK(strstr(tree_text(conditions_find(job(), "Stalled"), "message", ""), "job-coordinator-2"));
    merge("job-coordinator-2", json_pack("{s:{s:s}}", "labels", LABEL_JOB, "job"));
    run_until_so(is_not_stalled, check_no_other_coordinator);
    merge("job-coordinator-2", json_pack("{s:{s:s}}", "labels", LABEL_JOB, "other"));
    run_until_so(is_stalled, check_no_other_coordinator);
    remove_object("Pod", "job-coordinator-2");
    run_until("job-coordinator-1");
    close_world();
}

static bool holds(const json_t *object, const char *text) {
    AUTO(text_freep) char *all = tree_canonical(object);
    return strstr(all, text) != NULL;
}

static void check_no_second(void) {
    CHECK(!pod("job-coordinator-2"));
}

static bool is_unknown(void) {
    return holds(job(), "does not report whether it has ended: may not list pods");
}

static bool has_no_worker(void) {
    return !pod("job-worker-0") && !pod("job-worker-1");
}

static void set_suspend(bool is_suspended) {
    AUTO(tree_freep)
    json_t *change =
        json_pack("{s:s, s:s, s:{s:s}, s:{s:b}}", "apiVersion", "windlass.dev/v1alpha1", "kind",
                  "BatchScore", "metadata", "name", "job", "spec", "suspend", is_suspended);
    world.late.inner->ops->write(world.late.inner, CLUSTER_MERGE, change, NULL, NULL);
}

/* Nothing shows whether the coordinator has ended: no other one is made, and the job says so and
 * can be suspended. */
static void test_a_coordinator_that_is_not_told_of(void) {
    open_world(0, 0);
    run_until("job-worker-1");
    run_ms(300, NULL);
    world.late.fails = true;
    merge("job-coordinator-1", json_pack("{s:{s:s}}", "labels", LABEL_JOB, "other"));
    run_until_so(is_unknown, check_no_second);
    set_suspend(true);
    run_until_so(has_no_worker, check_no_second);
    world.late.fails = false;
    set_suspend(false);
    run_until_so(is_stalled, check_no_second);
    close_world();
}

/* Pods of somebody else have the names: they stay as they are, and the job runs beside them. */
static void test_foreign_pods_are_left_alone(void) {
    static const char *const taken[] = {"job-coordinator-1", "job-worker-0", "job-worker-0-2"};
    open_world(0, 0);
    for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
        AUTO(tree_freep)
        json_t *foreign =
            json_pack("{s:s, s:s, s:{s:s}, s:{s:s, s:[{s:s, s:s}]}}", "apiVersion", "v1", "kind",
                      "Pod", "metadata", "name", taken[i], "spec", "restartPolicy", "Never",
                      "containers", "name", "c", "image", "i");
        world.late.inner->ops->write(world.late.inner, CLUSTER_CREATE, foreign, NULL, NULL);
    }
    run_until("job-worker-0-3");
    run_until("job-coordinator-2");
    run_ms(1000, NULL);
    CHECK(is_ours(pod("job-worker-0-3")) && is_ours(pod("job-coordinator-2")));
    for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
        CHECK(pod(taken[i]) && !tree_get(pod(taken[i]), "metadata.ownerReferences"));
    }
    CHECK_INT(world.late.creations, 6); /* three met a foreign one */
    close_world();
}

/* A Service that somebody gave to the job: it comes first by its name, and names the job's Secret.
 */
static void add_foreign_service(void) {
    AUTO(tree_freep) json_t *labels = json_pack("{s:s}", LABEL_JOB, "job");
    AUTO(tree_freep) json_t *owner = claim_owner_reference(job());
    AUTO(tree_freep)
    json_t *foreign = json_pack(
        "{s:s, s:s, s:{s:s, s:O, s:[O], s:{s:s, s:s, s:s}}, s:{s:[{s:i}]}}", "apiVersion", "v1",
        "kind", "Service", "metadata", "name", "a", "labels", labels, "ownerReferences", owner,
        "annotations", "windlass.dev/secret", tree_text(job(), "status.credentials.secret", "?"),
        "windlass.dev/certificate-sha256", "theirs", "windlass.dev/certificate", "-", "spec",
        "ports", "port", 1);
    world.late.inner->ops->write(world.late.inner, CLUSTER_CREATE, foreign, NULL, NULL);
}

static const char *recorded(void) {
    return tree_text(job(), "status.credentials.certificateSHA256", "");
}

/* A worker in place 0 that is not the pod with that uid; NULL: none. */
static const json_t *worker_after(const char *uid) {
    static const char *const names[] = {"job-worker-0", "job-worker-0-2", "job-worker-0-3"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (pod(names[i]) && strcmp(tree_text(pod(names[i]), "metadata.uid", ""), uid) != 0) {
            return pod(names[i]);
        }
    }
    return NULL;
}

/* Deletes the worker, and waits for the next one and, is_renewed, a certificate after `before`. */
static const json_t *next_worker(const json_t *worker, const char *before, bool is_renewed) {
    struct error err = {0};
    AUTO(text_freep) char *uid = x_strdup(tree_text(worker, "metadata.uid", ""));
    remove_object("Pod", tree_text(worker, "metadata.name", ""));
    int64_t end_ms = clock_monotonic_ms() + 60000;
    while (clock_monotonic_ms() < end_ms) {
        CHECK_OK(controller_step(world.controller, 20, &err), &err);
        const json_t *next = worker_after(uid);
        CHECK(!next || !holds(next, "theirs"));
        if (next && (!is_renewed || (strcmp(recorded(), before) && holds(next, recorded())))) {
            return next;
        }
    }
    return NULL;
}

/* Pods trust the certificate that the status has, and no other Service's; without a Service of that
 * certificate the job gets a new one. */
static void test_a_foreign_service_is_not_trusted(void) {
    open_world(0, 0);
    run_until("job-worker-1");
    run_ms(1500, NULL);
    AUTO(text_freep) char *ours = x_strdup(recorded());
    CHECK_INT(strlen(ours), 64);
    add_foreign_service();
    const json_t *next = next_worker(pod("job-worker-0"), ours, false);
    CHECK(next && holds(next, ours));
    remove_object("Service", "job-coordinator");
    next = next_worker(next, ours, true);
    CHECK(next != NULL);
    close_world();
}

int main(void) {
    TEST(test_answers_count_before_events);
    TEST(test_a_late_watch_makes_no_second_pod);
    TEST(test_what_is_found_is_known);
    TEST(test_a_lost_pod_is_adopted);
    TEST(test_a_job_takes_back_all_that_it_has);
    TEST(test_a_lost_pod_that_is_gone_stops_nothing);
    TEST(test_a_pod_of_another_secret_is_not_adopted);
    TEST(test_a_relabelled_pod_is_released);
    TEST(test_a_relabelled_coordinator_is_held);
    TEST(test_a_relabelled_second_coordinator_is_held);
    TEST(test_a_coordinator_that_is_not_told_of);
    TEST(test_foreign_pods_are_left_alone);
    TEST(test_a_foreign_service_is_not_trusted);
    return TEST_END();
}
