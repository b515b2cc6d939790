/* container.h: checks whether a media file holds all the bytes that its container declares. Reads
 * only the headers of the outermost boxes of ISO (mp4, mov), Matroska (mkv, webm), RIFF (avi) and
 * ASF (wmv) files; streams declare no length (stream_end.h). */
#pragma once

#include "agent/data/video/video_source.h"

enum container_state {
    CONTAINER_COMPLETE, /* the file has everything declared */
    CONTAINER_CUT,      /* the file ends before a declared part */
    CONTAINER_UNKNOWN   /* none of these kinds, or one that declares no length */
};

/* Never fails: parts that cannot be read count as not declared. ret_missing: bytes missing if
 * CUT. */
enum container_state container_check(struct video_source *source, int64_t *ret_missing);
/* Of `count` bytes, at most 8, the first one the highest. */
uint64_t container_number(const uint8_t *bytes, int count);
