// SPDX-License-Identifier: Apache-2.0
#include "agent/data/video/video_sound.h"

#include "agent/data/video/video_libav.h"
#include "agent/data/video/video_log.h"

#include <errno.h>
#include <stdlib.h>

enum {
    BITS_PER_CHANNEL = 96000,
    CHANNELS_MAX = 8,
    MIXED_FROM =
        6, /* layouts that AAC lacks: from this number of channels mixed to 5.1, below to stereo */
    GAP_PARTS = 10,     /* a gap of more than 1/10 s is filled */
    GAP_SECONDS = 3600, /* a longer one is taken for a wrong time */
};

struct video_sound {
    AVRational base; /* of the track */
    AVCodecContext *decoder, *encoder;
    SwrContext *resampler;
    AVAudioFifo *fifo;
    AVFrame *decoded, *converted, *chunk;
    const struct speakers *speakers;
    AVChannelLayout layout;  /* of the samples before they are encoded */
    int64_t packets, broken; /* fed, and those that the decoder could not read whole */
    int64_t next; /* time of the first sample that is not yet encoded, in samples; or unknown */
    bool is_ended;
};

/* Speakers that libavcodec's encoder and decoder of AAC both have at the same place: it writes
 * other layouts, too, but they are read as one of these. `order`: where the encoder's channels are
 * among those of `mask`. */
static const struct speakers {
    uint64_t mask, encoded;
    uint8_t order[CHANNELS_MAX];
} known_speakers[] = {
    {AV_CH_LAYOUT_MONO, AV_CH_LAYOUT_MONO, {0}},
    {AV_CH_LAYOUT_STEREO, AV_CH_LAYOUT_STEREO, {0, 1}},
    {AV_CH_LAYOUT_2POINT1, AV_CH_LAYOUT_2POINT1, {0, 1, 2}},
    {AV_CH_LAYOUT_SURROUND, AV_CH_LAYOUT_SURROUND, {0, 1, 2}},
    {AV_CH_LAYOUT_4POINT0, AV_CH_LAYOUT_4POINT0, {0, 1, 2, 3}},
    {AV_CH_LAYOUT_QUAD, AV_CH_LAYOUT_QUAD, {0, 1, 2, 3}},
    {AV_CH_LAYOUT_2_2, AV_CH_LAYOUT_2_2, {0, 1, 2, 3}},
    {AV_CH_LAYOUT_5POINT0_BACK, AV_CH_LAYOUT_5POINT0_BACK, {0, 1, 2, 3, 4}},
    {AV_CH_LAYOUT_5POINT0, AV_CH_LAYOUT_5POINT0_BACK, {0, 1, 2, 3, 4}},
    {AV_CH_LAYOUT_5POINT1_BACK, AV_CH_LAYOUT_5POINT1_BACK, {0, 1, 2, 3, 4, 5}},
    {AV_CH_LAYOUT_5POINT1, AV_CH_LAYOUT_5POINT1_BACK, {0, 1, 2, 3, 4, 5}},
    {AV_CH_LAYOUT_6POINT1, AV_CH_LAYOUT_6POINT1, {0, 1, 2, 3, 4, 5, 6}},
    /* Left and right at the back become those at the sides. */
    {AV_CH_LAYOUT_6POINT1_BACK, AV_CH_LAYOUT_6POINT1, {0, 1, 2, 3, 6, 4, 5}},
    {AV_CH_LAYOUT_7POINT1, AV_CH_LAYOUT_7POINT1, {0, 1, 2, 3, 4, 5, 6, 7}},
};

void video_sound_free(struct video_sound *sound) {
    if (sound) {
        avcodec.free_context(&sound->decoder);
        avcodec.free_context(&sound->encoder);
        swr.free(&sound->resampler);
        av.audio_fifo_free(sound->fifo);
        av.frame_free(&sound->decoded);
        av.frame_free(&sound->converted);
        av.frame_free(&sound->chunk);
        free(sound);
    }
}

const AVCodecContext *video_sound_encoder(const struct video_sound *sound) {
    return sound->encoder;
}

/* ---- opening -------------------------------------------------------------------------------- */

