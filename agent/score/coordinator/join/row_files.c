// SPDX-License-Identifier: Apache-2.0
#include "agent/score/coordinator/join/row_files.h"

#include "agent/data/rows/row_head.h"
#include "agent/data/rows/row_places.h"
#include "agent/data/rows/rows_form.h"
#include "agent/result/result_file.h"
#include "lib/digest.h"
#include "lib/file.h"

#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES_MAX = 256 << 20, FILES = 2 };
static const char keys_ending[] = ".keys.csv";

/* A file that is written. */
struct made_file {
    char *name; /* in the output; owned */
    const struct rows_form *form;
    struct rows_writer *writer;
    struct store_upload *upload;
    struct digest *digest;
    int64_t size_bytes;
};

struct making {
    struct prepared_job *prepared;
    const struct job *job;
    const struct row_files_source *source;
    struct row_columns columns;
    struct row_cells cells;
    struct rows_numbers numbers;
    struct made_file files[FILES];
    size_t file_count;
    bool counts; /* rows get their numbers */
    struct row_places places;
    int64_t *missing; /* cells without a part, since the last line; owned */
    size_t missing_count, missing_room;
    struct buffer line;    /* the beginning of one that is not complete */
    struct buffer scratch; /* a line with its number */
    /* What is done with a row. */
    int (*take)(struct making *making, const char *row, size_t size, struct error *err);
};

static const struct rows_form *form_of(const json_t *spec) {
    return rows_form_find(tree_text(spec, "output.format", ""));
}

bool row_files_are_made(const json_t *spec) {
    return form_of(spec) || row_heads_count(spec);
}

bool row_files_keep_rows(const struct prepared_job *prepared, const json_t *spec) {
    return row_files_are_made(spec) && kept_has_items(prepared);
}

char *row_files_kept_name(const struct generation *generation) {
    return generation_name(generation->home, generation->number, "rows", "");
}

/* ---- files ---------------------------------------------------------------------------------- */

static void making_release(struct making *making) {
    for (size_t i = 0; i < making->file_count; i++) {
        struct made_file *file = &making->files[i];
        if (file->writer) {
            file->form->free(file->writer);
        }
        store_upload_free(file->upload);
        digest_freep(&file->digest);
        free(file->name);
    }
    row_cells_release(&making->cells);
    row_columns_release(&making->columns);
    row_places_release(&making->places);
    free(making->missing);
    buffer_release(&making->line);
    buffer_release(&making->scratch);
}

static int take_bytes(void *context, const void *data, size_t size, struct error *err) {
    struct made_file *file = context;
    digest_add(file->digest, data, size);
    file->size_bytes += (int64_t)size;
    return store_upload_add(file->upload, data, size, err);
}

/* name: consumed. */
static int open_file(struct making *making, char *name, const struct rows_form *form,
                     bool only_heads, struct error *err) {
    struct made_file *file = &making->files[making->file_count++];
    *file = (struct made_file){.name = name, .form = form, .digest = digest_new()};
    struct rows_form_options options = {
        .columns = &making->columns,
        .only_heads = only_heads,
        .take = take_bytes,
        .context = file,
    };
    rows_form_read(making->job->spec, &making->numbers, &options);
    if (store_upload_open(making->prepared->output, name, &file->upload, err) < 0) {
        return -1;
    }
    return form ? form->open(&options, &file->writer, err) : 0;
}

static int open_files(struct making *making, struct error *err) {
    const char *name = tree_text(making->job->spec, "output.appendRowFileName", "");
    const struct rows_form *form = form_of(making->job->spec);
    if (form && !form->has_heads) {
        size_t length = strlen(name) - (text_ends(name, form->ending) ? strlen(form->ending) : 0);
        char *keys = x_printf("%.*s%s", (int)length, name, keys_ending);
        if (open_file(making, keys, &rows_csv, /* only_heads= */ true, err) < 0) {
            return -1;
        }
    }
    return open_file(making, x_strdup(name), form, /* only_heads= */ false, err);
}

