// SPDX-License-Identifier: Apache-2.0
/* Bounded asking: in whatever state a cluster is, the number of our requests is small. The whole
 * controller runs for ten minutes of stepped time in each state of a table, with one job; with many
 * in a sample that SOAK_SEED draws, and, of those that are hard on a cluster, in a third, on each
 * day another; in a soak (SOAK_ROUNDS) in all. Under sanitizers (ROUNDS_DIVISOR) only the sample
 * runs. The first two minutes, in which a job begins, have a bound of their own.
 * ASKING_STATE=words: only states with these words; ASKING_JOBS=1000: how many. */
#include "operator/object.h"
#include "tests/seed.h"
#include "tests/unit/operator/asking_specs.h"

#include <stdlib.h>
#include <unistd.h>

enum {
    MINUTES = 10,
    BEGIN_MS = 120000,
    MANY = 80,          /* jobs at a time: each asking once a minute would be too much */
    VERY_MANY = 1000,   /* in a soak */
    SAMPLE = 16,        /* one of this many states has many jobs */
    SAMPLE_OF_HARD = 3, /* of those that are hard on a cluster, on each day another */
    POLLED = 8,         /* jobs of which something is asked or changed all the time */
    PER_JOB_MINUTE = 6, /* requests of one job, without those of the watches */
    PER_JOB_BEGIN = 84, /* the same, in the first two minutes, with what it begins with */
    PER_MINUTE = 60,    /* of MANY jobs and the watches together */
    PASSES_MAX = 6000,  /* over a job: without requests, too, nothing turns in circles */
};

static int job_count;

struct state {
    const char *name, *manifest;
    api_hook *hook;
    void (*setup)(void);             /* before the jobs; may be NULL */
    void (*each_second)(int second); /* what others do meanwhile; may be NULL */
    /* CHANGES: somebody changes each job all the time, and each answers, once a minute and place,
     * as its user wants: the sum grows with the number of jobs, up to PER_JOB_MINUTE for each. What
     * the watches ask for does not. */
    enum { EASY, HARD, POLLS, CHANGES } cost;
};
static const struct state *state;
static bool never(void *c UNUSED, struct api_double *a UNUSED, const struct api_request *r UNUSED) {
    return false;
}

/* ---- manifests: n0n is the job's number ---- */

#define VOLUMES "volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]"

static const char batch[] =
    "apiVersion: windlass.dev/v1alpha1\nkind: BatchScore\nmetadata: {name: job-n0n}\nspec:\n"
    "  input: {files: {path: data/in}}\n"
    "  scorer: {onnx: {path: data/model.onnx, postprocess: {type: Classes}}}\n"
    "  output: {path: data/out-n0n, mode: AppendRow}\n"
    "  workers: {min: 2, max: 2}\n  " VOLUMES "\n";

static const char gang[] =
    "apiVersion: windlass.dev/v1alpha1\nkind: DistTrain\nmetadata: {name: job-n0n}\nspec:\n"
    "  workers: 2\n  image: example.com/me:1\n  command: [train, --name, job-n0n]\n  " VOLUMES "\n";

static const char sweep[] =
    "apiVersion: windlass.dev/v1alpha1\nkind: Sweep\nmetadata: {name: job-n0n}\nspec:\n"
    "  objective: {metric: loss, goal: Minimize}\n"
    "  parameters: [{name: RATE, uniform: {min: \"0.1\", max: \"0.2\"}}]\n"
    "  algorithm: {kind: Random}\n  maxTrials: 2\n  maxConcurrentTrials: 1\n  trial:\n"
    "    workers: 1\n    image: example.com/me:1\n    command: [train, $(RATE), job-n0n]\n   "
    " " VOLUMES "\n";

/* ---- what is there before ---- */

static void put_stranger(const char *plural, const char *api_version, const char *kind,
                         const char *name) {
    api_double_put(api, plural,
                   json_pack("{s:s, s:s, s:{s:s, s:s}, s:{}}", "apiVersion", api_version, "kind",
                             kind, "metadata", "name", name, "namespace", "default", "spec"));
}

