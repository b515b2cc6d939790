/* run_resume.h: whether a step of a graph (run_graph.h) need not run again. */
#pragma once

#include "lib/tree.h"

/* The last run of that name succeeded with the same spec, its output is still there, and no file
 * that the spec names was changed since it began. object: as it would run (run_graph_fill). */
bool run_resume_is_done(const json_t *object);
