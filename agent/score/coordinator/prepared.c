// SPDX-License-Identifier: Apache-2.0
#include "agent/score/coordinator/prepared.h"

#include "agent/data/kinds/name_set.h"
#include "agent/result/result_write.h"
#include "agent/score/coordinator/rerun.h"
#include "agent/score/endpoint/form.h"
#include "agent/score/log/run_file.h"
#include "agent/score/scorer/scorer.h"
#include "agent/store/path.h"
#include "agent/store/path_lock.h"
#include "lib/file.h"
#include "lib/time/clock.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEASES_AHEAD = 1024,
    BLOCKS_MAX = 256, /* maximum of a lease */
    LIST_STEP_MS = 5,
    TRIAL_MS = 60000, /* at least, where the machine is slower than the workers' */
    LATER_MS = 15000, /* added to a scorer's time limit: leases that the scorer does not end are
                         ended by us */
};

/* The inputs of the scorer's test. */
struct trial {
    const struct scorer_kind *kind;
    atomic_llong *ends_ms;
    struct local_file network; /* for az:// a copy, which is fetched once */
};

static void trial_release(struct trial *trial) {
    local_file_release(&trial->network);
}

/* Refuses a file that is read (field: "path" of an input that is a file, or "manifest") if an
 * output would replace it. output, input: paths on this machine; NULL if one of them is elsewhere,
 * and only the names can be compared. */
static int try_replaced(const struct job *job, const struct media *media, const char *field,
                        const char *output, const char *input, struct error *err) {
    const json_t *fields = json_object_get(tree_get(job->spec, "input"), media->name);
    const char *rows = sink_read_form(job->spec, media) == SINK_ROWS
                           ? tree_text(job->spec, "output.appendRowFileName", "")
                           : "summary.json";
    const char *const ours[] = {
        rows,           "summary.json", "report.html",   "workers.csv",         "mini_batches.csv",
        "failed.jsonl", "result.json",  "outputs.jsonl", "result.intoto.jsonl", ERRORS_NAME};
    for (size_t i = 0; i < ARRAY_LEN(ours); i++) {
        AUTO(text_freep) char *spec_path = x_printf("%s/%s", job->output, ours[i]);
        AUTO(text_freep) char *path = output ? file_join(output, ours[i]) : NULL;
        if (strcmp(spec_path, tree_text(fields, field, "")) != 0 &&
            (!path || !path_is_inside(path, input))) {
            continue;
        }
        bool is_input = strcmp(field, "path") == 0;
        return error_set(err, ERROR_INVALID,
                         "spec.output.path: %s is the input%s, which the results would replace: "
                         "choose another folder",
                         spec_path, is_input ? " itself" : "'s manifest");
    }
    return 0;
}

/* Results among the inputs would be read as inputs the next time, or replace them. For a video the
 * listing has checked this. */
static int try_apart(const struct job *job, const struct media *media, const char *field,
                     struct error *err) {
    const json_t *fields = json_object_get(tree_get(job->spec, "input"), media->name);
    const char *input = tree_text(fields, field, NULL);
    AUTO(text_freep) char *folder = NULL;
    if (!input) { /* the rows of a query */
        return 0;
    }
    AUTO(text_freep) char *output = NULL;
    if (!store_is_local(input) || !store_is_local(job->output)) {
        return try_replaced(job, media, field, NULL, NULL, err);
    }
    if (path_resolve(job->output, &output, err) < 0) {
        return error_context(err, "spec.output.path");
    }
    if (path_resolve(input, &folder, err) < 0) {
        return error_context(err, "spec.input.%s.%s", media->name, field);
    }
    if (media->lines && path_is_inside(output, folder)) {
        return error_set(err, ERROR_INVALID,
                         "spec.output.path: %s is inside the input folder %s, so results would be "
                         "read as inputs: choose a folder beside it",
                         job->output, input);
    }
    return try_replaced(job, media, field, output, folder, err);
}

