// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/kind.h"
#include "operator/kinds/batchscore/endpoint/requests_manifest.h"

#include "operator/kinds/batchscore/derived/derived_manifest.h"
#include "operator/kinds/batchscore/local_run.h"
#include "operator/kinds/batchscore/pods.h"
#include "operator/kinds/batchscore/reconcile.h"
#include "operator/kinds/batchscore/schedule.h"
#include "operator/kinds/batchscore/series.h"
#include "operator/kinds/batchscore/spec.h"
#include "operator/kinds/batchscore/status.h"

/* Of the names of its pods. */
static const char *const roles[] = {"coordinator", "worker", NULL};

EMBED_TEXT(batchscore_crd, "crds/batchscore.yaml");
EMBED_TEXT(batchscore_init_score, "examples/init/score.yaml");
EMBED_TEXT(batchscore_init_program, "examples/init/program.yaml");

/* The coordinator and the first worker. */
static int pods(const json_t *object, const struct endpoint *endpoint,
                const struct schema *made UNUSED, json_t **ret_pods, struct error *err) {
    static const struct job_options on_a_cluster = {.secret_files = true};
    AUTO(batchscore_spec_release) struct batchscore_spec spec = {0};
    if (batchscore_spec_read(object, &on_a_cluster, &spec, err) < 0) {
        return -1;
    }
    *ret_pods = json_pack("[o, o]", batchscore_coordinator_pod(&spec, endpoint, 1),
                          batchscore_worker_pod(&spec, endpoint, 0, 1));
    return 0;
}

static const char *unit(const json_t *object) {
    return batchscore_unit(json_object_get(object, "spec"));
}

static const struct kind_beginning beginnings[] = {
    {"score", "pictures through a network", batchscore_init_score},
    {"program", "your own program for files", batchscore_init_program},
    {0},
};

static const struct kind_figure figures[] = {
    {"items failed", "items.failed"},
    {"items kept of an earlier run", "items.kept"},
    {"names left out", "items.leftOut"},
    {"mini-batches", "miniBatches.total"},
    {"mini-batches failed", "miniBatches.failed"},
    {"mini-batches tried again", "miniBatches.retried"},
    {"workers", "workers"},
    {"workers given up", "retiredWorkers"},
    {"requests", "requests.requests"},
    {"good answers", "requests.answers"},
    {"requests sent again", "requests.retries"},
    {"tokens in", "requests.tokensIn"},
    {"tokens out", "requests.tokensOut"},
    {"median answer, ms", "requests.medianMilliseconds"},
    {"cost of 1,000 rows", "requests.costPer1000"},
    {"next run", "nextTime"},
    {"output of the program that failed", "failedLog"},
    {0},
};

const struct kind_row batchscore_row = {
    .loop = &batchscore_kind,
    .figures = figures,
    .crd = batchscore_crd,
    .beginnings = beginnings,
    .roles = roles,
    .pods_about = "its coordinator and a worker",
    .check = batchscore_check,
    .check_supported = batchscore_schedule_check,
    .pods = pods,
    .unit = unit,
    .read_progress = batchscore_read_numbers,
    .ending = &batchscore_ending,
    .merge_progress = batchscore_status_live,
    .batch = requests_manifest,
    .score = derived_manifest,
    .local =
        {
            .about =
                "cuts the input into mini-batches, runs the network or the program on them in\n"
                "worker processes and writes the outputs.",
            .workers_about = "spec.workers.max, at most one per processor",
            .within = "spec",
            .has_secrets = true,
            .fit = batchscore_fit,
            .fit_gpus = batchscore_fit_gpus,
            .check_fit = batchscore_check_fit,
            .is_series = series_is,
            .take_one_run = batchscore_take_one_run,
        },
};
