// SPDX-License-Identifier: Apache-2.0
/* Bounded asking, beside the states of test_asking.c: a server that refuses each status for ten
 * minutes, and jobs of more pods than the cache keeps parsed. And what is not late, or says why,
 * while somebody deletes or changes things all the time. */
#include "tests/unit/operator/asking_others.h"

#include <stdlib.h>
#include <string.h>

#define VOLUMES "volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]"

static const char small[] =
    "apiVersion: windlass.dev/v1alpha1\nkind: BatchScore\nmetadata: {name: job-n0n}\nspec:\n"
    "  input: {files: {path: data/in}}\n"
    "  scorer: {onnx: {path: data/model.onnx, postprocess: {type: Classes}}}\n"
    "  output: {path: data/out-n0n, mode: AppendRow}\n"
    "  workers: {min: 2, max: 2}\n  " VOLUMES "\n";
static const char wide[] =
    "apiVersion: windlass.dev/v1alpha1\nkind: BatchScore\nmetadata: {name: job-n0n}\nspec:\n"
    "  input: {files: {path: data/in}}\n"
    "  scorer: {onnx: {path: data/model.onnx, postprocess: {type: Classes}}}\n"
    "  output: {path: data/out-n0n, mode: AppendRow}\n"
    "  workers: {min: 150, max: 150}\n  " VOLUMES "\n";
static const char wide_gang[] =
    "apiVersion: windlass.dev/v1alpha1\nkind: DistTrain\nmetadata: {name: job-n0n}\nspec:\n"
    "  workers: 150\n  image: example.com/me:1\n  command: [train]\n  " VOLUMES "\n";

/* ---- what the server and others do ---- */

static bool is_mended;

static bool never(void *context UNUSED, struct api_double *double_ UNUSED,
                  const struct api_request *request UNUSED) {
    return false;
}

static bool refuse_status(void *context UNUSED, struct api_double *double_ UNUSED,
                          const struct api_request *request) {
    if (is_mended || strcmp(request->part, "status") != 0) {
        return false;
    }
    api_double_refuse(request, 403, "Forbidden", "cannot patch resource batchscores/status");
    return true;
}

static bool refuse_pods(void *context UNUSED, struct api_double *double_ UNUSED,
                        const struct api_request *request) {
    if (strcmp(request->verb, "create") != 0 || strcmp(request->plural, "pods") != 0) {
        return false;
    }
    api_double_refuse(request, 403, "Forbidden", "pods is forbidden: exceeded quota: q");
    return true;
}

/* Each pod with that member: an object, copied. */
static void set_all(const char *member, json_t *value_new) {
    const char *name;
    json_t *pod;
    void *next;
    json_object_foreach_safe(api_double_all(api, "pods"), next, name, pod) {
        json_t *copy = json_deep_copy(pod);
        json_object_set_new(copy, member, json_deep_copy(value_new));
        api_double_put(api, "pods", copy);
    }
    json_decref(value_new);
}

static void change_reason(int step) {
    const char *message = step % 2 ? "persistentvolumeclaim \"data\" not found"
                                   : "0/3 nodes are available: 3 Insufficient cpu";
    set_all("status", json_pack("{s:s, s:[{s:s, s:s, s:s, s:s}]}", "phase", "Pending", "conditions",
                                "type", "PodScheduled", "status", "False", "reason",
                                "Unschedulable", "message", message));
}

static void bad_image(int step) {
    const char *reason = step % 2 ? "ImagePullBackOff" : "ErrImagePull";
    set_all("status", json_pack("{s:s, s:[{s:s, s:b, s:i, s:{s:{s:s, s:s}}}]}", "phase", "Pending",
                                "containerStatuses", "name", "windlass", "ready", 0, "restartCount",
                                0, "state", "waiting", "reason", reason, "message", "cannot pull"));
}

static void take_owners(int step UNUSED) {
    const char *name;
    json_t *pod;
    void *next;
    json_object_foreach_safe(api_double_all(api, "pods"), next, name, pod) {
        json_t *copy = json_deep_copy(pod);
        json_object_del(json_object_get(copy, "metadata"), "ownerReferences");
        api_double_put(api, "pods", copy);
    }
}

static void begin(api_hook *hook, const char *plural, const char *manifest) {
    is_mended = false;
    asking_open(hook);
    asking_put(plural, manifest, NULL, 1);
}

/* ---- the status ---- */

