// SPDX-License-Identifier: Apache-2.0
#include "agent/data/video/video_write.h"

#include "agent/data/video/video_color.h"
#include "agent/data/video/video_file.h"
#include "agent/data/video/video_lease.h"
#include "agent/data/video/video_libav.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct writer {
    struct staged_output *staged; /* borrowed */
    struct error failure;         /* of the staged output during a write by libav */
    struct video_lease lease;
    bool has_pictures; /* otherwise records; known from the first result on */
    int64_t added;     /* results, and frames that others stand in for */
    int64_t results;
    int64_t skipped; /* items that have failed */
    int64_t written; /* packets */
    AVIOContext *io;
    AVFormatContext *format;
    AVCodecContext *encoder;
    AVFrame *frame;
    AVPacket *packet;
    int width, height; /* of the first picture */
};

int video_write_open(const json_t *work, struct staged_output *staged, struct writer **ret_writer,
                     struct error *err) {
    struct writer *writer = x_calloc(1, sizeof *writer);
    writer->staged = staged;
    if (video_lease_decode(&writer->lease, work, err) < 0) {
        video_write_free(writer);
        return -1;
    }
    *ret_writer = writer;
    return 0;
}

/* ---- pictures ------------------------------------------------------------------------------- */

/* Pixels are square, unless the picture is the stream's picture, scaled evenly. */
static AVRational sample_aspect(const struct writer *writer) {
    const struct video_lease *lease = &writer->lease;
    double x = (double)writer->width / lease->width, y = (double)writer->height / lease->height;
    bool is_even = x / y > 0.99 && x / y < 1.01;
    return is_even ? (AVRational){lease->sample_aspect.num, lease->sample_aspect.den}
                   : (AVRational){1, 1};
}

/* Paint all over a picture, or noise, would take 18 Mbit/s at the encoder's quality, at 1280x720
 * and 20 frames a second. These bits for each pixel make 4 Mbit/s of that, since a part may empty
 * its buffer, too; most films take fewer. Small pictures may take a megabit. Each part has a buffer
 * of its own, of at most a second. */
static void limit_rate(AVCodecContext *encoder, const struct video_lease *lease) {
    static const double bits_per_pixel = 0.12, least = 40000; /* bits of a frame */
    double frame = MAX(bits_per_pixel * encoder->width * encoder->height, least);
    double rate = MAX(av_q2d(encoder->framerate), 1);
    encoder->rc_max_rate = (int64_t)MIN(frame * rate, INT_MAX);
    encoder->rc_buffer_size = (int)MIN(frame * MIN((double)lease->count, rate), INT_MAX);
}

/* The encoder competes with the network for processors, and every few frames a part begins with a
 * keyframe. So the settings have little motion search and no lookahead. Ultrafast takes about the
 * same time and, at the same rate, looks worse; veryfast takes twice as long. */
static int open_encoder(struct writer *writer, struct error *err) {
    const AVCodec *codec = avcodec.find_encoder_by_name("libx264");
    if (!codec) {
        return error_set(err, ERROR_UNSUPPORTED, "libavcodec was built without libx264");
    }
    AVCodecContext *encoder = avcodec.alloc_context3(codec);
    writer->encoder = encoder;
    encoder->width = (writer->width + 1) & ~1;
    encoder->height = (writer->height + 1) & ~1;
    encoder->pix_fmt = AV_PIX_FMT_YUV420P;
    encoder->colorspace = AVCOL_SPC_BT709;
    encoder->color_primaries = AVCOL_PRI_BT709;
    encoder->color_trc = AVCOL_TRC_BT709;
    encoder->color_range = AVCOL_RANGE_MPEG;
    encoder->chroma_sample_location = AVCHROMA_LOC_LEFT;
    encoder->sample_aspect_ratio = sample_aspect(writer);
    /* The encoder's timestamps are frame numbers; the packets get the true times afterwards. */
    AVRational rate = {writer->lease.frame_rate.num, writer->lease.frame_rate.den};
    encoder->framerate = rate;
    encoder->time_base = av_inv_q(rate);
    encoder->gop_size = 250;
    encoder->max_b_frames = 0;
    encoder->thread_count = 1;
    encoder->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    limit_rate(encoder, &writer->lease);
    AVDictionary *options = NULL;
    av.dict_set(&options, "preset", "superfast", 0);
    av.dict_set(&options, "crf", "26", 0);
    int result = avcodec.open2(encoder, codec, &options);
    av.dict_free(&options);
    return result < 0 ? video_error(err, result, "the H.264 encoder cannot start") : 0;
}