/* Locks the folder of the output's log. */
static int try_lock(const struct job *job, struct prepared_job *prepared, struct error *err) {
    struct generation generation;
    if (!store_features(prepared->output).is_local) {
        return 0;
    }
    if (generation_find_home(prepared->output, job->run, &generation, err) < 0) {
        return error_context(err, "spec.output.path");
    }
    AUTO(text_freep) char *folder = x_printf("%s/.windlass/%s", job->output, generation.home);
    if (path_lock(folder, job->uid, &prepared->lock_fd, err) == 0) {
        return 0;
    }
    if (err->kind == ERROR_BUSY) {
        error_clear(err);
        return error_set(err, ERROR_BUSY,
                         "spec.output.path: %s: another run of this job writes there: let it end, "
                         "or choose another folder",
                         job->output);
    }
    return error_context(err, "spec.output.path");
}

static int try_output(const struct job *job, struct prepared_job *prepared, struct error *err) {
    const json_t *fields = json_object_get(tree_get(job->spec, "input"), prepared->media->name);
    if (try_apart(job, prepared->media, "path", err) < 0 ||
        (json_object_get(fields, "manifest") &&
         try_apart(job, prepared->media, "manifest", err) < 0)) {
        return -1;
    }
    if (store_open(job->output, /* writes= */ true, &prepared->output, err) < 0) {
        return error_context(err, "spec.output.path");
    }
    return try_lock(job, prepared, err);
}

/* Reads the commits, and claims the run. */
static int try_run(struct job *job, struct prepared_job *prepared, bool has_clock,
                   const json_t *run, struct error *err) {
    bool is_batch = prepared->media->lines && prepared->media->lines->is_batch;
    if (rerun_decide(prepared, job, run, err) < 0) {
        return -1;
    }
    prepared->cell_items = is_batch ? 1 : job->batch_items;
    struct journal_options options = {
        .job = job,
        .output = prepared->output,
        .generation = &prepared->known,
        .seen = prepared->seen,
        .trouble = prepared->trouble,
        .begins = prepared->begins,
        .cells = prepared->media->lines
                     ? -1
                     : (prepared->items + job->batch_items - 1) / job->batch_items,
        .items = prepared->items,
        .ledger = {.cell_items = is_batch ? 0 : job->batch_items,
                   .max_tries = job->max_tries,
                   .timeout_ms =
                       scorer_lease_ms(job->spec, job->timeout_ms) + (has_clock ? LATER_MS : 0),
                   .runs_once = !scorer_may_repeat(job->spec),
                   .cells_for_second_run = scorer_cells_for_second_run(job->spec),
                   .wait_ms = scorer_wait_ms(job->spec, job->timeout_ms) + LATER_MS,
                   .ahead_max = LEASES_AHEAD,
                   .is_auto = job->is_auto,
                   .is_partitioned = !prepared->media->lines,
                   .errors_max = job->errors_max,
                   .cell_errors_max = job->cell_errors_max,
                   .cell_errors_percent = job->cell_errors_percent},
    };
    return rerun_open(prepared, job, &options, run, err);
}

static int64_t trial_limit_ms(const struct job *job) {
    return MAX(scorer_lease_ms(job->spec, job->timeout_ms), (int64_t)TRIAL_MS);
}

void prepared_trial_error(const struct job *job, struct error *err) {
    (void)!error_set(err, ERROR_INVALID,
                     "spec.scorer.onnx.path: %.300s: one run of it, which tries it out, takes more "
                     "than %lld s: make it smaller, or raise spec.retry.timeoutSeconds",
                     tree_text(job->spec, "scorer.onnx.path", "the scorer"),
                     (long long)trial_limit_ms(job) / 1000);
}