/* Each second there is something new to say, and it is refused: no more tries than there would
 * be writes. When it may be said again, what is true then is there soon. */
static void test_a_status_is_refused_for_ten_minutes(void) {
    enum { SECONDS = 600, MOST = 10 + SECONDS / 15 + 2, SOON_MS = 20000 };
    begin(refuse_status, "batchscores", small);
    for (int second = 0; second < SECONDS; second++) {
        asking_run(1000);
        change_reason(second);
    }
    json_int_t tries =
        json_integer_value(json_object_get(api_double_counts(api), "patch batchscores/status"));
    printf("# %d s: %lld tries of a status\n", SECONDS, (long long)tries);
    CHECK(tries > 10 && tries <= MOST);
    is_mended = true;
    asking_run(SOON_MS);
    const json_t *job = api_double_find(api, "batchscores", "job-0n");
    AUTO(text_freep) char *said = json_dumps(json_object_get(job, "status"), 0);
    CHECK(said && strstr(said, "persistentvolumeclaim"));
    asking_close();
}

/* ---- many pods ---- */

static json_int_t all_requests(void) {
    json_int_t all = 0;
    const char *what;
    json_t *count;
    json_object_foreach((json_t *)(uintptr_t)api_double_counts(api), what, count) {
        all += json_integer_value(count);
    }
    return all;
}

/* Three minutes of a change every 20 s, all requests counted. What somebody changes of each pod has
 * an answer for each, so only turns limit it. */
static void test_jobs_of_many_pods_ask_little(void) {
    enum { SECONDS = 180, EVERY = 20, BEGIN_MS = 120000, QUIET = 6, TURNS = 60, PASSES = 3000 };
    static const struct {
        const char *name, *plural, *manifest;
        api_hook *hook;
        void (*each)(int step);
        int most; /* a minute */
    } rows[] = {
        {"150 workers, a bad image", "batchscores", wide, never, bad_image, QUIET},
        {"a gang of 150, a bad image", "disttrains", wide_gang, never, bad_image, QUIET},
        {"150 workers, a quota", "batchscores", wide, refuse_pods, change_reason, QUIET},
        {"150 workers lose their owner", "batchscores", wide, never, take_owners, TURNS},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        begin(rows[i].hook, rows[i].plural, rows[i].manifest);
        asking_run(BEGIN_MS);
        rows[i].each(1); /* what is done the first time, without a turn, is not counted */
        asking_run(BEGIN_MS);
        json_int_t before = all_requests();
        int64_t passes = asking_passes();
        for (int step = 0; step < SECONDS / EVERY; step++) {
            rows[i].each(step);
            asking_run(EVERY * 1000);
        }
        double rate = (double)(all_requests() - before) * 60 / SECONDS;
        passes = asking_passes() - passes;
        printf("# %s: %.1f in all a minute, after %lld; %lld passes\n", rows[i].name, rate,
               (long long)before, (long long)passes);
        CHECK(before > 10 && rate <= rows[i].most && passes <= PASSES);
        asking_close();
    }
}

/* Their pods come up one after the other: a pass, which reads all of them, is for several. */
static void test_events_of_many_pods_share_a_pass(void) {
    const char *name;
    json_t *pod;
    void *next;
    begin(never, "batchscores", wide);
    asking_run(60000);
    int64_t before = asking_passes(), events = 0;
    json_object_foreach_safe(api_double_all(api, "pods"), next, name, pod) {
        json_t *copy = json_deep_copy(pod);
        json_object_set_new(copy, "status", json_pack("{s:s}", "phase", "Running"));
        api_double_put(api, "pods", copy);
        asking_run(1);
        events++;
    }
    int64_t passes = asking_passes() - before;
    printf("# %lld events, %lld passes\n", (long long)events, (long long)passes);
    CHECK_INT(events, 151);
    CHECK(passes > 1 && passes <= 10);
    asking_close();
}

/* ---- what is not late ---- */

static void change_job(const char *name, json_t *value_new) {
    json_t *job = json_deep_copy(api_double_find(api, "batchscores", "job-0n"));
    set_in_spec(job, name, value_new);
    api_double_put(api, "batchscores", job);
}

static const char *condition_of(const char *type, const char *field) {
    const json_t *job = api_double_find(api, "batchscores", "job-0n");
    return tree_text(tree_find(tree_get(job, "status.conditions"), "type", type), field, "");
}

/* Somebody deletes the Service as often as it comes: the next one comes late, but a deadline and a
 * suspension do not. */
