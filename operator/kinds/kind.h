/* kind.h: one kind of job (BatchScore, DistTrain, Sweep) as a row of functions and data. A kind's
 * folder fills in a row (kinds/NAME/kind.c) and kinds.c lists the rows. The commands, the control
 * loop and the checks of manifests work on that list, and none of them names a kind.
 *
 * A function may be NULL when the kind does not need it; the comment at the function says what
 * happens then. All texts are literals. */
#pragma once

#include "operator/control/controller.h"
#include "operator/embedded.h"
#include "operator/kinds/job/owned.h"
#include "operator/kinds/job/spec.h"
#include "operator/kinds/kind_score.h"
#include "operator/kinds/kind_train.h"
#include "operator/schema.h"
#include "operator/show/ending.h"
#include "operator/show/progress_line.h"

/* `windlass run`: the job as processes of this machine. */
struct kind_local {
    const char *about;         /* a paragraph of the help, with line breaks; NULL: none */
    const char *workers_about; /* the meaning of --workers */
    const char *within;  /* the field with volumes, stores and secrets: "spec", "spec.trial" */
    bool has_secrets;    /* the spec may name Secrets; --secrets gives their values */
    int64_t workers_max; /* maximum of --workers; 0: the command's own maximum */
    int64_t stop_ms;     /* from SIGTERM to SIGKILL; 0: 5 s */
    /* Changes the spec's worker counts to suit this machine. asked: --workers, or KIND_UNSET.
     * Returns how many worker processes run at the same time. NULL: the kind cannot run on this
     * machine. */
    int64_t (*fit)(json_t *spec, int64_t asked, int processors);
    /* The same for --gpus, after `fit`, whose result it reads. `there` is the number of GPUs of the
     * machine (0: unknown); job: the job's name, for a message on standard error. True: each worker
     * has a GPU of its own. NULL: --gpus is refused. */
    bool (*fit_gpus)(json_t *spec, int64_t asked, size_t there, const char *job);
    /* After both: refuses a spec whose processes would conflict on one machine (ports, for
     * example). NULL: no check. */
    int (*check_fit)(const json_t *spec, struct error *err);
    /* The job makes runs until it is deleted. NULL: never. */
    bool (*is_series)(const json_t *object);
    /* --once: changes the spec to that of one run. NULL: --once is refused. */
    int (*take_one_run)(json_t *object, const struct job_options *options, struct error *err);
    /* --restart: what earlier runs have made in the output goes. False: the job only begins anew.
     * NULL: it always goes. */
    bool (*restart_discards)(const json_t *object);
    /* The index of the pod that made the job fail, from its last status; 0 if unknown. NULL: the
     * hub and the worker that failed last are shown. */
    int64_t (*failed_index)(const json_t *status);
};

/* A kind whose jobs make jobs of another kind (trials). made: those jobs, an array in any order. */
struct kind_children {
    const char *kind; /* the other kind */
    /* Checks the jobs that would be made against that kind's definition and rules. */
    int (*check)(const json_t *object, const struct schema *schema, struct error *err);
    const char *page_name, *page_label; /* "sweep.html", "sweep" */
    const char *page_about;             /* "a page with charts of its trials" */
    /* A table for a terminal of `width` columns (0: no limit). *ret_text (owned) is NULL when no
     * job was made yet. */
    int (*table)(const json_t *job, const json_t *made, int width, char **ret_text,
                 struct error *err);
    /* A page of HTML; owned. */
    int (*page)(const json_t *job, const json_t *made, char **ret_html, struct error *err);
    /* The same for a page that draws them itself (`windlass ui`): sweep_tree of sweep_html.h.
     * Owned; NULL: the job cannot be read. */
    json_t *(*tree)(const json_t *job, const json_t *made);
    /* The first pod of the job that failed last; owned; NULL: none failed. */
    char *(*failed_pod)(const json_t *job, const json_t *made);
};

/* A file of requests for a model server. The volume "work" is the folder of the file. */
struct kind_batch {
    const char *name;                /* of the job */
    const char *file, *output;       /* in the volume */
    const char *url;                 /* of the server */
    const char *concurrency;         /* NULL: the default */
    const char *secret, *secret_key; /* where its key is; NULL: it needs none */
};

/* `windlass init`: a manifest to begin with, whose job is called my-job. */
struct kind_beginning {
    const char *name, *about, *text;
};

/* A figure of a status that `windlass ui` shows: a text or an integer. */
struct kind_figure {
    const char *label, *path;
};

struct kind_row {
    const struct kind *loop;  /* name, apiVersion, what it owns, reconcile: for the control loop */
    const char *crd;          /* the text of its CustomResourceDefinition */
    const char *status_about; /* what `windlass status NAME` shows besides the pods; may be NULL */
    /* What is between the job's name and a number in its pods' names; the hub's first, which has no
     * index; ends with NULL. NULL: pods are NAME-INDEX. */
    const char *const *roles;
    const char *pods_about;               /* which pods `pods` returns, for the help */
    const struct kind_children *children; /* NULL: it does not make jobs of other kinds */
    struct kind_local local;
    /* The rules between its fields, after the schema's. */
    int (*check)(const json_t *object, struct error *err);
    /* Refuses what a cluster accepts and this program or machine does not support. NULL: no check.
     */
    int (*check_supported)(const json_t *object, struct error *err);
    /* `windlass check --pods`: the first pods that a job would get. endpoint: the hub's address
     * (owned.h; `check` gives placeholders). made: the definition of the kind that it makes (NULL:
     * none). *ret_pods: an array, owned. */
    int (*pods)(const json_t *object, const struct endpoint *endpoint, const struct schema *made,
                json_t **ret_pods, struct error *err);
    /* The unit of a job's counters: "frames", "trials". */
    const char *(*unit)(const json_t *object);
    /* Reads a status's counters for the progress line and its bar. NULL: progress_line_read_items.
     */
    progress_reader *read_progress;
    /* The end of a job in texts: what to do about its reasons, what it kept. NULL: as of all kinds.
     */
    const struct ending_kind *ending;
    /* Brings the figures of a status up to date with an answer of the hub's GET /progress, as the
     * controller does. NULL: its jobs have no hub. */
    void (*merge_progress)(json_t *status, const json_t *progress);
    /* The column DONE in the list of jobs; owned. NULL: status.progress. */
    char *(*done_column)(const json_t *status);
    /* `windlass batch`: the text of a manifest, owned, of a file of requests. NULL: not supported.
     */
    int (*batch)(const struct kind_batch *batch, char **ret_text, struct error *err);
    /* `windlass score`: a manifest of a network and an input. INVALID: something is neither in the
     * network nor given, with the options that give it. NULL: not supported. */
    int (*score)(const struct kind_score *job, struct kind_scored *ret_made, struct error *err);
    const struct kind_beginning *beginnings; /* end with a row without name; NULL: none */
    const struct kind_figure *figures;       /* end with a row without label; NULL: none */
    /* `windlass train`, `windlass sweep`: the same of a network and training data, and of a job of
     * which some fields vary. made: the definition of that job. */
    int (*train)(const struct kind_train *job, struct kind_scored *ret_made, struct error *err);
    int (*sweep)(const struct kind_sweep *sweep, const struct schema *made,
                 struct kind_scored *ret_made, struct error *err);
};

#define KIND_UNSET INT64_MIN           /* an option that was not given */
enum { KIND_GPUS_OF_WORKER_MAX = 16 }; /* as in the schema */

/* All kinds, in the order of help texts; ends with NULL. A kind that makes jobs of another kind
 * comes after that kind. */
extern const struct kind_row *const kind_rows[];