static void put_strangers(const char *plural, const char *api_version, const char *kind,
                          const char *format) {
    for (int i = 0; i < job_count; i++) {
        AUTO(text_freep) char *name = asking_numbered(format, i);
        put_stranger(plural, api_version, kind, name);
    }
}

static void pods_names_taken(void) {
    put_strangers("pods", "v1", "Pod", "job-n0n-worker-0");
}
static void gangs_names_taken(void) {
    put_strangers("pods", "v1", "Pod", "job-n0n-0");
}
static void services_names_taken(void) {
    put_strangers("services", "v1", "Service", "job-n0n");
}
static void trials_names_taken(void) {
    put_strangers("disttrains", "windlass.dev/v1alpha1", "DistTrain", "job-n0n-0001");
}

/* ---- what others do meanwhile ---- */

/* Sets the status of every pod. status: an object, copied. */
static void each_pod(json_t *status_new) {
    const char *name;
    json_t *pod;
    void *next;
    json_object_foreach_safe(api_double_all(api, "pods"), next, name, pod) {
        if (tree_get(pod, "metadata.labels") &&
            !json_equal(json_object_get(pod, "status"), status_new)) {
            json_t *copy = json_deep_copy(pod);
            json_object_set_new(copy, "status", json_deep_copy(status_new));
            api_double_put(api, "pods", copy);
        }
    }
    json_decref(status_new);
}

/* The kubelet's reports of an image that cannot be pulled change every 20 s. */
static void bad_image(int second) {
    const char *reason = second / 20 % 2 ? "ImagePullBackOff" : "ErrImagePull";
    each_pod(json_pack("{s:s, s:[{s:s, s:b, s:i, s:{s:{s:s, s:s}}}]}", "phase", "Pending",
                       "containerStatuses", "name", "windlass", "ready", 0, "restartCount", 0,
                       "state", "waiting", "reason", reason, "message", "cannot pull"));
}

static void missing_claim(int second UNUSED) {
    each_pod(json_pack("{s:s, s:[{s:s, s:s, s:s, s:s}]}", "phase", "Pending", "conditions", "type",
                       "PodScheduled", "status", "False", "reason", "Unschedulable", "message",
                       "persistentvolumeclaim \"data\" not found"));
}

static void relabel_all(void) {
    const char *name;
    json_t *pod;
    void *next;
    json_object_foreach_safe(api_double_all(api, "pods"), next, name, pod) {
        if (strstr(name, "worker") && tree_get(pod, "metadata.labels")) {
            json_t *copy = json_deep_copy(pod);
            json_object_del(json_object_get(copy, "metadata"), "labels");
            api_double_put(api, "pods", copy);
        }
    }
}

/* Every pod's label is removed, three times. */
static void relabel(int second) {
    if (second == 20 || second == 40 || second == 60) {
        relabel_all();
    }
}

/* Somebody removes the owners of all pods each second. */
static void take_owners(int second UNUSED) {
    const char *name;
    json_t *pod;
    void *next;
    json_object_foreach_safe(api_double_all(api, "pods"), next, name, pod) {
        if (tree_get(pod, "metadata.ownerReferences[0]")) {
            json_t *copy = json_deep_copy(pod);
            json_object_del(json_object_get(copy, "metadata"), "ownerReferences");
            api_double_put(api, "pods", copy);
        }
    }
}

/* Somebody deletes all pods, and they are gone at once. */
static void delete_pods(int second UNUSED) {
    const char *name;
    json_t *pod;
    void *next;
    json_object_foreach_safe(api_double_all(api, "pods"), next, name, pod) {
        api_double_delete(api, "pods", name);
    }
}

/* Until there is no next name any more. */
static void relabel_until_no_name_is_left(int second) {
    if (second % 5 == 0 && second < 110) {
        relabel_all();
    }
}

static const char *plural_of_manifest(void) {
    return state->manifest == batch  ? "batchscores"
           : state->manifest == gang ? "disttrains"
                                     : "sweeps";
}

