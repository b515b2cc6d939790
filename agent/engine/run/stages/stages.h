/* stages.h: runs a network with nodes of OP_LATE: control flow, sequences, and operators whose
 * results have shapes that only the run knows.
 *
 *   nodes    Conv Relu ... TopK | NonMaxSuppression | Gather Slice ... | Loop (body: stages)
 *   parts    stage              | late node         | stage            | late node
 *
 * All other nodes are in stages. A stage is a network of its own, as large as it can be; when its
 * inputs are known it gets a plan (run/execution_plan.h) for their shapes, and a few plans are
 * kept. Where a shape depends on a value that the stage itself computes (a Reshape by a computed
 * size), the stage is cut in two before that node when that is noticed, once. A body is a network
 * in stages, too. Networks without such nodes have one plan, as ever. */
#pragma once

#include "agent/engine/device.h"
#include "agent/engine/graph.h"
#include "agent/engine/run/stages/parcel.h"

struct stages;
struct node;

/* Whether the graph has nodes that only stages can run. */
bool stages_needed(const struct graph *graph);

/* graph: as it was read (stages are rewritten one by one); borrowed, as are its constants, which
 * must stay in memory. work_max: a run that takes more steps (ops/cost.h) fails with
 * ERROR_UNSUPPORTED. The caller frees *ret (stages_free). */
struct stages *stages_new(struct device *device, const struct graph *graph, double work_max);
void stages_free(struct stages *stages); /* NULL is allowed */

/* One tensor per input and output of the graph, in host memory. Outputs are valid until the next
 * run. UNSUPPORTED: an output is a sequence, or an operator is not supported. */
NODISCARD int stages_run(struct stages *stages, const struct tensor *inputs, struct tensor *outputs,
                         struct error *err);
/* Of the last run, as session_flops. */
double stages_flops(const struct stages *stages);
/* Frees what is kept for the shapes of former runs. */
void stages_forget(struct stages *stages);

/* Runs a network or a body; inputs and outputs are those of its graph, outputs for the caller to
 * release. Inputs are borrowed. */
NODISCARD int stages_run_items(struct stages *stages, struct parcel *const *inputs,
                               struct parcel **outputs, struct error *err);
