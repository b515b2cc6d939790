// SPDX-License-Identifier: Apache-2.0
#include "agent/score/coordinator/kept.h"

#include "agent/result/output_lines.h"
#include "agent/score/log/failures.h"
#include "agent/score/log/record_resolver.h"
#include "lib/digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FORMAT = 1,
    HEAD_MAX = 256,
    MADE_BYTES_MAX = 1 << 20,
};
static const char unswept[] = "unswept";
#define ITEMS_MAX ((int64_t)1 << 31) /* bits in one object of the store */

/* ---- which items have a result ------------------------------------------------------------- */

struct collecting {
    struct prepared_job *prepared;
    const struct job *job;
    struct record_resolver *resolver;
    struct kept_bits bits;
    int64_t first; /* the item at which the current record begins */
};

static int resolve_record(void *context, const struct commit_head *head,
                          const struct commit_record *record, struct error *err) {
    struct collecting *collecting = context;
    return journal_counts(&collecting->prepared->journal, head, record)
               ? record_resolver_add(collecting->resolver, record, err)
               : 0;
}

static int clear_failed(void *context, int64_t index, const char *cause UNUSED, size_t size UNUSED,
                        struct error *err UNUSED) {
    struct collecting *collecting = context;
    kept_bits_set(&collecting->bits, collecting->first + index, false);
    return 0;
}

static int clear_dropped(void *context, int64_t index, const char *cause UNUSED, size_t size UNUSED,
                         struct error *err UNUSED) {
    kept_bits_set(context, index, false);
    return 0;
}

/* What of its results has failed had no file; if that is not known any more, all may have one. */
static void note_dropped(struct collecting *collecting, const struct commit_record *record) {
    struct prepared_job *prepared = collecting->prepared;
    struct kept_bits *dropped = &prepared->dropped;
    int64_t size = prepared->cell_items, count = record->cells * size;
    AUTO(kept_bits_release)
    struct kept_bits own = {.bits = x_calloc((size_t)count / 8 + 1, 1), .count = count};
    struct error ignored = {0};
    memset(own.bits, 0xff, (size_t)count / 8 + 1);
    if (record->type == COMMIT_PARTIAL &&
        failures_read(prepared->output, collecting->job->run, record, clear_dropped, &own,
                      &ignored) < 0) {
        memset(own.bits, 0xff, (size_t)count / 8 + 1);
    }
    if (!dropped->bits) {
        *dropped = (struct kept_bits){.bits = x_calloc((size_t)prepared->items / 8 + 1, 1),
                                      .count = prepared->items};
    }
    struct list_results had = kept_bits_results(&own);
    for (int64_t i = 0; i < count; i++) {
        if (list_results_has(&had, i)) {
            kept_bits_set(dropped, record->first * size + i, true);
        }
    }
}

/* Of the second reading. */
static int collect_record(void *context, const struct commit_head *head,
                          const struct commit_record *record, struct error *err) {
    struct collecting *collecting = context;
    struct prepared_job *prepared = collecting->prepared;
    bool has_results = record->type == COMMIT_DONE || record->type == COMMIT_PARTIAL;
    if (!journal_counts(&prepared->journal, head, record) ||
        record_resolver_next(collecting->resolver, record) == 0 || !has_results) {
        if (has_results) {
            note_dropped(collecting, record);
        }
        return 0;
    }
    int64_t size = prepared->cell_items;
    collecting->first = record->first * size;
    for (int64_t i = 0; i < record->cells * size; i++) {
        kept_bits_set(&collecting->bits, collecting->first + i, true);
    }
    return record->type == COMMIT_PARTIAL ? failures_read(prepared->output, collecting->job->run,
                                                          record, clear_failed, collecting, err)
                                          : 0;
}

bool kept_has_items(const struct prepared_job *prepared) {
    return prepared->media->lines && !prepared->media->lines->is_batch;
}

int kept_collect(struct prepared_job *prepared, const struct job *job, struct kept_bits *ret_bits,
                 struct error *err) {
    struct journal *journal = &prepared->journal;
    kept_bits_release(&prepared->dropped);
    struct collecting collecting = {
        .prepared = prepared,
        .job = job,
        .resolver = record_resolver_new(ledger_cells(journal->ledger)),
        .bits = {.bits = x_calloc((size_t)prepared->items / 8 + 1, 1), .count = prepared->items}};
    int result = commit_replay(journal->log, resolve_record, &collecting, err) < 0
                     ? -1
                     : commit_replay(journal->log, collect_record, &collecting, err);
    record_resolver_free(collecting.resolver);
    if (result < 0) {
        free(collecting.bits.bits);
        return -1;
    }
    *ret_bits = collecting.bits;
    return 0;
}

static int put_bits(struct store *output, const char *name, const struct kept_bits *bits,
                    struct error *err) {
    size_t bytes = (size_t)(bits->count + 7) / 8, head_size = 0;
    AUTO(text_freep)
    char *text = x_printf("{\"windlass\":%d,\"items\":%lld,\"crc\":\"%08x\"}\n", FORMAT,
                          (long long)bits->count, digest_crc32c(0, bits->bits, bytes));
    head_size = strlen(text);
    text = x_realloc(text, head_size + bytes + 1);
    memcpy(text + head_size, bits->bits, bytes);
    return store_put(output, name, text, head_size + bytes, STORE_REPLACE, err);
}

