// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/disttrain/kind.h"

#include "operator/kinds/disttrain/derived/derived_train.h"
#include "operator/kinds/disttrain/local_run.h"
#include "operator/kinds/disttrain/pods.h"
#include "operator/kinds/disttrain/reconcile.h"
#include "operator/kinds/disttrain/spec.h"
#include "operator/kinds/disttrain/status.h"

EMBED_TEXT(disttrain_crd, "crds/disttrain.yaml");
EMBED_TEXT(disttrain_init_train, "examples/init/train.yaml");
EMBED_TEXT(disttrain_init_torchrun, "examples/init/torchrun.yaml");

static int pods(const json_t *object, const struct endpoint *endpoint,
                const struct schema *made UNUSED, json_t **ret_pods, struct error *err) {
    return disttrain_first_pods(object, endpoint, ret_pods, err);
}

static const char *unit(const json_t *object UNUSED) {
    return "samples";
}

/* A command's outputs are its own. */
static bool has_trainer(const json_t *object) {
    return tree_get(object, "spec.trainer") != NULL;
}

static const struct kind_beginning beginnings[] = {
    {"train", "a training by the trainer of Windlass", disttrain_init_train},
    {"torchrun", "your own training program on several workers", disttrain_init_torchrun},
    {0},
};

static const struct kind_figure figures[] = {
    {"epoch", "epoch"},
    {"step", "step"},
    {"loss", "loss"},
    {"loss of the first step", "firstLoss"},
    {"accuracy", "accuracy"},
    {"newest checkpoint, step", "checkpoint.step"},
    {"parameters trained", "trained.parameters"},
    {"samples left out", "badSamples.count"},
    {"objective, best", "objective.best"},
    {"objective, last", "objective.last"},
    {"reports of it", "objective.reports"},
    {"workers", "workers.wanted"},
    {"workers connected", "workers.registered"},
    {"restarts", "restarts.counted"},
    {"restarts by the cluster", "restarts.disrupted"},
    {"last line of rank 0", "lastLine"},
    {"last restart", "restarts.last.message"},
    {0},
};

const struct kind_row disttrain_row = {
    .loop = &disttrain_kind,
    .figures = figures,
    .crd = disttrain_crd,
    .beginnings = beginnings,
    .pods_about = "two workers",
    .check = disttrain_check,
    .pods = pods,
    .unit = unit,
    .merge_progress = disttrain_status_live,
    .ending = &disttrain_ending,
    .read_progress = disttrain_read_numbers,
    .done_column = disttrain_done_column,
    .train = derived_train,
    .local =
        {
            .about = "runs the command in all workers, as processes of this machine. What they\n"
                     "need of the image must be installed here; spec.prepare runs here, too.",
            .workers_about = "spec.workers",
            .within = "spec",
            .has_secrets = true,
            .workers_max = DISTTRAIN_WORKERS_MAX,
            .stop_ms = JOB_STOP_GANG_MS,
            .fit = disttrain_fit,
            .restart_discards = has_trainer,
            .failed_index = disttrain_failed_index,
        },
};