/* Deleted, with a finalizer of somebody, which stays. */
static void delete_jobs(int second) {
    const char *name;
    json_t *job;
    void *next;
    if (second == 20) {
        json_object_foreach_safe(api_double_all(api, plural_of_manifest()), next, name, job) {
            json_t *copy = json_deep_copy(job);
            json_object_update_new(json_object_get(copy, "metadata"),
                                   json_pack("{s:s, s:[s]}", "deletionTimestamp",
                                             "2026-11-23T00:01:00Z", "finalizers", "a.example/b"));
            api_double_put(api, plural_of_manifest(), copy);
        }
    }
}

/* The same, and somebody touches what they own each second. */
static void delete_jobs_and_annotate(int second) {
    delete_jobs(second);
    change_all("pods", second, annotate);
    if (state->manifest == sweep) {
        change_all("disttrains", second, annotate);
    }
}

/* Placed, and no container starts. */
static void mounts_fail(int second UNUSED) {
    each_pod(json_pack("{s:s, s:[{s:s, s:s, s:s}], s:[{s:s, s:b, s:i, s:{s:{s:s}}}]}", "phase",
                       "Pending", "conditions", "type", "PodScheduled", "status", "True",
                       "lastTransitionTime", "2026-11-23T00:00:00Z", "containerStatuses", "name",
                       "windlass", "ready", 0, "restartCount", 0, "state", "waiting", "reason",
                       "ContainerCreating"));
}

/* The whole process does not run for three minutes: a paused machine. */
static void pause_controller(int second) {
    if (second == 100 || second == 300) {
        stepped_clock_advance(180000);
    }
}

/* As the namespace's controller deletes them. */
static void lose_pods(int second) {
    if (second == 40) {
        each_pod(json_pack("{s:s, s:s}", "phase", "Failed", "reason", "Evicted"));
    }
}

static void running_quietly(int second UNUSED) {
    each_pod(json_pack("{s:s, s:[{s:s, s:s}], s:[{s:s, s:b, s:i, s:{s:{s:s}}}]}", "phase",
                       "Running", "conditions", "type", "Ready", "status", "True",
                       "containerStatuses", "name", "windlass", "ready", 1, "restartCount", 0,
                       "state", "running", "startedAt", "2026-11-23T00:00:00Z"));
}

/* The reason why pods wait changes each second. */
static void change_reasons(int second) {
    if (second % 2) {
        missing_claim(second);
        return;
    }
    each_pod(json_pack("{s:s, s:[{s:s, s:s, s:s, s:s}]}", "phase", "Pending", "conditions", "type",
                       "PodScheduled", "status", "False", "reason", "Unschedulable", "message",
                       "0/3 nodes are available: 3 Insufficient cpu"));
}

static void run_and_wait(int second) {
    if (second % 2) {
        running_quietly(second);
    } else {
        change_reasons(0);
    }
}

static void evict_each_second(int second UNUSED) {
    each_pod(json_pack("{s:s, s:s}", "phase", "Failed", "reason", "Evicted"));
}

/* The definition is deleted with all jobs, and made again, with the same jobs. */
static void make_definition_anew(int second) {
    if (second == 150) {
        is_undefined = true;
        undefine();
    } else if (second == 170) {
        is_undefined = false;
        asking_put("batchscores", batch, NULL, job_count);
    } else if (second > 170 && second < 400 && second % 10 == 0) {
        collect_garbage();
    } else if (second == 400) {
        CHECK_INT(json_object_size(api_double_all(api, "pods")), 3 * job_count);
    }
}

/* Each Sweep has the one trial that may run at a time, and has not ended. */
static void check_trials(void) {
    const char *name;
    json_t *one;
    CHECK_INT(json_object_size(api_double_all(api, "disttrains")), job_count);
    json_object_foreach(api_double_all(api, "sweeps"), name, one) {
        const json_t *end = object_condition(json_object_get(one, "status"), "Succeeded");
        CHECK_STR(tree_text(end, "status", "none"), "Unknown");
        CHECK_STR(tree_text(end, "reason", "none"), "Running");
    }
}

/* All requests are new ones while the kind of the trials is missing. */
static void cut_while_missing(int second) {
    if (second == 131) {
        api_double_cut_watches(api);
    } else if (second == MINUTES * 60 - 1) {
        check_trials();
    }
}

