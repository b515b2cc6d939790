/* film_decoder.h: lists a film and writes one in the decoder's process (decoder.h), or in this one
 * if decoding is not in a process of its own (WINDLASS_SANDBOX=off). What that process answers is
 * checked. */
#pragma once

#include "agent/data/video/video_film.h"
#include "agent/data/video/video_listing.h"

/* As video_listing_build of the path's file. */
NODISCARD int film_decoder_list(const char *spec_path, bool makes_film,
                                struct video_listing *listing, struct error *err);

/* As video_film_write, with at most output_max bytes. A failed read or write of film->files fails
 * it with CANCELLED or UNAVAILABLE: the caller knows why. */
NODISCARD int film_decoder_write(const struct video_film *film, enum tracks_choice choice,
                                 int64_t output_max, struct video_film_result *ret_result,
                                 struct error *err);
