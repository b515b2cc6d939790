// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/registrar.h"

#include "operator/cluster.h"
#include "operator/kinds/disttrain/optimizer_defaults.h"
#include "operator/kinds/disttrain/spec.h"
#include "operator/kinds/job/guard/pod_secrets.h"
#include "operator/kinds/job/owned.h"
#include "operator/kinds/job/pod.h"
#include "operator/kinds/job/pod_volumes.h"
#include "operator/kinds/job/template.h"
#include "operator/kinds/sweep/trial.h"
#include "operator/object.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UID_SHOWN = 8 };

/* ---- destination ---- */

/* "2026-11-22T09:44:00Z" -> "20261122T094400Z-1a2b3c4d": versions are compared as texts. */
static char *version_of(const struct sweep_spec *spec) {
    const char *made = tree_text(spec->object, "metadata.creationTimestamp", "");
    AUTO(text_freep) char *digits = x_calloc(strlen(made) + 1, 1);
    for (size_t length = 0; *made; made++) {
        if (*made != '-' && *made != ':') {
            digits[length++] = *made;
        }
    }
    return x_printf("%s-%.*s", digits, UID_SHOWN, spec->uid);
}

char *registrar_place(const struct sweep_spec *spec) {
    AUTO(text_freep) char *version = version_of(spec);
    return x_printf("%s/%s/%s", tree_text(spec->registered, "path", ""), spec->name, version);
}

/* ---- the model's metadata ---- */

/* The program. The environment is omitted: the parameters have the differences between trials, and
 * other variables may not be meant for all readers of a registry. */
static json_t *code_of(const struct disttrain_spec *trial) {
    static const char *const fields[] = {"launcher", "prepare", "command", NULL};
    json_t *code = json_pack("{s:s}", "image", trial->program_image ?: trial->job.image);
    json_t *trainer = json_deep_copy(json_object_get(trial->job.json, "trainer"));
    object_copy(code, trial->job.json, fields);
    if (trainer) {
        optimizer_defaults_fill(trainer);
        json_object_del(trainer, "data");
        json_object_set(code, "trainer", trainer);
        json_object_del(code, "launcher");
    }
    json_decref(trainer);
    return code;
}

/* The input paths, and the identities of their volumes. */
static json_t *data_of(const struct disttrain_spec *trial) {
    static const char *const fields[] = {"inputs", "volumes", NULL};
    json_t *data = json_object();
    object_copy(data, trial->job.json, fields);
    json_object_set(data, "trainer", tree_get(trial->job.json, "trainer.data"));
    return data;
}

/* The best trial; NULL: its object is gone. */
static const struct trial_row *best_row(const struct registrar_attempt *attempt) {
    int64_t index = tree_integer(attempt->best, "index", -1);
    for (size_t i = 0; i < attempt->count; i++) {
        if (attempt->rows[i].index == index) {
            return &attempt->rows[i];
        }
    }
    return NULL;
}

static json_t *metadata_of(const struct sweep_spec *spec, const struct disttrain_spec *trial,
                           const struct registrar_attempt *attempt) {
    const json_t *best = attempt->best;
    const char *value = tree_text(best, "value", "");
    const struct trial_row *row = best_row(attempt);
    return json_pack(
        "{s:{s:s, s:s, s:s}, s:s, s:{s:s, s:s, s:s, s:s}, s:O, s:o, s:o, s:O*, s:O*, s:O*}",
        "sweep", "name", spec->name, "namespace", spec->namespace, "uid", spec->uid, "trial",
        tree_text(best, "trial", ""), "objective", "metric", spec->metric, "goal",
        goal_names[spec->goal], "value", value, "last", tree_text(best, "last", value),
        "parameters", json_object_get(best, "values"), "code", code_of(trial), "data",
        data_of(trial), "trained", row ? row->trained : NULL, "badSamples", row ? row->bad : NULL,
        "losses", row ? row->losses : NULL);
}

/* ---- the result of the Sweep ---- */

/* An environment variable has at most 128 KiB (MAX_ARG_STRLEN), and the metadata are in it, too. */
enum { TRIALS_BYTES_MAX = 64 << 10 };

static json_t *trial_of(const struct trial_row *row) {
    static const char *const states[] = {"Running", "Completed", "Stopped", "Failed"};
    static_assert(ARRAY_LEN(states) == TRIAL_STATE_COUNT, "one name per state");
    char value[SPACE_NUMBER_MAX];
    snprintf(value, sizeof value, "%.9g", row->best);
    return json_pack("{s:I, s:s, s:s*, s:O, s:s*}", "index", (json_int_t)row->index, "state",
                     states[row->state], "value", isnan(row->best) ? NULL : value, "values",
                     row->values, "resultSHA256", *row->result_sha256 ? row->result_sha256 : NULL);
}

/* "sweep" of result.json. Trials whose objects are gone, or that have no room, are counted. */
static json_t *sweep_of(const struct sweep_spec *spec, const struct registrar_attempt *attempt) {
    json_t *trials = json_array();
    size_t used = 0, named = 0;
    for (; named < attempt->count; named++) {
        json_t *trial = trial_of(&attempt->rows[named]);
        AUTO(text_freep) char *text = json_dumps(trial, JSON_COMPACT);
        used += strlen(text) + 1;
        if (used > TRIALS_BYTES_MAX) {
            json_decref(trial);
            break;
        }
        json_array_append_new(trials, trial);
    }
    json_int_t all = (json_int_t)MAX(attempt->made, (int64_t)attempt->count);
    return json_pack("{s:{s:s, s:s}, s:O, s:o, s:I}", "objective", "metric", spec->metric, "goal",
                     goal_names[spec->goal], "best", attempt->best, "trials", trials,
                     "trialsLeftOut", all - (json_int_t)named);
}