static void test_a_deleted_service_holds_no_deadline(void) {
    enum { SECONDS = 300, SOON_MS = 2000 };
    for (int is_suspended = 0; is_suspended <= 1; is_suspended++) {
        begin(never, "batchscores", small);
        if (!is_suspended) {
            change_job("activeDeadlineSeconds", json_integer(SECONDS + 1));
        }
        for (int second = 0; second < SECONDS; second++) {
            asking_run(1000);
            delete_every("services");
            delete_every("secrets");
        }
        CHECK_STR(condition_of("Succeeded", "status"), "Unknown");
        CHECK(strstr(condition_of("Succeeded", "message"), "deleted or changed again"));
        CHECK(json_object_size(api_double_all(api, "pods")) > 0);
        if (is_suspended) {
            change_job("suspend", json_true());
        }
        asking_run(SOON_MS);
        CHECK_STR(condition_of("Succeeded", "reason"),
                  is_suspended ? "Suspended" : "DeadlineExceeded");
        CHECK_INT(json_object_size(api_double_all(api, "pods")), 0);
        asking_close();
    }
}

/* A job that was changed again and again while it was suspended is resumed: it says why it waits,
 * with one event, and goes on with the last change. */
static void test_a_late_change_is_told(void) {
    enum { CHANGES = 70, LONGEST_MS = 180000, FIGURES_MS = 30000 };
    begin(never, "batchscores", small);
    asking_run(5000);
    change_job("suspend", json_true());
    for (int i = 0; i < CHANGES; i++) {
        AUTO(text_freep) char *class = x_printf("class-%d", i);
        change_job("priorityClassName", json_string(class));
        asking_run(1000);
    }
    CHECK_INT(asking_events_of("ChangeWaits"), 0);
    change_job("suspend", json_false());
    asking_run(FIGURES_MS);
    CHECK_STR(condition_of("Succeeded", "reason"), "Suspended");
    CHECK(strstr(condition_of("Succeeded", "message"), "was changed again and again"));
    CHECK_INT(asking_events_of("ChangeWaits"), 1);
    asking_run(LONGEST_MS);
    CHECK_INT(json_object_size(api_double_all(api, "pods")), 3);
    const json_t *pod = json_object_iter_value(json_object_iter(api_double_all(api, "pods")));
    CHECK_STR(tree_text(pod, "spec.priorityClassName", ""), "class-69");
    CHECK_INT(asking_events_of("ChangeWaits"), 1);
    asking_close();
}

static bool fail_secrets(void *context UNUSED, struct api_double *double_ UNUSED,
                         const struct api_request *request) {
    if (!is_mended && strcmp(request->plural, "secrets") == 0) {
        api_double_refuse(request, 500, "InternalError", "no such luck");
        return true;
    }
    return false;
}

/* The Secret's next name, which the Service is to say, cannot be written there. */
static bool fail_secrets_and_keep_services(void *context, struct api_double *double_,
                                           const struct api_request *request) {
    if (!is_mended && strcmp(request->plural, "services") == 0 &&
        strcmp(request->verb, "patch") == 0) {
        api_double_refuse(request, 403, "Forbidden", "admission webhook w denied the request: no");
        return true;
    }
    return fail_secrets(context, double_, request);
}

static bool refuse_secrets(void *context UNUSED, struct api_double *double_ UNUSED,
                           const struct api_request *request) {
    if (!is_mended && strcmp(request->plural, "secrets") == 0) {
        api_double_refuse(request, 403, "Forbidden", "secrets is forbidden: exceeded quota: q");
        return true;
    }
    return false;
}

/* A job whose Secret cannot be made says so, although that has another name at each try, and with
 * one event; it goes on by itself. */
