/* job_where.h: finds a job by its name, for the commands that look at jobs and change them: among
 * the runs of this machine (local/runs/run_list.h) and, where none has that name or the options say
 * so, on a cluster. */
#pragma once

#include "operator/commands/remote.h"
#include "operator/local/runs/run_list.h"

struct job_where {
    struct remote_options remote;
    bool here; /* only runs of this machine */
};

/* Rows for a command's option table. */
#define JOB_WHERE_ROWS(where)                                                                      \
    {"local", 0, OPTION_FLAG, NULL, "Only runs of this machine.", &(where)->here},                 \
        REMOTE_ROWS(&(where)->remote)

struct job_found {
    json_t *job; /* on a cluster; of a run: run_list_job. Owned */
    /* NULL: it is on a cluster, and `remote` is open. */
    const struct run_item *run;
    struct run_list runs;
    struct remote remote;
};

/* Whether -n, -A, --context or --kubeconfig is given. */
bool job_where_is_remote(const struct job_where *where);
/* INVALID: --local with one of these options, or without a run of that name. NOT_FOUND: the cluster
 * has no such job. */
NODISCARD int job_where_find(const struct job_where *where, const char *name,
                             struct job_found *ret_found, struct error *err);
/* Opens the cluster for a name that none of these runs has. INVALID: no cluster is configured. */
NODISCARD int job_where_open(const struct job_where *where, const struct run_list *runs,
                             const char *name, struct remote *ret_remote, struct error *err);
void job_found_release(struct job_found *found); /* for AUTO, too */
/* Reads the records of a run again: the same run by its ID, not a later one of its name, and never
 * a job of a cluster. */
NODISCARD int job_found_look_again(struct job_found *found, struct error *err);
/* The place of the job's object, borrowed from it. */
struct rest_place job_found_place(const struct job_found *found);
