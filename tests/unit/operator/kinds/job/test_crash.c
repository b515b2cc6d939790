// SPDX-License-Identifier: Apache-2.0
/* The controller is killed after each of its writes, with and without its answer, and another one
 * continues: the job, of either kind, ends the same, never with two pods for one role, and leaves
 * nothing behind. */
#include "operator/kinds/batchscore/reconcile.h"

#include "lib/time/clock.h"
#include "operator/kinds/disttrain/plan.h"
#include "operator/kinds/disttrain/pods.h"
#include "operator/kinds/disttrain/reconcile.h"
#include "operator/kinds/disttrain/spec.h"
#include "operator/kinds/job/reconcile/reconcile.h"
#include "tests/seed.h"
#include "tests/unit/operator/kinds/job/answers.h"
#include "tests/unit/operator/kinds/job/local_world.h"

static const char manifest[] =
    "{apiVersion: windlass.dev/v1alpha1, kind: BatchScore, metadata: {name: job}, spec: {"
    "input: {video: {path: data/in.mp4}}, scorer: {onnx: {path: data/m.onnx}},"
    "output: {path: data/out}, workers: {min: 2, max: 2}, volumes: [{name: data, "
    "persistentVolumeClaim: {claimName: films}}]}}";

/* Each pod records its start in a separate file, and refuses to be the second of its kind. */
static const char agent[] =
    "#!/bin/sh\n"
    "role=$1 name=${WINDLASS_WORKER}\n"
    "echo $name >>\"$data/started\"\n"
    "[ $role = score ] && exec sleep 100\n"
    "mkdir \"$data/coordinator\" || { echo two coordinators >>\"$data/wrong\"; exit 1; }\n"
    "sleep 0.1\n"
    "rmdir \"$data/coordinator\"\n"
    "printf '{\"state\": \"Succeeded\", \"message\": \"\", \"miniBatches\": {\"total\": 1, "
    "\"done\": 1}, \"items\": {\"total\": 8, \"done\": 8}}' >\"$WINDLASS_TERMINATION_LOG\"\n";

static const char gang_manifest[] =
    "{apiVersion: windlass.dev/v1alpha1, kind: DistTrain, metadata: {name: job}, spec: {"
    "workers: 3, image: i, command: [train], volumes: [{name: data, persistentVolumeClaim: "
    "{claimName: films}}]}}";

static const char placed_manifest[] =
    "{apiVersion: windlass.dev/v1alpha1, kind: DistTrain, metadata: {name: job}, spec: {"
    "workers: 3, image: i, command: [train], gang: PodGroup, volumes: [{name: data, "
    "persistentVolumeClaim: {claimName: films}}]}}";

/* The first one is done soon; the others would wait forever. */
static const char gang_agent[] =
    "#!/bin/sh\n"
    "echo $WINDLASS_WORKER >>\"$data/started\"\n"
    "[ $WINDLASS_INDEX = 0 ] || exec sleep 100\n"
    "mkdir \"$data/hub\" || { echo two hubs >>\"$data/wrong\"; exit 1; }\n"
    "sleep 0.1\n"
    "rmdir \"$data/hub\"\n"
    "printf '{\"state\": \"Succeeded\", \"message\": \"\", \"step\": 8}' "
    ">\"$WINDLASS_TERMINATION_LOG\"\n";

/* The tested jobs, by kind. */
static const struct subject {
    const struct kind *kind;
    const char *manifest, *agent, *service;
    const char *done;       /* its value is 8 at the end */
    const char *once[2];    /* pods that are started exactly once, NULL at the end */
    const char *at_most[4]; /* the same, once at most */
    const char *never[4];   /* never */
    const char *object;     /* a PodGroup that exists while they run; NULL: none */
} scores = {.kind = &batchscore_kind,
            .manifest = manifest,
            .agent = agent,
            .service = "job-coordinator",
            .done = "status.items.done",
            .once = {"job-coordinator-1\n"},
            .at_most = {"job-worker-0\n", "job-worker-1\n"},
            .never = {"job-coordinator-2\n", "job-worker-0-2\n", "job-worker-2\n"}},
  gang = {.kind = &disttrain_kind,
          .manifest = gang_manifest,
          .agent = gang_agent,
          .service = "job-hub",
          .done = "status.step",
          .once = {"job-0\n"},
          .at_most = {"job-1\n", "job-2\n"},
          .never = {"job-0-2\n", "job-1-2\n", "job-3\n"}},
  placed = {.kind = &disttrain_kind,
            .manifest = placed_manifest,
            .agent = gang_agent,
            .service = "job-hub",
            .done = "status.step",
            .once = {"job-0\n"},
            .at_most = {"job-1\n", "job-2\n"},
            .never = {"job-0-2\n", "job-1-2\n", "job-3\n"},
            .object = "job-gang"};
