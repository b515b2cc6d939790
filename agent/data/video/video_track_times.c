// SPDX-License-Identifier: Apache-2.0
#include "agent/data/video/video_track_times.h"

#include "agent/data/video/video_cursor.h"
#include "agent/data/video/video_libav.h"

static const AVRational MILLISECONDS = {1, 1000};

/* A stream that was made of several begins its clock again at each: the pictures were moved behind
 * the ones before, and a track moves with them. */
static void begin_section(struct video_track_times *times, const struct video_index *index,
                          AVRational base, int64_t dts) {
    int64_t number = times->sections++;
    int64_t shift = times->end - dts;
    if (number < index->section_count) {
        shift = av.rescale_q(index->sections[number], video_rational(index->time_base), base);
    }
    times->shift = dts + shift < times->end - av.rescale_q(VIDEO_SECTION_MS, MILLISECONDS, base)
                       ? times->end - dts
                       : shift;
}

bool video_track_times_keep(struct video_track_times *times, const struct video_index *index,
                            AVRational base, AVPacket *packet) {
    int64_t back = av.rescale_q(VIDEO_SECTION_MS, MILLISECONDS, base);
    if (packet->dts == AV_NOPTS_VALUE) {
        packet->dts = packet->pts;
    }
    if (packet->dts == AV_NOPTS_VALUE) {
        if (times->raw == AV_NOPTS_VALUE) {
            return false;
        }
        packet->dts = times->end - times->shift;
    }
    if (times->raw != AV_NOPTS_VALUE && packet->dts < times->raw - back) {
        begin_section(times, index, base, packet->dts);
    }
    packet->pts = packet->pts == AV_NOPTS_VALUE ? packet->dts : packet->pts;
    times->raw = packet->dts;
    packet->dts += times->shift;
    packet->pts += times->shift;
    times->end = packet->dts + MAX(packet->duration, (int64_t)0);
    return true;
}
