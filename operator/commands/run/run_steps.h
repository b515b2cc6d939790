/* run_steps.h: `windlass run` of a graph (run_graph.h): its jobs one after the other. */
#pragma once

#include "operator/commands/run/run_options.h"
#include "operator/resource_files.h"

/* Runs a job of that file; returns the exit code. earlier: run_resume_earlier. */
typedef int run_steps_one(const struct run_options *options, const struct resource_file *file,
                          json_t *object_new, const json_t *earlier);

/* In the order of spec.after. What fails stops those that wait for it, and no other. Returns the
 * first exit code that is not 0. */
int run_steps(const struct run_options *options, const struct resource_files *files,
              run_steps_one *run_one);
