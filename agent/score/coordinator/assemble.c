// SPDX-License-Identifier: Apache-2.0
#include "agent/score/coordinator/assemble.h"

#include "agent/data/parts/pack.h"
#include "agent/result/result_file.h"
#include "agent/score/log/record_resolver.h"
#include "agent/store/store_many.h"
#include "lib/digest.h"
#include "lib/file.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOADED_MAX = 4,  /* commits in memory: items close in the input are close in the log */
    INDEX_BITS = 20, /* of a record in its commit: a record has more than 8 bytes */
    CHUNK_BYTES = 1 << 20,
    AHEAD_BYTES = 256 << 10, /* maximum of an object that is read together with others */
};
static_assert(COMMIT_BYTES_MAX >> 3 <= 1 << INDEX_BITS, "every record's index fits");

/* A record that is in memory. */
struct row {
    enum commit_place place;
    int64_t first, cells, epoch, lease, size_bytes;
    uint32_t crc;
    char *text; /* owned; size_bytes of it */
};

struct loaded {
    int64_t number; /* of the commit */
    int64_t used;   /* when it was last used, by a counter of accesses */
    struct row *rows;
    size_t count, room;
};

/* Objects that are read together in advance: over az:// each read alone would wait for its
 * response. An object that is incomplete or differs from the commit is read again in its turn. */
struct ahead {
    int count, next;
    int64_t cells[STORE_PEEK_MAX]; /* the row's first; ascending */
    struct store_peeked objects[STORE_PEEK_MAX];
    char names[STORE_PEEK_MAX][PART_NAME_MAX];
    char *data; /* NULL before the first */
};

struct assembly {
    struct journal *journal;
    struct record_resolver *resolver;
    int64_t cells;
    uint64_t *places; /* by cell: commit << INDEX_BITS | record, plus one; 0: no record */
    int64_t number;   /* second reading: the current commit */
    uint64_t index;   /* and the current record in it */
    struct loaded loaded[LOADED_MAX];
    int64_t looks;
    struct ahead ahead;
    struct store_upload *upload;
    struct digest *digest; /* of what was uploaded */
    int64_t size_bytes;
};

/* ---- places of the records ------------------------------------------------------------------ */

static int see_first(void *context, const struct commit_head *head,
                     const struct commit_record *record, struct error *err) {
    struct assembly *assembly = context;
    return journal_counts(assembly->journal, head, record)
               ? record_resolver_add(assembly->resolver, record, err)
               : 0;
}

static int see_again(void *context, const struct commit_head *head,
                     const struct commit_record *record, struct error *err) {
    struct assembly *assembly = context;
    assembly->index = head->number == assembly->number ? assembly->index + 1 : 0;
    assembly->number = head->number;
    if (!journal_counts(assembly->journal, head, record)) {
        return 0;
    }
    int64_t own_cells = record_resolver_next(assembly->resolver, record);
    if (own_cells == 0 || record->type == COMMIT_FAILED || record->place == COMMIT_NOWHERE) {
        return 0;
    }
    if (own_cells != record->cells) {
        return error_set(err, ERROR_INVALID,
                         "commit %lld: mini-batches from %lld on were scored again in other ranges",
                         (long long)head->number, (long long)record->first);
    }
    assembly->places[record->first] = ((uint64_t)head->number << INDEX_BITS | assembly->index) + 1;
    return 0;
}

static int find_records(struct assembly *assembly, struct error *err) {
    assembly->number = -1;
    assembly->resolver = record_resolver_new(assembly->cells);
    assembly->places = x_calloc((size_t)MAX(assembly->cells, 1), sizeof *assembly->places);
    int result = commit_replay(assembly->journal->log, see_first, assembly, err);
    if (result == 0) {
        result = commit_replay(assembly->journal->log, see_again, assembly, err);
    }
    record_resolver_free(TAKE(assembly->resolver));
    return result;
}

/* ---- in the order of the input -------------------------------------------------------------- */

static int load_record(void *context, const struct commit_head *head,
                       const struct commit_record *record, struct error *err UNUSED) {
    struct loaded *loaded = context;
    bool scores = record->type == COMMIT_DONE || record->type == COMMIT_PARTIAL;
    if (loaded->count == loaded->room) {
        loaded->room = MAX(loaded->room * 2, (size_t)256);
        loaded->rows = x_realloc_array(loaded->rows, loaded->room, sizeof *loaded->rows);
    }
    struct row *row = &loaded->rows[loaded->count++];
    *row = (struct row){.place = scores ? record->place : COMMIT_NOWHERE,
                        .first = record->first,
                        .cells = record->cells,
                        .epoch = head->epoch,
                        .lease = record->lease,
                        .size_bytes = record->size_bytes,
                        .crc = record->crc};
    if (row->place == COMMIT_TEXT) {
        row->text = x_malloc(record->text_size + 1);
        memcpy(row->text, record->text, record->text_size);
        row->size_bytes = (int64_t)record->text_size;
    }
    return 0;
}

