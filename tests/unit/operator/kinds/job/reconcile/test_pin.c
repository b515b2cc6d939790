// SPDX-License-Identifier: Apache-2.0
/* The spec of a job that has begun, with the whole controller on a cluster in memory: what may
 * change while the job is suspended, that there are never more than two revisions, also when the
 * controller dies or somebody deletes one in between, and that somebody else's objects stay. */
#include "operator/kinds/job/reconcile/pin.h"

#include "lib/file.h"
#include "lib/time/clock.h"
#include "operator/kinds/batchscore/reconcile.h"
#include "operator/kinds/job/conditions.h"
#include "operator/kinds/job/owned.h"
#include "operator/kinds/job/spec_snapshot.h"
#include "operator/kinds/kinds.h"
#include "operator/local/local.h"
#include "operator/resource.h"
#include "tests/test.h"
#include "tests/unit/operator/kinds/job/answers.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

static const char manifest[] =
    "{apiVersion: windlass.dev/v1beta1, kind: BatchScore, metadata: {name: job}, spec: {"
    "input: {video: {path: data/in.mp4}}, scorer: {onnx: {path: data/m.onnx}},"
    "output: {path: data/out}, workers: {min: 1, max: 1, resources: {limits: {memory: 1Gi}}}, "
    "volumes: [{name: data, persistentVolumeClaim: {claimName: films}}]}}";
static const char agent[] = "#!/bin/sh\nexec sleep 100\n";

enum { WAIT_MS = 60000, DEATHS_MAX = 6 };

/* The cluster in memory, whose writes are lost after some: the controller has died. */
struct mortal {
    struct cluster base;
    struct cluster *inner;
    int writes_left;
    bool is_mute;           /* no question is answered */
    int queries_failing;    /* the next ones, after each other */
    struct answer *failing; /* to the one that fails in the next wait; NULL: none */
    struct answers answers;
};

static struct {
    char folder[64];
    struct mortal mortal;
    struct controller *controller;
    struct schema *schema; /* of a controller that knows the definition; NULL: of an older one */
    struct kind kind;
} world;

static void mortal_write(struct cluster *cluster, enum cluster_verb verb, const json_t *object,
                         cluster_done *done, void *context) {
    struct mortal *mortal = (struct mortal *)cluster;
    if (mortal->writes_left > 0) {
        mortal->writes_left--;
        struct answer *answer = answers_add(&mortal->answers, done, context);
        mortal->inner->ops->write(mortal->inner, verb, object, answers_pass, answer);
    }
}

static void mortal_list(struct cluster *cluster, const json_t *like, const char *fields,
                        cluster_done *done, void *context) {
    struct mortal *mortal = (struct mortal *)cluster;
    struct answer *answer = answers_add(&mortal->answers, done, context);
    if (mortal->queries_failing > 0) {
        mortal->queries_failing--;
        mortal->failing = answer;
    } else if (!mortal->is_mute) {
        mortal->inner->ops->list(mortal->inner, like, fields, answers_pass, answer);
    }
}

static int mortal_watch(struct cluster *cluster, const char *api_version, const char *kind,
                        const char *label, bool may_be_absent, struct error *err) {
    struct cluster *inner = ((struct mortal *)cluster)->inner;
    return inner->ops->watch(inner, api_version, kind, label, may_be_absent, err);
}

static int mortal_wait(struct cluster *cluster, int timeout_ms, cluster_listener *listener,
                       void *context, struct error *err) {
    struct mortal *mortal = (struct mortal *)cluster;
    struct answer *failing = TAKE(mortal->failing);
    if (failing) {
        struct error failure = {0};
        error_set(&failure, ERROR_UNAVAILABLE, "the server has no luck");
        answers_pass(failing, NULL, &failure);
    }
    return mortal->inner->ops->wait(mortal->inner, timeout_ms, listener, context, err);
}

static int mortal_wait_fd(struct cluster *cluster) {
    struct cluster *inner = ((struct mortal *)cluster)->inner;
    return inner->ops->wait_fd(inner);
}

static const struct cluster_ops mortal_ops = {.watch = mortal_watch,
                                              .write = mortal_write,
                                              .list = mortal_list,
                                              .wait = mortal_wait,
                                              .wait_fd = mortal_wait_fd};

static void report(void *context, const char *key, const struct error *err, int64_t retry_ms,
                   int failures) {
    (void)context, (void)key, (void)retry_ms, (void)failures, (void)err;
}

