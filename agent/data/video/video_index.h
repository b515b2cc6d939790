/* video_index.h: all frames of a video in presentation order, listed once by the coordinator. The
 * count equals that of a full decode. It is found by demuxing alone where that is reliable: only
 * the first and the last group of pictures are decoded, to see which frames the decoder drops
 * (frames before a leading keyframe, a truncated end). A codec or stream whose packets and frames
 * are not one to one is decoded once completely. 16 bytes per frame.
 *
 * A frame is identified by its packet: the number of the packet in the file, counted from 0 in
 * decoding order. Timestamps may be missing, duplicate or wrong; the order of packets is
 * reliable. */
#pragma once

#include "agent/data/input/fingerprint.h"

enum { VIDEO_FRAMES_MAX = 20000000 }; /* 92 hours at 60 frames a second */
enum { VIDEO_UNKNOWN = -1 };          /* a position that the demuxer does not report */
enum { VIDEO_SECTION_MS = 500 };      /* a clock that goes back by more begins a section */
#define VIDEO_NO_TIME INT64_MIN       /* a missing timestamp (libav's AV_NOPTS_VALUE) */

struct fraction {
    int num, den;
};

struct video_frame {
    int64_t pts;    /* in units of time_base; strictly increasing from frame to frame */
    int32_t packet; /* its number in the file */
    int32_t key;    /* index of the key to start decoding from, -1: from the file's start */
};

/* A packet at which decoding can start. */
struct video_key {
    int32_t packet;
    int64_t pts, dts; /* VIDEO_NO_TIME when missing */
    int64_t position; /* bytes, or VIDEO_UNKNOWN */
};

struct video_index {
    int64_t size_bytes;              /* of the file, to notice a change, ... */
    char core[FINGERPRINT_CORE_MAX]; /* ... and its fingerprint (fingerprint.h); "": not known */
    int width, height;               /* as shown upright */
    struct fraction time_base, frame_rate, sample_aspect;
    struct video_frame *frames;
    int64_t frame_count;
    struct video_key *keys;
    int64_t key_count;
    int64_t last_duration; /* of the last frame, in units of time_base */
    bool was_decoded;      /* the listing decoded the whole video */
    char damage[160];      /* "": none; libav's words on bytes that it skipped */
    const char *cut;       /* stream_end.h: how it ends, or NULL; known where it was built */
    bool has_captions;     /* in its pictures (captions.h); known where it was built */
    /* Known there, too. late: streams that appear behind the file's beginning, of sound and others;
     * other_width: of a keyframe that has another size than the first one, 0: none has. */
    int late_sounds, late_others, other_width, other_height;
    /* Of streams that were joined, the clock begins again with each section. sections: what was
     * added to the times of each section but the first, in units of time_base, so that it follows
     * the one before. */
    int64_t *sections;
    int64_t section_count;
};

struct video_origin;

/* spec_path: a path (store.h); origin: video_source.h; NULL: the path's. The caller releases
 * *index. Reads the whole file. INVALID: not a video that can be decoded. Errors begin with
 * spec_path. */
NODISCARD int video_index_build(struct video_index *index, const char *spec_path,
                                const struct video_origin *origin, struct error *err);
void video_index_release(struct video_index *index);
