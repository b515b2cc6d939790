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

/* The file whose lines of unchanged items are taken. */
struct lines_base {
    bool is_own;           /* of this generation, and so are `bits`; else they are borrowed */
    char *folder;          /* of the list of its items */
    struct kept_bits bits; /* which scored items of that list have a line in it */
    json_t *lines;         /* its name, size and hash (kept.h) */
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

/* The lines of the last earlier items, which are dropped: none may be left over. */
static int drop_rest(struct merging *merging, struct error *err) {
    int found;
    while ((found = list_reader_next(&merging->then, err)) > 0) {
        if (has_result(&merging->then, &merging->had) &&
            take_line(merging, &merging->old_rows, /* writes= */ false, err) < 0) {
            return -1;
        }
    }
    return found < 0 ? -1 : fill(&merging->old_rows, err);
}

/* All of the earlier file is read, and is the one that it should be. */
static int check_old(struct merging *merging, const json_t *then, struct error *err) {
    struct rows *rows = &merging->old_rows;
    char hex[65];
    int left = drop_rest(merging, err);
    if (left < 0) {
        return -1;
    }
    digest_end(TAKE(rows->digest), hex);
    return left == 0 && strcmp(hex, tree_text(then, "sha256", "")) == 0
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

/* What is stored beside the name, the size and the hash, for the next coordinator. */
static json_t *describe(const json_t *entry, const struct lines_base *base) {
    json_t *lines = json_deep_copy(entry);
    json_object_set_new(lines, "merged", json_true());
    if (base->is_own) {
        json_t *before = json_deep_copy(base->lines);
        json_object_del(before, "before");
        json_object_del(before, "forms");
        json_object_set_new(lines, "before", before);
    }
    return lines;
}

json_t *kept_lines_entry(const json_t *lines) {
    json_t *entry = json_deep_copy(lines);
    json_object_del(entry, "merged");
    json_object_del(entry, "before");
    return entry;
}

static int merge(struct merging *merging, const struct lines_base *base,
                 const struct kept_lines *lines, json_t **ret_lines, struct error *err) {
    struct prepared_job *prepared = merging->prepared;
    struct store *output = prepared->output;
    const struct generation *generation = &prepared->journal.generation;
    if (store_upload_open(output, lines->name, &merging->upload, err) < 0 ||
        merge_all(merging, err) < 0 || check_old(merging, base->lines, err) < 0) {
        return -1;
    }
    AUTO(tree_freep) json_t *entry = make_entry(merging, lines->name);
    AUTO(tree_freep) json_t *described = describe(entry, base);
    if (kept_store_merged(output, generation, described, lines->bits, err) < 0 ||
        kept_store_made(output, generation, lines->outputs, described, err) < 0 ||
        store_upload_commit(merging->upload, STORE_REPLACE, err) < 0) {
        return -1;
    }
    *ret_lines = TAKE(described);
    return 0;
}

/* ---- the file whose lines are taken --------------------------------------------------------- */

static void base_release(struct lines_base *base) {
    json_decref(base->lines);
    free(base->folder);
    if (base->is_own) {
        kept_bits_release(&base->bits);
    }
}

/* A file of this generation: a coordinator before this one has merged it, and died before it had
 * stored the mark. */
static int find_own(struct prepared_job *prepared, const json_t *made, struct lines_base *base,
                    struct error *err) {
    const struct generation *generation = &prepared->journal.generation;
    bool is_there = false;
    for (const json_t *lines = made; lines && !base->is_own;
         lines = json_object_get(lines, "before")) {
        if (!tree_bool(lines, "merged", false)) {
            continue;
        }
        if (kept_are_lines_there(prepared->output, lines, &is_there, err) < 0 ||
            (is_there && kept_load_merged(prepared->output, generation, lines, &base->bits,
                                          &base->is_own, err) < 0)) {
            return -1;
        }
        base->lines = base->is_own ? json_incref((json_t *)(uintptr_t)lines) : NULL;
    }
    return 0;
}

static int find_base(struct prepared_job *prepared, struct lines_base *base, struct error *err) {
    const struct generation *generation = &prepared->journal.generation;
    AUTO(tree_freep) json_t *outputs = NULL;
    AUTO(tree_freep) json_t *own = NULL;
    AUTO(tree_freep) json_t *ignored = NULL;
    if (kept_load_made(prepared->output, generation->home, generation->number, &outputs, &own,
                       err) < 0 ||
        find_own(prepared, own, base, err) < 0) {
        return -1;
    }
    int64_t number = base->is_own ? generation->number : generation->keeps;
    base->folder = generation_name(generation->home, number, "list", "");
    if (base->is_own) {
        return 0;
    }
    base->bits = prepared->base_bits;
    return kept_load_made(prepared->output, generation->home, number, &ignored, &base->lines, err);
}

static int64_t count_bits(const struct kept_bits *bits) {
    struct list_results results = kept_bits_results(bits);
    int64_t count = 0;
    for (int64_t i = 0; i < bits->count; i++) {
        count += list_results_has(&results, i);
    }
    return count;
}

static int count_lines(struct store *store, const char *name, int64_t *ret_count,
                       struct error *err) {
    AUTO(text_freep) char *chunk = x_malloc(CHUNK_BYTES);
    struct store_piece piece = {.data = chunk, .size = CHUNK_BYTES};
    size_t size = 1;
    *ret_count = 0;
    while (size > 0) {
        if (store_read(store, name, &piece, &size, err) < 0) {
            return -1;
        }
        for (size_t i = 0; i < size; i++) {
            *ret_count += chunk[i] == '\n';
        }
        piece.offset += (int64_t)size;
    }
    return 0;
}

/* Items may have been scored since that release's coordinator died. */
static int check_count(struct prepared_job *prepared, const struct kept_lines *lines,
                       const char *name, struct error *err) {
    int64_t count = 0;
    if (count_lines(prepared->output, name, &count, err) < 0) {
        return -1;
    }
    return count == list_found(prepared->list).kept + count_bits(lines->bits)
               ? 0
               : error_set(err, ERROR_INVALID,
                           "%s/%s lacks results, and an earlier release has not stored which: "
                           "--restart makes it anew",
                           store_path(prepared->output), name);
}

int kept_lines_find(struct prepared_job *prepared, const struct kept_lines *wanted,
                    json_t **ret_lines, struct error *err) {
    const struct generation *generation = &prepared->journal.generation;
    AUTO(tree_freep) json_t *outputs = NULL;
    AUTO(tree_freep) json_t *lines = NULL;
    bool is_there = false;
    *ret_lines = NULL;
    if (kept_load_made(prepared->output, generation->home, generation->number, &outputs, &lines,
                       err) < 0 ||
        (lines && !tree_bool(lines, "merged", false) &&
         kept_is_there(prepared->output, lines, &is_there, err) < 0)) {
        return -1;
    }
    if (is_there && check_count(prepared, wanted, tree_text(lines, "name", ""), err) < 0) {
        return error_context(err, "spec.output.path");
    }
    *ret_lines = is_there ? TAKE(lines) : NULL;
    return 0;
}

/* ---- all ------------------------------------------------------------------------------------ */

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
                     json_t **ret_lines, struct error *err) {
    const struct generation *generation = &prepared->journal.generation;
    struct store *output = prepared->output;
    AUTO(text_freep)
    char *folder_now = generation_name(generation->home, generation->number, "list", "");
    AUTO(base_release) struct lines_base base = {0};
    if (find_base(prepared, &base, err) < 0) {
        return -1;
    }
    AUTO(output_lines_reader_release) struct output_lines_reader files;
    output_lines_reader_init(&files, lines->name, NULL, NULL);
    AUTO(merging_release)
    struct merging merging = {
        .prepared = prepared,
        .had = kept_bits_results(&base.bits),
        .has = kept_bits_results(lines->bits),
        .digest = digest_new(),
        .files = prepared->form == SINK_PACKS ? &files : NULL,
        .old_rows = {.store = output,
                     .name = tree_text(base.lines, "name", ""),
                     .chunk = x_malloc(CHUNK_BYTES),
                     .digest = digest_new()},
        .new_rows = {.store = output, .name = lines->fresh, .chunk = x_malloc(CHUNK_BYTES)}};
    list_reader_init(&merging.then, output, generation->home, base.folder);
    list_reader_init(&merging.now, output, generation->home, folder_now);
    return merge(&merging, &base, lines, ret_lines, err) < 0
               ? error_context(err, "spec.output.path")
               : 0;
}
