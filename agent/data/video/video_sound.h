/* video_sound.h: encodes a sound track again as AAC, for tracks that no container takes. Rate and
 * channels stay, as far as AAC has them (else 48 kHz, or stereo). Gaps become silence, so that
 * sound and video stay in step. */
#pragma once

#include "agent/data/video/video_libav.h"
#include "lib/error.h"

struct video_sound;

/* Whether the track can be decoded and encoded. UNSUPPORTED: it has no decoder. */
NODISCARD int video_sound_check(const AVStream *stream, struct error *err);

/* stream: of the input, borrowed. */
NODISCARD int video_sound_open(const AVStream *stream, struct video_sound **ret_sound,
                               struct error *err);
void video_sound_free(struct video_sound *sound); /* accepts NULL */

const AVCodecContext *video_sound_encoder(const struct video_sound *sound); /* borrowed */

/* Feeds a packet of the track, with its times in the track's time base; NULL at the end. A packet
 * that cannot be decoded becomes silence. */
NODISCARD int video_sound_feed(struct video_sound *sound, const AVPacket *packet,
                               struct error *err);
/* The next encoded packet, with times in the encoder's time base: 1; 0: none is ready; -1. */
NODISCARD int video_sound_take(struct video_sound *sound, AVPacket *packet, struct error *err);
