/* video_read.h: the frames of a lease, decoded one at a time. media.h has the contract. */
#pragma once

#include "agent/data/input/media.h"

/* spec_path: spec.input.video.path, borrowed during the call. *reader as in media.h. */
NODISCARD int video_read_open(const char *spec_path, const json_t *work, struct reader **reader,
                              struct error *err);
NODISCARD int video_read_next(struct reader *reader, struct picture *picture, const char **ret_name,
                              struct error *err);
void video_read_free(struct reader *reader);
