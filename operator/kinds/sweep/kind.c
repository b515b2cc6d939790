// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/kind.h"

#include "operator/kinds/disttrain/kind.h"
#include "operator/kinds/disttrain/pods.h"
#include "operator/kinds/sweep/derived/derived_sweep.h"
#include "operator/kinds/sweep/local_run.h"
#include "operator/kinds/sweep/reconcile.h"
#include "operator/kinds/sweep/registrar.h"
#include "operator/kinds/sweep/spec.h"
#include "operator/kinds/sweep/trial.h"

EMBED_TEXT(sweep_crd, "crds/sweep.yaml");
EMBED_TEXT(sweep_init_sweep, "examples/init/sweep.yaml");

/* The pod that would register the first trial's model. */
static int add_registrar(const struct sweep_spec *spec, const struct schema *train,
                         const double *units, json_t *pods, struct error *err) {
    AUTO(tree_freep)
    json_t *best = json_pack("{s:i, s:o}", "index", 0, "values", space_values(&spec->space, units));
    json_t *pod = NULL;
    if (!spec->registered) {
        return 0;
    }
    struct registrar_attempt attempt = {.train = train, .best = best, .number = 1};
    if (registrar_pod(spec, &attempt, &pod, err) < 0) {
        return -1;
    }
    json_array_append_new(pods, pod);
    return 0;
}

/* The pods of its first trial. */
static int pods(const json_t *object, const struct endpoint *endpoint, const struct schema *made,
                json_t **ret_pods, struct error *err) {
    struct sweep_spec spec;
    double units[SPACE_PARAMETERS_MAX];
    if (sweep_spec_read(object, &spec, err) < 0) {
        return -1;
    }
    AUTO(space_points_release) struct space_points points;
    space_points_init(&points, &spec.space, spec.search, spec.seed);
    space_points_at(&points, 0, units);
    AUTO(tree_freep) json_t *trial = trial_make(&spec, made, 0, units, -1);
    schema_fill_defaults(made, trial);
    return disttrain_first_pods(trial, endpoint, ret_pods, err) < 0
               ? -1
               : add_registrar(&spec, made, units, *ret_pods, err);
}

static const char *unit(const json_t *object UNUSED) {
    return "trials";
}

static const struct kind_children trials = {
    .kind = "DistTrain",
    .check = trial_check,
    .page_name = "sweep.html",
    .page_label = "sweep",
    .page_about = "a page with charts of its trials",
    .table = sweep_made_table,
    .page = sweep_made_page,
    .tree = sweep_made_tree,
    .failed_pod = sweep_failed_pod,
};

/* Each Sweep has a folder of its own. */
static bool discards_nothing(const json_t *object UNUSED) {
    return false;
}

static const struct kind_beginning beginnings[] = {
    {"sweep", "a training again and again, with other values", sweep_init_sweep},
    {0},
};

static const struct kind_figure figures[] = {
    {"best trial", "best.trial"},
    {"its value", "best.value"},
    {"running", "trials.running"},
    {"completed", "trials.completed"},
    {"stopped early", "trials.stopped"},
    {"failed", "trials.failed"},
    {0},
};

const struct kind_row sweep_row = {
    .loop = &sweep_kind,
    .figures = figures,
    .crd = sweep_crd,
    .beginnings = beginnings,
    .status_about = "its trials, and with\n"
                    "-o html a page with charts of them (windlass status NAME -o html >sweep.html)",
    .pods_about = "the pods of its first trial, and the pod that registers the best model",
    .children = &trials,
    .check = sweep_check,
    .pods = pods,
    .unit = unit,
    .ending = &sweep_ending,
    .read_progress = sweep_read_numbers,
    .sweep = derived_sweep,
    .local =
        {
            .about = "runs its trials, as many at once as there are processors for; at the end it "
                     "prints\n"
                     "a table of them and writes sweep.html next to the logs.",
            .workers_about = "one per processor, for all trials together",
            .within = "spec.trial",
            .has_secrets = true,
            .stop_ms = JOB_STOP_GANG_MS,
            .fit = sweep_fit,
            .restart_discards = discards_nothing,
        },
};