static const struct state states[] = {
    {"waits for nodes", batch, never, NULL, NULL, EASY},
    {"runs, and its coordinator is silent", batch, never, NULL, running_quietly, POLLS},
    {"a pod's name is taken", batch, never, pods_names_taken, NULL, EASY},
    {"the name of a gang's first pod is taken", gang, never, gangs_names_taken, NULL, EASY},
    {"the Service's name is taken", batch, never, services_names_taken, NULL, EASY},
    {"a trial's name is taken", sweep, never, trials_names_taken, NULL, EASY},
    {"quota", batch, quota, NULL, NULL, HARD},
    {"quota of a gang", gang, quota, NULL, NULL, EASY},
    {"quota of a Sweep's trial", sweep, quota, NULL, NULL, EASY},
    {"quota of Services", batch, services_refused, NULL, NULL, EASY},
    {"LimitRange", batch, limit_range, NULL, NULL, EASY},
    {"a webhook refuses", batch, webhook_denies, NULL, NULL, EASY},
    {"a webhook fails", batch, webhook_fails, NULL, NULL, EASY},
    {"a webhook fails, of a gang", gang, webhook_fails, NULL, NULL, EASY},
    {"a webhook hangs", batch, webhook_hangs, NULL, NULL, EASY},
    {"a webhook hangs, of a gang", gang, webhook_hangs, NULL, NULL, EASY},
    {"pods are invalid", batch, refused_for_ever, NULL, NULL, EASY},
    {"bad image", batch, never, NULL, bad_image, EASY},
    {"bad image of a gang", gang, never, NULL, bad_image, EASY},
    {"missing claim", batch, never, NULL, missing_claim, EASY},
    {"relabelled pods", batch, never, NULL, relabel, EASY},
    {"relabelled pods of a gang", gang, never, NULL, relabel, EASY},
    {"deleted, a foreign finalizer", batch, never, NULL, delete_jobs, EASY},
    {"deleted Sweep, a foreign finalizer", sweep, never, NULL, delete_jobs, EASY},
    {"somebody deletes the pods each second", batch, never, NULL, delete_pods, CHANGES},
    {"somebody deletes a gang's pods each second", gang, never, NULL, delete_pods, CHANGES},
    {"pods that do not go", batch, never, NULL, keep_pods, EASY},
    {"etcd is full", batch, etcd_is_full, NULL, NULL, HARD},
    {"429 for everything", batch, too_many_requests, NULL, cut_once, EASY},
    {"the server is away", batch, server_is_away, NULL, cut_once, EASY},
    {"watches are cut each second", batch, never, NULL, cut_watches, EASY},
    {"the definition is outdated", batch, definition_is_old, NULL, NULL, EASY},
    {"the definition lacks figures", batch, definition_lacks_figures, NULL, running_quietly, POLLS},
    {"the status is not stored", batch, status_is_not_stored, NULL, NULL, HARD},
    {"the status of gangs is not stored", gang, status_is_not_stored, NULL, NULL, EASY},
    {"the status of Sweeps is not stored", sweep, status_is_not_stored, NULL, NULL, EASY},
    {"relabelled until no name is left", batch, never, NULL, relabel_until_no_name_is_left,
     CHANGES}, /* and the answers to that take two minutes more */
    {"pods lose their owner each second", batch, never, NULL, take_owners, EASY},
    {"a gang's lose it, and none may be changed", gang, pods_unchangeable, NULL, take_owners, EASY},
    {"volumes are not mounted", batch, never, NULL, mounts_fail, EASY},
    {"quota, and the controller pauses", batch, quota, NULL, pause_controller, EASY},
    {"no right to create pods", batch, no_right_to_create, NULL, NULL, EASY},
    {"no right to watch pods", batch, no_right_to_watch_pods, NULL, NULL, EASY},
    {"no right to write the status", batch, status_refused, NULL, NULL, EASY},
    {"500 for all of pods", batch, pods_fail, NULL, NULL, HARD},
    {"500 for all of Services", batch, services_fail, NULL, NULL, EASY},
    {"500 for all of Secrets", batch, secrets_fail, NULL, NULL, EASY},
    {"500 for all of NetworkPolicies", batch, policies_fail, NULL, running_quietly, POLLS},
    {"500 for all of Events", batch, events_fail, NULL, bad_image, EASY},
    {"500 for all of a Sweep's trials", sweep, trainings_fail, NULL, NULL, EASY},
    {"trials are missing for ten seconds", sweep, trainings_are_missing, NULL, cut_while_missing,
     EASY},
    {"a webhook takes labels off pods", batch, pods_lose_labels, NULL, NULL, HARD},
    {"a webhook takes labels off a gang's pods", gang, pods_lose_labels, NULL, NULL, EASY},
    {"a webhook takes annotations off pods", batch, pods_lose_annotations, NULL, NULL, EASY},
    {"a webhook takes owners off pods", batch, pods_lose_owners, NULL, NULL, EASY},
    {"a webhook takes labels off Services", batch, services_lose_labels, NULL, NULL, EASY},
    {"a webhook takes labels off trials", sweep, trainings_lose_labels, NULL, NULL, HARD},
    {"a webhook takes annotations off trials", sweep, trainings_lose_annotations, NULL, NULL, EASY},
    {"the namespace goes", batch, namespace_goes, NULL, delete_jobs, EASY},
    {"the namespace goes before the job begins", batch, namespace_has_gone, NULL, NULL, HARD},
    {"the namespace of a gang goes, its pods die", gang, namespace_goes, NULL, lose_pods, EASY},
    {"the namespace of a Sweep goes", sweep, namespace_has_gone, NULL, NULL, EASY},
    {"a quota comes and goes", batch, quota_comes_and_goes, NULL, NULL, EASY},
    {"the definition is made anew", batch, definition_is_made_anew, NULL, make_definition_anew,
     CHANGES}, /* each job begins anew */
    {"the server's clock is years ahead", batch, clock_is_wrong, clock_is_ahead, running_quietly,
     POLLS},
    {"the server's clock is years behind", gang, clock_is_wrong, clock_is_behind, bad_image, EASY},
    {"a webhook changes selectors", batch, selectors_are_changed, NULL, NULL, HARD},
    {"somebody wipes the status each second", batch, never, NULL, wipe_statuses, CHANGES},
    {"the status of gangs is wiped each second", gang, never, NULL, wipe_gangs, CHANGES},
    {"the status of Sweeps is wiped each second", sweep, never, NULL, wipe_statuses, CHANGES},
    {"somebody annotates all each second", batch, never, NULL, annotate_all, EASY},
    {"the reason to wait changes each second", batch, never, NULL, change_reasons, CHANGES},
    {"the reason of a gang changes each second", gang, never, NULL, change_reasons, CHANGES},
    {"pods run and wait by turns", batch, never, NULL, run_and_wait, CHANGES},
    {"a gang's pods run and wait by turns", gang, never, NULL, run_and_wait, CHANGES},
    {"pods are evicted each second", batch, never, NULL, evict_each_second, CHANGES},
    {"a gang's pods are evicted each second", gang, never, NULL, evict_each_second, CHANGES},
    {"no right to write the status, which changes", batch, status_refused, NULL, change_reasons,
     CHANGES},
    {"a status is not found", batch, status_is_not_found, NULL, NULL, EASY},
    {"quota of Secrets", batch, secrets_refused, NULL, NULL, EASY},
    {"scaled each second", batch, never, NULL, scale_each_second, CHANGES},
    {"quota, and scaled each second", batch, quota, NULL, scale_each_second, CHANGES},
    {"the spec changes each second", batch, never, NULL, change_specs, CHANGES},
    {"the spec of a Sweep changes each second", sweep, never, NULL, change_specs, CHANGES},
    {"changed each second while suspended", batch, never, NULL, change_while_suspended, CHANGES},
    {"somebody deletes the Services each second", batch, never, NULL, delete_services, CHANGES},
    {"somebody deletes the trials each second", sweep, never, NULL, delete_trials, CHANGES},
    {"Services that do not go", batch, never, NULL, keep_services, EASY},
    {"pods get another owner, and lose it", batch, never, NULL, share_pods, CHANGES},
    {"suspended and resumed every 5 s", batch, never, NULL, quarrel_about_suspend, CHANGES},
    {"a gang is suspended and resumed", gang, never, NULL, quarrel_about_suspend, CHANGES},
    {"ended, and its pods cannot be deleted", batch, undeletable, NULL, end_and_annotate, CHANGES},
    {"deleted, and its pods cannot be", gang, undeletable, NULL, delete_jobs_and_annotate, CHANGES},
    {"deleted Sweep, its trials cannot be", sweep, undeletable, NULL, delete_jobs_and_annotate,
     CHANGES},
};

