/* media.h: what is scored, and what becomes of it. An input kind (video, files) is one `struct
 * media` row: how a worker turns the results of a mini-batch into bytes (part.h), and what the
 * coordinator makes of the parts at the end, where the output's mode is PerFile (sink.h has the
 * others); and either it has lines (input.h), or it says itself how to list it once, how to
 * describe a mini-batch to a worker and how to read its items. A new input kind is one file and one
 * row in agent/registry.c.
 *
 * Coordinator:  media_find -> list -> work(first, count) for each mini-batch ... -> join
 * Worker:       media_find -> read(work) -> next, next, ...   and   write(work) -> add, add, ... ->
 * finish
 */
#pragma once

#include "agent/data/image/picture.h"
#include "agent/data/input/input.h"
#include "agent/data/parts/staged_output.h"
#include "lib/tree.h"

/* One result of the scorer, handed to the writer: a picture, a record or JSON text. */
struct result {
    const char *name;              /* of its item */
    const struct picture *picture; /* postprocess type Image; NULL otherwise */
    const json_t *record; /* type Classes: {"file": ..., "classes": [...]}; NULL otherwise */
    const char *json;     /* a program's: any value; NULL otherwise */
    size_t json_size;
};

struct listing; /* what the coordinator knows of the input; each kind has its own */
struct reader;
struct writer;

struct media {
    const char *name; /* the field of spec.input: "video", "files" */
    const char *unit; /* what its items are called: "frames" */
    /* Not NULL: it is listed and read by lines; list, count, work, join, listing_free and reader_*
     * are NULL. */
    const struct input_kind *lines;

    /* Lists the input once, in a fixed order. Fails in 5 s or less with a line that names the
     * spec's field and path when the input is missing, empty, truncated or of no known format. */
    int (*list)(const json_t *spec, struct listing **ret_listing, struct error *err);
    int64_t (*count)(const struct listing *listing); /* items: frames, files */
    /* The description of items [first, first + count) that goes to a worker in a lease. Owned.
     * Has "first" and "count"; the rest belongs to the kind (about 10 bytes a frame, or a name a
     * file: a message holds 1 MiB, so a mini-batch of more than some 10 000 items needs short
     * names). */
    json_t *(*work)(const struct listing *listing, int64_t first, int64_t count);
    /* A part is a pack (pack.h), published file by file as soon as it is committed: the output is
     * the folder, and there is nothing to join. */
    bool is_packed;
    /* When every mini-batch is committed: makes the final outputs (video: joins the parts, copies
     * the sound), and appends their spec paths to the JSON array `outputs`. Part i holds the
     * items of `cells` cells, of batch_items each, from i * batch_items on; the last cell of all
     * maybe has fewer. A part that is gone or not what was committed is marked is_broken, and the
     * join has failed. */
    int (*join)(const struct listing *listing, const json_t *spec, struct parts *parts,
                int64_t batch_items, json_t *outputs, struct error *err);
    void (*listing_free)(struct listing *listing);

    /* *reader is NULL, or a reader of an earlier lease of the same spec, which is used up: a
     * decoder that stands a little before the new lease goes on from there, so a worker that keeps
     * its reader decodes no frame twice. On failure *reader is NULL. */
    int (*reader_open)(const json_t *spec, const json_t *work, struct reader **reader,
                       struct error *err);
    /* 1: *picture (initialised by the callee, released by the caller) and *ret_name (borrowed until
     * the next call: file name or "frame 17") are the next item; 0: no more; -1 failed, with the
     * item's name in the error. */
    int (*reader_next)(struct reader *reader, struct picture *picture, const char **ret_name,
                       struct error *err);
    void (*reader_free)(struct reader *reader);

    /* Results are added in the order of the lease's items, one each but for items that have failed
     * (which a video has none of), and become bytes of the staged output, which must live longer.
     * Pictures of a video may have any size, all the same; a side of an odd number of pixels grows
     * by one (the edge repeated), which H.264 in 4:2:0 needs. NULL: its results have no files of
     * their own, PerFile is refused. */
    int (*writer_open)(const json_t *spec, const json_t *work, struct staged_output *staged,
                       struct writer **ret_writer, struct error *err);
    int (*writer_add)(struct writer *writer, const struct result *result, struct error *err);
    /* The last bytes; fails when results are missing. The staged output stays open. */
    int (*writer_finish)(struct writer *writer, struct error *err);
    void (*writer_free)(struct writer *writer);
};

extern const struct media *const media_kinds[]; /* agent/registry.c; ends with NULL */

/* The row of the field in spec.input. */
NODISCARD int media_find(const json_t *spec, const struct media **ret_media, struct error *err);