static int try_scorer(const struct job *job, struct prepared_job *prepared, struct trial *trial,
                      struct error *err) {
    const char *network = tree_text(job->spec, "scorer.onnx.path", NULL);
    if (scorer_find(job->spec, &trial->kind, err) < 0) {
        return -1;
    }
    if (network && local_file_open(network, &trial->network, err) < 0) {
        return error_context(err, "spec.scorer.onnx.path");
    }
    struct scorer_options options = {
        .spec = job->spec, .media = prepared->media, .network = network ? &trial->network : NULL};
    struct scorer *scorer = NULL;
    if (trial->kind->open(&options, &scorer, err) < 0) {
        return -1;
    }
    prepared->files = json_object();
    bool has_tried = false;
    int result = trial->kind->tries_input ? rerun_find_list(prepared, job, &has_tried, err) : 0;
    if (result == 0 && !has_tried) {
        atomic_store(trial->ends_ms, clock_monotonic_ms() + trial_limit_ms(job));
        result = trial->kind->try_out(scorer, err);
        atomic_store(trial->ends_ms, 0);
    }
    if (result == 0) {
        result = trial->kind->files(scorer, /* first= */ NULL, prepared->files, err);
    }
    trial->kind->free(scorer);
    return result;
}

/* ---- the input ------------------------------------------------------------------------------ */

/* Ends the listing at the first line: the input is not empty. */
static int enough(void *context UNUSED, const char *line UNUSED, size_t size UNUSED,
                  const char *cursor UNUSED, struct error *err) {
    return error_set(err, ERROR_CANCELLED, "stopped after the first line");
}

/* Checks that the input is not empty, before the output is claimed. Lists in the order of names,
 * which needs no sorting. */
static int try_lines(const struct job *job, struct prepared_job *prepared, struct error *err) {
    bool has_rows = false;
    if (tree_get(job->spec, "input.table.query") &&
        (rerun_find_rows(prepared, job, &has_rows, err) < 0 || has_rows)) {
        return has_rows ? 0 : -1;
    }
    AUTO(tree_freep) json_t *spec = json_deep_copy(job->spec);
    json_object_del(tree_get(spec, "input.files"), "order");
    json_object_del(tree_get(spec, "input.table"), "partitionKeys");
    struct query_input query;
    struct input_listing listing = {.spec = spec,
                                    .query =
                                        query_input_of(job->spec, job->query_connection, &query),
                                    .checks_only = true};
    struct error found = {0};
    if (prepared->media->lines->list(&listing, enough, NULL, &found) == 0 ||
        found.kind == ERROR_CANCELLED) {
        return 0;
    }
    *err = found;
    return -1;
}

static int try_input(const struct job *job, struct prepared_job *prepared, struct error *err) {
    if (media_find(job->spec, &prepared->media, err) < 0) {
        return -1;
    }
    prepared->form = sink_read_form(job->spec, prepared->media);
    prepared->cell_items =
        prepared->media->lines && prepared->media->lines->is_batch ? 1 : job->batch_items;
    if ((prepared->form == SINK_PARTS || prepared->form == SINK_PACKS) &&
        !prepared->media->writer_open) {
        return error_set(
            err, ERROR_INVALID,
            "spec.output.mode: PerFile is not for spec.input.%s, expected AppendRow or SummaryOnly",
            prepared->media->name);
    }
    if (prepared->media->lines) {
        return try_lines(job, prepared, err);
    }
    if (prepared->media->list(job->spec, &prepared->listing, err) < 0) {
        return -1;
    }
    prepared->items = prepared->media->count(prepared->listing);
    if (prepared->items > 0) {
        return 0;
    }
    const json_t *input =
        json_object_get(json_object_get(job->spec, "input"), prepared->media->name);
    return error_set(err, ERROR_INVALID, "spec.input.%s: %.300s has no items",
                     prepared->media->name, tree_text(input, "path", "the input"));
}

/* A cell can be leased as soon as all its lines are known. */
int prepared_extend(struct prepared_job *prepared, struct error *err) {
    int64_t lines = 0, size = prepared->cell_items;
    if (!prepared->list) {
        return 0;
    }
    int turned = list_turn(prepared->list, &lines, err);
    if (turned <= 0) {
        return turned;
    }
    bool is_last = list_is_complete(prepared->list);
    int64_t before = (prepared->items + size - 1) / size;
    int64_t cells = is_last ? (lines + size - 1) / size : lines / size;
    int64_t items = MIN(cells * size, lines);
    int64_t more = prepared->media->lines->is_batch ? -1 : items - prepared->items;
    if (ledger_extend(prepared->journal.ledger, cells - before, more, is_last, err) < 0) {
        return -1;
    }
    prepared->items = items;
    return 0;
}

