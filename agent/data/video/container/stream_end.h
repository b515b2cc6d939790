/* stream_end.h: checks whether a stream's file ends as its format lets it end: streams declare no
 * length (container.h has those that do), but many show where they were cut. Reads their beginning
 * and end only. */
#pragma once

#include "agent/data/video/video_source.h"

/* format: libav's name of the demuxer: mpegts, mpeg, ogg, flv, nut or asf; of others nothing is
 * known. Returns how it ends, after "it ends": a constant; NULL: nothing shows that it was cut.
 * Never fails: what cannot be read shows nothing. */
const char *stream_end_find(struct video_source *source, const char *format);
