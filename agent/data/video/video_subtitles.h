/* video_subtitles.h: converts text subtitles to MP4's format (mov_text): from SubRip,
 * WebVTT, ASS and others that libav decodes. Words, line breaks and simple styles stay; ASS's
 * places on the picture do not. Pictures (DVD, Blu-ray) cannot be converted. */
#pragma once

#include "agent/data/video/video_libav.h"
#include "lib/error.h"

struct video_subtitles;

/* UNSUPPORTED: they are pictures, or have no decoder. stream: of the input, borrowed. */
NODISCARD int video_subtitles_open(const AVStream *stream, struct video_subtitles **ret_subtitles,
                                   struct error *err);
void video_subtitles_free(struct video_subtitles *subtitles); /* accepts NULL */

const AVCodecContext *video_subtitles_encoder(const struct video_subtitles *subtitles);

/* Converts a packet: *ret_packet has its times. 1; 0: it shows nothing, or cannot be decoded; -1.
 */
NODISCARD int video_subtitles_convert(struct video_subtitles *subtitles, const AVPacket *packet,
                                      AVPacket *ret_packet, struct error *err);
