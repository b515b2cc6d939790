/* media.h: what is scored. An input kind (video, files) is one `struct media` row: how to list it
 * once, how to describe a mini-batch to a worker, how a worker reads its items and writes its
 * results, and how the coordinator joins the results at the end. A new input kind is one file and
 * one row in media.c.
 *
 * Coordinator:  media_find -> list -> work(first, count) for each mini-batch ... -> join
 * Worker:       media_find -> read(work) -> next, next, ...   and   write(work) -> add, add, ... ->
 * commit
 */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

enum { MEDIA_SIDE_MAX = 16384 }; /* pixels: larger pictures are refused */

/* One decoded picture: 8-bit RGB, rows packed (stride = 3 * width). */
struct picture {
    int width, height; /* pixels */
    uint8_t *pixels;   /* owned: 3 * width * height bytes */
};
void picture_init(struct picture *picture, int width, int height); /* zeroed */
void picture_release(struct picture *picture);

/* One result of the scorer, handed to the writer: exactly one of the two. */
struct result {
    const struct picture *picture; /* postprocess type Image; NULL otherwise */
    const json_t *record; /* type Classes: {"file": ..., "classes": [...]}; NULL otherwise */
};

struct listing; /* what the coordinator knows of the input; each kind has its own */
struct reader;
struct writer;

struct media {
    const char *name; /* the field of spec.input: "video", "files" */

    /* Lists the input once, in a fixed order. Fails in 5 s or less with a line that names the
     * spec's field and path when the input is missing, empty, truncated or of no known format. */
    int (*list)(const json_t *spec, struct listing **ret_listing, struct error *err);
    int64_t (*count)(const struct listing *listing); /* items: frames, files */
    /* The description of items [first, first + count) that goes to a worker in a lease. Owned. */
    json_t *(*work)(const struct listing *listing, int64_t first, int64_t count);
    /* When every mini-batch is done: makes the final outputs (video: joins the parts, copies the
     * sound), removes the parts, and appends the spec paths of the outputs to the JSON array
     * `outputs` (for many files: only the folder). batches: the `work` objects in order. */
    int (*join)(const struct listing *listing, const json_t *spec, const char *run,
                const json_t *batches, json_t *outputs, struct error *err);
    void (*listing_free)(struct listing *listing);

    int (*reader_open)(const json_t *spec, const json_t *work, struct reader **ret_reader,
                       struct error *err);
    /* 1: *picture (initialised by the callee, released by the caller) and *ret_name (borrowed until
     * the next call: file name or "frame 17") are the next item; 0: no more; -1 failed. */
    int (*reader_next)(struct reader *reader, struct picture *picture, const char **ret_name,
                       struct error *err);
    void (*reader_free)(struct reader *reader);

    /* Writes under temporary names that hold `unique` (a worker's name and the lease's number). */
    int (*writer_open)(const json_t *spec, const char *run, const json_t *work, const char *unique,
                       struct writer **ret_writer, struct error *err);
    int (*writer_add)(struct writer *writer, const struct result *result, struct error *err);
    /* Renames to the final names; without it writer_free removes what was written. */
    int (*writer_commit)(struct writer *writer, struct error *err);
    void (*writer_free)(struct writer *writer);
};

/* The row whose field stands in spec.input. */
NODISCARD int media_find(const json_t *spec, const struct media **ret_media, struct error *err);
