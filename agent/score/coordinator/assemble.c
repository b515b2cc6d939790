// SPDX-License-Identifier: Apache-2.0
#include "agent/score/coordinator/assemble.h"

#include "agent/data/parts/pack.h"
#include "agent/result/result_file.h"
#include "agent/score/coordinator/join/committed.h"
#include "agent/score/coordinator/join/row_files.h"
#include "lib/digest.h"
#include "lib/file.h"

#include <stdlib.h>
#include <string.h>

/* ---- rows ----------------------------------------------------------------------------------- */

/* A file that is written and hashed. */
struct rows_file {
    struct store_upload *upload;
    struct digest *digest;
    int64_t size_bytes;
};

static int take_bytes(void *context, const char *data, size_t size, struct error *err) {
    struct rows_file *file = context;
    digest_add(file->digest, data, size);
    file->size_bytes += (int64_t)size;
    return store_upload_add(file->upload, data, size, err);
}

static int make_rows(struct journal *journal, struct rows_file *file, const char *name,
                     struct error *err) {
    struct committed *committed = NULL;
    const struct committed_take take = {.bytes = take_bytes, .context = file};
    int result = committed_open(journal, &committed, err) < 0 ||
                         store_upload_open(journal->output, name, &file->upload, err) < 0 ||
                         committed_bytes(committed, &take, err) < 0
                     ? -1
                     : store_upload_commit(file->upload, STORE_REPLACE, err);
    committed_free(committed);
    return result;
}

int assemble_rows(struct journal *journal, const char *name, json_t *files, struct error *err) {
    struct rows_file file = {.digest = digest_new()};
    char hex[65];
    int result = make_rows(journal, &file, name, err);
    if (result == 0) {
        digest_end(TAKE(file.digest), hex);
        json_array_append_new(files, result_file_entry(name, file.size_bytes, hex));
    }
    store_upload_free(file.upload);
    digest_freep(&file.digest);
    return result < 0 ? error_context(err, "spec.output.path") : 0;
}

/* ---- the list of files ---------------------------------------------------------------------- */

struct file_list {
    struct journal *journal;
    struct committed *committed;
    struct output_lines_writer *writer;
    bool has_failed; /* the writer, not the pack */
};

static int on_packed(void *context, const char *name, int64_t size_bytes, const char *sha256,
                     struct error *err) {
    struct file_list *list = context;
    int result = output_lines_add(list->writer, name, size_bytes, sha256, err);
    list->has_failed = result < 0;
    return result;
}

static int list_pack(void *context, const struct committed_row *row, struct error *err) {
    struct file_list *list = context;
    struct journal *journal = list->journal;
    struct part part = {.store = journal->output, .size_bytes = row->size_bytes, .crc = row->crc};
    struct error why = {0};
    part_name(journal->job->run, row->epoch, row->lease, part.name);
    part.bytes = committed_in_memory(list->committed, row);
    if (row->place == COMMIT_TEXT) {
        part.crc = digest_crc32c(0, row->text, (size_t)row->size_bytes);
    }
    if (pack_list(&part, on_packed, list, &why) == 0) {
        return 0;
    }
    if (!list->has_failed && (why.kind == ERROR_NOT_FOUND || why.kind == ERROR_INVALID)) {
        journal_broken(journal, row->first, row->cells);
        return 0;
    }
    *err = why;
    return -1;
}

static int list_packs(struct file_list *list, struct error *err) {
    if (committed_open(list->journal, &list->committed, err) < 0 ||
        committed_each(list->committed, list_pack, list, err) < 0) {
        return -1;
    }
    return list->journal->broken_count == 0
               ? 0
               : error_set(err, ERROR_INVALID, "%zu committed results are missing or were changed",
                           list->journal->broken_count);
}

int assemble_file_list(struct journal *journal, const char *name, json_t **ret_list,
                       struct error *err) {
    struct file_list list = {.journal = journal};
    struct output_lines_sum sum;
    int result = output_lines_begin(journal->output, name, &list.writer, err);
    if (result == 0) {
        result = list_packs(&list, err);
    }
    if (result == 0) {
        result = output_lines_end(TAKE(list.writer), &sum, err);
    }
    output_lines_free(list.writer);
    committed_free(list.committed);
    if (result < 0) {
        return error_context(err, "spec.output.path");
    }
    *ret_list = result_file_list_entry(name, &sum);
    return 0;
}

