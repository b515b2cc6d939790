/* video_write.h: the results of one mini-batch of a video as a part: pictures as H.264 in NUT
 * (which keeps any time base exactly), records as lines of JSON. All parts of a run are coded with
 * the same settings, each starts with an IDR frame and has no frames that are shown out of order,
 * so that the join only copies packets. */
#pragma once

#include "agent/data/media.h"

enum video_part { VIDEO_PART_PICTURES, VIDEO_PART_RECORDS, VIDEO_PART_COUNT };

/* FOLDER/part-00000017.nut or .jsonl, for the mini-batch that begins with that frame. Owned. */
char *video_part_path(const char *folder, int64_t first, enum video_part part);
/* See media.h. output_path: spec.output.path. */
NODISCARD int video_write_open(const char *output_path, const char *run, const json_t *work,
                               const char *unique, struct writer **ret_writer, struct error *err);
NODISCARD int video_write_add(struct writer *writer, const struct result *result,
                              struct error *err);
NODISCARD int video_write_commit(struct writer *writer, struct error *err);
void video_write_free(struct writer *writer);
