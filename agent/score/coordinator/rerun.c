// SPDX-License-Identifier: Apache-2.0
#include "agent/score/coordinator/rerun.h"

#include "agent/data/kinds/name_set.h"
#include "agent/data/kinds/output_name.h"
#include "agent/result/output_lines.h"
#include "agent/score/coordinator/join/unchanged.h"
#include "agent/score/coordinator/kept.h"
#include "agent/score/coordinator/stale.h"
#include "agent/score/coordinator/summary.h"
#include "agent/score/log/run_file.h"
#include "agent/score/wire/run_paths.h"
#include "agent/store/moving_paths.h"
#include "lib/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- paths that move ------------------------------------------------------------------------ */

/* Whether the job is to be made anew, under another text of --restart. */
static bool begins_anew(const struct generation *known, const struct job *job) {
    return *job->restart && strcmp(known->restart, job->restart) != 0;
}

/* Whether this job only continues what the generation has begun: a newer model is not for it. */
static bool goes_on(const struct generation *known, const struct job *job) {
    bool is_own = strcmp(known->uid, job->uid) == 0;
    return known->is_there && !begins_anew(known, job) && (is_own || !generation_is_whole(known));
}

/* The claim, which follows, reads the same commits. */
static int scan_commits(struct prepared_job *prepared, const struct job *job, struct store *output,
                        struct error *err) {
    prepared->seen = prepared->seen ? prepared->seen : commit_seen_new(COMMIT_SEEN_BYTES);
    struct commit_identity identity = {.run = job->run,
                                       .uid = job->uid,
                                       .job = job->name,
                                       .seen = prepared->seen,
                                       .trouble = prepared->trouble};
    return generation_scan(output, &identity, &prepared->known, err);
}

static int read_snapshot(struct prepared_job *prepared, const struct job *job, json_t **ret_run,
                         struct error *err) {
    AUTO(store_freep) struct store *output = NULL;
    struct generation *known = &prepared->known;
    struct error cause = {0};
    if (store_open(job->output, /* writes= */ false, &output, &cause) < 0) {
        return 0; /* not there yet, or said when it is opened for writing */
    }
    if (scan_commits(prepared, job, output, err) < 0) {
        return error_context(err, "spec.output.path");
    }
    return goes_on(known, job) ? run_file_read(output, known->home, known->number, ret_run, err)
                               : 0;
}

/* then: NULL: of this release's first coordinator, or of an earlier release: as they are now. */
static void keep_begun(json_t *paths, const json_t *then) {
    AUTO(tree_freep) json_t *now = json_deep_copy(paths);
    char moved[MOVING_PATHS_TEXT_MAX];
    const char *path;
    json_t *led;
    json_object_foreach((json_t *)then, path, led) {
        moving_paths_describe(path, then, now, moved);
        if (*moved) {
            log_event(LOG_WARNING, "%s: %s: this run goes on with what it began with", path, moved);
        }
        json_object_set(paths, path, led);
    }
}

int rerun_find_paths(struct prepared_job *prepared, struct job *job, struct error *err) {
    AUTO(tree_freep) json_t *begun = NULL;
    struct error cause = {0};
    prepared->given = json_deep_copy(job->spec);
    if (run_paths_find(job->spec, &prepared->paths, &cause) == 0 &&
        json_object_size(prepared->paths) == 0) {
        return 0;
    }
    if (read_snapshot(prepared, job, &begun, err) < 0) {
        return -1;
    }
    const json_t *paths = json_object_get(begun, "paths");
    if (!cause.kind) {
        keep_begun(prepared->paths, paths);
    } else if (json_object_size(paths) > 0) { /* a tag may be gone, or its registry be away */
        log_event(LOG_WARNING, "%s: this run goes on with what it began with", cause.text);
        json_decref(prepared->paths);
        prepared->paths = json_deep_copy(paths);
    } else {
        *err = cause;
        return -1;
    }
    run_paths_apply(job->spec, prepared->paths);
    return 0;
}