/* ---- all forms ------------------------------------------------------------------------------ */

static void add_output(json_t *outputs, const char *spec_path) {
    if (outputs) {
        json_array_append_new(outputs, json_string(spec_path));
    }
}

/* A film was written with seeks, so it is read once more for its hash. */
static int hash_outputs(struct prepared_job *prepared, const struct job *job, const json_t *outputs,
                        struct error *err) {
    size_t folder = strlen(job->output) + 1;
    for (size_t i = 0; i < json_array_size(outputs); i++) {
        const char *path = json_string_value(json_array_get(outputs, i));
        const char *name = strlen(path) > folder ? path + folder : path;
        struct store_digest hash;
        if (store_hash(prepared->output, name, NULL, NULL, &hash, err) < 0) {
            return error_context(err, "spec.output.path");
        }
        json_array_append_new(prepared->made_files,
                              result_file_entry(name, hash.size_bytes, hash.sha256));
    }
    return 0;
}

static int join_parts(struct prepared_job *prepared, const struct job *job, struct parts *ret_parts,
                      json_t *outputs, struct error *err) {
    return journal_parts(&prepared->journal, ret_parts, err) < 0 ||
                   prepared->media->join(prepared->listing, job->spec, ret_parts, job->batch_items,
                                         outputs, err) < 0
               ? -1
               : hash_outputs(prepared, job, outputs, err);
}

/* Rows that a rerun may keep are an object of their own first. */
static int make_row_files(struct prepared_job *prepared, const struct job *job, json_t *outputs,
                          struct error *err) {
    AUTO(text_freep) char *kept = row_files_kept_name(&prepared->journal.generation);
    AUTO(tree_freep) json_t *entries = json_array();
    if (!row_files_keep_rows(prepared, job->spec)) {
        return row_files_of_commits(prepared, job, prepared->made_files, outputs, err);
    }
    if (assemble_rows(&prepared->journal, kept, entries, err) < 0 ||
        row_files_of_kept(prepared, job, prepared->made_files, outputs, err) < 0) {
        return -1;
    }
    tree_freep(&prepared->made_rows);
    prepared->made_rows = json_incref(json_array_get(entries, 0));
    return 0;
}

int assemble_begin(struct prepared_job *prepared, struct error *err) {
    if (journal_check_failures(&prepared->journal, err) < 0) {
        return -1;
    }
    tree_freep(&prepared->made_files);
    tree_freep(&prepared->made_list);
    tree_freep(&prepared->made_rows);
    prepared->made_files = json_array();
    return prepared_fingerprint(prepared, prepared->input_sha256, err);
}

int assemble(struct prepared_job *prepared, const struct job *job, bool is_whole,
             struct parts *ret_parts, json_t *outputs, struct error *err) {
    const char *rows = tree_text(job->spec, "output.appendRowFileName", "");
    AUTO(text_freep) char *rows_path = file_join(job->output, rows);
    struct journal *journal = &prepared->journal;
    if (is_whole && assemble_begin(prepared, err) < 0) {
        return -1;
    }
    switch (prepared->form) {
    case SINK_PACKS:
        if (journal_publish(journal, err) < 0 ||
            (is_whole &&
             assemble_file_list(journal, OUTPUT_LINES_NAME, &prepared->made_list, err) < 0)) {
            return -1;
        }
        add_output(outputs, job->output);
        return 0;
    case SINK_ROWS:
        /* The rows of a rerun that has failed would replace those that it wanted to keep. */
        if (journal->generation.keeps >= 0) {
            return 0;
        }
        if (row_files_are_made(job->spec)) {
            return make_row_files(prepared, job, outputs, err);
        }
        if (assemble_rows(journal, rows, prepared->made_files, err) < 0) {
            return -1;
        }
        add_output(outputs, rows_path);
        return 0;
    case SINK_PARTS:
        return is_whole ? join_parts(prepared, job, ret_parts, outputs, err) : 0;
    case SINK_NOTHING:
    default:
        return 0;
    }
}