/* Opens the list of lines, and waits for the first of them. */
static int open_list(const struct job *job, struct prepared_job *prepared, struct error *err) {
    const struct generation *generation = &prepared->journal.generation;
    AUTO(text_freep) char *epoch = x_printf("%lld", (long long)prepared->journal.epoch);
    prepared->query = prepared->query ? prepared->query : x_calloc(1, sizeof *prepared->query);
    AUTO(text_freep)
    char *folder = generation_name(generation->home, generation->number, "list", "");
    struct list_options options = {
        .query = query_input_of(job->spec, job->query_connection, prepared->query),
        .output = prepared->output,
        .run = generation->home,
        .folder = folder,
        .scratch = epoch,
        .spec = job->spec,
        .kind = prepared->media->lines};
    if (rerun_find_base(prepared, job, &options.base, err) < 0 ||
        list_open(&options, &prepared->list, err) < 0) {
        return -1;
    }
    if (prepared->media->lines->is_batch && prepared->media->lines->item(job->spec) == ITEM_JSON) {
        /* Blocks of a table become lines for programs, whose length is limited. */
        ledger_limit_lease_cells(prepared->journal.ledger, BLOCKS_MAX);
    }
    while (prepared->items == 0) {
        if (prepared_extend(prepared, err) < 0) {
            return -1;
        }
        if (prepared->items > 0 || list_is_complete(prepared->list)) {
            break;
        }
        poll(NULL, 0, LIST_STEP_MS);
    }
    return 0;
}

/* The input's list, if the kind has one; of a finished run it is compared with the input. */
static int try_list(struct job *job, struct prepared_job *prepared, const json_t *run,
                    struct error *err) {
    bool begins = false;
    if (!prepared->media->lines) {
        return 0;
    }
    if (open_list(job, prepared, err) < 0) {
        return -1;
    }
    if (!rerun_was_finished(prepared, job) || !list_is_complete(prepared->list)) {
        return 0;
    }
    if (rerun_look(prepared, job, run, &begins, err) < 0) {
        return -1;
    }
    if (!begins) {
        return 0;
    }
    list_free(TAKE(prepared->list));
    item_names_free(TAKE(prepared->names));
    prepared->items = 0;
    return open_list(job, prepared, err);
}

int prepared_work(struct prepared_job *prepared, int64_t first_cell, int64_t cells, char **ret_work,
                  struct error *err) {
    int64_t first = first_cell * prepared->cell_items;
    int64_t count = MIN(cells * prepared->cell_items, prepared->items - first);
    if (!prepared->list) {
        AUTO(tree_freep) json_t *work = prepared->media->work(prepared->listing, first, count);
        *ret_work = json_dumps(work, JSON_COMPACT);
        return 0;
    }
    AUTO(buffer_release) struct buffer text;
    buffer_init(&text, CONTRACT_MESSAGE_MAX);
    /* A list of another job may be old: what has changed since is scored as it is now, and once
     * more if that made a difference (rerun_look_again). To refuse it would end each later job. */
    int listed = prepared->is_foreign ? list_lines(prepared->list, first, count, &text, err)
                                      : list_work(prepared->list, first, count, &text, err);
    if (listed < 0) {
        return -1;
    }
    *ret_work = buffer_take(&text, NULL);
    return 0;
}

static struct item_names *names_of(struct prepared_job *prepared, const struct job *job) {
    if (!prepared->names) {
        prepared->names = item_names_new(job->spec, prepared->media->lines, prepared->list);
    }
    return prepared->names;
}

int prepared_json(struct prepared_job *prepared, const struct job *job, int64_t first,
                  int64_t index, struct buffer *json, struct error *err) {
    return prepared->list && prepared->media->lines->is_batch
               ? item_names_json(names_of(prepared, job), first, index, json, err)
               : 0;
}