static void start_controller(void) {
    static const struct kind *const kinds[] = {&world.kind, NULL};
    struct error err = {0};
    world.kind = batchscore_kind;
    world.kind.schema = world.schema;
    world.mortal.writes_left = INT_MAX;
    world.mortal.is_mute = false;
    CHECK_OK(controller_new(&world.mortal.base, kinds, report, NULL, &world.controller, &err),
             &err);
}

static void end_controller(void) {
    controller_free(world.controller);
    answers_forget(&world.mortal.answers);
}

static const json_t *job(void) {
    return local_find(world.mortal.inner, "BatchScore", "default", "job");
}

static const json_t *revision(int slot) {
    AUTO(text_freep)
    char *name = accepted_name("job", tree_text(job(), "metadata.uid", ""), "", slot);
    return local_find(world.mortal.inner, "ControllerRevision", "default", name);
}

static const json_t *pod(const char *name) {
    return local_find(world.mortal.inner, "Pod", "default", name);
}

static bool is_suspended(void) {
    return strcmp(tree_text(conditions_find(job(), "Suspended"), "status", ""), "True") == 0 &&
           !pod("job-worker-0") && !pod("job-coordinator-1");
}

static bool is_changed(void) {
    return strcmp(tree_text(conditions_find(job(), "SpecChanged"), "status", ""), "True") == 0;
}

static bool is_stalled(void) {
    return strcmp(tree_text(conditions_find(job(), "Stalled"), "status", ""), "True") == 0;
}

static const json_t *service(void) {
    return local_find(world.mortal.inner, "Service", "default", "job-coordinator");
}

/* The accepted spec of its status.specHash, on the Service or else in a revision; owned by the
 * caller; NULL: it is not stored. */
static json_t *accepted(void) {
    static const char *const fields[] = {
        "suspend",     "activeDeadlineSeconds", "ttlSecondsAfterFinished",
        "workers.min", "workers.max",           NULL};
    const char *hash = tree_text(job(), "status.specHash", "");
    json_t *found = spec_snapshot_read(service(), fields, hash);
    for (int slot = 0; slot < ACCEPTED_SLOTS && !found; slot++) {
        found = json_incref((json_t *)accepted_read(revision(slot), fields, hash));
    }
    return found;
}

static const char *memory; /* that of has_taken and runs_with */

static bool has_taken(void) {
    AUTO(tree_freep) json_t *spec = accepted();
    return strcmp(tree_text(spec, "workers.resources.limits.memory", ""), memory) == 0;
}

static bool runs_with(void) {
    const json_t *limits =
        tree_get(pod("job-worker-0"), "spec.containers[0].resources.limits.memory");
    return limits && strcmp(json_string_value(limits), memory) == 0 && has_taken();
}

static bool is_stored(void) {
    AUTO(tree_freep) json_t *spec = accepted();
    return spec != NULL;
}

static void run_until(bool (*is)(void), bool wanted) {
    struct error err = {0};
    int64_t end_ms = clock_monotonic_ms() + WAIT_MS;
    while (is() != wanted && clock_monotonic_ms() < end_ms) {
        CHECK_OK(controller_step(world.controller, 20, &err), &err);
    }
}

static void run_ms(int64_t ms) {
    struct error err = {0};
    for (int64_t end_ms = clock_monotonic_ms() + ms; clock_monotonic_ms() < end_ms;) {
        CHECK_OK(controller_step(world.controller, 20, &err), &err);
    }
}

static void send(enum cluster_verb verb, json_t *object_new) {
    world.mortal.inner->ops->write(world.mortal.inner, verb, object_new, NULL, NULL);
    json_decref(object_new);
}

/* As a user: a merge into the spec. */
static void change(const char *spec) {
    json_t *tree = json_loads(spec, 0, NULL);
    CHECK(tree != NULL);
    send(CLUSTER_APPLY,
         json_pack("{s:s, s:s, s:{s:s, s:s}, s:o}", "apiVersion", "windlass.dev/v1beta1", "kind",
                   "BatchScore", "metadata", "name", "job", "namespace", "default", "spec", tree));
}

static void change_memory(const char *size, const char *suspend) {
    AUTO(text_freep)
    char *spec = x_printf("{\"suspend\": %s, \"workers\": {\"resources\": {\"limits\": {\"memory\":"
                          " \"%s\"}}}}",
                          suspend, size);
    memory = size;
    change(spec);
}

/* As of a definition that lacked these fields. */
static void make_older(json_t *object) {
    CHECK_INT(json_object_del(json_object_get(object, "spec"), "errorThreshold"), 0);
    CHECK_INT(json_object_del(tree_get(object, "spec.retry"), "maxTries"), 0);
}

