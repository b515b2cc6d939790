/* video_track_times.h: the times of a sound or subtitle track of a film on its way to the output:
 * they never go back, even if the input is made of several films whose clocks begin again. */
#pragma once

#include "agent/data/video/video_index.h"
#include "agent/data/video/video_libav.h"

/* In units of the track's own time base. Begins with raw = AV_NOPTS_VALUE. */
struct video_track_times {
    int64_t raw;      /* the last packet's dts, as in the input */
    int64_t end;      /* and its end in the output, before the origin is subtracted */
    int64_t shift;    /* what is added to this section's times */
    int64_t sections; /* number that began so far */
};

/* Gives a packet the times that it has in the output, before the origin is subtracted. base: of the
 * track. False: it has none, and none came before. */
bool video_track_times_keep(struct video_track_times *times, const struct video_index *index,
                            AVRational base, AVPacket *packet);
