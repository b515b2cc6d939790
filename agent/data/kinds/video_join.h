/* video_join.h: the output of a run with a video as input: its parts become one film
 * (video_film.h), or the lines of their records one file. */
#pragma once

#include "agent/data/parts/part.h"
#include "agent/data/video/video_index.h"
#include "lib/tree.h"

struct video_join {
    const struct video_index *index;
    const char *input_path; /* spec path of the video */
    struct parts *parts;    /* by cell */
    int folder_fd;          /* for unfinished files; on the disk of the result */
    int output_fd;          /* folder of the result; -1: the whole file is uploaded to the parts'
                               store */
    const char *stem;       /* the result's name without extension */
    int64_t batch_items;    /* frames of a cell; the last may have fewer */
    json_t *lost;           /* of the listing; more is appended. NULL: not wanted */
};

/* *ret_name: "STEM.mp4" or "STEM.mkv"; the caller frees. Fails if a part does not hold the frames
 * of its mini-batch, or is missing or has changed (then it is marked is_broken); the unfinished
 * output is removed. The same parts always give the same bytes. */
NODISCARD int video_join_pictures(const struct video_join *join, char **ret_name,
                                  struct error *err);

/* Like video_join_pictures, for parts that hold records: "STEM.jsonl". */
NODISCARD int video_join_records(const struct video_join *join, char **ret_name, struct error *err);
