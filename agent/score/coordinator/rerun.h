/* rerun.h: decides what a coordinator does if its output already has results of earlier runs
 * (generation.h): continue, keep some of them, start again, or refuse. Called by
 * prepared.c: rerun_decide before the run is claimed, rerun_open to claim it, rerun_look when the
 * list of an earlier, finished run is read.
 *
 *   nothing there                          the first generation
 *   a result.json, but no .windlass        the same, and what it leaves of those files is removed
 *                                          at its end (stale.h); of another run: INVALID
 *   a result.json of another kind of job   INVALID
 *   job->restart is another text           a generation that keeps nothing
 *   another spec, model or code            INVALID, field by field: --restart, or another output
 *   not ended, or without its outputs      it goes on, with its list and its mini-batch size
 *   succeeded, the input is the same       nothing to do, or failed items again; outputs that
 *                                          were edited, or not signed: INVALID
 *   succeeded, the input has changed       files by name: a generation that keeps the results of
 *                                          unchanged ones; others: INVALID */
#pragma once

#include "agent/score/coordinator/prepared.h"
#include "agent/score/coordinator/run_progress.h"

/* What helps where results cannot be kept; the end of a message. */
#define RESTART_HINT                                                                               \
    "rerun with --restart (annotation windlass.dev/restart), or choose another output"

/* Resolves the spec's links and `latest` (run_paths.h): a run that goes on uses the targets that
 * were recorded when it began, all others resolve them now. Sets prepared->paths and
 * prepared->given, and changes job->spec. Before anything of the spec is opened. */
NODISCARD int rerun_find_paths(struct prepared_job *prepared, struct job *job, struct error *err);
/* Whether the run that goes on has the rows of its query (query_file.h), so that the database is
 * not needed. Before the output is opened. */
NODISCARD int rerun_find_rows(struct prepared_job *prepared, const struct job *job, bool *ret_has,
                              struct error *err);
/* Whether a coordinator of this job has had the list of its input, and its run goes on: what is to
 * be looked for in the input before that was looked for. Before the output is opened. */
NODISCARD int rerun_find_list(struct prepared_job *prepared, const struct job *job, bool *ret_has,
                              struct error *err);
/* Reads the output's history and compares it with the job; claims nothing, notes what it finds
 * (stale.h). run: what the job would begin with (run_file.h). Sets prepared->known and
 * prepared->begins. May change the job's mini-batch size to that of a generation that goes on. */
NODISCARD int rerun_decide(struct prepared_job *prepared, struct job *job, const json_t *run,
                           struct error *err);
/* Claims the run, and begins a generation if that was decided. From here on the output does not say
 * that it is complete, unless it is. UNAVAILABLE: another job has begun one meanwhile; decide
 * again.
 */
NODISCARD int rerun_open(struct prepared_job *prepared, const struct job *job,
                         const struct journal_options *options, const json_t *run,
                         struct error *err);
/* Whether another job has finished this generation, outputs included. */
bool rerun_was_finished(const struct prepared_job *prepared, const struct job *job);
/* How this generation has ended, by whichever coordinator, if all is there: its message. NULL: it
 * has not. Blocks. The caller owns it. */
json_t *rerun_recall(const struct prepared_job *prepared, const struct job *job);
/* Whether another job has begun this generation, and not finished it. */
bool rerun_is_foreign(const struct prepared_job *prepared, const struct job *job);
/* The list of such a generation is read: lists the input again. *ret_begins: a generation has begun
 * that keeps the results of what is unchanged; its list must be opened. INVALID: the input has
 * changed, and only a full run is right. */
NODISCARD int rerun_look(struct prepared_job *prepared, struct job *job, const json_t *run,
                         bool *ret_begins, struct error *err);
/* Where nothing is left to do, what is there is what the last run has made, and says so: INVALID:
 * rows or a film are not as it wrote them (files of items and rows that can be kept: rerun_look),
 * or spec.signingKey has not signed its result.json. Reads them. */
NODISCARD int rerun_check_finished(const struct prepared_job *prepared, const struct job *job,
                                   struct error *err);
/* The generation whose results are kept, for list_open; prepared owns what it points to. NULL: none
 * are. */
NODISCARD int rerun_find_base(struct prepared_job *prepared, const struct job *job,
                              const struct list_base **ret_base, struct error *err);
/* After a success of a job that went on with what another one had begun: UNAVAILABLE: the input
 * has changed since that one listed it. The next coordinator finds a finished run, and scores what
 * has changed. */
NODISCARD int rerun_look_again(struct prepared_job *prepared, const struct job *job,
                               struct error *err);
/* Call it when the list may have grown: reports in /progress and in the log what a rerun has found:
 * "data/out: 2 new, 1 changed, 0 tried again, 3 removed, 1000 kept". */
void rerun_follow(const struct prepared_job *prepared, const struct job *job,
                  struct run_progress *progress);
/* Of a job that goes on with what another one has begun: says that a query's rows are that one's.
 */
void rerun_note_rows(const struct prepared_job *prepared, const struct job *job,
                     struct run_progress *progress);
/* What a job says that finds its run ended. */
const char *rerun_finished_words(const struct job *job);