/* Whether a coordinator of this job came as far as the list of the run that goes on: it has begun
 * it, or has added to what another job began. Of a run that has ended, the input may be another by
 * now. */
static bool has_listed(const struct generation *known, const struct job *job) {
    bool has_begun = strcmp(known->uid, job->uid) == 0;
    return has_begun || (known->is_joined && !generation_is_whole(known));
}

/* Whether the run that goes on has this object in the folder of its list; is_own: and a coordinator
 * of this job has come as far. */
static int find_listed(struct prepared_job *prepared, const struct job *job, const char *object,
                       bool is_own, bool *ret_has, struct error *err) {
    AUTO(store_freep) struct store *output = NULL;
    const struct generation *known = &prepared->known;
    struct store_info info;
    struct error cause = {0};
    *ret_has = false;
    if (store_open(job->output, /* writes= */ false, &output, &cause) < 0) {
        return 0; /* as in read_snapshot */
    }
    if (!known->is_there && scan_commits(prepared, job, output, err) < 0) {
        return error_context(err, "spec.output.path");
    }
    if (!known->is_there || begins_anew(known, job) || (is_own && !has_listed(known, job))) {
        return 0;
    }
    AUTO(text_freep) char *folder = generation_name(known->home, known->number, "list", "");
    AUTO(text_freep) char *name = x_printf("%s/%s", folder, object);
    error_clear(&cause);
    *ret_has = store_stat(output, name, &info, &cause) == 0;
    return 0; /* what else is wrong is said when the list is opened */
}

int rerun_find_rows(struct prepared_job *prepared, const struct job *job, bool *ret_has,
                    struct error *err) {
    static const char rows[] = LIST_KEPT_PREFIX QUERY_FILE_NAME;
    return find_listed(prepared, job, rows, /* is_own= */ false, ret_has, err);
}

int rerun_find_list(struct prepared_job *prepared, const struct job *job, bool *ret_has,
                    struct error *err) {
    return find_listed(prepared, job, LIST_FIRST_PAGE, /* is_own= */ true, ret_has, err);
}

/* ---- before the claim ----------------------------------------------------------------------- */

static int refuse(const struct job *job, const struct generation *known, const char *changes,
                  struct error *err) {
    return error_set(
        err, ERROR_INVALID,
        "%.120s holds the results of job %.60s, started with a different spec: %s: " RESTART_HINT,
        job->output, *known->job ? known->job : "?", changes);
}

static int compare(struct prepared_job *prepared, const struct job *job, const json_t *then,
                   const json_t *now, struct error *err) {
    const struct generation *known = &prepared->known;
    char changes[RUN_FILE_CHANGES_BYTES];
    if (then && run_file_changes(then, now, changes) > 0) {
        return refuse(job, known, changes, err);
    }
    if (strcmp(known->run, job->run) == 0) {
        return 0;
    }
    return refuse(job, known,
                  tree_get(then, "spec") ? "a volume of the spec has changed"
                                         : "its fields are not known (another release, or it "
                                           "ended before it began)",
                  err);
}

/* A generation that has begun keeps its mini-batches. */
static int keep_size(struct job *job, const json_t *then, const json_t *now, struct error *err) {
    const json_t *before = json_object_get(then, "size");
    if (!before || json_equal(before, json_object_get(now, "size"))) {
        return 0;
    }
    AUTO(text_freep) char *size = json_dumps(before, JSON_COMPACT);
    log_event(LOG_INFO, "goes on with the mini-batches with which it began: %s", size);
    return job_set_size(job, before, err);
}