static void open_world_of(bool is_older) {
    struct error err = {0};
    memset(&world, 0, sizeof world);
    snprintf(world.folder, sizeof world.folder, "/tmp/windlass-pin-XXXXXX");
    CHECK(mkdtemp(world.folder));
    AUTO(text_freep) char *program = file_join(world.folder, "windlass-agent");
    CHECK_OK(file_write(program, agent, strlen(agent), &err), &err);
    CHECK_INT(chmod(program, 0755), 0);
    AUTO(text_freep) char *data = file_join(world.folder, "data");
    CHECK_OK(file_make_folders(data, &err), &err);
    struct local_options options = {
        .places = {.manifest_folder = world.folder, .state_folder = world.folder},
        .threads = 1,
        .program_folder = world.folder};
    CHECK_OK(local_open(&options, &world.mortal.inner, &err), &err);
    world.mortal.base.ops = &mortal_ops;
    json_t *object = NULL;
    CHECK_OK(resource_parse("job.yaml", manifest, sizeof manifest - 1, &object, &err), &err);
    if (is_older) {
        make_older(object);
    }
    send(CLUSTER_APPLY, object);
    start_controller();
    memory = "1Gi";
    run_until(runs_with, true);
    CHECK(runs_with());
}

static void open_world(void) {
    open_world_of(/* is_older= */ false);
}

static void suspend(void) {
    change("{\"suspend\": true}");
    run_until(is_suspended, true);
    CHECK(is_suspended());
}

static void close_world(void) {
    struct error err = {0};
    end_controller();
    world.mortal.inner->ops->free(world.mortal.inner);
    answers_release(&world.mortal.answers);
    schema_free(world.schema);
    CHECK_OK(file_remove_tree(world.folder, &err), &err);
}

static void test_a_suspended_job_takes_other_resources(void) {
    static const char *const sizes[] = {"2Gi", "3Gi", "4Gi"};
    open_world();
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        suspend();
        change_memory(sizes[i], "true");
        run_until(has_taken, true);
        CHECK(has_taken() && !is_changed() && !pod("job-worker-0"));
        change("{\"suspend\": false}");
        run_until(runs_with, true);
        CHECK(runs_with() && !is_changed());
    }
    /* While it runs the same change is not accepted, and the pods stay. */
    change_memory("5Gi", "false");
    run_until(is_changed, true);
    CHECK(is_changed() && !is_stalled() && pod("job-worker-0"));
    memory = "4Gi";
    CHECK(runs_with());
    close_world();
}

/* What makes other results is not taken, and is named. */
static void test_what_is_not_taken(void) {
    static const struct {
        const char *spec, *back, *fields;
    } rows[] = {
        {"{\"workers\": {\"gpus\": 1}}", "{\"workers\": {\"gpus\": 0}}", "spec.workers.gpus"},
        {"{\"workers\": {\"spot\": true}}", "{\"workers\": {\"spot\": false}}",
         "spec.workers.spot"},
        {"{\"workers\": {\"resources\": {\"limits\": {\"nvidia.com/gpu\": \"1\"}}}}", NULL,
         "spec.workers.resources"},
    };
    open_world();
    suspend();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        change(rows[i].spec);
        run_until(is_changed, true);
        CHECK(is_changed());
        CHECK(strstr(tree_text(conditions_find(job(), "SpecChanged"), "message", ""),
                     rows[i].fields));
        CHECK(has_taken());
        if (rows[i].back) {
            change(rows[i].back);
            run_until(is_changed, false);
            CHECK(!is_changed());
        }
    }
    close_world();
}

/* The controller dies after each of its writes, and another one goes on. */
static void test_deaths(void) {
    open_world();
    for (int deaths = 0; deaths < DEATHS_MAX; deaths++) {
        AUTO(text_freep) char *size = x_printf("%dGi", deaths + 10);
        suspend();
        world.mortal.writes_left = deaths / 2;
        change_memory(size, deaths % 2 ? "true" : "false");
        run_ms(300);
        end_controller();
        CHECK(is_stored());
        start_controller();
        change_memory(size, "false");
        run_until(runs_with, true);
        CHECK(runs_with());
        CHECK(!revision(ACCEPTED_SLOTS));
        memory = NULL;
    }
    close_world();
}

static bool has_unanswered(void) {
    return controller_pending(world.controller) > 0;
}

/* The controller dies while the answers to its writes are on their way. */
static void test_a_death_before_the_answers(void) {
    open_world();
    suspend();
    change_memory("2Gi", "false");
    run_until(has_unanswered, true);
    CHECK(has_unanswered());
    end_controller();
    start_controller();
    run_until(runs_with, true);
    CHECK(runs_with() && !is_changed());
    close_world();
}

