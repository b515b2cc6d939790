/* video_tracks.h: the streams of a film other than the video: sound, subtitles and chapters of the
 * input. Decides the container and the fate of every track by writing headers to memory, so that a
 * container that refuses a track is found before anything is scored. */
#pragma once

#include "agent/data/video/video_file.h"
#include "lib/tree.h"

/* The same input and choice always give the same plan. */
enum tracks_choice {
    TRACKS_BEST,     /* MP4; Matroska if it carries a sound track unchanged that MP4 does not */
    TRACKS_MATROSKA, /* if the muxer refused the former while it was written */
    TRACKS_NONE,     /* MP4 with pictures only */
    TRACKS_CHOICES
};

enum track_fate {
    TRACK_LEFT_OUT,
    TRACK_COPIED,
    TRACK_ENCODED /* sound that no container takes, as AAC; texts in MP4, as mov_text */
};

struct video_tracks {
    const char *format;     /* libav's muxer: "mp4" or "matroska" */
    enum track_fate *fates; /* [count], by stream of the input */
    unsigned count;
    bool is_bare; /* no chapters, too */
    json_t *lost; /* what the film will lack: [{"what": "subtitles 1 (ass, eng)", "why": ...}] */
    int unnamed;  /* number without a row of their own in `lost` */
};

/* file: open. INVALID: not even the pictures fit a container. */
NODISCARD int video_tracks_plan(const struct video_file *file, enum tracks_choice choice,
                                struct video_tracks *ret_tracks, struct error *err);
void video_tracks_release(struct video_tracks *tracks); /* also for AUTO; accepts a zeroed one */

/* Adds a row: parts of a track are lost, as is seen when it is written. */
void video_tracks_lose_part(struct video_tracks *tracks, const struct video_file *file,
                            unsigned index, const char *why);

/* Muxers are opened with it: FLAC in MP4 has a standard, but libav calls it experimental. */
void video_tracks_allow(AVFormatContext *format);
