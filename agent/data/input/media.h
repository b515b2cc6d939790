/* media.h: the table of input kinds (video, files, table, npy): one `struct media` for each. A row
 * has the functions by which a coordinator lists the input and divides it into mini-batches, a
 * worker reads the items of a lease and writes their results as bytes (part.h), and the coordinator
 * makes the output of them, if the output's mode is PerFile (sink.h has the other modes). Kinds
 * whose input is a list of names or blocks leave listing and reading to `lines` (input.h). A new
 * input kind is one file and one row in agent/registry.c.
 *
 * Calls of a coordinator: media_find, list; work(first, count) for each mini-batch; join.
 * Calls of a worker: media_find; for each lease reader_open(work) and writer_open(work), then
 * reader_next and writer_add for each item, then writer_finish. */
#pragma once

#include "agent/data/image/picture.h"
#include "agent/data/input/input.h"
#include "agent/data/parts/staged_output.h"
#include "lib/tree.h"

/* One result of the scorer for the writer: a picture, a record or JSON text. */
struct result {
    bool has_name;    /* the result is an object whose member "file" is the item's name */
    const char *name; /* of its item */
    const char *head; /* the members of its row before the result (row_head.h); or NULL */
    const struct picture *picture; /* media_makes_pictures; NULL otherwise */
    const json_t *record;          /* an object; NULL otherwise */
    const char *json; /* a program's value, any JSON, or an object as text; NULL otherwise */
    size_t json_size;
};

/* What reader_next returns, besides -1. FAULT: the item has failed, and would fail again. */
enum { READER_END = 0, READER_ITEM = 1, READER_FAULT = 2 };

struct listing; /* what the coordinator knows about the input; defined by each kind */
struct reader;
struct writer;

struct media {
    const char *name; /* the field of spec.input: "video", "files" */
    const char *unit; /* the name of its items: "frames" */
    /* Not NULL: the input is a list of lines, each a text that describes an item or a mini-batch
     * (input.h), and is listed and read by these functions; list, count, work, join, listing_free
     * and reader_* are NULL. */
    const struct input_kind *lines;

    /* Lists the input once, in a fixed order. Fails within 5 s with a line that names the spec's
     * field and path if the input is missing, empty, truncated or of an unknown format. */
    int (*list)(const json_t *spec, struct listing **ret_listing, struct error *err);
    int64_t (*count)(const struct listing *listing); /* items: frames, files */
    /* What the outputs will lack although no item failed (such as subtitles that the container
     * cannot hold), as [{"what", "why"}], borrowed; join may change it. A NULL function: nothing.
     */
    const json_t *(*lost)(const struct listing *listing);
    /* The description of items [first, first + count) that goes to a worker in a lease. Owned. Has
     * "first" and "count"; the rest is defined by the kind (about 10 bytes per frame, or one name
     * per file: a message holds 1 MiB, so a mini-batch of more than some 10,000 items needs short
     * names). */
    json_t *(*work)(const struct listing *listing, int64_t first, int64_t count);
    /* A part is a pack (pack.h), published file by file as soon as it is committed: the output is
     * the folder, and nothing is joined. */
    bool is_packed;
    /* Called when every mini-batch is committed: makes the final outputs (video: joins the parts,
     * copies the sound), and appends their spec paths to the JSON array `outputs`. A cell has
     * batch_items items, the last one may have fewer. If places[cell].cells > 0, a part begins at
     * this cell: it has the items of that number of cells, from item cell * batch_items on
     * (part.h). A part that is missing or differs from the commit is marked is_broken, and the join
     * fails. */
    int (*join)(const struct listing *listing, const json_t *spec, struct parts *parts,
                int64_t batch_items, json_t *outputs, struct error *err);
    void (*listing_free)(struct listing *listing);

    /* *reader is NULL, or a reader of an earlier lease of the same spec, which is consumed: a
     * decoder that is a little before the new lease continues from there, so a worker that keeps
     * its reader decodes each frame once. On failure *reader becomes NULL. */
    int (*reader_open)(const json_t *spec, const json_t *work, struct reader **reader,
                       struct error *err);
    /* READER_ITEM: *picture (initialised by the callee, released by the caller) and *ret_name
     * (borrowed until the next call: file name or "frame 17") are the next item; READER_FAULT: the
     * next item has failed, and *ret_name is the cause; READER_END: no more; -1: failed, with the
     * item's name in the error. */
    int (*reader_next)(struct reader *reader, struct picture *picture, const char **ret_name,
                       struct error *err);
    void (*reader_free)(struct reader *reader);

    /* Results are added in the order of the lease's items, one for each item that has not failed,
     * and become bytes of the staged output, which must outlive the writer. Pictures of a video may
     * have any size, but all the same one; an odd side grows by one pixel (the edge repeated), as
     * H.264 in 4:2:0 needs. A failed frame is replaced by the picture before it, at the start the
     * one after. NULL: the results have no files, and PerFile is refused. */
    int (*writer_open)(const json_t *spec, const json_t *work, struct staged_output *staged,
                       struct writer **ret_writer, struct error *err);
    int (*writer_add)(struct writer *writer, const struct result *result, struct error *err);
    /* One more item of the lease has failed and gets no result. NULL: it does not matter. */
    void (*writer_skip)(struct writer *writer);
    /* Writes the last bytes; fails if results are missing. The staged output stays open. */
    int (*writer_finish)(struct writer *writer, struct error *err);
    void (*writer_free)(struct writer *writer);
};

extern const struct media *const media_kinds[]; /* agent/registry.c; ends with NULL */

/* Whether the scorer's results are pictures: type Image or Mask, or drawn on the item's own. */
bool media_makes_pictures(const json_t *spec);
/* The ending that a result's file adds to its item's name: "", ".png" of a mask, ".json" of a
 * record. */
const char *media_result_ending(const json_t *spec);
/* The row whose field spec.input has. */
NODISCARD int media_find(const json_t *spec, const struct media **ret_media, struct error *err);
