/* input.h: the items that are scored. An input kind (files, table, npy) turns its input into lines
 * of JSON, in an order that depends only on the input; the coordinator stores them in pages
 * (list.h) and hands them to workers, which open a reader on the lines of a lease. A new kind is
 * one file and one row of agent/registry.c. A video has no lines: media.h. */
#pragma once

#include "agent/data/array/npy.h"
#include "agent/data/image/picture.h"
#include "agent/store/local_file.h"
#include "lib/tree.h"

enum { INPUT_LINE_MAX = 64 << 10 /* bytes of a line, without newline */ };

enum item_type {
    ITEM_PICTURE, /* a file, decoded */
    ITEM_PATH,    /* a file's path on this machine */
    ITEM_JSON,    /* a row */
    ITEM_TENSOR,  /* a slice */
};

struct item {
    enum item_type type;
    const char *name;   /* display name: file name, "a.csv:1041"; borrowed until the next call */
    const char *origin; /* the file that it is from; NULL: none. Borrowed like the name */
    int64_t row;        /* slices: its number in that file; -1: not known, of rows */
    /* Not NULL: the cause why this item failed; only type and name are set besides. Borrowed
     * until the next call. */
    const char *fault;
    bool is_final;          /* of a fault: another try would find the same fault */
    struct picture picture; /* PICTURE: the caller releases it */
    const char *text;       /* PATH, JSON: borrowed until the next call, ends with a NUL */
    size_t text_size;
    struct local_file file; /* PATH: the file that `text` names; the caller releases it after use */
    /* PATH: the core of the listed fingerprint. The user's program reads the file later, so after
     * it the caller checks with fingerprint_holds_file that the file is still the listed one.
     * Borrowed; NULL: the file is a copy, or its state is not known. */
    const char *core;
    struct npy_slice slice; /* TENSOR: its values are borrowed until the next call */
};

/* Receives one line and its cursor. The line: JSON text without newline, at most INPUT_LINE_MAX
 * bytes; behind it, for an item whose content may change, a tab and its fingerprint
 * (fingerprint.h): equal ones mean equal content, an empty one says nothing. The cursor: UTF-8, at
 * most LIST_CURSOR_MAX bytes (list_page.h), from which the kind can continue after this line; NULL:
 * it cannot continue here. Both are borrowed. -1 with *err ends the listing. */
typedef int input_line(void *context, const char *line, size_t size, const char *cursor,
                       struct error *err);

/* Makes the object that has the rows of spec.input.table.query as Parquet, unless it exists; store
 * NULL: only checks the query. For coordinators. */
struct input_query {
    int (*make)(void *context, struct store *store, const char *name, struct error *err);
    void *context;
};

struct input_listing {
    const json_t *spec;
    const struct input_query *query; /* NULL: the spec has none */
    /* The caller only wants to know whether there is any input: line() ends the listing at the
     * first line, and ignores its arguments; scratch, scratch_name and kept_name may be NULL. */
    bool checks_only;
    const char *after;        /* the cursor of the last known line; NULL: from the start */
    struct store *scratch;    /* for sorting what does not fit into memory */
    const char *scratch_name; /* prefix of those objects, which are removed afterwards */
    const char *kept_name;    /* prefix of objects that lines refer to; they are kept */
    /* Counts what is left out behind `after`, before the line that comes next: hidden names that
     * the pattern covers, hidden folders, and what is not a file; NULL: not asked. */
    int64_t *left_out;
};

struct input_reader;

struct input_kind {
    const char *name; /* the field of spec.input */
    /* True: a line is a mini-batch with as many items as its reader finds. False: a line is an
     * item, and a mini-batch has spec.miniBatchSize of them. */
    bool is_batch;
    /* The lines of this spec are names in byte order, with fingerprints: a rerun can keep the
     * results of those that are unchanged. NULL: it cannot. */
    bool (*can_keep)(const json_t *spec);
    /* The type of the items that the reader gives to this spec's scorer. */
    enum item_type (*item)(const json_t *spec);
    /* Calls line() for every line after `after`. Blocks; runs on a separate thread. Memory is
     * bounded (about 20 MiB). Errors name the spec's field and path: INVALID, NOT_FOUND and DENIED
     * are the fault of the job's manifest, also when the input is empty (and after is NULL); other
     * errors are faults of this machine. */
    int (*list)(const struct input_listing *listing, input_line *line, void *context,
                struct error *err);

    /* lines: a JSON array, those of one lease, as list_work makes them; borrowed until the next
     * reader_open or reader_free. They come from the network and are checked. *reader is NULL, or a
     * reader that was opened before with the same spec; on failure it becomes NULL. For workers;
     * one thread. */
    int (*reader_open)(const json_t *spec, const json_t *lines, struct input_reader **reader,
                       struct error *err);
    /* 1: *item is the next one; 0: no more; -1: a fault of this machine (store_error_is_machine),
     * or lines that this kind does not make (INVALID). */
    int (*reader_next)(struct input_reader *reader, struct item *item, struct error *err);
    /* The number of items of a line that is a mini-batch; 0: known only after reading it. A NULL
     * function means the same. */
    int64_t (*line_items)(const json_t *line);
    /* Bytes of the largest item of a line, which a reader has in memory; -1: known only after
     * reading it. NULL: none are worth counting. */
    int64_t (*line_bytes)(const json_t *spec, const json_t *line);
    void (*reader_free)(struct input_reader *reader);
};