/* ---- the world ---- */

static void run_minute(int minute) {
    int steps = state->each_second ? 60 : 1;
    for (int i = 0; i < steps; i++) {
        asking_run(60000 / steps);
        if (state->each_second) {
            state->each_second(minute * 60 + i);
        }
    }
    api_double_bookmark(api);
}

struct rates {
    double jobs, all;     /* requests a minute: without those of the watches; with them */
    json_int_t beginning; /* requests before, without those of the watches */
    bool begins;          /* there were requests at all */
};

/* The requests of these minutes; prints them. */
static struct rates rates_of(const json_t *counts, const json_t *begun, int jobs) {
    struct rates rates = {0};
    const int minutes = MINUTES - BEGIN_MS / 60000;
    const char *what;
    json_t *count;
    json_int_t first = 0;
    printf("# %s, %d:", state->name, jobs);
    json_object_foreach((json_t *)(uintptr_t)counts, what, count) {
        json_int_t before = json_integer_value(json_object_get(begun, what));
        double rate = (double)(json_integer_value(count) - before) / minutes;
        bool is_watching = strncmp(what, "watch", 5) == 0 || strncmp(what, "list", 4) == 0;
        first += before;
        rates.beginning += is_watching ? 0 : before;
        rates.all += rate;
        rates.jobs += is_watching ? 0 : rate;
        if (rate > 0 && !is_watching) {
            printf(" %.1f %s,", rate, what);
        }
    }
    printf(" %.1f in all a minute, after %lld (%lld)\n", rates.all, (long long)rates.beginning,
           (long long)first);
    rates.begins = first > 0;
    return rates;
}