static int write_bytes(void *context, uint8_t *bytes, int size) {
    struct writer *writer = context;
    return staged_output_add(writer->staged, bytes, (size_t)size, &writer->failure) < 0
               ? AVERROR(EIO)
               : size;
}

/* Reports the staged output's error if there is one, otherwise libav's. */
static int cannot_write(const struct writer *writer, int averror, struct error *err) {
    if (writer->failure.kind) {
        *err = writer->failure;
        return -1;
    }
    return video_error(err, averror, "cannot write a part");
}

static int open_part(struct writer *writer, struct error *err) {
    if (video_io_new(&(struct video_io){.context = writer, .write = write_bytes}, &writer->io,
                     err) < 0) {
        return -1;
    }
    int result = avformat.alloc_output_context2(&writer->format, NULL, "nut", NULL);
    AVStream *stream = result < 0 ? NULL : avformat.new_stream(writer->format, NULL);
    if (!stream) {
        return video_error(err, result, "no NUT muxer");
    }
    writer->format->pb = writer->io;
    writer->format->flags |= AVFMT_FLAG_CUSTOM_IO | AVFMT_FLAG_BITEXACT;
    /* Frame times of different parts are compared, so the muxer must not shift them. */
    writer->format->avoid_negative_ts = AVFMT_AVOID_NEG_TS_DISABLED;
    stream->time_base = (AVRational){writer->lease.time_base.num, writer->lease.time_base.den};
    avcodec.parameters_from_context(stream->codecpar, writer->encoder);
    result = avformat.write_header(writer->format, NULL);
    return result < 0 ? cannot_write(writer, result, err) : 0;
}

static int open_pictures(struct writer *writer, const struct picture *picture, struct error *err) {
    if (video_libav_open(err) < 0) {
        return -1;
    }
    video_log_quiet();
    writer->width = picture->width;
    writer->height = picture->height;
    writer->packet = av.packet_alloc();
    writer->frame = av.frame_alloc();
    if (picture_check_size(picture->width, picture->height, err) < 0) {
        return error_context(err, "the result");
    }
    if (open_encoder(writer, err) < 0 || open_part(writer, err) < 0) {
        return -1;
    }
    writer->frame->format = AV_PIX_FMT_YUV420P;
    writer->frame->width = writer->encoder->width;
    writer->frame->height = writer->encoder->height;
    int result = av.frame_get_buffer(writer->frame, 0);
    return result < 0 ? video_error(err, result, "no memory for a frame") : 0;
}

/* Writes the packets that are ready. The k-th packet is the k-th frame, since frames are not
 * reordered. */
static int write_packets(struct writer *writer, struct error *err) {
    AVRational from = {writer->lease.time_base.num, writer->lease.time_base.den};
    for (;;) {
        int result = avcodec.receive_packet(writer->encoder, writer->packet);
        if (result == AVERROR(EAGAIN) || result == AVERROR_EOF) {
            return 0;
        }
        if (result < 0) {
            return video_error(err, result, "a frame cannot be encoded");
        }
        AVPacket *packet = writer->packet;
        packet->pts = packet->dts = writer->lease.pts[writer->written++];
        packet->duration = 0;
        av.packet_rescale_ts(packet, from, writer->format->streams[0]->time_base);
        result = av.write_frame(writer->format, packet);
        av.packet_unref(packet);
        if (result < 0) {
            return cannot_write(writer, result, err);
        }
    }
}

/* Encodes what is in the frame. */
static int encode(struct writer *writer, struct error *err) {
    writer->frame->pts = writer->added;
    writer->frame->pict_type = writer->added ? AV_PICTURE_TYPE_NONE : AV_PICTURE_TYPE_I;
    int result = avcodec.send_frame(writer->encoder, writer->frame);
    if (result < 0) {
        return video_error(err, result, "a frame cannot be encoded");
    }
    writer->added++;
    return write_packets(writer, err);
}

