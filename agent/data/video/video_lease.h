/* video_lease.h: the description of a mini-batch's frames for a worker, so that it need not list
 * the video: converts the `work` object of a lease to a struct and back. */
#pragma once

#include "agent/data/video/video_index.h"
#include "lib/tree.h"

enum { VIDEO_LEASE_MAX = 100000 }; /* frames */

struct video_lease {
    int64_t first, count; /* frames of the video, counted from 0 */
    int64_t *pts;         /* [count], strictly increasing, in units of time_base */
    int32_t *packets;     /* [count], the numbers of the frames' packets */
    int32_t packet_min, packet_max;
    struct video_key keys[2]; /* where to start decoding; the second if the first does not work */
    int key_count;            /* 0: decode from the file's start */
    int64_t size_bytes;       /* of the file when it was listed, ... */
    char core[FINGERPRINT_CORE_MAX]; /* ... and its fingerprint (fingerprint.h); "": not known */
    int width, height;
    struct fraction time_base, frame_rate, sample_aspect;
};

/* The work object of those frames; the caller owns it. */
json_t *video_lease_encode(const struct video_index *index, int64_t first, int64_t count);
/* Call video_lease_release after it. INVALID: the object does not describe frames of a video;
 * *lease needs no release then. */
NODISCARD int video_lease_decode(struct video_lease *lease, const json_t *work, struct error *err);
void video_lease_release(struct video_lease *lease);
