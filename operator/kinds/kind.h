/* kind.h: everything that the program knows of one kind of job, as one row. A kind's folder fills a
 * row in (kinds/NAME/kind.c), kinds.c lists the rows, and the commands, the control loop and the
 * checks of manifests work over that list: none of them names a kind.
 *
 * A function that is NULL is one that the kind does not need: what is done then stands beside it.
 * All texts are literals. */
#pragma once

#include "operator/control/controller.h"
#include "operator/embedded.h"
#include "operator/kinds/job/owned.h"
#include "operator/kinds/job/spec.h"
#include "operator/schema.h"
#include "operator/show/ending.h"
#include "operator/show/progress.h"

/* `windlass run`: the job as processes of this machine. */
struct kind_local {
    const char *about;         /* a paragraph of the help, its lines broken; NULL: none */
    const char *workers_about; /* what --workers is the number of */
    const char *within;        /* where volumes, stores and secrets are: "spec", "spec.trial" */
    bool has_secrets;          /* the spec may name Secrets, whose values --secrets gives */
    int64_t workers_max;       /* of --workers; 0: the command's own bound */
    int64_t stop_ms;           /* from SIGTERM to SIGKILL; 0: 5 s */
    /* Makes the numbers of a spec fit this machine: --workers, or KIND_UNASKED. Returns how many
     * worker processes there are at once. NULL: the kind cannot be run on this machine. */
    int64_t (*fit)(json_t *spec, int64_t asked, int processors);
    /* The same of --gpus: `there` is how many GPUs the machine has (0: unknown). True: each worker
     * has its own. NULL: --gpus is refused. */
    bool (*fit_gpus)(json_t *spec, int64_t asked, size_t there, const char *job);
    /* The job makes runs of itself until it is deleted. NULL: never. */
    bool (*is_series)(const json_t *object);
    /* --once: its spec becomes that of one run. NULL: --once is refused. */
    int (*take_one_run)(json_t *object, const struct job_options *options, struct error *err);
    /* --restart: forgets what earlier runs have done. folders: {volume: its folder}. NULL:
     * --restart is refused. */
    int (*restart)(const json_t *object, const json_t *folders, struct error *err);
    /* The index of the pod that the job failed by, of its last status. NULL: the coordinator's and
     * the worker's that failed last. */
    int64_t (*failed_index)(const json_t *status);
    /* The end of a job that succeeded, on standard output. NULL: its message and its logs. */
    void (*print_success)(const struct ending *ending);
};

/* A kind whose jobs make jobs of another kind (trials). made: those, an array in any order. */
struct kind_made {
    const char *kind; /* the other one */
    /* Holds what would be made against that kind's definition and rules. */
    int (*check)(const json_t *object, const struct schema *schema, struct error *err);
    const char *page_name, *page_label; /* "sweep.html", "sweep" */
    const char *page_about;             /* "a page that draws its trials." */
    /* A table for a terminal of so many columns (0: no limit); *ret_text (owned) is NULL where
     * nothing was made yet. */
    int (*table)(const json_t *job, const json_t *made, int width, char **ret_text,
                 struct error *err);
    /* A page of HTML; owned. */
    int (*page)(const json_t *job, const json_t *made, char **ret_html, struct error *err);
    /* The first pod of the one that failed last; owned; NULL: none failed. */
    char *(*failed_pod)(const json_t *job, const json_t *made);
};

struct kind_row {
    const struct kind *loop;  /* name, apiVersion, what it owns, reconcile: for the control loop */
    const char *crd;          /* the text of its CustomResourceDefinition */
    const char *status_about; /* what `windlass status NAME` shows besides its pods; NULL */
    const char *pods_about;   /* which pods `pods` makes, for the help */
    const struct kind_made *made; /* NULL: it makes no jobs of other kinds */
    struct kind_local local;
    /* The rules between its fields, after the schema's. */
    int (*check)(const json_t *object, struct error *err);
    /* What a cluster takes and this program or machine does not carry out. NULL: nothing. */
    int (*check_today)(const json_t *object, struct error *err);
    /* `windlass check --pods`: the first pods that a job would get. made: the definition of what it
     * makes (NULL where it makes none). *ret_pods: an array, owned. */
    int (*pods)(const json_t *object, const struct endpoint *endpoint, const struct schema *made,
                json_t **ret_pods, struct error *err);
    /* What a job counts: "frames", "trials". */
    const char *(*unit)(const json_t *object);
    /* The numbers of a status, for a line and a bar. NULL: progress_read_items. */
    progress_reader *numbers;
    /* DONE in the list of jobs; owned. NULL: status.progress. */
    char *(*done_column)(const json_t *status);
    /* `windlass import`: another system's job (JSON) -> the text of a manifest, owned. NULL: none.
     */
    int (*import)(const json_t *job, const char *name, char **ret_text, struct error *err);
};

#define KIND_UNASKED INT64_MIN         /* an option that was not given */
enum { KIND_GPUS_OF_WORKER_MAX = 16 }; /* as in the schema */

/* The kinds there are, in the order of help texts; NULL ends them. Who makes others stands behind
 * what it makes. */
extern const struct kind_row *const kind_rows[];