int rerun_decide(struct prepared_job *prepared, struct job *job, const json_t *run,
                 struct error *err) {
    struct generation *known = &prepared->known;
    AUTO(tree_freep) json_t *then = NULL;
    /* What was read for the paths holds, if there was anything: rerun_open sees whether another
     * generation has begun since. */
    if (!known->is_there && scan_commits(prepared, job, prepared->output, err) < 0) {
        return error_context(err, "spec.output.path");
    }
    prepared->begins = begins_anew(known, job);
    if ((known->is_there ? stale_check_kind(prepared, job, err)
                         : stale_record_strangers(prepared, job, err)) < 0) {
        return -1;
    }
    if (prepared->begins || !known->is_there) {
        return 0;
    }
    return run_file_read(prepared->output, known->home, known->number, &then, err) < 0 ||
                   compare(prepared, job, then, run, err) < 0
               ? -1
               : keep_size(job, then, run, err);
}

/* ---- the claim ------------------------------------------------------------------------------ */

static bool is_of_another(const struct generation *generation, const struct job *job) {
    return *generation->uid && strcmp(generation->uid, job->uid) != 0;
}

bool rerun_was_finished(const struct prepared_job *prepared, const struct job *job) {
    const struct generation *generation = &prepared->journal.generation;
    return generation_is_whole(generation) && prepared->has_outputs &&
           is_of_another(generation, job);
}

json_t *rerun_recall(const struct prepared_job *prepared, const struct job *job) {
    const struct journal *journal = &prepared->journal;
    int code = 1;
    AUTO(tree_freep) json_t *words = summary_read_message(job, /* any_uid= */ true, &code);
    bool is_finished = words && code == 0 && generation_is_whole(&journal->generation) &&
                       ledger_is_committed(journal->ledger);
    return is_finished ? TAKE(words) : NULL;
}

bool rerun_is_foreign(const struct prepared_job *prepared, const struct job *job) {
    const struct generation *generation = &prepared->journal.generation;
    bool is_done = generation_is_whole(generation) && prepared->has_outputs;
    return prepared->list && !is_done && is_of_another(generation, job);
}

/* All results may be committed, and the coordinator have died before or while it made the outputs:
 * then they are made from the commits first. */
static int check_outputs(struct prepared_job *prepared, struct error *err) {
    const struct generation *generation = &prepared->journal.generation;
    prepared->has_outputs = false;
    return generation_is_whole(generation) ? kept_has_outputs(prepared, &prepared->has_outputs, err)
                                           : 0;
}

int rerun_open(struct prepared_job *prepared, const struct job *job,
               const struct journal_options *options, const json_t *run, struct error *err) {
    struct journal *journal = &prepared->journal;
    const struct generation *generation = &journal->generation;
    int opened = journal_open(options, journal, err);
    commit_seen_free(TAKE(prepared->seen));
    if (opened < 0) {
        return error_context(err, "spec.output.path");
    }
    if (generation->number != prepared->known.number) {
        return error_set(err, ERROR_UNAVAILABLE,
                         "spec.output.path: job %s has restarted %s in the meantime",
                         generation->job, job->output);
    }
    if (prepared->begins) {
        if (generation->is_there || generation->number > 0 || *generation->uid) {
            log_event(LOG_INFO, "%s: restart: what earlier runs have done is not kept",
                      job->output);
        }
        if (journal_begin(journal, job->restart, /* keeps= */ -1, err) < 0) {
            return error_context(err, "spec.output.path");
        }
    }
    if (check_outputs(prepared, err) < 0) {
        return -1;
    }
    if (!prepared->has_outputs &&
        stale_remove_result(prepared->output, generation->number > 0, err) < 0) {
        return -1;
    }
    if (prepared->known.is_there && stale_load_strangers(prepared, err) < 0) {
        return -1;
    }
    return run_file_store(prepared->output, generation->home, generation->number, run, err);
}

/* ---- a finished run ------------------------------------------------------------------------- */

/* The files' sizes as outputs.jsonl has them; without it, or with more names than have room, only
 * their names count. */
static char *sized_name(const char *name, int64_t size_bytes) {
    return x_printf("%s\n%lld", name, (long long)size_bytes);
}

