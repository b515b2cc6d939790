/* video_write.h: the results of one mini-batch of a video as a part: pictures as H.264 in NUT
 * (which keeps any time base exactly, and is written without seeking), records as lines of JSON.
 * All parts of a run are encoded with the same settings; each starts with an IDR frame and has no
 * reordered frames, so that the join only copies packets. */
#pragma once

#include "agent/data/input/media.h"

/* See media.h. */
NODISCARD int video_write_open(const json_t *work, struct staged_output *staged,
                               struct writer **ret_writer, struct error *err);
NODISCARD int video_write_add(struct writer *writer, const struct result *result,
                              struct error *err);
void video_write_skip(struct writer *writer);
/* The line of a failed frame, instead of a record; the caller frees. */
char *video_write_failed_line(int64_t frame);
NODISCARD int video_write_finish(struct writer *writer, struct error *err);
void video_write_free(struct writer *writer);
