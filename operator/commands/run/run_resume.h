/* run_resume.h: whether a step of a graph (run_graph.h) need not run again. */
#pragma once

#include "operator/commands/run/run_options.h"
#include "operator/local/runs/run_list.h"

/* The newest run on this machine of each job that spec.after names, {NAME: ID}; owned. A job
 * without one is left out. list: the runs of this machine, here and below. */
json_t *run_resume_earlier(const struct run_list *list, const json_t *after);

/* The last run of that name was of the same manifest and succeeded, with the same spec, the same
 * folders and the same earlier runs; its output is still there (run_outputs.h), and no file that
 * the spec names was changed since it began (run_inputs.h). A step that names an address (az://,
 * s3://, https://) or a query is never done, since what is there is not looked at. object: as it
 * would run (run_graph_fill). file: its manifest. earlier: of run_resume_earlier. */
bool run_resume_is_done(const struct run_list *list, const json_t *object, const char *file,
                        const struct run_options *options, const json_t *earlier);