/* SHA-256 of result.json in the output that is registered; NULL: not known. */
static const char *result_of(const struct registrar_attempt *attempt, const json_t *trial,
                             const char *path) {
    const char *sha256 = tree_text(attempt->best, "resultSHA256", "");
    const char *first = tree_text(trial, "outputs[0].path", path);
    return *sha256 && strcmp(first, path) == 0 ? sha256 : NULL;
}

/* WINDLASS_SPEC, in the format of agent/commands/register.h. */
static int work_of(const struct sweep_spec *spec, const struct registrar_attempt *attempt,
                   const struct disttrain_spec *trial, json_t **ret_work, struct error *err) {
    const char *from;
    if (trial_model_path(spec->registered, trial->job.json, &from, err) < 0) {
        return -1;
    }
    AUTO(text_freep) char *version = version_of(spec);
    *ret_work =
        json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:s*}", "from", from, "to",
                  tree_text(spec->registered, "path", ""), "name", spec->name, "version", version,
                  "metadata", metadata_of(spec, trial, attempt), "sweep", sweep_of(spec, attempt),
                  "result", result_of(attempt, trial->job.json, from));
    return 0;
}

/* ---- the pod ---- */

/* What the pod needs for result.json: the Sweep's manifest, and the key that signs its trials'
 * results. */
static json_t *environment_of(const struct job_spec *job, const json_t *work,
                              const struct pod_secrets *secrets, const char *pod_name) {
    json_t *environment = pod_environment(job, work, pod_name);
    struct job_spec sweep = *job;
    sweep.json = json_object_get(job->object, "spec");
    pod_add_value(environment, "WINDLASS_UID", tree_text(job->object, "metadata.uid", ""));
    pod_add_origin(environment, &sweep, json_pack("{s:s}", "agent", job->image));
    pod_secrets_add_variables(job, secrets, environment);
    return environment;
}

static json_t *container(const struct job_spec *job, const json_t *work,
                         const struct pod_secrets *secrets, const char *pod_name) {
    json_t *resources = json_pack("{s:{s:s, s:s}}", "requests", "cpu", "250m", "memory", "256Mi");
    return json_pack("{s:s, s:s, s:[s], s:[s], s:o, s:o, s:o, s:s, s:o}", "name", "agent", "image",
                     job->image, "command", "windlass-agent", "args", "register", "env",
                     environment_of(job, work, secrets, pod_name), "resources", resources,
                     "volumeMounts", pod_mounts(job), "terminationMessagePolicy",
                     "FallbackToLogsOnError", "securityContext", pod_secure());
}

/* A pod without GPUs, gang or the user's program: our image, with access to the trial's output. */
static json_t *make_pod(const struct sweep_spec *spec, const struct registrar_attempt *attempt,
                        const struct disttrain_spec *trial, const json_t *work) {
    const struct job_options *jobs = attempt->jobs;
    struct job_spec job = trial->job;
    job.object = spec->object; /* the owner of the pod */
    job.name = spec->name;
    job.image = jobs && jobs->agent_image ? jobs->agent_image : JOB_AGENT_IMAGE;
    job.is_image_given = job.is_image_older = false;
    struct pod_secrets secrets = {.signing_key = json_object_get(job.json, "signingKey")};
    AUTO(text_freep) char *prefix = owned_prefix(spec->name, OWNED_PREFIX_MAX);
    AUTO(text_freep)
    char *name = attempt->number > 1 ? x_printf("%s-%s-%d", prefix, ROLE_REGISTER, attempt->number)
                                     : x_printf("%s-%s", prefix, ROLE_REGISTER);
    json_t *pod =
        pod_make(&job, name, ROLE_REGISTER, attempt->number, container(&job, work, &secrets, name));
    pod_secrets_add_files(&job, &secrets, pod);
    json_t *metadata = json_object_get(pod, "metadata");
    json_object_set_new(json_object_get(metadata, "labels"), LABEL_INDEX,
                        json_sprintf("%lld", (long long)tree_integer(attempt->best, "index", 0)));
    if (attempt->deaths > 0) {
        json_object_set_new(
            metadata, "annotations",
            json_pack("{s:o}", ANNOTATION_DEATHS, json_sprintf("%d", attempt->deaths)));
    }
    pod_place(pod, trial->tolerations, 0, trial->spot);
    template_apply(pod, job.template);
    return pod;
}

int registrar_pod(const struct sweep_spec *spec, const struct registrar_attempt *attempt,
                  json_t **ret_pod, struct error *err) {
    const struct schema *train = attempt->train;
    const json_t *best = attempt->best;
    AUTO(tree_freep)
    json_t *object = trial_of_values(spec, train, tree_integer(best, "index", 0),
                                     json_object_get(best, "values"));
    AUTO(disttrain_spec_release) struct disttrain_spec trial = {0};
    AUTO(tree_freep) json_t *work = NULL;
    /* Our own owner and labels would not be valid in a manifest. */
    json_object_set_new(object, "metadata",
                        json_pack("{s:O}", "name", tree_get(object, "metadata.name")));
    schema_fill_defaults(train, object);
    if (schema_check(train, object, err) < 0 ||
        disttrain_spec_read(object, attempt->jobs, &trial, err) < 0 ||
        work_of(spec, attempt, &trial, &work, err) < 0) {
        return -1;
    }
    *ret_pod = make_pod(spec, attempt, &trial, work);
    return 0;
}