static bool has_worker(void) {
    return pod("job-worker-0") != NULL;
}

static void plant(int slot, bool is_ours) {
    AUTO(text_freep)
    char *name = accepted_name("job", tree_text(job(), "metadata.uid", ""), "", slot);
    json_t *owners = is_ours
                         ? json_pack("[{s:s, s:s, s:s, s:O, s:b}]", "apiVersion",
                                     "windlass.dev/v1alpha1", "kind", "BatchScore", "name", "job",
                                     "uid", tree_get(job(), "metadata.uid"), "controller", 1)
                         : json_array();
    send(CLUSTER_CREATE,
         json_pack("{s:s, s:s, s:{s:s, s:s, s:o}, s:i, s:{s:{s:s}}}", "apiVersion", "apps/v1",
                   "kind", "ControllerRevision", "metadata", "name", name, "namespace", "default",
                   "ownerReferences", owners, "revision", 1, "data", "spec", "mine", "yes"));
}

static void remove_revision(int slot) {
    if (revision(slot)) {
        send(CLUSTER_DELETE, json_deep_copy(revision(slot)));
    }
}

/* Somebody takes the record off the Service, or writes another spec into it. */
static void write_record(const char *text) {
    send(CLUSTER_MERGE, json_pack("{s:s, s:s, s:{s:s, s:s, s:{s:s}}}", "apiVersion", "v1", "kind",
                                  "Service", "metadata", "name", "job-coordinator", "namespace",
                                  "default", "annotations", ANNOTATION_SPEC_SNAPSHOT, text));
}

/* Another spec than the one with that hash. */
static void plant_record(void) {
    AUTO(text_freep)
    char *planted = x_printf("{\"generation\": 1, \"run\": \"r\", \"spec\": {\"workers\": {}}, "
                             "\"specHash\": \"%s\"}",
                             tree_text(job(), "status.specHash", ""));
    write_record(planted);
}

/* A change of a running job, while its spec is kept nowhere else any more, holds it; and put back
 * it is stored again. */
static void test_lost_specs(void) {
    open_world();
    CHECK(!revision(0) && !revision(1)); /* the Service has it */
    plant_record();
    change("{\"miniBatchSize\": 7}");
    run_until(is_stalled, true);
    CHECK(is_stalled());
    change("{\"miniBatchSize\": null}");
    run_until(is_stored, true);
    run_until(is_stalled, false);
    CHECK(is_stored() && !is_stalled() && revision(0));
    change("{\"miniBatchSize\": 7}");
    run_until(is_changed, true);
    CHECK(is_changed() && !is_stalled());
    /* Then both names are somebody else's: no change is taken, and the job goes on as it began. */
    change("{\"miniBatchSize\": null}");
    run_until(is_changed, false);
    suspend();
    for (int slot = 0; slot < ACCEPTED_SLOTS; slot++) {
        remove_revision(slot);
        plant(slot, /* is_ours= */ false);
    }
    change_memory("2Gi", "false");
    run_until(is_changed, true);
    CHECK(is_changed());
    run_until(has_worker, true);
    CHECK(has_worker() && !is_stalled());
    close_world();
}

/* A controller that has just started asks what the job began with, and the first answer is an
 * error: the job is not held for that. */
static void test_a_question_that_fails_once(void) {
    open_world();
    plant_record();
    change("{\"miniBatchSize\": 7}");
    run_until(is_stalled, true);
    change("{\"miniBatchSize\": null}");
    run_until(is_stored, true);
    run_until(is_stalled, false);
    CHECK(revision(0) && !is_stalled() && !is_changed());
    run_ms(300); /* the last writes end */
    end_controller();
    start_controller();
    world.mortal.queries_failing = 1;
    change("{\"miniBatchSize\": 7}");
    run_until(is_changed, true);
    CHECK(is_changed() && !is_stalled());
    CHECK_INT(world.mortal.queries_failing, 0);
    close_world();
}

static bool is_recorded(void) {
    const char *text = owned_annotation(service(), ANNOTATION_SPEC_SNAPSHOT);
    return text && memory && strstr(text, memory);
}

static bool has_status(void) {
    return tree_get(job(), "status.specHash") != NULL;
}

/* After a change that was taken, the status is lost (a restored backup has none), and no revision
 * is left. A job that runs goes on with the spec that was taken last: its pods show that the record
 * on its Service is true. One that rests has nothing that shows it, and begins with its spec. */