static void unload(struct loaded *loaded) {
    for (size_t i = 0; i < loaded->count; i++) {
        free(loaded->rows[i].text);
    }
    free(loaded->rows);
    *loaded = (struct loaded){.number = -1};
}

static int find_row(struct assembly *assembly, uint64_t place, const struct row **ret_row,
                    struct error *err) {
    int64_t number = (int64_t)(place >> INDEX_BITS);
    uint64_t index = place & ((1u << INDEX_BITS) - 1);
    struct loaded *loaded = &assembly->loaded[0];
    for (size_t i = 0; i < LOADED_MAX && loaded->number != number; i++) {
        struct loaded *other = &assembly->loaded[i];
        if (other->number == number || other->used < loaded->used) {
            loaded = other;
        }
    }
    if (loaded->number != number) {
        unload(loaded);
        if (commit_read_again(assembly->journal->log, number, load_record, loaded, err) < 0) {
            unload(loaded);
            return -1;
        }
        loaded->number = number;
    }
    loaded->used = ++assembly->looks;
    if (index >= loaded->count) {
        return error_set(err, ERROR_INVALID, "commit %lld has changed", (long long)number);
    }
    *ret_row = &loaded->rows[index];
    return 0;
}

static const struct row *row_in_memory(const struct assembly *assembly, uint64_t place) {
    uint64_t index = place & ((1u << INDEX_BITS) - 1);
    for (size_t i = 0; i < LOADED_MAX; i++) {
        const struct loaded *loaded = &assembly->loaded[i];
        if (loaded->number == (int64_t)(place >> INDEX_BITS)) {
            return index < loaded->count ? &loaded->rows[index] : NULL;
        }
    }
    return NULL;
}

/* The next objects from this cell on, as far as their commits are in memory. */
static void look_ahead(struct assembly *assembly, int64_t cell) {
    struct ahead *ahead = &assembly->ahead;
    ahead->count = ahead->next = 0;
    if (!ahead->data) {
        ahead->data = x_malloc((size_t)STORE_PEEK_MAX * AHEAD_BYTES);
    }
    for (; cell < assembly->cells && ahead->count < STORE_PEEK_MAX; cell++) {
        if (!assembly->places[cell]) {
            continue;
        }
        const struct row *row = row_in_memory(assembly, assembly->places[cell] - 1);
        if (!row) {
            break;
        }
        if (row->place == COMMIT_OBJECT && row->size_bytes <= AHEAD_BYTES) {
            int i = ahead->count++;
            part_name(assembly->journal->job->run, row->epoch, row->lease, ahead->names[i]);
            ahead->cells[i] = cell;
            ahead->objects[i] = (struct store_peeked){.name = ahead->names[i],
                                                      .data = ahead->data + (size_t)i * AHEAD_BYTES,
                                                      .room = AHEAD_BYTES};
        }
    }
    store_peek(assembly->journal->output, ahead->objects, (size_t)ahead->count);
}

/* The row's bytes, if they were read in advance; NULL: they were not, or they differ from the
 * commit. */
static const char *bytes_ahead(struct assembly *assembly, const struct row *row) {
    struct ahead *ahead = &assembly->ahead;
    if (store_can(assembly->journal->output).is_local || row->size_bytes > AHEAD_BYTES) {
        return NULL;
    }
    while (ahead->next < ahead->count && ahead->cells[ahead->next] < row->first) {
        ahead->next++;
    }
    if (ahead->next == ahead->count) {
        look_ahead(assembly, row->first);
    }
    const struct store_peeked *object = &ahead->objects[ahead->next];
    return ahead->next < ahead->count && ahead->cells[ahead->next] == row->first &&
                   object->is_whole && (int64_t)object->size == row->size_bytes &&
                   digest_crc32c(0, object->data, object->size) == row->crc
               ? object->data
               : NULL;
}

static int add_bytes(struct assembly *assembly, const char *data, size_t size, struct error *err) {
    digest_add(assembly->digest, data, size);
    assembly->size_bytes += (int64_t)size;
    return store_upload_add(assembly->upload, data, size, err);
}

static int copy_object(struct assembly *assembly, const struct row *row, struct error *err) {
    struct journal *journal = assembly->journal;
    struct part part = {.store = journal->output, .size_bytes = row->size_bytes, .crc = row->crc};
    AUTO(text_freep) char *chunk = x_malloc(CHUNK_BYTES);
    bool is_void = false;
    part_name(journal->job->run, row->epoch, row->lease, part.name);
    part.bytes = bytes_ahead(assembly, row);
    if (!part.bytes && part_load(&part, chunk, CHUNK_BYTES, &is_void, err) < 0) {
        if (is_void) {
            journal_broken(journal, row->first, row->cells);
            error_clear(err);
        }
        return is_void ? 0 : -1;
    }
    if (part.bytes) {
        return add_bytes(assembly, part.bytes, (size_t)part.size_bytes, err);
    }
    for (int64_t at = 0; at < row->size_bytes;) {
        size_t size = (size_t)MIN(row->size_bytes - at, (int64_t)CHUNK_BYTES);
        if (part_read(&part, at, chunk, size, err) < 0 ||
            add_bytes(assembly, chunk, size, err) < 0) {
            return -1;
        }
        at += (int64_t)size;
    }
    return 0;
}