static int open_decoder(struct video_sound *sound, const AVStream *stream, struct error *err) {
    const AVCodec *codec = avcodec.find_decoder(stream->codecpar->codec_id);
    if (!codec) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "left out: no container supports this codec, and "
                         "this build cannot decode it");
    }
    sound->decoder = avcodec.alloc_context3(codec);
    int result = avcodec.parameters_to_context(sound->decoder, stream->codecpar);
    sound->decoder->pkt_timebase = stream->time_base;
    sound->decoder->err_recognition = AV_EF_CRCCHECK | AV_EF_EXPLODE; /* silence, no noise */
    result = result < 0 ? result : avcodec.open2(sound->decoder, codec, NULL);
    return result < 0 ? video_error(err, result, "left out: its decoder cannot start") : 0;
}

static int rate_for(const AVCodec *codec, int rate) {
    for (const int *known = codec->supported_samplerates; known && *known; known++) {
        if (*known == rate) {
            return rate;
        }
    }
    return 48000;
}

static AVChannelLayout layout_of(uint64_t mask) {
    return (AVChannelLayout)AV_CHANNEL_LAYOUT_MASK(__builtin_popcountll(mask), mask);
}

/* The first ones that have a place for all of these; NULL: none have. */
static const struct speakers *find_speakers(uint64_t mask) {
    for (size_t i = 0; i < ARRAY_LEN(known_speakers); i++) {
        if ((mask & ~known_speakers[i].mask) == 0) {
            return &known_speakers[i];
        }
    }
    return NULL;
}

/* 0: not known. Channels that say nothing are the usual ones for their number. */
static uint64_t mask_of(const AVCodecParameters *track) {
    AVChannelLayout layout = track->ch_layout;
    if (layout.order == AV_CHANNEL_ORDER_UNSPEC) {
        av.channel_layout_default(&layout, track->ch_layout.nb_channels);
    }
    return layout.order == AV_CHANNEL_ORDER_NATIVE ? layout.u.mask : 0;
}

static const struct speakers *choose_speakers(const AVCodecParameters *track) {
    uint64_t mask = mask_of(track);
    const struct speakers *found = mask ? find_speakers(mask) : NULL;
    bool is_rich = track->ch_layout.nb_channels >= MIXED_FROM;
    return found ?: find_speakers(is_rich ? AV_CH_LAYOUT_5POINT1_BACK : AV_CH_LAYOUT_STEREO);
}

static int open_encoder(struct video_sound *sound, const AVCodecParameters *track,
                        struct error *err) {
    const AVCodec *codec = avcodec.find_encoder(AV_CODEC_ID_AAC);
    if (!codec) {
        return error_set(err, ERROR_UNSUPPORTED, "left out: libavcodec has no encoder for AAC");
    }
    AVCodecContext *encoder = sound->encoder = avcodec.alloc_context3(codec);
    sound->speakers = choose_speakers(track);
    sound->layout = layout_of(sound->speakers->mask);
    encoder->ch_layout = layout_of(sound->speakers->encoded);
    encoder->sample_fmt = AV_SAMPLE_FMT_FLTP;
    encoder->sample_rate = rate_for(codec, track->sample_rate);
    encoder->time_base = (AVRational){1, encoder->sample_rate};
    encoder->bit_rate = (int64_t)BITS_PER_CHANNEL * encoder->ch_layout.nb_channels;
    encoder->flags |= AV_CODEC_FLAG_GLOBAL_HEADER | AV_CODEC_FLAG_BITEXACT;
    int result = avcodec.open2(encoder, codec, NULL);
    if (result < 0) {
        return video_error(err, result, "left out: the AAC encoder cannot start");
    }
    sound->fifo = av.audio_fifo_alloc(encoder->sample_fmt, encoder->ch_layout.nb_channels,
                                      encoder->frame_size);
    return sound->fifo ? 0 : error_set(err, ERROR_EXHAUSTED, "no memory for sound");
}

int video_sound_open(const AVStream *stream, struct video_sound **ret_sound, struct error *err) {
    struct video_sound *sound = x_calloc(1, sizeof *sound);
    *sound = (struct video_sound){.base = stream->time_base, .next = AV_NOPTS_VALUE};
    sound->decoded = av.frame_alloc();
    sound->converted = av.frame_alloc();
    sound->chunk = av.frame_alloc();
    sound->resampler = swr.alloc();
    if (open_decoder(sound, stream, err) < 0 || open_encoder(sound, stream->codecpar, err) < 0) {
        video_sound_free(sound);
        return -1;
    }
    *ret_sound = sound;
    return 0;
}