int kept_store_bits(struct store *output, const struct generation *generation,
                    const struct kept_bits *bits, struct error *err) {
    AUTO(text_freep)
    char *name = generation_name(generation->home, generation->number, "done", "");
    return put_bits(output, name, bits, err);
}

int kept_parse_bits(const char *text, size_t size, struct kept_bits *ret_bits, struct error *err) {
    AUTO(tree_freep) json_t *head = NULL;
    const char *end = memchr(text, '\n', MIN(size, (size_t)HEAD_MAX));
    size_t head_size = end ? (size_t)(end - text) + 1 : 0;
    if (!end || tree_parse(text, head_size, HEAD_MAX, &head, err) < 0 ||
        tree_integer(head, "windlass", 0) != FORMAT) {
        error_clear(err);
        return error_set(err, ERROR_INVALID, "has no head of format %d", FORMAT);
    }
    int64_t count = tree_integer(head, "items", -1);
    char crc[16];
    snprintf(crc, sizeof crc, "%08x", digest_crc32c(0, text + head_size, size - head_size));
    if (count < 0 || count > ITEMS_MAX || (size_t)(count + 7) / 8 != size - head_size ||
        strcmp(tree_text(head, "crc", ""), crc) != 0) {
        return error_set(err, ERROR_INVALID, "is truncated");
    }
    *ret_bits = (struct kept_bits){.bits = x_malloc(size - head_size + 1), .count = count};
    memcpy(ret_bits->bits, text + head_size, size - head_size);
    return 0;
}

/* *ret_found: false: no such object. */
static int get_bits(struct store *output, const char *name, struct kept_bits *ret_bits,
                    bool *ret_found, struct error *err) {
    AUTO(buffer_release) struct buffer text;
    struct error cause = {0};
    buffer_init(&text, (size_t)(ITEMS_MAX / 8) + HEAD_MAX);
    *ret_found = store_get(output, name, &text, NULL, &cause) == 0;
    if (!*ret_found) {
        *ret_bits = (struct kept_bits){0};
        *err = cause.kind == ERROR_NOT_FOUND ? *err : cause;
        return cause.kind == ERROR_NOT_FOUND ? 0 : -1;
    }
    return kept_parse_bits(text.data ? text.data : "", text.size, ret_bits, err) < 0
               ? error_context(err, "%s/%s", store_path(output), name)
               : 0;
}

int kept_load_bits(struct store *output, const char *home, int64_t number,
                   struct kept_bits *ret_bits, struct error *err) {
    AUTO(text_freep) char *name = generation_name(home, number, "done", "");
    bool is_found;
    return get_bits(output, name, ret_bits, &is_found, err);
}

static char *merged_name(const struct generation *generation, const json_t *lines) {
    AUTO(text_freep) char *suffix = x_printf("/%.16s", tree_text(lines, "sha256", ""));
    return generation_name(generation->home, generation->number, "merged", suffix);
}

int kept_store_merged(struct store *output, const struct generation *generation,
                      const json_t *lines, const struct kept_bits *bits, struct error *err) {
    AUTO(text_freep) char *name = merged_name(generation, lines);
    return put_bits(output, name, bits, err);
}

int kept_load_merged(struct store *output, const struct generation *generation, const json_t *lines,
                     struct kept_bits *ret_bits, bool *ret_found, struct error *err) {
    AUTO(text_freep) char *name = merged_name(generation, lines);
    return get_bits(output, name, ret_bits, ret_found, err);
}

/* ---- what was made -------------------------------------------------------------------------- */

static int put_made(struct store *output, const struct generation *generation, const json_t *tree,
                    struct error *err) {
    AUTO(text_freep)
    char *name = generation_name(generation->home, generation->number, "made", "");
    AUTO(text_freep) char *text = json_dumps(tree, JSON_COMPACT);
    return store_put(output, name, text, strlen(text), STORE_REPLACE, err);
}

int kept_store_made(struct store *output, const struct generation *generation,
                    const json_t *outputs, const json_t *lines, struct error *err) {
    AUTO(tree_freep)
    json_t *tree = json_pack("{s:i,s:O,s:O*,s:b}", "windlass", FORMAT, "outputs", outputs, "lines",
                             lines, unswept, 1);
    return put_made(output, generation, tree, err);
}

/* *ret_tree: NULL: no such object. */
static int load_made(struct store *output, const char *home, int64_t number, json_t **ret_tree,
                     struct error *err) {
    AUTO(text_freep) char *name = generation_name(home, number, "made", "");
    AUTO(buffer_release) struct buffer text;
    struct error cause = {0};
    buffer_init(&text, MADE_BYTES_MAX);
    *ret_tree = NULL;
    if (store_get(output, name, &text, NULL, &cause) < 0) {
        *err = cause.kind == ERROR_NOT_FOUND ? *err : cause;
        return cause.kind == ERROR_NOT_FOUND ? 0 : -1;
    }
    return tree_parse(text.data ? text.data : "", text.size, MADE_BYTES_MAX, ret_tree, err) < 0
               ? error_context(err, "%s/%s", store_path(output), name)
               : 0;
}

