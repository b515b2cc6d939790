/* input.h: what is scored. An input kind (files, table, npy) turns its input into lines of
 * JSON, in an order that depends on the input alone; the coordinator stores them in pages (list.h)
 * and hands them to workers, which open a reader on the lines of a lease. A new kind is one file
 * and one row of a registry. A video has no lines: media.h. */
#pragma once

#include "agent/data/array/npy.h"
#include "agent/data/image/picture.h"
#include "agent/store/stored_file.h"
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
    const char *name; /* for people: file name, "a.csv:1041"; borrowed until the next call */
    /* Not NULL: this item has failed and has nothing else; why; borrowed likewise. */
    const char *fault;
    struct picture picture; /* PICTURE: the caller releases it */
    const char *text;       /* PATH, JSON: borrowed likewise, with a NUL behind it */
    size_t text_size;
    struct local_file file; /* PATH: what text names; the caller releases it after use */
    struct npy_slice slice; /* TENSOR: its values are borrowed likewise */
};

/* One line, text of JSON without newline, at most INPUT_LINE_MAX bytes, and where to go on behind
 * it: a mark that the kind understands. Both are borrowed. -1 with *err ends the listing. */
typedef int input_line(void *context, const char *line, size_t size, const char *mark,
                       struct error *err);

struct input_listing {
    const json_t *spec;
    bool is_look;             /* only checks that the input is not empty: one line is enough */
    const char *after;        /* the mark of the last line that is known; NULL: from the start */
    struct store *scratch;    /* for what does not fit into memory while it is sorted */
    const char *scratch_name; /* names of such objects begin so; removed afterwards */
    const char *kept_name;    /* those of objects that lines name begin so; they stay */
};

struct input_reader;

struct input_kind {
    const char *name; /* the field of spec.input */
    /* A line is a mini-batch, of as many items as its reader finds; else a line is an item, and a
     * mini-batch spec.miniBatchSize of them. */
    bool is_batch;
    /* What its reader gives to the scorer of this spec. */
    enum item_type (*item)(const json_t *spec);
    /* Calls line() for every line behind `after`. Blocks; on a thread of its own. Memory is bounded
     * (some 20 MiB). Errors name the spec's field and path: INVALID, NOT_FOUND, DENIED are the
     * manifest's, also when there is nothing at all in the input (after is NULL); others the
     * machine's. */
    int (*list)(const struct input_listing *listing, input_line *line, void *context,
                struct error *err);

    /* lines: of one lease, a JSON array; borrowed while the reader lives. They came over the
     * network. *reader is NULL or one that was opened before with the same spec; on failure it is
     * NULL. A worker, one thread. */
    int (*reader_open)(const json_t *spec, const json_t *lines, struct input_reader **reader,
                       struct error *err);
    /* 1: *item is the next one; 0: no more; -1: this machine is in trouble (error_is_machine), or
     * the lines are not what this kind makes (INVALID). */
    int (*reader_next)(struct input_reader *reader, struct item *item, struct error *err);
    /* Of a line that is a mini-batch: its items; 0: only reading it tells. NULL: likewise. */
    int64_t (*line_items)(const json_t *line);
    void (*reader_free)(struct input_reader *reader);
};
