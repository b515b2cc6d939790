// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/disttrain/work.h"

#include "operator/kinds/disttrain/optimizer_defaults.h"
#include "operator/object.h"

#include <string.h>

enum { TRAINER_HANG_S = 300 };

/* The agent must know which variables are the user's, because it expands their $VAR, and which of
 * them are secret. */
static void name_variables(json_t *work, const json_t *spec) {
    json_t *environment = json_array(), *secrets = json_array();
    const json_t *given = json_object_get(spec, "secrets");
    const char *name;
    json_t *ignored;
    json_object_foreach(json_object_get(spec, "environment"), name, ignored) {
        json_array_append_new(environment, json_string(name));
    }
    for (size_t i = 0; i < json_array_size(given); i++) {
        json_array_append_new(secrets,
                              json_string(tree_text(json_array_get(given, i), "name", "")));
    }
    if (json_array_size(environment) > 0) {
        json_object_set(work, "environment", environment);
    }
    if (json_array_size(secrets) > 0) {
        json_object_set(work, "secrets", secrets);
    }
    json_decref(environment);
    json_decref(secrets);
}

int disttrain_slots(const json_t *spec) {
    bool has_trainer = json_object_get(spec, "trainer") != NULL;
    int gpus = job_bounded(spec, "gpus", 0, 16);
    return has_trainer && gpus > 0 ? gpus : MAX(job_bounded(spec, "slotsPerWorker", 0, 64), 1);
}

/* A copy of spec.trainer with all defaults, for the caller; NULL: there is none. */
static json_t *whole_trainer(const json_t *spec) {
    json_t *trainer = json_deep_copy(json_object_get(spec, "trainer"));
    optimizer_defaults_fill(trainer);
    return trainer;
}

json_t *disttrain_work(const json_t *spec) {
    static const char *const copied[] = {"workers",  "minWorkers", "slotsPerWorker", "gpus",
                                         "launcher", "command",    "prepare",        "inputs",
                                         "outputs",  "logs",       "metrics",        NULL};
    json_t *work = json_object(), *trainer = whole_trainer(spec);
    object_copy(work, spec, copied);
    if (trainer) {
        json_object_set_new(work, "trainer", trainer);
    }
    if (disttrain_slots(spec) != tree_integer(spec, "slotsPerWorker", -1)) {
        json_object_set_new(work, "slotsPerWorker", json_integer(disttrain_slots(spec)));
    }
    if (!json_object_get(work, "minWorkers")) {
        json_object_set(work, "minWorkers", json_object_get(spec, "workers"));
    }
    json_t *restart = json_deep_copy(json_object_get(spec, "restart"));
    if (!json_object_get(restart, "hangSeconds")) {
        int hang_s = json_object_get(spec, "trainer") ? TRAINER_HANG_S : 0;
        json_object_set_new(restart, "hangSeconds", json_integer(hang_s));
    }
    if (restart) {
        json_object_set_new(work, "restart", restart);
    }
    name_variables(work, spec);
    return work;
}

void disttrain_work_run(const struct disttrain_spec *spec, const json_t *folders,
                        char ret_run[static 17]) {
    static const char *const copied[] = {"command", "prepare",     "inputs",
                                         "outputs", "environment", NULL};
    static const char *const pace[] = {"checkpoint", "fusionBufferMB", "timeline", "checkEvery"};
    AUTO(tree_freep) json_t *what = json_object();
    AUTO(tree_freep) json_t *trainer = whole_trainer(spec->job.json);
    for (size_t i = 0; trainer && i < ARRAY_LEN(pace); i++) {
        json_object_del(trainer, pace[i]);
    }
    /* A training that Fail has ended goes on with Skip. */
    json_object_del(json_object_get(trainer, "data"), "onBadSample");
    json_object_del(json_object_get(trainer, "data"), "maxBadSamples");
    object_copy(what, spec->job.json, copied);
    if (trainer) {
        json_object_set(what, "trainer", trainer);
    }
    AUTO(tree_freep) json_t *volumes = json_object();
    for (size_t i = 0; i < spec->job.volume_count; i++) {
        const struct volume *volume = &spec->job.volumes[i];
        if (job_mentions(what, volume->name)) {
            json_object_set_new(volumes, volume->name,
                                job_volume_identity(&spec->job, volume, folders));
        }
    }
    json_object_set(what, "volumes", volumes);
    job_add_endpoints(spec->job.buckets, what);
    job_run(what, ret_run);
}
