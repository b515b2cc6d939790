/* video_read.h: the frames of a lease, decoded one at a time, in this process. media.h has the
 * contract; agent/data/kinds/video_reader.h has the reader that decodes in a separate process. */
#pragma once

#include "agent/data/input/media.h"
#include "agent/data/video/video_source.h"

struct video_reader;

/* spec_path: spec.input.video.path, borrowed during the call. origin: video_source.h; NULL: the
 * path's. *reader as in media.h; one that is kept has the origin of its first lease. */
NODISCARD int video_read_open(const char *spec_path, const struct video_origin *origin,
                              const json_t *work, struct video_reader **reader, struct error *err);
/* The lease's first `done` frames are not wanted. Before the first frame. */
void video_read_skip(struct video_reader *reader, int64_t done);
NODISCARD int video_read_next(struct video_reader *reader, struct picture *picture,
                              const char **ret_name, struct error *err);
void video_read_free(struct video_reader *reader);