static int commit_files(struct making *making, json_t *files, json_t *outputs, struct error *err) {
    for (size_t i = 0; i < making->file_count; i++) {
        struct made_file *file = &making->files[i];
        char hex[65];
        if ((file->writer && file->form->finish(file->writer, err) < 0) ||
            store_upload_commit(file->upload, STORE_REPLACE, err) < 0) {
            return -1;
        }
        digest_end(TAKE(file->digest), hex);
        AUTO(text_freep) char *path = file_join(making->job->output, file->name);
        if (files) {
            json_array_append_new(files, result_file_entry(file->name, file->size_bytes, hex));
        }
        if (outputs) {
            json_array_append_new(outputs, json_string(path));
        }
    }
    return 0;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static int scan_row(struct making *making, const char *row, size_t size, struct error *err) {
    rows_numbers_see(&making->numbers, row, size);
    return row_columns_see(&making->columns, row, size, err);
}

static int write_row(struct making *making, const char *row, size_t size, struct error *err) {
    if (row_cells_read(&making->cells, row, size, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < making->file_count; i++) {
        struct made_file *file = &making->files[i];
        if (file->form->add(file->writer, &making->cells, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int copy_row(struct making *making, const char *row, size_t size, struct error *err) {
    return take_bytes(&making->files[0], row, size, err) < 0
               ? -1
               : take_bytes(&making->files[0], "\n", 1, err);
}

/* The rows of a cell that has failed as a whole are counted by reading them. */
static int count_rows(const struct making *making, const json_t *lines, int64_t *ret_rows,
                      struct error *err) {
    const struct input_kind *kind = making->prepared->media->lines;
    struct input_reader *reader = NULL;
    struct item item;
    int got = kind->reader_open(making->job->spec, lines, &reader, err) < 0 ? -1 : 1;
    for (*ret_rows = -1; got > 0; ++*ret_rows) {
        got = kind->reader_next(reader, &item, err);
    }
    kind->reader_free(reader);
    return got;
}

/* Counts the rows of a cell without a part that come before this line in its file. */
static int skip_missing(struct making *making, int64_t cell, const char *line, size_t size,
                        struct error *err) {
    AUTO(buffer_release) struct buffer text;
    AUTO(tree_freep) json_t *lines = NULL;
    int64_t rows = 0;
    buffer_init(&text, INPUT_LINE_MAX + 2);
    if (list_lines(making->prepared->list, cell, 1, &text, err) < 0 ||
        tree_parse(text.data ? text.data : "", text.size, text.size, &lines, err) < 0) {
        return -1;
    }
    const json_t *name = json_array_get(json_array_get(lines, 0), 0);
    const char *file = json_string_value(name) ? json_string_value(name) : "";
    if (!row_places_is_of(line, size, file)) {
        return 0;
    }
    if (count_rows(making, lines, &rows, err) < 0) {
        return error_context(err, "rows after a failed mini-batch cannot be numbered "
                                  "(a key of spec.output.key needs no numbers)");
    }
    row_places_skip(&making->places, file, rows);
    return 0;
}

static int take_line(struct making *making, const char *line, size_t size, struct error *err) {
    for (size_t i = 0; i < making->missing_count; i++) {
        if (skip_missing(making, making->missing[i], line, size, err) < 0) {
            return -1;
        }
    }
    making->missing_count = 0;
    int found =
        making->counts ? row_places_line(&making->places, &making->scratch, &line, &size, err) : 1;
    return found <= 0 ? found : making->take(making, line, size, err);
}

/* A callback of committed_take: cuts the bytes into lines. */
static int take_pieces(void *context, const char *data, size_t size, struct error *err) {
    struct making *making = context;
    const char *end = data + size, *newline;
    for (; (newline = memchr(data, '\n', (size_t)(end - data))); data = newline + 1) {
        const char *line = data;
        size_t length = (size_t)(newline - data);
        if (making->line.size > 0) {
            if (buffer_append(&making->line, data, length, err) < 0) {
                return -1;
            }
            line = making->line.data;
            length = making->line.size;
        }
        if (take_line(making, line, length, err) < 0) {
            return -1;
        }
        buffer_clear(&making->line);
    }
    return buffer_append(&making->line, data, (size_t)(end - data), err);
}

/* Its rows are read only if others of their file follow: those of a job that has failed may be
 * most of the input. */
static int take_missing(void *context, int64_t cell, struct error *err UNUSED) {
    struct making *making = context;
    if (making->missing_count == making->missing_room) {
        making->missing_room = MAX(2 * making->missing_room, (size_t)64);
        making->missing =
            x_realloc_array(making->missing, making->missing_room, sizeof *making->missing);
    }
    making->missing[making->missing_count++] = cell;
    return 0;
}

static int each_row(struct making *making,
                    int (*take)(struct making *making, const char *row, size_t size,
                                struct error *err),
                    struct error *err) {
    const struct committed_take bytes = {
        .bytes = take_pieces, .missing = making->counts ? take_missing : NULL, .context = making};
    making->take = take;
    row_places_release(&making->places);
    making->missing_count = 0;
    buffer_clear(&making->line);
    if (making->source->each(making->source->context, &bytes, err) < 0) {
        return -1;
    }
    return making->line.size == 0
               ? 0
               : error_set(err, ERROR_INVALID, "the last row of the results has no end");
}

/* ---- all ------------------------------------------------------------------------------------ */

static int make_form(struct making *making, struct error *err) {
    const json_t *spec = making->job->spec;
    AUTO(tree_freep) json_t *heads = row_heads_names(spec);
    row_columns_init(&making->columns, heads, tree_get(spec, "output.types"),
                     tree_get(spec, "scorer.onnx") != NULL);
    if (each_row(making, scan_row, err) < 0) {
        return -1;
    }
    row_columns_end(&making->columns);
    row_cells_init(&making->cells, &making->columns);
    return open_files(making, err) < 0 ? -1 : each_row(making, write_row, err);
}

static int make_lines(struct making *making, struct error *err) {
    return open_files(making, err) < 0 ? -1 : each_row(making, copy_row, err);
}

int row_files_make(struct prepared_job *prepared, const struct job *job,
                   const struct row_files_source *source, json_t *files, json_t *outputs,
                   struct error *err) {
    struct making making = {
        .prepared = prepared, .job = job, .source = source, .counts = row_heads_count(job->spec)};
    buffer_init(&making.line, LINE_BYTES_MAX);
    buffer_init(&making.scratch, LINE_BYTES_MAX);
    int result = form_of(job->spec) ? make_form(&making, err) : make_lines(&making, err);
    if (result == 0) {
        result = commit_files(&making, files, outputs, err);
    }
    making_release(&making);
    return result < 0 ? error_context(err, "spec.output: %.200s",
                                      tree_text(job->spec, "output.appendRowFileName", ""))
                      : 0;
}

static int each_committed(void *context, const struct committed_take *take, struct error *err) {
    return committed_bytes(context, take, err);
}

int row_files_of_commits(struct prepared_job *prepared, const struct job *job, json_t *files,
                         json_t *outputs, struct error *err) {
    struct committed *committed = NULL;
    if (committed_open(&prepared->journal, &committed, err) < 0) {
        return error_context(err, "spec.output.path");
    }
    const struct row_files_source source = {.each = each_committed, .context = committed};
    int result = row_files_make(prepared, job, &source, files, outputs, err);
    committed_free(committed);
    return result;
}

static int each_kept(void *context, const struct committed_take *take, struct error *err) {
    struct prepared_job *prepared = context;
    AUTO(text_freep) char *name = row_files_kept_name(&prepared->journal.generation);
    struct store_digest ignored;
    return store_hash(prepared->output, name, take->bytes, take->context, &ignored, err);
}

int row_files_of_kept(struct prepared_job *prepared, const struct job *job, json_t *files,
                      json_t *outputs, struct error *err) {
    const struct row_files_source source = {.each = each_kept, .context = prepared};
    return row_files_make(prepared, job, &source, files, outputs, err);
}
