// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/spec.h"

#include "operator/kinds/batchscore/work.h"

#include <string.h>

/* The fields that may change while the job runs; the rule at the root of the definition has all
 * others. */
const char *const batchscore_mutable_fields[] = {
    "suspend",     "activeDeadlineSeconds", "ttlSecondsAfterFinished",
    "workers.min", "workers.max",           NULL};

/* In addition, while it is suspended: where its pods run, and what they get. */
const char *const batchscore_suspended_fields[] = {"workers.gpus",
                                                   "workers.resources",
                                                   "workers.nodeSelector",
                                                   "workers.tolerations",
                                                   "coordinator.resources",
                                                   "coordinator.nodeSelector",
                                                   "coordinator.tolerations",
                                                   "priorityClassName",
                                                   NULL};

const char *const batchscore_path_fields[] = {"input.video.path",
                                              "input.files.path",
                                              "input.files.manifest",
                                              "input.table.path",
                                              "input.npy.path",
                                              "scorer.onnx.path",
                                              "scorer.onnx.postprocess.labels",
                                              "scorer.onnx.tokenizer.path",
                                              "output.path",
                                              "logs.path",
                                              "trigger.path",
                                              NULL};

enum output_mode batchscore_mode(const json_t *spec) {
    const char *given = tree_text(spec, "output.mode", NULL);
    for (int i = 0; given && i < OUTPUT_MODE_COUNT; i++) {
        if (strcmp(given, batchscore_output_modes[i]) == 0) {
            return (enum output_mode)i;
        }
    }
    bool rows = tree_get(spec, "input.table") || tree_get(spec, "input.npy");
    return rows ? OUTPUT_APPEND_ROW : OUTPUT_PER_FILE;
}

bool batchscore_excludes(const json_t *spec) {
    return job_is_stored(tree_text(spec, "output.path", ""));
}

const char *batchscore_unit(const json_t *spec) {
    static const char *const units[][2] = {
        {"video", "frames"}, {"table", "rows"}, {"npy", "slices"}};
    const json_t *input = json_object_get(spec, "input");
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        if (json_object_get(input, units[i][0])) {
            return units[i][1];
        }
    }
    return "files";
}

static struct batchscore_role read_role(const json_t *role) {
    return (struct batchscore_role){
        .resources = json_object_get(role, "resources"),
        .node_selector = json_object_get(role, "nodeSelector"),
        .tolerations = json_object_get(role, "tolerations"),
        .template = json_object_get(role, "template"),
    };
}

int batchscore_spec_read(const json_t *object, const struct job_options *options,
                         struct batchscore_spec *ret_spec, struct error *err) {
    *ret_spec = (struct batchscore_spec){0};
    struct job_spec job;
    if (batchscore_check(object, err) < 0 || job_spec_read(object, options, &job, err) < 0) {
        return -1;
    }
    const json_t *json = job.json;
    *ret_spec = (struct batchscore_spec){
        .job = job,
        .output_path = tree_text(json, "output.path", ""),
        .command = tree_get(json, "scorer.command"),
        .queue = tree_text(json, "queue", NULL),
        .work = batchscore_work(json),
        .workers_min = job_bounded(json, "workers.min", 0, SPEC_WORKERS_MAX),
        .workers_max = MAX(job_bounded(json, "workers.max", 0, SPEC_WORKERS_MAX), 1),
        .gpus = job_bounded(json, "workers.gpus", 0, 16),
        .spot = tree_bool(json, "workers.spot", false),
        .workers = read_role(json_object_get(json, "workers")),
        .coordinator = read_role(json_object_get(json, "coordinator")),
    };
    batchscore_work_run(ret_spec, options ? options->folders : NULL, ret_spec->job.run);
    job_hash(json, batchscore_mutable_fields, ret_spec->job.hash);
    return 0;
}

void batchscore_spec_release(struct batchscore_spec *spec) {
    job_spec_release(&spec->job);
    json_decref(spec->work);
    *spec = (struct batchscore_spec){0};
}
