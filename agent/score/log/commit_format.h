/* commit_format.h: formats and parses a commit object; docs/exactly-once.md has the format. Pure.
 * The text comes from a store that may hold anything, so everything is bounded and checked. */
#pragma once

#include "lib/buffer.h"

#include <jansson.h>

enum {
    COMMIT_BYTES_MAX = 8 << 20,        /* of an object */
    COMMIT_LINES_MAX = 7 << 20,        /* of its records; the rest is for the workers' names */
    COMMIT_RECORD_MAX = 4 << 20,       /* of one record */
    COMMIT_WORKERS_BYTES = 512 << 10,  /* of the workers' names in an object */
    COMMIT_REQUESTS_BYTES = 256 << 10, /* of what their requests have cost */
    COMMIT_CAUSE_MAX = 1024,           /* bytes of a cause; longer ones are cut */
    COMMIT_ITEM_CAUSE_MAX = 256,       /* bytes of an item's cause */
};

enum commit_record_type {
    COMMIT_DONE,      /* a range of cells has its results */
    COMMIT_PARTIAL,   /* the same, but some items have failed in all tries */
    COMMIT_FAILED,    /* all items of the range have failed in all tries */
    COMMIT_VOID,      /* the earlier results of these cells are lost; they are scored again */
    COMMIT_PUBLISHED, /* the files of these cells have their final names */
    COMMIT_END,       /* the run has ended */
    COMMIT_RETRY, /* a try that failed and is repeated. It changes no cell; reports and the number
                     of tries that a cell has used are counted from it */
    COMMIT_BEGIN, /* a generation begins (generation.h): earlier records are about other results */
    COMMIT_TYPE_COUNT
};
enum commit_fault {
    COMMIT_ERROR,
    COMMIT_TIMEOUT,
    COMMIT_LOST /* the worker */,
    COMMIT_FAULT_COUNT
};
/* Where a result is: nowhere (SummaryOnly), in the object of its try, or in the record itself. */
enum commit_place { COMMIT_NOWHERE, COMMIT_OBJECT, COMMIT_TEXT };

/* What happened to the range of cells [first, first + cells) (ledger.h). The type says
 * which fields the record has; the others are 0. All but END have first and cells. DONE, PARTIAL,
 * FAILED and RETRY come from a lease and have the fields of a try (commit_is_try). VOID also has a
 * text. END has cells, items and failed of the whole job, and as its text whether it succeeded.
 * BEGIN has the generation's number as `first`, and a text. Texts are UTF-8. */
struct commit_record {
    enum commit_record_type type;
    int64_t first, cells, items, failed;
    int64_t epoch, lease; /* epoch: the object's; it is in the head, not in the record's line */
    int try;
    const char *worker;        /* borrowed */
    int64_t start_ms, took_ms; /* start: since the epoch's claim */
    enum commit_place place;   /* of DONE and PARTIAL */
    int64_t size_bytes;        /* of the object */
    uint32_t crc;              /* CRC-32C of the object */
    const char *text;          /* COMMIT_TEXT: rows; else the cause; borrowed */
    size_t text_size;
    enum commit_fault fault; /* of FAILED and RETRY */
    /* Of PARTIAL, and of FAILED if each item has a cause: [[index in the lease, cause], ...];
     * borrowed, or NULL. failures_bytes > 0: only the first one; all are in an object of that size
     * (failures.h). */
    const json_t *failures;
    int64_t failures_bytes;
    uint32_t failures_crc; /* CRC-32C of that object */
};

/* The first line of a commit. run: what is computed; uid, job: the resource that runs it; nonce:
 * random, so that a coordinator recognises its own commit; epoch: the number of its coordinator's
 * claim. */
struct commit_head {
    const char *run, *uid, *job, *nonce;
    int64_t number, epoch;
    const json_t *programs; /* of the workers so far (scored_by.h), borrowed; NULL: not known */
    const json_t *requests; /* what those of each worker have cost, an object of request_metrics.h,
                               unchecked, borrowed; NULL: not said */
    int64_t void_from;      /* the commits void_from to number - 1 do not count; -1: all count */
};

/* True for DONE, PARTIAL, FAILED and RETRY: the record is about a lease, and has a try, a worker,
 * and times, too. */
bool commit_is_try(enum commit_record_type type);

/* ---- writing -------------------------------------------------------------------------------- */

struct commit_writer {
    struct buffer lines;
    int64_t count;
    json_t *workers, *indices; /* names in order; name -> place in that order */
    size_t worker_bytes;       /* at most, of the names as they are written */
};

void commit_writer_init(struct commit_writer *writer);
void commit_writer_release(struct commit_writer *writer);
/* 1: added; 0: this object is full, take the next; -1 with INVALID: the record is too large for any
 * object, or a text is not UTF-8. In a cause, invalid UTF-8 becomes U+FFFD. */
NODISCARD int commit_writer_add(struct commit_writer *writer, const struct commit_record *record,
                                struct error *err);
/* The whole object; the caller frees. */
char *commit_writer_text(const struct commit_writer *writer, const struct commit_head *head,
                         size_t *ret_size);

/* ---- reading -------------------------------------------------------------------------------- */

/* True if its trailer matches. If not, the write was truncated, and the commit was never announced
 * as stored. */
bool commit_is_whole(const char *text, size_t size);

/* A commit that was read: its text, and its head (from commit_read_head). */
struct commit_object {
    struct buffer text;
    struct commit_head head;
    json_t *tree; /* of the head; owned */
};

/* The text must be complete. head: its texts are borrowed from *ret_tree, which the caller frees.
 * INVALID: not the head of a commit; UNSUPPORTED: another version. */
NODISCARD int commit_read_head(const char *text, size_t size, struct commit_head *ret_head,
                               json_t **ret_tree, struct error *err);

/* *kept, which the caller frees, becomes the head's requests, if it has them. Those of
 * another job that began the run count, as its results do. */
void commit_keep_requests(json_t **kept, const struct commit_head *head);

/* -1 with *err ends the reading. All arguments are borrowed until it returns. */
typedef int commit_each(void *context, const struct commit_head *head,
                        const struct commit_record *record, struct error *err);
/* Passes each record to `each`; is_brief: of tries, as they are written here, only the type and the
 * epoch, unchecked otherwise. INVALID names the line. */
NODISCARD int commit_read_records(const struct commit_object *object, bool is_brief,
                                  commit_each *each, void *context, struct error *err);
