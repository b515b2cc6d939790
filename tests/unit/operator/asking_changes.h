// SPDX-License-Identifier: Apache-2.0
/* asking_changes.h: who changes again what the controller writes, and what comes and goes, for
 * test_asking.c: hooks of api_double.h, and what somebody does each second. */
#pragma once

#include "tests/unit/operator/asking_failures.h"
#include "tests/unit/operator/asking_garbage.h"
#include "tests/unit/operator/asking_others.h"

static const char *const plurals_of_jobs[] = {"batchscores", "disttrains", "sweeps"};

/* ---- what comes and goes ---- */

static bool quota_comes_and_goes(void *context, struct api_double *double_,
                                 const struct api_request *request) {
    return (stepped_clock_ms() - start_ms) / 20000 % 2 == 0 && quota(context, double_, request);
}

static bool is_undefined; /* the kind of the jobs, just now */

static bool definition_is_made_anew(void *context UNUSED, struct api_double *double_ UNUSED,
                                    const struct api_request *request) {
    if (is_undefined && strcmp(request->plural, "batchscores") == 0) {
        api_double_refuse(request, 404, "NotFound", "page not found");
        return true;
    }
    return false;
}

/* With the definition all its objects are deleted, and with these what they own. */
static void undefine(void) {
    delete_every("batchscores");
    delete_every("pods");
    delete_every("services");
    delete_every("secrets");
    api_double_cut_watches(api);
}

/* ---- watches ---- */

static void cut_watches(int second UNUSED) {
    api_double_cut_watches(api);
}

/* All requests are new ones from then on. */
static void cut_once(int second) {
    if (second == 40) {
        api_double_cut_watches(api);
    }
}

/* ---- clocks ---- */

static const char *server_time; /* of what is created */

static bool clock_is_wrong(void *context UNUSED, struct api_double *double_ UNUSED,
                           const struct api_request *request) {
    if (strcmp(request->verb, "create") == 0) {
        json_object_set_new(json_object_get(request->body, "metadata"), "creationTimestamp",
                            json_string(server_time));
    }
    return false;
}

static void clock_is_ahead(void) {
    server_time = "2036-11-23T00:00:00Z";
}

static void clock_is_behind(void) {
    server_time = "1970-01-01T00:00:00Z";
}

/* ---- who undoes what we write ---- */

/* A webhook that gives every Service another selector each time that it is written. */
static bool selectors_are_changed(void *context UNUSED, struct api_double *double_ UNUSED,
                                  const struct api_request *request) {
    json_t *selector = tree_get(request->body, "spec.selector");
    if (strcmp(request->plural, "services") == 0 && selector) {
        json_object_set_new(selector, "mesh.example/route", json_string("all"));
    }
    return false;
}

static bool wipe(json_t *job, int second UNUSED) {
    bool had = json_object_size(json_object_get(job, "status")) > 1;
    json_object_set_new(job, "status", json_pack("{s:i}", "observedGeneration", -1));
    return had;
}

static void wipe_statuses(int second) {
    change_all("batchscores", second, wipe);
    change_all("sweeps", second, wipe);
}

/* (Not in the same world: a Sweep's trials are other jobs.) */
static void wipe_gangs(int second) {
    change_all("disttrains", second, wipe);
}

static bool annotate(json_t *object, int second) {
    json_t *annotations = tree_ensure_object(json_object_get(object, "metadata"), "annotations");
    json_object_set_new(annotations, "a.example/seen", json_integer(second));
    return true;
}

static void annotate_all(int second) {
    change_all("batchscores", second, annotate);
    change_all("pods", second, annotate);
    change_all("services", second, annotate);
}

/* The first pod of a job ends well, and with it the job; the others go on. */
static bool end_hub(json_t *pod, int second UNUSED) {
    bool is_hub = strstr(tree_text(pod, "metadata.name", ""), "-worker-") == NULL;
    json_t *state = is_hub ? json_pack("{s:{s:i, s:s}}", "terminated", "exitCode", 0, "message", "")
                           : json_pack("{s:{}}", "running");
    json_object_set_new(pod, "status",
                        json_pack("{s:s, s:[{s:s, s:o}]}", "phase",
                                  is_hub ? "Succeeded" : "Running", "containerStatuses", "name",
                                  "agent", "state", state));
    return true;
}

/* Pods of an ended job that somebody touches each second. */
static void end_and_annotate(int second) {
    if (second == 20) {
        change_all("pods", second, end_hub);
    } else if (second > 20) {
        change_all("pods", second, annotate);
    }
}

/* Two who do not agree whether the jobs are suspended, as a queue and a GitOps controller. */
static bool suspend_or_resume(json_t *job, int second) {
    json_object_set_new(json_object_get(job, "spec"), "suspend", json_boolean(second / 5 % 2));
    json_int_t generation = tree_integer(job, "metadata.generation", 0);
    json_object_set_new(json_object_get(job, "metadata"), "generation",
                        json_integer(generation + 1));
    return second % 5 == 0;
}

static void quarrel_about_suspend(int second) {
    for (size_t i = 0; i < ARRAY_LEN(plurals_of_jobs); i++) {
        change_all(plurals_of_jobs[i], second, suspend_or_resume);
    }
}
