/* video_sound.h: encodes a sound track again as AAC, for tracks that no container takes. Rate and
 * channels stay, as far as AAC has them (else 48 kHz; 5.1 or stereo). Gaps become silence, so that
 * sound and video stay in step. */
#pragma once

#include "agent/data/video/video_libav.h"
#include "lib/error.h"

struct video_sound;

/* Whether the track can be decoded and encoded. UNSUPPORTED: it has no decoder. *ret_mixing: what
 * becomes of channels that AAC does not have, owned by the caller; NULL: it has all. */
NODISCARD int video_sound_check(const AVStream *stream, char **ret_mixing, struct error *err);

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
/* Which part of what was fed could not be decoded, owned by the caller; NULL: none. */
char *video_sound_describe_broken(const struct video_sound *sound);
