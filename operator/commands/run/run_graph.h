/* run_graph.h: the jobs of several manifests as a graph (spec.after): what `windlass check` says to
 * it, in which order `windlass run` runs it, and what each job gets of the earlier ones. */
#pragma once

#include "operator/commands/run/run_options.h"
#include "operator/resource_files.h"

/* Whether a job of the files names others. */
bool run_graph_is(const struct resource_files *files);
/* Refuses jobs that wait for themselves, and names that several of the files' jobs have: sets `why`
 * of the file's entry. */
void run_graph_check(struct resource_files *files);
/* Prints which names are of none of the files. program: "windlass check". */
void run_graph_print_missing(const struct resource_files *files, const char *program);

/* KEPT: it had succeeded before, and was not run again. */
enum run_graph_state { RUN_GRAPH_TODO, RUN_GRAPH_KEPT, RUN_GRAPH_DONE, RUN_GRAPH_FAILED };

struct run_graph {
    const struct resource_files *files; /* all right, and checked */
    enum run_graph_state *states;       /* of their jobs */
};

void run_graph_init(struct run_graph *graph, const struct resource_files *files);
void run_graph_release(struct run_graph *graph);
/* The first job that can run now, in the order of the files; false: there is none. */
bool run_graph_next(const struct run_graph *graph, size_t *ret_index);
/* The first failed job that this one waits for; NULL: all have succeeded. Borrowed. */
const char *run_graph_failed_before(const struct run_graph *graph, size_t index);
/* Whether none of those that it waits for was run just now. */
bool run_graph_is_undisturbed(const struct run_graph *graph, size_t index);
/* The job as it is to run, owned: with the earlier jobs' outputs, and without spec.after. A job
 * that is not in the files must have succeeded as a run of this machine. INVALID also: the volume
 * of an earlier job's output is another folder here. */
NODISCARD int run_graph_fill(const struct run_graph *graph, size_t index,
                             const struct run_options *options, json_t **ret_object,
                             struct error *err);
