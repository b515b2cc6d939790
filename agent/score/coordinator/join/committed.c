// SPDX-License-Identifier: Apache-2.0
#include "agent/score/coordinator/join/committed.h"

#include "agent/data/parts/part.h"
#include "agent/score/log/record_resolver.h"
#include "agent/store/store_many.h"
#include "lib/digest.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOADED_MAX = 4, /* commits in memory: items close in the input are close in the log */
    CHUNK_BYTES = 1 << 20,
    AHEAD_BYTES = 256 << 10, /* maximum of an object that is read together with others */
};

/* A commit with records that score cells. Such records have numbers in their order in the log
 * (record_resolver.h). */
struct scoring_commit {
    int64_t number, first; /* of the commit; of its first such record */
};

/* A commit whose records that score cells are in memory. */
struct loaded {
    struct committed *committed;
    int64_t number; /* of the commit; -1: none */
    int64_t used;   /* when it was last used, by a counter of accesses */
    struct committed_row *rows;
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

struct committed {
    struct journal *journal;
    struct record_resolver *resolver;
    int64_t cells;
    struct scoring_commit *commits; /* in order */
    size_t commit_count, commit_room;
    struct loaded loaded[LOADED_MAX];
    int64_t looks;
    struct ahead ahead;
};

/* ---- places of the records ------------------------------------------------------------------ */

static void note_commit(struct committed *committed, int64_t number, int64_t first) {
    if (committed->commit_count > 0 &&
        committed->commits[committed->commit_count - 1].number == number) {
        return;
    }
    if (committed->commit_count == committed->commit_room) {
        committed->commit_room = MAX(committed->commit_room * 2, (size_t)64);
        committed->commits =
            x_realloc_array(committed->commits, committed->commit_room, sizeof *committed->commits);
    }
    committed->commits[committed->commit_count++] = (struct scoring_commit){number, first};
}

static int resolve_record(void *context, const struct commit_head *head,
                          const struct commit_record *record, struct error *err) {
    struct committed *committed = context;
    int64_t before = record_resolver_count(committed->resolver);
    if (!journal_counts(committed->journal, head, record)) {
        return 0;
    }
    if (record_resolver_add(committed->resolver, record, err) < 0) {
        return -1;
    }
    if (record_resolver_count(committed->resolver) > before) {
        note_commit(committed, head->number, before);
    }
    return 0;
}

/* The commit that has this record: the last one that begins at or before it. */
static const struct scoring_commit *commit_of(const struct committed *committed, int64_t record) {
    size_t low = 0, high = committed->commit_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        *(committed->commits[middle].first <= record ? &low : &high) = middle;
    }
    return &committed->commits[low];
}

/* ---- in the order of the input -------------------------------------------------------------- */