static const struct subject *subject = &scores;

enum { WRITES_ENOUGH = 60, TIMEOUT_MS = 60000 };

/* The cluster as seen by a controller that may be killed. */
struct mortal {
    struct cluster base;
    struct cluster *inner;
    int writes_left; /* until the kill */
    bool hears;      /* gets the answer to its last write */
    bool is_dead;
    struct answers answers;
};

static struct mortal *mortal_of(struct cluster *cluster) {
    return (struct mortal *)cluster;
}

static void die(struct mortal *mortal) {
    mortal->is_dead = true;
    answers_forget(&mortal->answers);
}

static void mortal_write(struct cluster *cluster, enum cluster_verb verb, const json_t *object,
                         cluster_done *done, void *context) {
    struct mortal *mortal = mortal_of(cluster);
    if (mortal->is_dead || mortal->writes_left == 0) {
        die(mortal);
        return;
    }
    mortal->writes_left--;
    struct answer *answer = answers_add(&mortal->answers, done, context);
    if (mortal->writes_left == 0 && !mortal->hears) {
        die(mortal);
    }
    mortal->inner->ops->write(mortal->inner, verb, object, answers_pass, answer);
}

static void mortal_list(struct cluster *cluster, const json_t *like, const char *fields,
                        cluster_done *done, void *context) {
    struct mortal *mortal = mortal_of(cluster);
    struct answer *answer = answers_add(&mortal->answers, done, context);
    mortal->inner->ops->list(mortal->inner, like, fields, answers_pass, answer);
}

static int mortal_watch(struct cluster *cluster, const char *api_version, const char *kind,
                        const char *label, bool may_be_absent, struct error *err) {
    struct cluster *inner = mortal_of(cluster)->inner;
    return inner->ops->watch(inner, api_version, kind, label, may_be_absent, err);
}

static int mortal_wait(struct cluster *cluster, int timeout_ms, cluster_listener *listener,
                       void *context, struct error *err) {
    struct cluster *inner = mortal_of(cluster)->inner;
    return inner->ops->wait(inner, timeout_ms, listener, context, err);
}

static int mortal_wait_fd(struct cluster *cluster) {
    struct cluster *inner = mortal_of(cluster)->inner;
    return inner->ops->wait_fd(inner);
}

static const struct cluster_ops mortal_ops = {.watch = mortal_watch,
                                              .write = mortal_write,
                                              .list = mortal_list,
                                              .wait = mortal_wait,
                                              .wait_fd = mortal_wait_fd};

static struct {
    struct local_world local;
    struct mortal mortal;
    struct controller *controller;
} world;

/* The subject's kind, in a rush or not. */
static struct kind hurried;
static int64_t overload_ms;

static bool is_hub(const json_t *pod) {
    const char *index = owned_label(pod, LABEL_INDEX);
    return index && strcmp(index, "0") == 0;
}

/* The plan, also for features that this version refuses. */
static int plan_gang(const struct reconcile *request, const struct job_observed *observed,
                     struct plan_result *ret_plan, struct error *err) {
    struct disttrain_observed all = {.job = *observed};
    return disttrain_decide(&all, request->wall_ms, ret_plan, err);
}

static json_t *keep_all(const json_t *object) {
    return json_deep_copy(object);
}

static int reconcile_hurried(void *state, struct reconcile *request, struct error *err) {
    static const struct job_ops gang_ops = {.hub = &disttrain_words.hub,
                                            .bare_role = ROLE_MEMBER,
                                            .is_hub = is_hub,
                                            .plan = plan_gang,
                                            .rules = {.mutable_fields = disttrain_mutable_fields},
                                            .transform_ended = keep_all};
    request->overload_ms = overload_ms;
    return subject->kind == &disttrain_kind ? job_reconcile(&gang_ops, state, request, err)
                                            : subject->kind->reconcile(state, request, err);
}

static void report(void *context, const char *key, const struct error *err, int64_t retry_ms,
                   int failures) {
    (void)context, (void)key, (void)retry_ms;
    if (failures > 3) {
        printf("# %s\n", err->text);
    }
}

static void start_controller(void) {
    static const struct kind *const kinds[] = {&hurried, NULL};
    struct error err = {0};
    hurried = *subject->kind;
    hurried.reconcile = reconcile_hurried;
    world.mortal.is_dead = false;
    CHECK_OK(controller_new(&world.mortal.base, kinds, report, NULL, &world.controller, &err),
             &err);
}

static void open_world(void) {
    memset(&world, 0, sizeof world);
    local_world_open(&world.local, subject->agent);
    world.mortal.inner = world.local.cluster;
    world.mortal.base.ops = &mortal_ops;
    local_world_apply(&world.local, subject->manifest);
}