static void begin(int jobs) {
    job_count = jobs;
    asking_open(state->hook);
    if (state->setup) {
        state->setup();
    }
    asking_put(plural_of_manifest(), state->manifest, NULL, jobs);
}

/* Requests a minute after the beginning, of this many jobs in that state. */
static struct rates ask(int jobs) {
    begin(jobs);
    AUTO(tree_freep) json_t *begun = NULL;
    int64_t passes = asking_passes();
    for (int minute = 0; minute < MINUTES; minute++) {
        if (minute == BEGIN_MS / 60000) {
            begun = json_deep_copy(api_double_counts(api));
        }
        run_minute(minute);
    }
    struct rates rates = rates_of(api_double_counts(api), begun, jobs);
    CHECK(asking_passes() - passes <= (int64_t)PASSES_MAX * jobs);
    CHECK_INT(asking_events_of("ServiceTakenAway") > 0, state->each_second == delete_services);
    asking_close();
    return rates;
}

static int how_many(void) {
    const char *jobs = getenv("ASKING_JOBS");
    bool is_soak = getenv("SOAK_ROUNDS") != NULL;
    int usual = state->cost == POLLS || state->cost == CHANGES ? POLLED : MANY;
    int most = state->cost == CHANGES ? MANY : VERY_MANY;
    return jobs ? (int)strtol(jobs, NULL, 10) : is_soak ? most : usual;
}

static void test_every_state_asks_little(void) {
    const char *only = getenv("ASKING_STATE");
    bool is_part = getenv("ROUNDS_DIVISOR") != NULL;
    uint64_t random = test_seed(1), hard = 0;
    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        bool is_drawn = test_below(&random, SAMPLE) == 0;
        if (states[i].cost == HARD) {
            is_drawn = test_samples(hard++, ARRAY_LEN(states), SAMPLE_OF_HARD, test_day());
        }
        state = &states[i];
        if (only ? !strstr(state->name, only) : is_part && !is_drawn) {
            continue;
        }
        struct rates one = ask(1);
        CHECK(one.begins && one.jobs <= PER_JOB_MINUTE && one.all <= PER_MINUTE);
        CHECK(one.beginning <= PER_JOB_BEGIN);
        if (getenv("SOAK_ROUNDS") || only || is_drawn) {
            struct rates many = ask(how_many());
            CHECK(many.begins && many.jobs <= PER_JOB_MINUTE * how_many());
            CHECK((state->cost == CHANGES ? many.all - many.jobs : many.all) <= PER_MINUTE);
        }
    }
}

