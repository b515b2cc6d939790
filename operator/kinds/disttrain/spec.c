// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/disttrain/spec.h"

#include "operator/kinds/disttrain/cache_transform.h"
#include "operator/kinds/disttrain/work.h"
#include "operator/kinds/job/owned.h"

#include <assert.h>
#include <string.h>

const char *const disttrain_launchers[] = {"MPI", "Torchrun", "None"};
static_assert(ARRAY_LEN(disttrain_launchers) == LAUNCHER_COUNT, "one name per launcher");

const char *const disttrain_gangs[] = {"None", "PodGroup", "Volcano", "Kueue"};
static_assert(ARRAY_LEN(disttrain_gangs) == GANG_COUNT, "one name per scheduler");

/* The fields that may change while the job runs; the rule at the root of the definition has all
 * others. */
const char *const disttrain_mutable_fields[] = {"suspend",
                                                "stop",
                                                "activeDeadlineSeconds",
                                                "startDeadlineSeconds",
                                                "ttlSecondsAfterFinished",
                                                "restart.maxRestarts",
                                                NULL};

/* In addition, while it is suspended: where its pods run, and what they get. */
const char *const disttrain_suspended_fields[] = {
    "gpus", "resources", "nodeSelector", "tolerations", "priorityClassName", NULL};

/* With a command, spec.image is the program's image, and ours is the controller's; a trainer may
 * name an image of its own instead of the controller's. */
static void read_images(const struct job_options *options, struct disttrain_spec *spec) {
    static const struct job_options none = {0};
    const struct job_options *given = options ? options : &none;
    if (spec->command) {
        spec->program_image = spec->job.image;
        spec->job.image = given->agent_image ?: JOB_AGENT_IMAGE;
        spec->job.is_image_given = false;
    } else if (!spec->job.is_image_given && spec->gpus > 0) {
        spec->job.image = given->trainer_gpu_image ?: JOB_TRAINER_GPU_IMAGE;
    } else if (!spec->job.is_image_given) {
        spec->job.image = given->trainer_image ?: JOB_TRAINER_IMAGE;
    }
}

/* The trials of a Sweep, whose outputs are in one folder, open the same files there. */
static void share_paths(const json_t *object, json_t *work) {
    const char *path = tree_text(work, "trainer.output.path", NULL);
    const char *slash = path ? strrchr(path, '/') : NULL;
    if (slash && (owned_annotation(object, ANNOTATION_TRIAL) || disttrain_sweep(object))) {
        AUTO(text_freep) char *folder = x_strndup(path, (size_t)(slash - path));
        json_object_set_new(work, "shared", json_string(folder));
    }
}

int disttrain_spec_read(const json_t *object, const struct job_options *options,
                        struct disttrain_spec *ret_spec, struct error *err) {
    *ret_spec = (struct disttrain_spec){0};
    struct job_spec job;
    if (disttrain_check(object, err) < 0 || job_spec_read(object, options, &job, err) < 0) {
        return -1;
    }
    const json_t *json = job.json;
    int workers = MAX(job_bounded(json, "workers", 0, DISTTRAIN_WORKERS_MAX), 1);
    *ret_spec = (struct disttrain_spec){
        .job = job,
        .workers = workers,
        .min_workers = MAX(job_bounded(json, "minWorkers", workers, workers), 1),
        .slots = disttrain_slots(json),
        .gpus = job_bounded(json, "gpus", 0, 16),
        .spot = tree_bool(json, "spot", false),
        .launcher =
            (enum launcher)tree_choice(json, "launcher", disttrain_launchers, LAUNCHER_COUNT),
        .gang = (enum gang_kind)tree_choice(json, "gang", disttrain_gangs, GANG_COUNT),
        .queue = tree_text(json, "queue", NULL),
        .command = json_object_get(json, "command"),
        .environment = json_object_get(json, "environment"),
        .secrets = json_object_get(json, "secrets"),
        .shared_memory = tree_text(json, "sharedMemory", NULL),
        .resources = json_object_get(json, "resources"),
        .node_selector = json_object_get(json, "nodeSelector"),
        .tolerations = json_object_get(json, "tolerations"),
        .start_deadline_seconds = MAX(tree_integer(json, "startDeadlineSeconds", 0), 0),
        .max_restarts = job_bounded(json, "restart.maxRestarts", 0, 1000),
        .work = disttrain_work(json),
    };
    read_images(options, ret_spec);
    share_paths(object, ret_spec->work);
    disttrain_work_run(ret_spec, options ? options->folders : NULL, ret_spec->job.run);
    job_hash(json, disttrain_mutable_fields, ret_spec->job.hash);
    return 0;
}

void disttrain_spec_release(struct disttrain_spec *spec) {
    job_spec_release(&spec->job);
    json_decref(spec->work);
    *spec = (struct disttrain_spec){0};
}
