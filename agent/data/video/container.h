/* container.h: does a media file hold all the bytes that its container declares? Reads only the
 * headers of the outermost boxes of ISO (mp4, mov), Matroska (mkv, webm) and RIFF (avi) files;
 * streams (MPEG-TS and -PS, Ogg, raw) declare nothing and end where they end. */
#pragma once

#include "agent/data/video/video_source.h"

enum container_state {
    CONTAINER_COMPLETE, /* everything declared is there */
    CONTAINER_CUT,      /* ends before a part that it declares */
    CONTAINER_UNKNOWN   /* none of the three kinds, or one that declares no length */
};

/* Never fails: what cannot be read is not declared. ret_missing: bytes missing when cut. */
enum container_state container_check(struct video_source *source, int64_t *ret_missing);