static void test_wiped_status(void) {
    for (int rests = 0; rests <= 1; rests++) {
        open_world();
        suspend();
        change_memory("2Gi", "true");
        run_until(has_taken, true);
        if (!rests) {
            change("{\"suspend\": false}");
            run_until(runs_with, true);
        }
        run_until(is_recorded, true);
        CHECK(is_recorded());
        remove_revision(0);
        remove_revision(1);
        json_t *wiped = json_deep_copy(job());
        json_object_set_new(wiped, "status", json_pack("{s:i}", "observedGeneration", -1));
        json_object_del(json_object_get(wiped, "metadata"), "resourceVersion");
        send(CLUSTER_STATUS, wiped);
        change("{\"suspend\": false, \"miniBatchSize\": 7}");
        run_until(has_status, true);
        if (!rests) {
            run_until(is_changed, true);
        }
        run_until(runs_with, true);
        CHECK(runs_with() && is_changed() == !rests && !is_stalled());
        close_world();
    }
}

/* The other name has a leftover of the job: it is replaced. Or it is somebody else's: it stays, the
 * change is not accepted, and the job goes on as it began. */
static void test_names_that_are_taken(void) {
    for (int is_ours = 1; is_ours >= 0; is_ours--) {
        open_world();
        suspend();
        plant(0, is_ours);
        change_memory("2Gi", "true");
        run_until(is_ours ? has_taken : is_changed, true);
        CHECK_INT(has_taken(), is_ours);
        CHECK_INT(is_changed(), !is_ours);
        CHECK_INT(tree_get(revision(0), "data.spec.mine") != NULL, !is_ours);
        change("{\"suspend\": false}");
        memory = is_ours ? "2Gi" : "1Gi";
        run_until(runs_with, true);
        CHECK(runs_with());
        close_world();
    }
}

/* It is not known who owns a name: until then the status stays with what is stored. The answer
 * comes late, and after a status with the new generation: the change is not taken all the same. */
static void test_unanswered(void) {
    open_world();
    suspend();
    plant(0, /* is_ours= */ false);
    world.mortal.is_mute = true;
    change_memory("2Gi", "true");
    run_ms(1500);
    memory = "1Gi";
    CHECK(has_taken() && is_stored() && !is_changed());
    end_controller();
    start_controller();
    run_until(is_changed, true);
    run_ms(300);
    CHECK(has_taken() && is_changed());
    close_world();
}

static bool has_spec_of(const char *name, const char *field) {
    AUTO(text_freep) char *text = tree_canonical(pod(name));
    return strstr(text, field) != NULL;
}

/* A job that began before its definition had some fields: the spec that it began with gets their
 * defaults, so that no change of anything else is one of them, too. */
static void test_an_older_definitions_job(void) {
    struct error err = {0};
    open_world_of(/* is_older= */ true);
    AUTO(tree_freep) json_t *begun = accepted();
    CHECK(begun && !json_object_get(begun, "errorThreshold"));
    world.mortal.writes_left = 0;
    run_ms(300); /* the last ones end */
    end_controller();
    CHECK_OK(kinds_schema(kinds_find("BatchScore"), &world.schema, &err), &err);
    start_controller();
    suspend();
    CHECK(!is_changed() && !is_stalled());
    change("{\"suspend\": false}");
    run_until(runs_with, true);
    CHECK(runs_with() && !is_changed() && !is_stalled());
    CHECK(has_spec_of("job-worker-0", "maxTries"));
    /* Its pods have them also while a change is not accepted, which alone is named. */
    change("{\"miniBatchSize\": 7}");
    run_until(is_changed, true);
    CHECK(strstr(tree_text(conditions_find(job(), "SpecChanged"), "message", ""), "miniBatchSize"));
    CHECK(!strstr(tree_text(conditions_find(job(), "SpecChanged"), "message", ""), "retry"));
    suspend();
    change_memory("2Gi", "false");
    run_until(runs_with, true);
    CHECK(is_changed() && !is_stalled());
    CHECK(has_spec_of("job-worker-0", "maxTries"));
    CHECK(!has_spec_of("job-worker-0", "\\\"miniBatchSize\\\":7"));
    close_world();
}

int main(void) {
    TEST(test_an_older_definitions_job);
    TEST(test_a_suspended_job_takes_other_resources);
    TEST(test_what_is_not_taken);
    TEST(test_names_that_are_taken);
    TEST(test_lost_specs);
    TEST(test_a_question_that_fails_once);
    TEST(test_wiped_status);
    TEST(test_unanswered);
    TEST(test_deaths);
    TEST(test_a_death_before_the_answers);
    return TEST_END();
}
