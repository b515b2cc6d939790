// SPDX-License-Identifier: Apache-2.0
#include "agent/data/video/video_subtitles.h"

#include "agent/data/video/video_libav.h"
#include "agent/data/video/video_log.h"

#include <stdlib.h>
#include <string.h>

enum { EVENT_BYTES = 64 << 10 /* of one subtitle: a sample of mov_text has no more text */ };

struct video_subtitles {
    AVCodecContext *decoder, *encoder;
    uint8_t *event;
};

void video_subtitles_free(struct video_subtitles *subtitles) {
    if (subtitles) {
        avcodec.free_context(&subtitles->decoder);
        avcodec.free_context(&subtitles->encoder);
        av.free(subtitles->event);
        free(subtitles);
    }
}

const AVCodecContext *video_subtitles_encoder(const struct video_subtitles *subtitles) {
    return subtitles->encoder;
}

static int open_decoder(struct video_subtitles *subtitles, const AVStream *stream,
                        struct error *err) {
    const AVCodecDescriptor *kind = avcodec.descriptor_get(stream->codecpar->codec_id);
    const AVCodec *codec = avcodec.find_decoder(stream->codecpar->codec_id);
    if (!codec || !kind || !(kind->props & AV_CODEC_PROP_TEXT_SUB)) {
        return error_set(err, ERROR_UNSUPPORTED, "not text, or without a decoder");
    }
    subtitles->decoder = avcodec.alloc_context3(codec);
    int result = avcodec.parameters_to_context(subtitles->decoder, stream->codecpar);
    subtitles->decoder->pkt_timebase = stream->time_base;
    result = result < 0 ? result : avcodec.open2(subtitles->decoder, codec, NULL);
    return result < 0 ? video_error(err, result, "their decoder cannot start") : 0;
}

/* libav's decoders give all texts as ASS, with its styles in a header that the encoder reads. */
static int open_encoder(struct video_subtitles *subtitles, const AVStream *stream,
                        struct error *err) {
    const AVCodec *codec = avcodec.find_encoder(AV_CODEC_ID_MOV_TEXT);
    const AVCodecContext *decoder = subtitles->decoder;
    if (!codec || !decoder->subtitle_header) {
        return error_set(err, ERROR_UNSUPPORTED, "no encoder for mov_text");
    }
    AVCodecContext *encoder = subtitles->encoder = avcodec.alloc_context3(codec);
    encoder->time_base = stream->time_base;
    encoder->flags |= AV_CODEC_FLAG_BITEXACT;
    encoder->subtitle_header = av.mallocz((size_t)decoder->subtitle_header_size + 1);
    if (!encoder->subtitle_header) {
        return error_set(err, ERROR_EXHAUSTED, "no memory for subtitles");
    }
    memcpy(encoder->subtitle_header, decoder->subtitle_header,
           (size_t)decoder->subtitle_header_size);
    encoder->subtitle_header_size = decoder->subtitle_header_size;
    int result = avcodec.open2(encoder, codec, NULL);
    return result < 0 ? video_error(err, result, "their encoder cannot start") : 0;
}

int video_subtitles_open(const AVStream *stream, struct video_subtitles **ret_subtitles,
                         struct error *err) {
    struct video_subtitles *subtitles = x_calloc(1, sizeof *subtitles);
    subtitles->event = av.malloc(EVENT_BYTES);
    if (open_decoder(subtitles, stream, err) < 0 || open_encoder(subtitles, stream, err) < 0) {
        video_subtitles_free(subtitles);
        return -1;
    }
    *ret_subtitles = subtitles;
    return 0;
}

int video_subtitles_convert(struct video_subtitles *subtitles, const AVPacket *packet,
                            AVPacket *ret_packet, struct error *err) {
    AVSubtitle event = {0};
    int has_event = 0, size = 0;
    av.packet_unref(ret_packet);
    if (avcodec.decode_subtitle2(subtitles->decoder, &event, &has_event, (AVPacket *)packet) < 0 ||
        !has_event) {
        return 0;
    }
    if (event.num_rects > 0) {
        size = avcodec.encode_subtitle(subtitles->encoder, subtitles->event, EVENT_BYTES, &event);
    }
    avsubtitle.free(&event);
    if (size <= 0) {
        return 0;
    }
    if (av.new_packet(ret_packet, size) < 0) {
        return error_set(err, ERROR_EXHAUSTED, "no memory for subtitles");
    }
    memcpy(ret_packet->data, subtitles->event, (size_t)size);
    ret_packet->pts = packet->pts;
    ret_packet->dts = packet->dts;
    ret_packet->duration = packet->duration;
    ret_packet->flags |= AV_PKT_FLAG_KEY;
    return 1;
}