/* The picture stands in for failed frames, up to frame `end` of the lease. */
static int repeat(struct writer *writer, int64_t end, struct error *err) {
    while (writer->added < end) {
        if (encode(writer, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int add_picture(struct writer *writer, int64_t at, const struct picture *picture,
                       struct error *err) {
    if (writer->results == 0 && open_pictures(writer, picture, err) < 0) {
        return -1;
    }
    if (picture->width != writer->width || picture->height != writer->height) {
        return error_set(err, ERROR_INVALID,
                         "a result is %dx%d pixels, the ones before were %dx%d: the frames of a "
                         "video have one size",
                         picture->width, picture->height, writer->width, writer->height);
    }
    if (writer->results > 0 && repeat(writer, at, err) < 0) {
        return -1;
    }
    int result = av.frame_make_writable(writer->frame);
    if (result < 0) {
        return video_error(err, result, "no memory for a frame");
    }
    video_color_from_picture(picture, writer->frame);
    return repeat(writer, at + 1, err);
}

static int finish_pictures(struct writer *writer, struct error *err) {
    if (repeat(writer, writer->lease.count, err) < 0) {
        return -1;
    }
    (void)avcodec.send_frame(writer->encoder, NULL);
    if (write_packets(writer, err) < 0) {
        return -1;
    }
    if (writer->written != writer->added) {
        return error_set(err, ERROR_BUG, "the encoder gave %lld packets for %lld frames",
                         (long long)writer->written, (long long)writer->added);
    }
    int result = av.write_trailer(writer->format);
    avio.flush(writer->io);
    result = result < 0 ? result : writer->io->error;
    return result < 0 ? cannot_write(writer, result, err) : 0;
}

/* ---- records -------------------------------------------------------------------------------- */

char *video_write_failed_line(int64_t frame) {
    return x_printf("{\"file\":\"frame %lld\",\"failed\":true}\n", (long long)frame);
}

/* Lines for failed frames, up to frame `end` of the lease. */
static int add_failed(struct writer *writer, int64_t end, struct error *err) {
    for (; writer->added < end; writer->added++) {
        AUTO(text_freep)
        char *line = video_write_failed_line(writer->lease.first + writer->added);
        if (staged_output_add(writer->staged, line, strlen(line), err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int add_record(struct writer *writer, int64_t at, const struct result *result,
                      struct error *err) {
    if (add_failed(writer, at, err) < 0) {
        return -1;
    }
    writer->added++;
    AUTO(text_freep)
    char *line = result->json ? x_strdup(result->json) : json_dumps(result->record, JSON_COMPACT);
    AUTO(text_freep) char *text = x_printf("%s\n", line ? line : "null");
    return staged_output_add(writer->staged, text, strlen(text), err);
}

/* ---- pictures and records ------------------------------------------------------------------- */

/* The frame of the lease that a result is of: "frame 17"; without a name it is the next. */
static int64_t place_of(const struct writer *writer, const struct result *result) {
    long long number = 0;
    return result->name && sscanf(result->name, "frame %lld", &number) == 1
               ? number - writer->lease.first
               : writer->added;
}

int video_write_add(struct writer *writer, const struct result *result, struct error *err) {
    bool is_picture = result->picture != NULL;
    int64_t at = place_of(writer, result);
    if (at < writer->added || at >= writer->lease.count ||
        (writer->results && is_picture != writer->has_pictures)) {
        return error_set(err, ERROR_BUG, "a result that the lease does not ask for");
    }
    writer->has_pictures = is_picture;
    if ((is_picture ? add_picture(writer, at, result->picture, err)
                    : add_record(writer, at, result, err)) < 0) {
        return error_context(err, "spec.output.path");
    }
    writer->results++;
    return 0;
}

void video_write_skip(struct writer *writer) {
    writer->skipped++;
}

int video_write_finish(struct writer *writer, struct error *err) {
    if (writer->results + writer->skipped != writer->lease.count) {
        return error_set(err, ERROR_BUG, "%lld results for %lld frames", (long long)writer->results,
                         (long long)(writer->lease.count - writer->skipped));
    }
    int result = 0;
    if (writer->results > 0) { /* otherwise the mini-batch has failed, and the part is not used */
        result = writer->has_pictures ? finish_pictures(writer, err)
                                      : add_failed(writer, writer->lease.count, err);
    }
    return result < 0 ? error_context(err, "spec.output.path") : 0;
}

void video_write_free(struct writer *writer) {
    if (!writer) {
        return;
    }
    if (writer->packet) { /* pictures, for which libav is open */
        av.packet_free(&writer->packet);
        av.frame_free(&writer->frame);
        avcodec.free_context(&writer->encoder);
        avformat.free_context(writer->format);
    }
    video_io_close(&writer->io);
    video_lease_release(&writer->lease);
    free(writer);
}