static bool is_mended;

static bool until_mended(void *context, struct api_double *double_,
                         const struct api_request *request) {
    return !is_mended && quota(context, double_, request);
}

/* No one waits for its turn when the cause is gone. */
static void test_all_go_on_when_the_quota_is_raised(void) {
    static const struct state raised = {"quota, then none", batch, until_mended, NULL, NULL, EASY};
    enum { PODS = 3, LEAST = 40 /* with fewer, all pods would have their turn in that minute */ };
    const int part = MAX((int)(100 / test_divisor()), LEAST);
    const int jobs = getenv("SOAK_ROUNDS") ? 300 : part;
    state = &raised;
    is_mended = false;
    begin(jobs);
    asking_run(5 * 60000);
    CHECK_INT(json_object_size(api_double_all(api, "pods")), 0);
    is_mended = true;
    asking_run(60000);
    CHECK_INT(json_object_size(api_double_all(api, "pods")), jobs * PODS);
    asking_close();
}

static api_hook *taking_off;

static bool takes_off_until_mended(void *context, struct api_double *double_,
                                   const struct api_request *request) {
    return !is_mended && taking_off(context, double_, request);
}

static void check_why(const char *plural, const char *lacking) {
    const json_t *job = json_object_iter_value(json_object_iter(api_double_all(api, plural)));
    const json_t *why = tree_find(tree_get(job, "status.conditions"), "type", "Succeeded");
    CHECK_STR(tree_text(why, "reason", ""), "Denied");
    CHECK(strstr(tree_text(why, "message", ""), lacking));
    CHECK(json_integer_value(json_object_get(api_double_counts(api), "create events")) <= 2);
}

/* What deleted trials had begun to make. */
static void collect_services(void) {
    const char *name;
    json_t *service;
    void *next;
    json_object_foreach_safe(api_double_all(api, "services"), next, name, service) {
        api_double_delete(api, "services", name);
    }
}

/* A webhook takes off what a job finds its objects by: none is left that no one would find, or
 * delete, and the job says so. It goes on by itself when that is mended. */
static void test_nothing_stays_that_no_one_finds(void) {
    static const struct {
        const char *manifest, *of_job, *plural, *lacking;
        api_hook *hook;
        size_t pods; /* when it is mended */
    } rows[] = {
        {batch, "batchscores", "pods", "without our windlass.dev/job", pods_lose_labels, 3},
        {gang, "disttrains", "pods", "without our windlass.dev/job", pods_lose_labels, 2},
        {batch, "batchscores", "pods", "without our windlass.dev/", pods_lose_annotations, 3},
        {batch, "batchscores", "pods", "without our ownerReferences", pods_change_owners, 3},
        {batch, "batchscores", "services", "without our windlass.dev/job", services_lose_labels, 3},
        {sweep, "sweeps", "disttrains", "without our windlass.dev/job", trainings_lose_labels, 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct state stripped = {
            rows[i].lacking, rows[i].manifest, takes_off_until_mended, NULL, NULL, EASY};
        state = &stripped;
        taking_off = rows[i].hook;
        is_mended = false;
        begin(1);
        asking_run(5 * 60000);
        CHECK_INT(json_object_size(api_double_all(api, rows[i].plural)), 0);
        check_why(rows[i].of_job, rows[i].lacking);
        if (rows[i].manifest == sweep) {
            collect_services();
        }
        is_mended = true;
        asking_run(3 * 60000);
        CHECK_INT(json_object_size(api_double_all(api, "pods")), rows[i].pods);
        asking_close();
    }
}

int main(void) {
    TEST(test_every_state_asks_little);
    TEST(test_nothing_stays_that_no_one_finds);
    TEST(test_all_go_on_when_the_quota_is_raised);
    return TEST_END();
}
