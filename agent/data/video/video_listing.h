/* video_listing.h: what a coordinator knows of a film: its frames (video_index.h), and what the
 * result will lack. The decoder's process makes it (decoder.h) and gives it to the coordinator as
 * bytes, which believes none of them before it has checked them. */
#pragma once

#include "agent/data/video/video_index.h"
#include "agent/data/video/video_source.h"
#include "lib/buffer.h"
#include "lib/tree.h"

struct video_listing {
    struct video_index index;
    json_t *lost; /* video_tracks.h's */
};

/* origin: video_source.h; NULL: the path's. makes_film: the results become a film, whose container
 * is tried. The caller releases. Errors begin with spec_path. */
NODISCARD int video_listing_build(struct video_listing *listing, const char *spec_path,
                                  const struct video_origin *origin, bool makes_film,
                                  struct error *err);
void video_listing_release(struct video_listing *listing); /* also for AUTO; accepts a zeroed one */

/* Room for the bytes of any listing of a file of this many bytes. */
int64_t video_listing_room(int64_t file_bytes);
/* Appends the index as bytes, in the byte order of this machine. */
NODISCARD int video_listing_pack(const struct video_index *index, struct buffer *to,
                                 struct error *err);
/* The reverse, of bytes of a process that may be in the hands of the one who made the film: numbers
 * and order of frames, keys and times are as video_index.h has them, or INVALID. *ret_used: bytes
 * of the index; more may follow. The caller releases *index. */
NODISCARD int video_listing_unpack(struct video_index *index, const char *bytes, size_t size,
                                   size_t *ret_used, struct error *err);
