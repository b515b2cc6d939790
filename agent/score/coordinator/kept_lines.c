// SPDX-License-Identifier: Apache-2.0
#include "agent/score/coordinator/kept_lines.h"

#include "agent/result/result_file.h"
#include "lib/digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 1 << 20 };

/* Lines of an object, one after the other. */
struct rows {
    struct store *store;
    const char *name;
    char *chunk;
    size_t at, size;       /* of the chunk */
    int64_t offset;        /* of its end in the object */
    struct digest *digest; /* of all that was read; NULL: not wanted */
};

struct merging {
    struct prepared_job *prepared;
    struct list_reader then, now; /* the lists */
    struct list_results had, has; /* results of their items */
    struct rows old_rows, new_rows;
    struct store_upload *upload;
    struct digest *digest; /* of what was written */
    int64_t size_bytes;
    struct output_lines_reader *files; /* counts what was written; NULL: rows */
};

/* 1: bytes are there; 0: the object ends. */
static int fill(struct rows *rows, struct error *err) {
    if (rows->at < rows->size) {
        return 1;
    }
    struct store_piece piece = {.offset = rows->offset, .data = rows->chunk, .size = CHUNK_BYTES};
    rows->at = rows->size = 0;
    if (store_read(rows->store, rows->name, &piece, &rows->size, err) < 0) {
        return -1;
    }
    rows->offset += (int64_t)rows->size;
    if (rows->digest) {
        digest_add(rows->digest, rows->chunk, rows->size);
    }
    return rows->size > 0;
}

static int write_bytes(struct merging *merging, const char *bytes, size_t size, struct error *err) {
    digest_add(merging->digest, bytes, size);
    merging->size_bytes += (int64_t)size;
    return merging->files && output_lines_reader_take(merging->files, bytes, size, err) < 0
               ? -1
               : store_upload_add(merging->upload, bytes, size, err);
}