static int on_line(void *context, const struct output_line *line, struct error *err) {
    struct prepared_job *prepared = context;
    AUTO(text_freep) char *sized = sized_name(line->name, line->size_bytes);
    return name_set_add(prepared->sizes, 's', sized, strlen(sized))
               ? 0
               : error_set(err, ERROR_UNSUPPORTED, "too many files to list"); /* by their sizes */
}

static int read_sizes(struct prepared_job *prepared, struct error *err) {
    struct output_lines_sum sum;
    struct error cause = {0};
    prepared->sizes = name_set_new(/* folds= */ false);
    prepared->knows_sizes = output_lines_read(prepared->output, OUTPUT_LINES_NAME, on_line,
                                              prepared, &sum, &cause) == 0;
    if (store_error_is_machine(&cause)) {
        name_set_free(TAKE(prepared->sizes));
        *err = cause;
        return -1;
    }
    return 0;
}

/* One that was cut or edited since is made again. */
static bool has_its_size(const struct prepared_job *prepared, const char *name,
                         int64_t size_bytes) {
    AUTO(text_freep) char *sized = sized_name(name, size_bytes);
    return !prepared->knows_sizes || name_set_has(prepared->sizes, 's', sized, strlen(sized));
}

static int on_made(void *context, const char *name, const struct store_info *info,
                   struct error *err UNUSED) {
    struct prepared_job *prepared = context;
    if (info && !has_its_size(prepared, name, info->size_bytes)) {
        return 0;
    }
    prepared->knows_made = name_set_add(prepared->made, 'm', name, strlen(name));
    return !prepared->knows_made; /* 1: no more have room */
}

/* Over az:// a question for each file would take as long as some scorers: 5,000 names come at a
 * time. */
static int list_made(struct prepared_job *prepared, struct error *err) {
    prepared->made = name_set_new(/* folds= */ false);
    prepared->knows_made = true;
    if (store_list(prepared->output, "", NULL, on_made, prepared, err) < 0) {
        name_set_free(TAKE(prepared->made));
        return -1;
    }
    return 0;
}

/* Results that are files: whether the item's one is there. */
static int is_there(void *context, const char *name, bool *ret_is_there, struct error *err) {
    struct prepared_job *prepared = context;
    AUTO(text_freep) char *file = x_printf("%s%s", name, prepared->added);
    struct store_info info;
    struct error cause = {0};
    if (!prepared->sizes && read_sizes(prepared, err) < 0) {
        return -1;
    }
    if (!store_features(prepared->output).is_local) {
        if (!prepared->made && list_made(prepared, err) < 0) {
            return -1;
        }
        *ret_is_there = name_set_has(prepared->made, 'm', file, strlen(file));
        if (*ret_is_there || prepared->knows_made) {
            return 0;
        }
    }
    *ret_is_there = store_stat(prepared->output, file, &info, &cause) == 0 &&
                    has_its_size(prepared, file, info.size_bytes);
    if (cause.kind && cause.kind != ERROR_NOT_FOUND) {
        *err = cause;
        return -1;
    }
    return 0;
}

static struct list_base base_of(struct prepared_job *prepared, const struct job *job,
                                const struct kept_bits *bits) {
    bool looks = prepared->form == SINK_PACKS;
    name_set_free(TAKE(prepared->made));
    name_set_free(TAKE(prepared->sizes));
    prepared->added = output_name_added(job->spec);
    return (struct list_base){.results = kept_bits_results(bits),
                              .is_there = looks ? is_there : NULL,
                              .context = prepared};
}

static bool can_keep(const struct prepared_job *prepared, const struct job *job) {
    const struct input_kind *kind = prepared->media->lines;
    return kind && kind->can_keep && kind->can_keep(job->spec) && prepared->form != SINK_PARTS;
}