static int load_record(void *context, const struct commit_head *head,
                       const struct commit_record *record, struct error *err UNUSED) {
    struct loaded *loaded = context;
    bool scores = record->type == COMMIT_DONE || record->type == COMMIT_PARTIAL;
    if ((!scores && record->type != COMMIT_FAILED) ||
        !journal_counts(loaded->committed->journal, head, record)) {
        return 0;
    }
    if (loaded->count == loaded->room) {
        loaded->room = MAX(loaded->room * 2, (size_t)256);
        loaded->rows = x_realloc_array(loaded->rows, loaded->room, sizeof *loaded->rows);
    }
    struct committed_row *row = &loaded->rows[loaded->count++];
    *row = (struct committed_row){.place = scores ? record->place : COMMIT_NOWHERE,
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
    *loaded = (struct loaded){.committed = loaded->committed, .number = -1};
}

static int find_row(struct committed *committed, int64_t record,
                    const struct committed_row **ret_row, struct error *err) {
    const struct scoring_commit *commit = commit_of(committed, record);
    size_t index = (size_t)(record - commit->first);
    struct loaded *loaded = &committed->loaded[0];
    for (size_t i = 0; i < LOADED_MAX && loaded->number != commit->number; i++) {
        struct loaded *other = &committed->loaded[i];
        if (other->number == commit->number || other->used < loaded->used) {
            loaded = other;
        }
    }
    if (loaded->number != commit->number) {
        unload(loaded);
        if (commit_read_again(committed->journal->log, commit->number, load_record, loaded, err) <
            0) {
            unload(loaded);
            return -1;
        }
        loaded->number = commit->number;
    }
    loaded->used = ++committed->looks;
    if (index >= loaded->count) {
        return error_set(err, ERROR_INVALID, "commit %lld has changed", (long long)commit->number);
    }
    *ret_row = &loaded->rows[index];
    return 0;
}

static const struct committed_row *row_in_memory(const struct committed *committed,
                                                 int64_t record) {
    const struct scoring_commit *commit = commit_of(committed, record);
    size_t index = (size_t)(record - commit->first);
    for (size_t i = 0; i < LOADED_MAX; i++) {
        const struct loaded *loaded = &committed->loaded[i];
        if (loaded->number == commit->number) {
            return index < loaded->count ? &loaded->rows[index] : NULL;
        }
    }
    return NULL;
}

/* The next objects from this cell on, as far as their commits are in memory. */
static void read_ahead(struct committed *committed, int64_t cell) {
    struct ahead *ahead = &committed->ahead;
    ahead->count = ahead->next = 0;
    if (!ahead->data) {
        ahead->data = x_malloc((size_t)STORE_PEEK_MAX * AHEAD_BYTES);
    }
    for (int64_t own; cell < committed->cells && ahead->count < STORE_PEEK_MAX; cell += own) {
        int64_t record = record_resolver_find(committed->resolver, cell, &own);
        if (record < 0) {
            continue;
        }
        const struct committed_row *row = row_in_memory(committed, record);
        if (!row) {
            break;
        }
        if (row->place == COMMIT_OBJECT && row->size_bytes <= AHEAD_BYTES) {
            int i = ahead->count++;
            part_name(committed->journal->job->run, row->epoch, row->lease, ahead->names[i]);
            ahead->cells[i] = cell;
            ahead->objects[i] = (struct store_peeked){.name = ahead->names[i],
                                                      .data = ahead->data + (size_t)i * AHEAD_BYTES,
                                                      .room = AHEAD_BYTES};
        }
    }
    store_peek(committed->journal->output, ahead->objects, (size_t)ahead->count);
}

/* The row's bytes, if they were read in advance; NULL: they were not, or they differ from the
 * commit. */
static const char *bytes_ahead(struct committed *committed, const struct committed_row *row) {
    struct ahead *ahead = &committed->ahead;
    if (store_features(committed->journal->output).is_local || row->size_bytes > AHEAD_BYTES) {
        return NULL;
    }
    while (ahead->next < ahead->count && ahead->cells[ahead->next] < row->first) {
        ahead->next++;
    }
    if (ahead->next == ahead->count) {
        read_ahead(committed, row->first);
    }
    const struct store_peeked *object = &ahead->objects[ahead->next];
    return ahead->next < ahead->count && ahead->cells[ahead->next] == row->first &&
                   object->is_whole && (int64_t)object->size == row->size_bytes &&
                   digest_crc32c(0, object->data, object->size) == row->crc
               ? object->data
               : NULL;
}

const char *committed_in_memory(struct committed *committed, const struct committed_row *row) {
    return row->place == COMMIT_TEXT ? row->text : bytes_ahead(committed, row);
}

static int copy_object(struct committed *committed, const struct committed_row *row,
                       const struct committed_take *take, struct error *err) {
    struct journal *journal = committed->journal;
    struct part part = {.store = journal->output, .size_bytes = row->size_bytes, .crc = row->crc};
    AUTO(text_freep) char *chunk = x_malloc(CHUNK_BYTES);
    bool is_void = false;
    part_name(journal->job->run, row->epoch, row->lease, part.name);
    part.bytes = bytes_ahead(committed, row);
    if (!part.bytes && part_load(&part, chunk, CHUNK_BYTES, &is_void, err) < 0) {
        if (is_void) {
            journal_broken(journal, row->first, row->cells);
            error_clear(err);
        }
        return is_void ? 0 : -1;
    }
    if (part.bytes) {
        return take->bytes(take->context, part.bytes, (size_t)part.size_bytes, err);
    }
    for (int64_t at = 0; at < row->size_bytes;) {
        size_t size = (size_t)MIN(row->size_bytes - at, (int64_t)CHUNK_BYTES);
        if (part_read(&part, at, chunk, size, err) < 0 ||
            take->bytes(take->context, chunk, size, err) < 0) {
            return -1;
        }
        at += (int64_t)size;
    }
    return 0;
}

/* There may be millions of small texts, so they are given together. */
struct copying {
    struct committed *committed;
    const struct committed_take *take;
    struct buffer texts;
    int64_t next; /* the cell behind the last row */
};

static int give_texts(struct copying *copying, struct error *err) {
    const struct committed_take *take = copying->take;
    int result = copying->texts.size > 0
                     ? take->bytes(take->context, copying->texts.data, copying->texts.size, err)
                     : 0;
    buffer_clear(&copying->texts);
    return result;
}

static int skip_to(struct copying *copying, int64_t cell, struct error *err) {
    const struct committed_take *take = copying->take;
    if (take->missing && copying->next < cell && give_texts(copying, err) < 0) {
        return -1;
    }
    for (; take->missing && copying->next < cell; copying->next++) {
        if (take->missing(take->context, copying->next, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int copy_row(void *context, const struct committed_row *row, struct error *err) {
    struct copying *copying = context;
    bool is_text = row->place == COMMIT_TEXT;
    if (skip_to(copying, row->first, err) < 0) {
        return -1;
    }
    copying->next = row->first + row->cells;
    if (is_text && buffer_append(&copying->texts, row->text, (size_t)row->size_bytes, err) < 0) {
        return -1;
    }
    if ((!is_text || copying->texts.size >= CHUNK_BYTES) && give_texts(copying, err) < 0) {
        return -1;
    }
    return is_text ? 0 : copy_object(copying->committed, row, copying->take, err);
}

int committed_bytes(struct committed *committed, const struct committed_take *take,
                    struct error *err) {
    struct copying copying = {.committed = committed, .take = take};
    struct journal *journal = committed->journal;
    buffer_init(&copying.texts, CHUNK_BYTES + COMMIT_RECORD_MAX);
    int result = committed_each(committed, copy_row, &copying, err) < 0 ||
                         skip_to(&copying, committed->cells, err) < 0 ||
                         give_texts(&copying, err) < 0
                     ? -1
                     : 0;
    buffer_release(&copying.texts);
    return result < 0 || journal->broken_count == 0
               ? result
               : error_set(err, ERROR_INVALID, "%zu committed results are missing or were changed",
                           journal->broken_count);
}

/* The record counts for `own` cells from this one on. */
static int check_row(const struct committed_row *row, int64_t cell, int64_t own,
                     struct error *err) {
    return row->first == cell && row->cells == own
               ? 0
               : error_set(err, ERROR_INVALID,
                           "mini-batches from %lld on were scored again in other ranges",
                           (long long)row->first);
}

int committed_each(struct committed *committed, committed_each_row *each, void *context,
                   struct error *err) {
    committed->ahead.count = committed->ahead.next = 0;
    for (int64_t cell = 0, own; cell < committed->cells; cell += own) {
        int64_t record = record_resolver_find(committed->resolver, cell, &own);
        const struct committed_row *row = NULL;
        if (record < 0) {
            continue;
        }
        if (find_row(committed, record, &row, err) < 0) {
            return -1;
        }
        if (row->place != COMMIT_NOWHERE &&
            (check_row(row, cell, own, err) < 0 || each(context, row, err) < 0)) {
            return -1;
        }
    }
    return 0;
}

int committed_open(struct journal *journal, struct committed **ret_committed, struct error *err) {
    struct committed *committed = x_calloc(1, sizeof *committed);
    committed->journal = journal;
    committed->cells = ledger_cells(journal->ledger);
    committed->resolver = record_resolver_new(committed->cells);
    for (size_t i = 0; i < LOADED_MAX; i++) {
        committed->loaded[i] = (struct loaded){.committed = committed, .number = -1};
    }
    if (commit_replay(journal->log, resolve_record, committed, err) < 0) {
        committed_free(committed);
        return -1;
    }
    *ret_committed = committed;
    return 0;
}

void committed_free(struct committed *committed) {
    for (size_t i = 0; committed && i < LOADED_MAX; i++) {
        unload(&committed->loaded[i]);
    }
    if (committed) {
        record_resolver_free(committed->resolver);
        free(committed->commits);
        free(committed->ahead.data);
        free(committed);
    }
}