int prepared_name(struct prepared_job *prepared, const struct job *job, int64_t first,
                  int64_t index, struct buffer *name, struct error *err) {
    int64_t item = first * prepared->cell_items + index;
    AUTO(buffer_release) struct buffer text;
    AUTO(tree_freep) json_t *lines = NULL;
    buffer_init(&text, 2 * INPUT_LINE_MAX);
    if (!prepared->list) {
        return buffer_printf(name, err, "frame %lld", (long long)item);
    }
    if (prepared->media->lines->is_batch) {
        return item_names_add(names_of(prepared, job), first, index, name, err);
    }
    if (list_lines(prepared->list, item, 1, &text, err) < 0 ||
        tree_parse(text.data ? text.data : "", text.size, 2 * INPUT_LINE_MAX, &lines, err) < 0) {
        return -1;
    }
    const json_t *line = json_array_get(lines, 0);
    const char *path =
        json_string_value(json_is_object(line) ? json_object_get(line, "name") : line);
    return path ? buffer_append(name, path, strlen(path), err)
                : error_set(err, ERROR_INVALID,
                            "the stored list of the input has no name for item %lld",
                            (long long)item);
}

int prepared_fingerprint(struct prepared_job *prepared, char ret_sha256[static 65],
                         struct error *err) {
    if (prepared->list) {
        return list_digest(prepared->list, ret_sha256, err);
    }
    AUTO(tree_freep)
    json_t *run = run_file_make(NULL, prepared->media, prepared->listing, prepared->files);
    snprintf(ret_sha256, 65, "%s", tree_text(run, "input", ""));
    return 0;
}

int prepared_claim(struct job *job, struct prepared_job *prepared, bool has_clock,
                   const json_t *run, struct error *err) {
    return try_run(job, prepared, has_clock, run, err) < 0 || try_list(job, prepared, run, err) < 0
               ? -1
               : rerun_check_finished(prepared, job, err);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static int prepare(struct job *job, atomic_llong *trial_ends_ms, struct prepared_job *prepared,
                   struct error *err) {
    AUTO(trial_release) struct trial trial = {.ends_ms = trial_ends_ms};
    if (result_key_read(job->manifest, job->signing_key_pem, &prepared->key, err) < 0 ||
        rerun_find_paths(prepared, job, err) < 0 || try_input(job, prepared, err) < 0 ||
        try_scorer(job, prepared, &trial, err) < 0 || try_output(job, prepared, err) < 0) {
        return -1;
    }
    AUTO(tree_freep)
    json_t *run =
        run_file_make(prepared->given, prepared->media, prepared->listing, prepared->files);
    run_file_add_paths(run, prepared->paths);
    return prepared_claim(job, prepared, trial.kind->has_clock, run, err);
}

int prepared_open(struct job *job, atomic_llong *trial_ends_ms, struct commit_trouble *trouble,
                  struct prepared_job *ret_prepared, struct error *err) {
    struct prepared_job prepared = {.lock_fd = -1,
                                    .trouble = trouble,
                                    .summary_spec = x_printf("%s/summary.json", job->output)};
    if (prepare(job, trial_ends_ms, &prepared, err) < 0) {
        prepared_release(&prepared);
        return -1;
    }
    *ret_prepared = prepared;
    return 0;
}

void prepared_release(struct prepared_job *prepared) {
    item_names_free(TAKE(prepared->names));
    list_free(TAKE(prepared->list));
    free(TAKE(prepared->query));
    journal_release(&prepared->journal);
    commit_seen_free(TAKE(prepared->seen));
    if (prepared->listing) {
        prepared->media->listing_free(TAKE(prepared->listing));
    }
    store_free(TAKE(prepared->output));
    signature_key_freep(&prepared->key);
    tree_freep(&prepared->files);
    tree_freep(&prepared->paths);
    tree_freep(&prepared->given);
    tree_freep(&prepared->made_files);
    tree_freep(&prepared->made_list);
    tree_freep(&prepared->made_rows);
    kept_bits_release(&prepared->base_bits);
    kept_bits_release(&prepared->dropped);
    name_set_free(TAKE(prepared->made));
    name_set_free(TAKE(prepared->sizes));
    free(TAKE(prepared->base_folder));
    free(TAKE(prepared->summary_spec));
    fd_closep(&prepared->lock_fd);
    prepared->lock_fd = -1;
}