/* Whether the file with a line for each result is the one that the generation wrote. */
static int check_lines(struct prepared_job *prepared, const struct generation *generation,
                       bool *ret_is_sound, struct error *err) {
    AUTO(tree_freep) json_t *outputs = NULL;
    AUTO(tree_freep) json_t *lines = NULL;
    *ret_is_sound = true;
    if (prepared->form != SINK_ROWS && prepared->form != SINK_PACKS) {
        return 0;
    }
    if (kept_load_made(prepared->output, generation->home, generation->number, &outputs, &lines,
                       err) < 0) {
        return -1;
    }
    *ret_is_sound = false;
    return lines ? kept_is_there(prepared->output, lines, ret_is_sound, err) : 0;
}

static int compare_input(struct prepared_job *prepared, const struct job *job,
                         struct list_comparison *ret_comparison, struct error *err) {
    const struct generation *generation = &prepared->journal.generation;
    AUTO(kept_bits_release) struct kept_bits bits = {0};
    *ret_comparison = (struct list_comparison){.is_same = true, .has_all = true};
    if (!prepared->list) {
        return 0; /* its run file has the input, and was compared */
    }
    if (kept_load_bits(prepared->output, generation->home, generation->number, &bits, err) < 0) {
        return -1;
    }
    struct list_base results = base_of(prepared, job, &bits);
    return list_compare(prepared->list, &results, ret_comparison, err);
}

static int refuse_input(const struct prepared_job *prepared, const struct list_comparison *found,
                        struct error *err) {
    const char *unit = prepared->media->lines->is_batch ? "mini-batches" : "items";
    const char *name = prepared->media->name;
    if (found->then == found->now) {
        return error_set(
            err, ERROR_INVALID,
            "spec.input.%s: %lld %s, but not those with which this run began: " RESTART_HINT, name,
            (long long)found->now, unit);
    }
    return error_set(err, ERROR_INVALID,
                     "spec.input.%s: %lld %s when this run began, %lld now: " RESTART_HINT, name,
                     (long long)found->then, unit, (long long)found->now);
}

static int begin(struct prepared_job *prepared, struct job *job, const json_t *run,
                 struct error *err) {
    struct journal *journal = &prepared->journal;
    int64_t then = journal->generation.number;
    if (job_set_size(job, json_object_get(run, "size"), err) < 0) {
        return -1;
    }
    prepared->cell_items = job->batch_items;
    journal->ledger_options.cell_items = job->batch_items;
    journal->ledger_options.is_auto = job->is_auto;
    if (journal_begin(journal, job->restart, then, err) < 0 ||
        stale_remove_result(prepared->output, /* all= */ true, err) < 0) {
        return error_context(err, "spec.output.path");
    }
    return run_file_store(prepared->output, journal->generation.home, journal->generation.number,
                          run, err);
}

int rerun_look(struct prepared_job *prepared, struct job *job, const json_t *run, bool *ret_begins,
               struct error *err) {
    const struct generation *generation = &prepared->journal.generation;
    struct ledger_counts counts = ledger_read_counts(prepared->journal.ledger);
    struct list_comparison found;
    bool is_sound = true, keeps = can_keep(prepared, job);
    *ret_begins = false;
    if (compare_input(prepared, job, &found, err) < 0 ||
        (keeps && check_lines(prepared, generation, &is_sound, err) < 0)) {
        return -1;
    }
    /* Failed items of a generation that kept others are scored again in one more. */
    bool is_short = generation->keeps >= 0 && counts.cells.done < counts.cells.total;
    if (found.is_same && found.has_all && is_sound && !is_short) {
        return 0;
    }
    if (!keeps && found.is_same) { /* results of items cannot be made again one by one */
        return found.has_all ? 0
                             : error_set(err, ERROR_INVALID,
                                         "spec.output.path: %s: results of the last run are gone "
                                         "or have another size: " RESTART_HINT,
                                         job->output);
    }
    if (!keeps) {
        return refuse_input(prepared, &found, err);
    }
    if (!is_sound) {
        return unchanged_refuse(job,
                                prepared->form == SINK_PACKS
                                    ? OUTPUT_LINES_NAME
                                    : tree_text(job->spec, "output.appendRowFileName", ""),
                                err);
    }
    *ret_begins = true;
    return begin(prepared, job, run, err);
}