/* ---- decoding ------------------------------------------------------------------------------- */

static int no_sound(int averror, struct error *err) {
    return video_error(err, averror, "the sound cannot be encoded");
}

static void shape_frame(const struct video_sound *sound, AVFrame *frame) {
    av.frame_unref(frame);
    frame->format = sound->encoder->sample_fmt;
    frame->sample_rate = sound->encoder->sample_rate;
    frame->ch_layout = sound->layout;
}

/* In the order of the encoder's channels. */
static int keep_samples(struct video_sound *sound, AVFrame *frame, struct error *err) {
    void *planes[CHANNELS_MAX];
    for (int i = 0; i < sound->layout.nb_channels; i++) {
        planes[i] = frame->extended_data[sound->speakers->order[i]];
    }
    int result = av.audio_fifo_write(sound->fifo, planes, frame->nb_samples);
    return result < 0 ? no_sound(result, err) : 0;
}

static int add_silence(struct video_sound *sound, int64_t samples, struct error *err) {
    while (samples > 0) {
        shape_frame(sound, sound->chunk);
        sound->chunk->nb_samples = (int)MIN(samples, (int64_t)sound->encoder->sample_rate);
        int result = av.frame_get_buffer(sound->chunk, 0);
        if (result < 0) {
            return no_sound(result, err);
        }
        av.samples_set_silence(sound->chunk->extended_data, 0, sound->chunk->nb_samples,
                               sound->chunk->ch_layout.nb_channels, sound->chunk->format);
        samples -= sound->chunk->nb_samples;
        if (keep_samples(sound, sound->chunk, err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* The first time begins the track; a later one that is ahead of the samples so far is a gap. */
static int keep_time(struct video_sound *sound, int64_t time, struct error *err) {
    int rate = sound->encoder->sample_rate;
    if (time == AV_NOPTS_VALUE) {
        sound->next = sound->next == AV_NOPTS_VALUE ? 0 : sound->next;
        return 0;
    }
    int64_t at = av.rescale_q(time, sound->base, sound->encoder->time_base);
    if (sound->next == AV_NOPTS_VALUE) {
        sound->next = at;
    }
    int64_t gap = at - sound->next - av.audio_fifo_size(sound->fifo);
    return gap > rate / GAP_PARTS && gap < (int64_t)rate * GAP_SECONDS
               ? add_silence(sound, gap, err)
               : 0;
}

/* Channels that say nothing are the usual ones for their number. */
static void settle_layout(const struct video_sound *sound, AVFrame *frame) {
    AVChannelLayout *layout = &frame->ch_layout;
    if (!layout->nb_channels || !av.channel_layout_check(layout)) {
        av.channel_layout_default(layout, sound->decoder->ch_layout.nb_channels);
    } else if (layout->order == AV_CHANNEL_ORDER_UNSPEC) {
        av.channel_layout_default(layout, layout->nb_channels);
    }
}

static int keep_decoded(struct video_sound *sound, struct error *err) {
    AVFrame *from = sound->decoded;
    if (keep_time(sound, from->best_effort_timestamp, err) < 0) {
        return -1;
    }
    settle_layout(sound, from);
    shape_frame(sound, sound->converted);
    int result = swr.convert_frame(sound->resampler, sound->converted, from);
    if (result == AVERROR_INPUT_CHANGED) {
        swr.close(sound->resampler);
        result = swr.convert_frame(sound->resampler, sound->converted, from);
    }
    return result < 0 ? no_sound(result, err) : keep_samples(sound, sound->converted, err);
}

int video_sound_feed(struct video_sound *sound, const AVPacket *packet, struct error *err) {
    if (packet && packet->size == 0) {
        return 0; /* it has side data alone; the decoder would take it for the end */
    }
    bool is_broken = avcodec.send_packet(sound->decoder, packet) < 0 && packet;
    int got;
    sound->is_ended = !packet;
    while ((got = avcodec.receive_frame(sound->decoder, sound->decoded)) >= 0) {
        is_broken |= sound->decoded->decode_error_flags != 0;
        int result = keep_decoded(sound, err);
        av.frame_unref(sound->decoded);
        if (result < 0) {
            return -1;
        }
    }
    is_broken |= got != AVERROR(EAGAIN) && got != AVERROR_EOF;
    sound->packets += packet != NULL;
    sound->broken += is_broken;
    return 0;
}

char *video_sound_describe_broken(const struct video_sound *sound) {
    return sound->broken
               ? x_printf("%lld of its %lld packets cannot be decoded whole: it is silent there",
                          (long long)sound->broken, (long long)MAX(sound->packets, sound->broken))
               : NULL;
}

/* ---- checking ------------------------------------------------------------------------------- */

/* A layout that cannot be mixed would end the film in the middle. */
static int try_mixing(struct video_sound *sound, const AVCodecParameters *track,
                      struct error *err) {
    AVFrame *from = sound->decoded;
    from->format = AV_SAMPLE_FMT_FLTP;
    from->sample_rate = track->sample_rate;
    from->nb_samples = 1;
    (void)av.channel_layout_copy(&from->ch_layout, &track->ch_layout);
    settle_layout(sound, from);
    int result = av.frame_get_buffer(from, 0);
    shape_frame(sound, sound->converted);
    result = result < 0 ? result : swr.convert_frame(sound->resampler, sound->converted, from);
    av.frame_unref(from);
    return result < 0 ? video_error(err, result, "left out: its channels cannot be mixed") : 0;
}

static char *describe_mixing(const struct video_sound *sound, const AVCodecParameters *track) {
    char from[64] = "", to[64] = "";
    uint64_t mask = mask_of(track);
    if (mask && (mask & ~sound->speakers->mask) == 0) {
        return NULL;
    }
    (void)av.channel_layout_describe(&track->ch_layout, from, sizeof from);
    (void)av.channel_layout_describe(&sound->encoder->ch_layout, to, sizeof to);
    return x_printf("its %d channels (%s) are mixed to %d (%s)", track->ch_layout.nb_channels, from,
                    sound->encoder->ch_layout.nb_channels, to);
}

int video_sound_check(const AVStream *stream, char **ret_mixing, struct error *err) {
    struct video_sound *sound = NULL;
    *ret_mixing = NULL;
    int result = video_sound_open(stream, &sound, err);
    result = result < 0 ? result : try_mixing(sound, stream->codecpar, err);
    if (result == 0) {
        *ret_mixing = describe_mixing(sound, stream->codecpar);
    }
    video_sound_free(sound);
    return result;
}

/* ---- encoding ------------------------------------------------------------------------------- */

static int encode_chunk(struct video_sound *sound, int samples, struct error *err) {
    shape_frame(sound, sound->chunk);
    sound->chunk->ch_layout = sound->encoder->ch_layout;
    sound->chunk->nb_samples = samples;
    int result = av.frame_get_buffer(sound->chunk, 0);
    if (result >= 0) {
        result = av.audio_fifo_read(sound->fifo, (void **)sound->chunk->extended_data, samples);
    }
    sound->chunk->pts = sound->next;
    sound->next += samples;
    result = result < 0 ? result : avcodec.send_frame(sound->encoder, sound->chunk);
    return result < 0 ? no_sound(result, err) : 0;
}

int video_sound_take(struct video_sound *sound, AVPacket *packet, struct error *err) {
    for (;;) {
        int result = avcodec.receive_packet(sound->encoder, packet);
        if (result >= 0) {
            return 1;
        }
        if (result != AVERROR(EAGAIN)) {
            return result == AVERROR_EOF ? 0 : no_sound(result, err);
        }
        int samples = MIN(av.audio_fifo_size(sound->fifo), sound->encoder->frame_size);
        if (samples == sound->encoder->frame_size || (sound->is_ended && samples > 0)) {
            if (encode_chunk(sound, samples, err) < 0) {
                return -1;
            }
        } else if (sound->is_ended) {
            (void)avcodec.send_frame(sound->encoder, NULL);
        } else {
            return 0;
        }
    }
}