static void close_world(void) {
    controller_free(world.controller);
    local_world_close(&world.local);
    answers_release(&world.mortal.answers);
}

static const json_t *find_job(void) {
    return local_find(world.mortal.inner, subject->kind->name, "default", "job");
}

static const json_t *find_object(void) {
    return local_find(world.mortal.inner, "PodGroup", "default", "job-gang");
}

/* No pod is made before it, and it is deleted with the Service. */
static void check_object(void) {
    const json_t *object = find_object();
    bool has_service = local_find(world.mortal.inner, "Service", "default", subject->service);
    if (subject->object && has_service && local_pod_count(world.mortal.inner) > 0) {
        CHECK_STR(tree_text(object, "metadata.name", ""), subject->object);
        CHECK_INT(tree_integer(object, "spec.minMember", 0), 3);
    } else if (!subject->object) {
        CHECK(!object);
    }
}

static bool is_over(void) {
    return conditions_is_finished(find_job()) && local_pod_count(world.mortal.inner) == 0 &&
           !local_find(world.mortal.inner, "Service", "default", subject->service) &&
           !find_object();
}

static char *read_note(const char *name) {
    struct error err = {0};
    AUTO(text_freep) char *path = x_printf("%s/data/%s", world.local.folder, name);
    char *text = NULL;
    size_t size = 0;
    return file_read(path, 1 << 20, &text, &size, &err) < 0 ? x_strdup("") : text;
}

static int count_lines(const char *text, const char *line) {
    int count = 0;
    for (; (text = strstr(text, line)); text += strlen(line)) {
        count++;
    }
    return count;
}

/* Lets one life after another make `writes` writes; returns how many lives it took. */
static int run_lives(int writes, bool hears) {
    struct error err = {0};
    int lives = 1;
    open_world();
    world.mortal.writes_left = writes;
    world.mortal.hears = hears;
    start_controller();
    int64_t end_ms = clock_monotonic_ms() + TIMEOUT_MS;
    while (!is_over() && clock_monotonic_ms() < end_ms) {
        CHECK_OK(controller_step(world.controller, 50, &err), &err);
        check_object();
        if (world.mortal.is_dead) {
            lives++;
            controller_free(world.controller);
            world.mortal.writes_left = WRITES_ENOUGH;
            start_controller();
        }
    }
    return lives;
}

static void check_end(void) {
    CHECK(is_over());
    CHECK_STR(tree_text(conditions_find(find_job(), "Succeeded"), "status", ""), "True");
    CHECK_INT(tree_integer(find_job(), subject->done, 0), 8);
    AUTO(text_freep) char *wrong = read_note("wrong");
    CHECK_STR(wrong, "");
    /* No pod was started twice: its name is unique. */
    AUTO(text_freep) char *started = read_note("started");
    for (const char *const *name = subject->once; *name; name++) {
        CHECK_INT(count_lines(started, *name), 1);
    }
    for (const char *const *name = subject->at_most; *name; name++) {
        CHECK(count_lines(started, *name) <= 1);
    }
    for (const char *const *name = subject->never; *name; name++) {
        CHECK_INT(count_lines(started, *name), 0);
    }
}

static void killed_after_every_write(void) {
    for (int hears = 0; hears < 2; hears++) {
        int lives = 2;
        for (int writes = 1; lives > 1 && writes < WRITES_ENOUGH; writes++) {
            if (!test_takes((uint64_t)writes, WRITES_ENOUGH)) {
                continue;
            }
            lives = run_lives(writes, hears);
            check_end();
            if (test_failures) {
                printf("# killed after write %d, which it %s\n", writes,
                       hears ? "learned of" : "did not learn of");
                close_world();
                return;
            }
            CHECK(writes > 8 || lives > 1); /* it really was killed */
            close_world();
        }
    }
}

/* No status is written before the end: only its Service has what the job began with. */
static void killed_after_every_write_in_a_rush(void) {
    overload_ms = 60000;
    killed_after_every_write();
}

static void gang_killed_after_every_write(void) {
    subject = &gang;
    overload_ms = 0;
    killed_after_every_write();
}

static void gang_killed_after_every_write_in_a_rush(void) {
    overload_ms = 60000;
    killed_after_every_write();
}

static void placed_gang_killed_after_every_write(void) {
    subject = &placed;
    overload_ms = 0;
    killed_after_every_write();
}

int main(void) {
    TEST(killed_after_every_write);
    TEST(killed_after_every_write_in_a_rush);
    TEST(gang_killed_after_every_write);
    TEST(gang_killed_after_every_write_in_a_rush);
    TEST(placed_gang_killed_after_every_write);
    return TEST_END();
}