int rerun_check_finished(const struct prepared_job *prepared, const struct job *job,
                         struct error *err) {
    AUTO(tree_freep)
    json_t *words = rerun_was_finished(prepared, job) ? rerun_recall(prepared, job) : NULL;
    return words ? unchanged_check(prepared, job, can_keep(prepared, job), err) : 0;
}

int rerun_find_base(struct prepared_job *prepared, const struct job *job,
                    const struct list_base **ret_base, struct error *err) {
    const struct generation *generation = &prepared->journal.generation;
    *ret_base = NULL;
    if (generation->keeps < 0) {
        return 0;
    }
    kept_bits_release(&prepared->base_bits);
    if (kept_load_bits(prepared->output, generation->home, generation->keeps, &prepared->base_bits,
                       err) < 0) {
        return -1;
    }
    free(prepared->base_folder);
    prepared->base_folder = generation_name(generation->home, generation->keeps, "list", "");
    prepared->base = base_of(prepared, job, &prepared->base_bits);
    prepared->base.folder = prepared->base_folder;
    *ret_base = &prepared->base;
    return 0;
}

void rerun_follow(const struct prepared_job *prepared, const struct job *job,
                  struct run_progress *progress) {
    bool keeps = prepared->journal.generation.keeps >= 0;
    if (prepared->has_strangers && !keeps && !*progress->rerun) {
        snprintf(progress->rerun, sizeof progress->rerun,
                 "%.90s was not empty: files that this run does not make stay there (windlass "
                 "verify names them)",
                 job->output);
        log_event(LOG_WARNING, "%s", progress->rerun);
    }
    if (!prepared->list) {
        return;
    }
    struct list_counts found = list_found(prepared->list);
    progress->items_left_out = found.left_out;
    if (!keeps || *progress->rerun) {
        return;
    }
    progress->items_kept = found.kept;
    if (list_is_complete(prepared->list)) {
        snprintf(progress->rerun, sizeof progress->rerun,
                 "%.200s: %lld new, %lld changed, %lld tried again, %lld removed, %lld kept",
                 job->output, (long long)found.added, (long long)found.changed,
                 (long long)found.again, (long long)found.removed, (long long)found.kept);
        snprintf(progress->message, sizeof progress->message, "%s", progress->rerun);
        log_event(LOG_INFO, "%s", progress->rerun);
    }
}

/* What a database has meanwhile is not looked at. */
static bool has_query(const struct job *job) {
    return tree_get(job->spec, "input.table.query") != NULL;
}

void rerun_note_rows(const struct prepared_job *prepared, const struct job *job,
                     struct run_progress *progress) {
    if (prepared->is_foreign && has_query(job) && !*progress->rerun) {
        snprintf(progress->rerun, sizeof progress->rerun,
                 "%.90s: the rows are those that the query gave an earlier run; only --restart "
                 "asks the database again",
                 job->output);
        log_event(LOG_INFO, "%s", progress->rerun);
    }
}

const char *rerun_finished_words(const struct job *job) {
    return has_query(job)
               ? "nothing to do: an earlier run has finished this job, with the rows that its "
                 "query gave then; only --restart asks the database again"
               : "nothing to do: an earlier run has finished this job";
}

int rerun_look_again(struct prepared_job *prepared, const struct job *job, struct error *err) {
    struct list_comparison found;
    if (compare_input(prepared, job, &found, err) < 0) {
        return -1;
    }
    return found.is_same ? 0
                         : error_set(err, ERROR_UNAVAILABLE,
                                     "spec.input.%s has changed since this run began; what has "
                                     "changed is scored next",
                                     prepared->media->name);
}
