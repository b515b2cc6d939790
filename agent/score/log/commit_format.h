/* commit_format.h: a commit object as text, and back; docs/exactly-once.md has the format. Pure:
 * what is read comes from a store that may hold anything, so everything is bounded and checked. */
#pragma once

#include "lib/buffer.h"

#include <jansson.h>

enum {
    COMMIT_BYTES_MAX = 8 << 20,       /* an object */
    COMMIT_LINES_MAX = 7 << 20,       /* its records; the rest is room for the workers' names */
    COMMIT_RECORD_MAX = 4 << 20,      /* one of them */
    COMMIT_WORKERS_BYTES = 512 << 10, /* names of workers in an object */
    COMMIT_CAUSE_MAX = 1024,          /* bytes of a cause; what is longer is cut */
    COMMIT_ITEM_CAUSE_MAX = 256,      /* of an item's */
};

enum commit_verdict {
    COMMIT_DONE,
    COMMIT_PARTIAL,
    COMMIT_FAILED,
    COMMIT_VOID,
    COMMIT_PUBLISHED,
    COMMIT_END,
    COMMIT_RETRY, /* a try that failed and is repeated; for the record only */
};
enum commit_fault { COMMIT_ERROR, COMMIT_TIMEOUT, COMMIT_LOST };
enum commit_place { COMMIT_NOWHERE, COMMIT_OBJECT, COMMIT_TEXT };

/* What is not of a verdict is 0: VOID has cells and a text, PUBLISHED cells, END cells (of the
 * whole job), items, failed and the verdict as its text. Texts are UTF-8. */
struct commit_record {
    enum commit_verdict verdict;
    int64_t first, cells, items, failed;
    int64_t epoch, lease; /* epoch: not written, an object's records are all of its own */
    int try;
    const char *worker;        /* borrowed */
    int64_t start_ms, took_ms; /* start: since the epoch's claim */
    enum commit_place place;   /* of DONE and PARTIAL */
    int64_t size_bytes;        /* of the object */
    uint32_t crc;              /* CRC-32C of the object */
    const char *text;          /* COMMIT_TEXT: rows; else the cause; borrowed */
    size_t text_size;
    enum commit_fault fault; /* of FAILED and RETRY */
    /* Of PARTIAL, and of FAILED if its items have causes of their own:
     * [[index in the lease, cause], ...]; borrowed, or NULL. failures_bytes > 0: the first alone;
     * all are in an object of so many bytes (failures.h). */
    const json_t *failures;
    int64_t failures_bytes;
    uint32_t failures_crc; /* CRC-32C of that object */
};

struct commit_head {
    const char *run, *uid, *job, *nonce;
    int64_t number, epoch;
    int64_t void_from; /* all from this number up to this one's do not count; -1: all do */
};

/* Does it come from a lease? Then it has a lease, a try, a worker and a time. */
bool commit_is_try(enum commit_verdict verdict);

/* ---- writing -------------------------------------------------------------------------------- */

struct commit_writer {
    struct buffer lines;
    int64_t count;
    char **workers;
    int worker_count, worker_room;
    size_t worker_bytes;
};

void commit_writer_init(struct commit_writer *writer);
void commit_writer_release(struct commit_writer *writer);
/* 1: added; 0: this object is full, take the next; -1 with INVALID: larger than any object may
 * hold, or a text that is not UTF-8. In a cause, invalid UTF-8 becomes U+FFFD. */
NODISCARD int commit_writer_add(struct commit_writer *writer, const struct commit_record *record,
                                struct error *err);
/* The whole object; the caller frees. */
char *commit_writer_text(const struct commit_writer *writer, const struct commit_head *head,
                         size_t *ret_size);

/* ---- reading -------------------------------------------------------------------------------- */

/* Does its trailer fit? If not, the write was torn, and it was never announced as stored. */
bool commit_is_whole(const char *text, size_t size);

/* head: its texts are borrowed from *ret_tree, which the caller frees. INVALID: not what a commit
 * begins with; UNSUPPORTED: of another version. The text is whole. */
NODISCARD int commit_read_head(const char *text, size_t size, struct commit_head *ret_head,
                               json_t **ret_tree, struct error *err);

/* -1 with *err ends the reading. All is borrowed until it returns. */
typedef int commit_each(void *context, const struct commit_head *head,
                        const struct commit_record *record, struct error *err);
/* tree: of commit_read_head. INVALID names the line. */
NODISCARD int commit_read_records(const char *text, size_t size, const struct commit_head *head,
                                  const json_t *tree, commit_each *each, void *context,
                                  struct error *err);