int kept_load_made(struct store *output, const char *home, int64_t number, json_t **ret_outputs,
                   json_t **ret_lines, struct error *err) {
    AUTO(tree_freep) json_t *tree = NULL;
    *ret_outputs = *ret_lines = NULL;
    if (load_made(output, home, number, &tree, err) < 0 || !tree) {
        return err->kind ? -1 : 0;
    }
    json_t *outputs = json_object_get(tree, "outputs"), *lines = json_object_get(tree, "lines");
    *ret_outputs = json_is_array(outputs) ? json_incref(outputs) : json_array();
    *ret_lines = json_is_object(lines) ? json_incref(lines) : NULL;
    return 0;
}

int kept_are_lines_there(struct store *output, const json_t *lines, bool *ret_is_there,
                         struct error *err) {
    const char *name = tree_text(lines, "name", "");
    struct store_info info;
    struct error cause = {0};
    struct store_digest hash = {0};
    *ret_is_there = false;
    if (store_stat(output, name, &info, &cause) < 0 ||
        (info.size_bytes == tree_integer(lines, "bytes", -1) &&
         store_hash(output, name, NULL, NULL, &hash, &cause) < 0)) {
        *err = cause.kind == ERROR_NOT_FOUND ? *err : cause;
        return cause.kind == ERROR_NOT_FOUND ? 0 : -1;
    }
    *ret_is_there = info.size_bytes == tree_integer(lines, "bytes", -1) &&
                    strcmp(hash.sha256, tree_text(lines, "sha256", "")) == 0;
    return 0;
}

int kept_is_there(struct store *output, const json_t *lines, bool *ret_is_there,
                  struct error *err) {
    size_t i;
    json_t *form;
    if (kept_are_lines_there(output, lines, ret_is_there, err) < 0) {
        return -1;
    }
    json_array_foreach(json_object_get(lines, "forms"), i, form) {
        if (*ret_is_there && kept_are_lines_there(output, form, ret_is_there, err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- the mark ------------------------------------------------------------------------------- */

int kept_unmark(struct prepared_job *prepared, struct error *err) {
    const struct generation *generation = &prepared->journal.generation;
    AUTO(tree_freep) json_t *tree = NULL;
    if (kept_has_items(prepared)) {
        AUTO(text_freep)
        char *name = generation_name(generation->home, generation->number, "done", "");
        return store_remove(prepared->output, name, err);
    }
    if (load_made(prepared->output, generation->home, generation->number, &tree, err) < 0 ||
        !tree || tree_bool(tree, unswept, false)) {
        return err->kind ? -1 : 0;
    }
    json_object_set_new(tree, unswept, json_true());
    return put_made(prepared->output, generation, tree, err);
}

int kept_mark(struct prepared_job *prepared, const struct kept_bits *bits, struct error *err) {
    const struct generation *generation = &prepared->journal.generation;
    AUTO(tree_freep) json_t *tree = NULL;
    if (kept_has_items(prepared)) {
        return kept_store_bits(prepared->output, generation, bits, err);
    }
    if (load_made(prepared->output, generation->home, generation->number, &tree, err) < 0) {
        return -1;
    }
    if (!tree) {
        return error_set(err, ERROR_UNAVAILABLE, "%s: what this run has just stored is missing",
                         store_path(prepared->output));
    }
    json_object_del(tree, unswept);
    return put_made(prepared->output, generation, tree, err);
}

static int is_swept(struct store *output, const char *home, int64_t number, bool *ret_is_swept,
                    struct error *err) {
    AUTO(tree_freep) json_t *tree = NULL;
    if (load_made(output, home, number, &tree, err) < 0) {
        return -1;
    }
    *ret_is_swept = tree && !tree_bool(tree, unswept, false);
    return 0;
}

static int has_bits(struct store *output, const char *home, int64_t number, bool *ret_has,
                    struct error *err) {
    AUTO(text_freep) char *name = generation_name(home, number, "done", "");
    struct store_info info;
    struct error cause = {0};
    *ret_has = store_stat(output, name, &info, &cause) == 0;
    *err = *ret_has || cause.kind == ERROR_NOT_FOUND ? *err : cause;
    return *ret_has || cause.kind == ERROR_NOT_FOUND ? 0 : -1;
}

int kept_is_marked(struct store *output, const char *home, int64_t number, bool *ret_is_marked,
                   struct error *err) {
    if (has_bits(output, home, number, ret_is_marked, err) < 0 || *ret_is_marked) {
        return *ret_is_marked ? 0 : -1;
    }
    return is_swept(output, home, number, ret_is_marked, err);
}

int kept_has_outputs(struct prepared_job *prepared, bool *ret_has, struct error *err) {
    const struct generation *generation = &prepared->journal.generation;
    return (kept_has_items(prepared) ? has_bits : is_swept)(prepared->output, generation->home,
                                                            generation->number, ret_has, err);
}