/* Takes the next line; writes it, or drops it. */
static int take_line(struct merging *merging, struct rows *rows, bool writes, struct error *err) {
    for (bool is_end = false; !is_end;) {
        int found = fill(rows, err);
        if (found <= 0) {
            return found < 0 ? -1
                             : error_set(err, ERROR_INVALID,
                                         "%s/%s has fewer lines than results: --restart makes it "
                                         "anew",
                                         store_path(rows->store), rows->name);
        }
        const char *from = rows->chunk + rows->at;
        const char *newline = memchr(from, '\n', rows->size - rows->at);
        size_t size = newline ? (size_t)(newline - from) + 1 : rows->size - rows->at;
        is_end = newline != NULL;
        rows->at += size;
        if (writes && write_bytes(merging, from, size, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static bool has_result(const struct list_reader *reader, const struct list_results *results) {
    return reader->flag == LIST_KEPT || list_results_has(results, reader->scored);
}

/* Takes the lines of the earlier items up to this one, whose line is written. */
static int keep_line(struct merging *merging, const char *name, struct error *err) {
    for (int found; (found = list_reader_next(&merging->then, err)) != 0;) {
        if (found < 0) {
            return -1;
        }
        bool is_it = merging->then.name && strcmp(merging->then.name, name) == 0;
        bool has_line = has_result(&merging->then, &merging->had);
        if (has_line && take_line(merging, &merging->old_rows, is_it, err) < 0) {
            return -1;
        }
        if (is_it) {
            return 0;
        }
    }
    return error_set(
        err, ERROR_INVALID,
        "%s: %.200s has a result of an earlier run, but is not in the list of that run: the "
        "list was changed; restart the job, so that all results are made again",
        store_path(merging->prepared->output), name);
}

static int merge_all(struct merging *merging, struct error *err) {
    for (int found; (found = list_reader_next(&merging->now, err)) != 0;) {
        if (found < 0) {
            return -1;
        }
        const struct list_reader *now = &merging->now;
        int taken = 0;
        if (now->flag == LIST_KEPT) {
            taken = keep_line(merging, now->name ? now->name : "", err);
        } else if (list_results_has(&merging->has, now->scored)) {
            taken = take_line(merging, &merging->new_rows, /* writes= */ true, err);
        }
        if (taken < 0) {
            return -1;
        }
    }
    return 0;
}

/* The rest of the earlier file, so that all of it is checked. */
static int check_old(struct merging *merging, const json_t *then, struct error *err) {
    struct rows *rows = &merging->old_rows;
    int found = 1;
    char hex[65];
    while ((rows->at = rows->size, found = fill(rows, err)) > 0) {
    }
    digest_end(TAKE(rows->digest), hex);
    if (found < 0) {
        return -1;
    }
    return strcmp(hex, tree_text(then, "sha256", "")) == 0
               ? 0
               : error_set(err, ERROR_INVALID,
                           "%s/%s is not the file that the last run wrote: --restart makes it "
                           "anew",
                           store_path(rows->store), rows->name);
}

/* For result.json; see result_file_list_entry. */
static json_t *make_entry(struct merging *merging, const char *name) {
    struct output_lines_sum sum = {.hash = {.size_bytes = merging->size_bytes}};
    digest_end(TAKE(merging->digest), sum.hash.sha256);
    if (!merging->files) {
        return result_file_entry(name, sum.hash.size_bytes, sum.hash.sha256);
    }
    sum.count = merging->files->count;
    sum.files_bytes = merging->files->files_bytes;
    return result_file_list_entry(name, &sum);
}

static int merge(struct merging *merging, const json_t *then, const struct kept_lines *lines,
                 json_t **ret_entry, struct error *err) {
    struct prepared_job *prepared = merging->prepared;
    if (store_upload_open(prepared->output, lines->name, &merging->upload, err) < 0 ||
        merge_all(merging, err) < 0 || check_old(merging, then, err) < 0) {
        return -1;
    }
    AUTO(tree_freep) json_t *entry = make_entry(merging, lines->name);
    if (kept_store_made(prepared->output, &prepared->journal.generation, lines->outputs, entry,
                        err) < 0 ||
        store_upload_commit(merging->upload, STORE_REPLACE, err) < 0) {
        return -1;
    }
    *ret_entry = TAKE(entry);
    return 0;
}

int kept_lines_find(struct prepared_job *prepared, json_t **ret_entry, struct error *err) {
    const struct generation *generation = &prepared->journal.generation;
    AUTO(tree_freep) json_t *outputs = NULL;
    AUTO(tree_freep) json_t *lines = NULL;
    bool is_there = false;
    *ret_entry = NULL;
    if (kept_load_made(prepared->output, generation->home, generation->number, &outputs, &lines,
                       err) < 0 ||
        (lines && kept_is_there(prepared->output, lines, &is_there, err) < 0)) {
        return -1;
    }
    *ret_entry = is_there ? TAKE(lines) : NULL;
    return 0;
}

static void merging_release(struct merging *merging) {
    store_upload_free(merging->upload);
    digest_freep(&merging->digest);
    digest_freep(&merging->old_rows.digest);
    list_reader_release(&merging->then);
    list_reader_release(&merging->now);
    free(merging->old_rows.chunk);
    free(merging->new_rows.chunk);
}

int kept_lines_write(struct prepared_job *prepared, const struct kept_lines *lines,
                     json_t **ret_entry, struct error *err) {
    const struct generation *generation = &prepared->journal.generation;
    struct store *output = prepared->output;
    AUTO(text_freep)
    char *folder_then = generation_name(generation->home, generation->keeps, "list", "");
    AUTO(text_freep)
    char *folder_now = generation_name(generation->home, generation->number, "list", "");
    AUTO(tree_freep) json_t *outputs = NULL;
    AUTO(tree_freep) json_t *then = NULL;
    if (kept_load_made(output, generation->home, generation->keeps, &outputs, &then, err) < 0) {
        return -1;
    }
    AUTO(output_lines_reader_release) struct output_lines_reader files;
    output_lines_reader_init(&files, lines->name, NULL, NULL);
    AUTO(merging_release)
    struct merging merging = {
        .prepared = prepared,
        .had = kept_bits_results(&prepared->base_bits),
        .has = kept_bits_results(lines->bits),
        .digest = digest_new(),
        .files = prepared->form == SINK_PACKS ? &files : NULL,
        .old_rows = {.store = output,
                     .name = tree_text(then, "name", ""),
                     .chunk = x_malloc(CHUNK_BYTES),
                     .digest = digest_new()},
        .new_rows = {.store = output, .name = lines->fresh, .chunk = x_malloc(CHUNK_BYTES)}};
    list_reader_init(&merging.then, output, generation->home, folder_then);
    list_reader_init(&merging.now, output, generation->home, folder_now);
    return merge(&merging, then, lines, ret_entry, err) < 0 ? error_context(err, "spec.output.path")
                                                            : 0;
}