static void test_a_secret_that_fails_is_told(void) {
    static const struct {
        api_hook *hook;
        const char *reason, *what, *is, *cause;
    } rows[] = {
        {fail_secrets, "Denied", "Secret job-0n-", " cannot be created now: ", "no such luck"},
        {fail_secrets_and_keep_services, "Denied", "Service job-0n-",
         " cannot be changed now: ", "webhook w denied the request: no"},
        {refuse_secrets, "QuotaExceeded", "Secret job-0n-",
         " cannot be created now: ", "exceeded quota: q"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        begin(rows[i].hook, "batchscores", small);
        asking_run(120000);
        CHECK_STR(condition_of("Waiting", "reason"), rows[i].reason);
        const char *message = condition_of("Waiting", "message");
        CHECK(text_starts(message, rows[i].what) && text_ends(message, rows[i].cause));
        CHECK(strstr(message, rows[i].is));
        CHECK_INT(asking_events_of(rows[i].reason), 1);
        is_mended = true;
        asking_run(120000);
        CHECK_INT(json_object_size(api_double_all(api, "pods")), 3);
        CHECK_STR(condition_of("Succeeded", "reason"), "Pending");
        asking_close();
    }
}

static bool refuse_deletions(void *context UNUSED, struct api_double *double_ UNUSED,
                             const struct api_request *request) {
    if (!is_mended && strcmp(request->verb, "delete") == 0 &&
        strcmp(request->plural, "pods") == 0) {
        api_double_refuse(request, 403, "Forbidden", "admission webhook w denied the request: no");
        return true;
    }
    return false;
}

static json_t *ended_coordinator(void) {
    json_t *pod = json_deep_copy(api_double_find(api, "pods", "job-0n-coordinator-1"));
    json_object_set_new(pod, "status",
                        json_pack("{s:s, s:[{s:s, s:{s:{s:i, s:s}}}]}", "phase", "Succeeded",
                                  "containerStatuses", "name", "agent", "state", "terminated",
                                  "exitCode", 0, "message", ""));
    return pod;
}

static void end_coordinator(void) {
    api_double_put(api, "pods", ended_coordinator());
}

/* Deleted, with a finalizer of somebody, which stays. */
static void delete_job(void) {
    json_t *job = json_deep_copy(api_double_find(api, "batchscores", "job-0n"));
    json_object_update_new(json_object_get(job, "metadata"),
                           json_pack("{s:s, s:[s]}", "deletionTimestamp", "2026-11-23T00:01:00Z",
                                     "finalizers", "a.example/b"));
    api_double_put(api, "batchscores", job);
}

/* A job that has ended, or is being deleted, has no condition for it: an Event says, once, which
 * pod the cluster refuses to delete. It is asked for more and more rarely, and goes when it may. */
static void test_pods_that_cannot_be_deleted_are_told(void) {
    enum { MOST = 3 * 8 }; /* in two minutes, of three pods */
    static const struct {
        void (*act)(void);
        size_t pods; /* that stay: those that explain the end */
    } rows[] = {{end_coordinator, 1}, {delete_job, 0}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        begin(refuse_deletions, "batchscores", small);
        asking_run(10000);
        rows[i].act();
        asking_run(120000);
        CHECK_INT(json_object_size(api_double_all(api, "pods")), 3);
        CHECK_INT(asking_events_of("DeletionRefused"), 1);
        json_int_t tries =
            json_integer_value(json_object_get(api_double_counts(api), "delete pods"));
        printf("# %lld deletions\n", (long long)tries);
        CHECK(tries >= 4 && tries <= MOST);
        is_mended = true;
        asking_run(120000);
        CHECK_INT(json_object_size(api_double_all(api, "pods")), rows[i].pods);
        asking_close();
    }
}

/* It has the job's labels and owner, as who may create pods can write them, but not the name that
 * the job gives the pod of that place. */
static void test_a_pod_of_somebody_else_ends_no_job(void) {
    begin(never, "batchscores", small);
    asking_run(5000);
    json_t *pod = ended_coordinator(), *metadata = json_object_get(pod, "metadata");
    json_object_set_new(metadata, "name", json_string("stranger"));
    json_object_set_new(metadata, "uid", json_string("other"));
    json_object_set_new(json_object_get(metadata, "labels"), "windlass.dev/attempt",
                        json_string("99"));
    api_double_put(api, "pods", pod);
    asking_run(10000);
    CHECK_STR(condition_of("Succeeded", "status"), "Unknown");
    CHECK_INT(json_object_size(api_double_all(api, "pods")), 4);
    asking_close();
}

int main(void) {
    TEST(test_a_status_is_refused_for_ten_minutes);
    TEST(test_jobs_of_many_pods_ask_little);
    TEST(test_events_of_many_pods_share_a_pass);
    TEST(test_a_deleted_service_holds_no_deadline);
    TEST(test_a_late_change_is_told);
    TEST(test_a_secret_that_fails_is_told);
    TEST(test_pods_that_cannot_be_deleted_are_told);
    TEST(test_a_pod_of_somebody_else_ends_no_job);
    return TEST_END();
}