/* There may be millions of small texts, so one call of the store reads many. */
static int copy_rows(struct assembly *assembly, struct error *err) {
    AUTO(buffer_release) struct buffer texts;
    buffer_init(&texts, CHUNK_BYTES + COMMIT_RECORD_MAX);
    for (int64_t cell = 0; cell <= assembly->cells; cell++) {
        const struct row *row = NULL;
        bool is_end = cell == assembly->cells;
        if (!is_end && (!assembly->places[cell] ||
                        find_row(assembly, assembly->places[cell] - 1, &row, err) < 0)) {
            if (err->kind) {
                return -1;
            }
            continue;
        }
        bool is_text = row && row->place == COMMIT_TEXT;
        if (is_text && buffer_append(&texts, row->text, (size_t)row->size_bytes, err) < 0) {
            return -1;
        }
        if (texts.size > 0 && (!is_text || texts.size >= CHUNK_BYTES)) {
            if (add_bytes(assembly, texts.data, texts.size, err) < 0) {
                return -1;
            }
            buffer_clear(&texts);
        }
        if (row && !is_text && copy_object(assembly, row, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static void begin(struct assembly *assembly, struct journal *journal) {
    *assembly = (struct assembly){.journal = journal, .cells = ledger_cells(journal->ledger)};
    for (size_t i = 0; i < LOADED_MAX; i++) {
        assembly->loaded[i].number = -1;
    }
}

static void end(struct assembly *assembly) {
    store_upload_free(assembly->upload);
    digest_freep(&assembly->digest);
    for (size_t i = 0; i < LOADED_MAX; i++) {
        unload(&assembly->loaded[i]);
    }
    free(assembly->places);
    free(assembly->ahead.data);
}

static int check_broken(const struct journal *journal, struct error *err) {
    return journal->broken_count == 0
               ? 0
               : error_set(err, ERROR_INVALID, "%zu results are missing or changed",
                           journal->broken_count);
}

static int make_rows(struct assembly *assembly, const char *name, struct error *err) {
    return find_records(assembly, err) < 0 ||
                   store_upload_open(assembly->journal->output, name, &assembly->upload, err) < 0 ||
                   copy_rows(assembly, err) < 0 || check_broken(assembly->journal, err) < 0
               ? -1
               : store_upload_commit(assembly->upload, STORE_REPLACE, err);
}

int assemble_rows(struct journal *journal, const char *name, json_t *files, struct error *err) {
    struct assembly assembly;
    char hex[65];
    begin(&assembly, journal);
    assembly.digest = digest_new();
    int result = make_rows(&assembly, name, err);
    if (result == 0) {
        digest_end(TAKE(assembly.digest), hex);
        json_array_append_new(files, result_file_entry(name, assembly.size_bytes, hex));
    }
    end(&assembly);
    return result < 0 ? error_context(err, "spec.output.path") : 0;
}

/* ---- the list of files ---------------------------------------------------------------------- */

struct file_list {
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

static int list_pack(struct assembly *assembly, const struct row *row, struct file_list *list,
                     struct error *err) {
    struct journal *journal = assembly->journal;
    struct part part = {.store = journal->output, .size_bytes = row->size_bytes, .crc = row->crc};
    struct error why = {0};
    part_name(journal->job->run, row->epoch, row->lease, part.name);
    if (row->place == COMMIT_TEXT) {
        part.bytes = row->text;
        part.crc = digest_crc32c(0, row->text, (size_t)row->size_bytes);
    } else {
        part.bytes = bytes_ahead(assembly, row);
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

static int list_packs(struct assembly *assembly, struct file_list *list, struct error *err) {
    if (find_records(assembly, err) < 0) {
        return -1;
    }
    for (int64_t cell = 0; cell < assembly->cells; cell++) {
        const struct row *row = NULL;
        if (assembly->places[cell] &&
            (find_row(assembly, assembly->places[cell] - 1, &row, err) < 0 ||
             list_pack(assembly, row, list, err) < 0)) {
            return -1;
        }
    }
    return check_broken(assembly->journal, err);
}

int assemble_file_list(struct journal *journal, const char *name, json_t **ret_list,
                       struct error *err) {
    struct assembly assembly;
    struct file_list list = {0};
    struct output_lines_sum sum;
    begin(&assembly, journal);
    int result = output_lines_begin(journal->output, name, &list.writer, err);
    if (result == 0) {
        result = list_packs(&assembly, &list, err);
    }
    if (result == 0) {
        result = output_lines_end(TAKE(list.writer), &sum, err);
    }
    output_lines_free(list.writer);
    end(&assembly);
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
        struct store_hash hash;
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

int assemble_begin(struct prepared_job *prepared, struct error *err) {
    if (journal_check_failures(&prepared->journal, err) < 0) {
        return -1;
    }
    tree_freep(&prepared->made_files);
    tree_freep(&prepared->made_list);
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
