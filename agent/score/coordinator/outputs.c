// SPDX-License-Identifier: Apache-2.0
#include "agent/score/coordinator/outputs.h"

#include "agent/result/result_file.h"
#include "agent/score/coordinator/assemble.h"
#include "agent/score/coordinator/join/present.h"
#include "agent/score/coordinator/join/row_files.h"
#include "agent/score/coordinator/kept_lines.h"
#include "agent/score/coordinator/rerun.h"
#include "agent/score/coordinator/stale.h"
#include "lib/file.h"

#include <stdlib.h>

/* ---- of a rerun ----------------------------------------------------------------------------- */

/* The lines of this generation, as an object of that name. */
static int make_fresh(struct prepared_job *prepared, const char *fresh, struct error *err) {
    AUTO(tree_freep) json_t *list = NULL;
    return prepared->form == SINK_PACKS
               ? assemble_file_list(&prepared->journal, fresh, &list, err)
               : assemble_rows(&prepared->journal, fresh, /* files= */ NULL, err);
}

static int merge_lines(struct prepared_job *prepared, struct kept_lines *lines, json_t **ret_lines,
                       struct error *err) {
    const struct generation *generation = &prepared->journal.generation;
    AUTO(text_freep)
    char *fresh = generation_name(generation->home, generation->number, "lines", "");
    lines->fresh = fresh;
    if (kept_lines_find(prepared, lines, ret_lines, err) < 0 || *ret_lines) {
        return *ret_lines ? 0 : -1;
    }
    return make_fresh(prepared, fresh, err) < 0 ||
                   kept_lines_write(prepared, lines, ret_lines, err) < 0
               ? -1
               : store_remove(prepared->output, fresh, err);
}

/* The entry of outputs.jsonl for result.json. One that an earlier release has stored lacks the sums
 * of all files. */
static int take_list(struct prepared_job *prepared, json_t *entry, struct error *err) {
    struct output_lines_sum sum;
    if (json_object_get(entry, "files")) {
        prepared->made_list = json_incref(entry);
        return 0;
    }
    if (output_lines_read(prepared->output, OUTPUT_LINES_NAME, NULL, NULL, &sum, err) < 0) {
        return error_context(err, "spec.output.path");
    }
    prepared->made_list = result_file_list_entry(OUTPUT_LINES_NAME, &sum);
    return 0;
}

/* Of rows that are kept beside the files that were made of them. */
static int store_made(struct prepared_job *prepared, const json_t *rows, const json_t *outputs,
                      struct error *err) {
    AUTO(tree_freep) json_t *lines = json_deep_copy(rows);
    json_object_set(lines, "forms", prepared->made_files);
    return kept_store_made(prepared->output, &prepared->journal.generation, outputs, lines, err);
}

static int make_of_rerun(struct prepared_job *prepared, const struct job *job,
                         const struct kept_bits *bits, json_t *outputs, struct error *err) {
    bool are_files = prepared->form == SINK_PACKS;
    bool are_rows = !are_files && row_files_keep_rows(prepared, job->spec);
    const struct generation *generation = &prepared->journal.generation;
    AUTO(text_freep) char *kept = row_files_kept_name(generation);
    const char *rows = are_rows ? kept : tree_text(job->spec, "output.appendRowFileName", "");
    AUTO(text_freep) char *path = are_files ? x_strdup(job->output) : file_join(job->output, rows);
    AUTO(tree_freep) json_t *made = NULL;
    struct kept_lines lines = {
        .name = are_files ? OUTPUT_LINES_NAME : rows, .bits = bits, .outputs = outputs};
    if (assemble_begin(prepared, err) < 0 || prepared->form == SINK_NOTHING) {
        return err->kind ? -1 : 0;
    }
    if (!are_rows) {
        json_array_append_new(outputs, json_string(path));
    }
    if ((are_files && journal_publish(&prepared->journal, err) < 0) ||
        merge_lines(prepared, &lines, &made, err) < 0) {
        return -1;
    }
    AUTO(tree_freep) json_t *entry = kept_lines_entry(made);
    if (are_files) {
        return take_list(prepared, entry, err);
    }
    if (are_rows) {
        return row_files_of_kept(prepared, job, prepared->made_files, outputs, err) < 0
                   ? -1
                   : store_made(prepared, made, outputs, err);
    }
    json_array_append(prepared->made_files, entry);
    return 0;
}

/* ---- all ------------------------------------------------------------------------------------ */

static int make(struct prepared_job *prepared, const struct job *job, const struct kept_bits *bits,
                struct parts *ret_parts, json_t *outputs, struct error *err) {
    const struct generation *generation = &prepared->journal.generation;
    if (generation->keeps >= 0) {
        return make_of_rerun(prepared, job, bits, outputs, err);
    }
    if (assemble(prepared, job, /* is_whole= */ true, ret_parts, outputs, err) < 0) {
        return -1;
    }
    if (prepared->made_rows) {
        return store_made(prepared, prepared->made_rows, outputs, err);
    }
    const json_t *lines = prepared->form == SINK_PACKS  ? prepared->made_list
                          : prepared->form == SINK_ROWS ? json_array_get(prepared->made_files, 0)
                                                        : NULL;
    return kept_store_made(prepared->output, generation, outputs, lines, err);
}

/* They were complete when this coordinator began, and are made once more: what says that they are
 * complete goes first, unless another coordinator has said so since. Where this one has results of
 * its own, such words are older than these. */
static int begin_again(const struct prepared_job *prepared, const struct job *job,
                       struct error *err) {
    AUTO(tree_freep)
    json_t *words = prepared->journal.kept_count == 0 ? rerun_recall(prepared, job) : NULL;
    return words
               ? error_set(err, ERROR_GONE, "spec.output.path: another coordinator has finished it")
               : stale_remove_result(prepared->output, /* all= */ false, err);
}

int outputs_make(struct prepared_job *prepared, const struct job *job, struct parts *ret_parts,
                 json_t *outputs, struct error *err) {
    AUTO(kept_bits_release) struct kept_bits bits = {0};
    bool are_files = prepared->form == SINK_PACKS && kept_has_items(prepared);
    json_array_clear(outputs);
    if (prepared->has_outputs && begin_again(prepared, job, err) < 0) {
        return -1;
    }
    if (kept_unmark(prepared, err) < 0) {
        return error_context(err, "spec.output.path");
    }
    if ((kept_has_items(prepared) && kept_collect(prepared, job, &bits, err) < 0) ||
        make(prepared, job, &bits, ret_parts, outputs, err) < 0 ||
        (prepared->form == SINK_PACKS && present_ensure(prepared, err) < 0)) {
        return -1;
    }
    /* Where the mark is, the outputs count as complete, and the next generation looks no further
     * back for stale files. What is forgotten after it says which files those were. */
    if (stale_remove(prepared, job, outputs, are_files ? &bits : NULL, err) < 0) {
        return -1;
    }
    return kept_mark(prepared, &bits, err) < 0 || stale_forget(prepared, err) < 0
               ? error_context(err, "spec.output.path")
               : 0;
}
