// SPDX-License-Identifier: Apache-2.0
#include "agent/data/video_write.h"

#include "agent/data/parts.h"
#include "agent/data/video_color.h"
#include "agent/data/video_file.h"
#include "agent/data/video_lease.h"
#include "lib/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libavutil/opt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct writer {
    char *folder, *temporary; /* temporary: NULL until the first result */
    char *unique;
    struct video_lease lease;
    enum video_part part;
    int fd;
    int64_t added;   /* results */
    int64_t written; /* packets */
    AVIOContext *io;
    AVFormatContext *format;
    AVCodecContext *encoder;
    AVFrame *frame;
    AVPacket *packet;
    int width, height; /* of the first picture */
};

char *video_part_path(const char *folder, int64_t first, enum video_part part) {
    return x_printf("%s/part-%08lld.%s", folder, (long long)first,
                    part == VIDEO_PART_PICTURES ? "nut" : "jsonl");
}

int video_write_open(const char *output_path, const char *run, const json_t *work,
                     const char *unique, struct writer **ret_writer, struct error *err) {
    struct writer *writer = x_calloc(1, sizeof *writer);
    writer->fd = -1;
    writer->unique = x_strdup(unique);
    if (video_lease_decode(&writer->lease, work, err) < 0 ||
        parts_folder(output_path, run, &writer->folder, err) < 0) {
        video_write_free(writer);
        return -1;
    }
    *ret_writer = writer;
    return 0;
}

static int open_temporary(struct writer *writer, enum video_part part, struct error *err) {
    writer->part = part;
    AUTO(text_freep) char *path = video_part_path(writer->folder, writer->lease.first, part);
    writer->temporary = x_printf("%s.%s.tmp", path, writer->unique);
    writer->fd = open(writer->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (writer->fd < 0) {
        int errno_value = errno;
        free(TAKE(writer->temporary));
        return error_from_errno(err, errno_value, "spec.output.path: cannot write into %s",
                                writer->folder);
    }
    return 0;
}

/* ---- pictures ------------------------------------------------------------------------------- */

/* The picture's pixels are square unless it is the stream's own picture, scaled evenly. */
static AVRational sample_aspect(const struct writer *writer) {
    const struct video_lease *lease = &writer->lease;
    double x = (double)writer->width / lease->width, y = (double)writer->height / lease->height;
    bool is_even = x / y > 0.99 && x / y < 1.01;
    return is_even ? (AVRational){lease->sample_aspect.num, lease->sample_aspect.den}
                   : (AVRational){1, 1};
}

/* The encoder works on the processors that the network wants, and a part begins with a whole
 * picture every few frames. So: little search, no look ahead, the cheap entropy code; but edges of
 * blocks are smoothed, which costs little and shows. On painted frames that takes two thirds of
 * superfast's time, for a sixth more bytes at the same PSNR. */
static int open_encoder(struct writer *writer, struct error *err) {
    const AVCodec *codec = avcodec_find_encoder_by_name("libx264");
    if (!codec) {
        return error_set(err, ERROR_UNSUPPORTED, "libavcodec was built without libx264");
    }
    AVCodecContext *encoder = avcodec_alloc_context3(codec);
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
    /* The encoder counts frames; their true times are put on the packets afterwards. */
    AVRational rate = {writer->lease.frame_rate.num, writer->lease.frame_rate.den};
    encoder->framerate = rate;
    encoder->time_base = av_inv_q(rate);
    encoder->gop_size = 250;
    encoder->max_b_frames = 0;
    encoder->thread_count = 1;
    encoder->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    AVDictionary *options = NULL;
    av_dict_set(&options, "preset", "ultrafast", 0);
    av_dict_set(&options, "crf", "22", 0);
    av_dict_set(&options, "x264-params", "no-deblock=0", 0);
    int result = avcodec_open2(encoder, codec, &options);
    av_dict_free(&options);
    return result < 0 ? video_error(err, result, "the H.264 encoder cannot start") : 0;
}

static int open_part(struct writer *writer, struct error *err) {
    if (video_io_open(writer->fd, true, &writer->io, err) < 0) {
        return -1;
    }
    int result = avformat_alloc_output_context2(&writer->format, NULL, "nut", NULL);
    AVStream *stream = result < 0 ? NULL : avformat_new_stream(writer->format, NULL);
    if (!stream) {
        return video_error(err, result, "no NUT muxer");
    }
    writer->format->pb = writer->io;
    writer->format->flags |= AVFMT_FLAG_CUSTOM_IO | AVFMT_FLAG_BITEXACT;
    /* Frame times of two parts are compared, so nothing may shift them. */
    writer->format->avoid_negative_ts = AVFMT_AVOID_NEG_TS_DISABLED;
    stream->time_base = (AVRational){writer->lease.time_base.num, writer->lease.time_base.den};
    avcodec_parameters_from_context(stream->codecpar, writer->encoder);
    result = avformat_write_header(writer->format, NULL);
    return result < 0 ? video_error(err, result, "cannot write a part") : 0;
}

static int open_pictures(struct writer *writer, const struct picture *picture, struct error *err) {
    video_log_quiet();
    writer->width = picture->width;
    writer->height = picture->height;
    writer->packet = av_packet_alloc();
    writer->frame = av_frame_alloc();
    if (picture_check_size(picture->width, picture->height, err) < 0) {
        return error_context(err, "the result");
    }
    if (open_temporary(writer, VIDEO_PART_PICTURES, err) < 0 || open_encoder(writer, err) < 0 ||
        open_part(writer, err) < 0) {
        return -1;
    }
    writer->frame->format = AV_PIX_FMT_YUV420P;
    writer->frame->width = writer->encoder->width;
    writer->frame->height = writer->encoder->height;
    int result = av_frame_get_buffer(writer->frame, 0);
    return result < 0 ? video_error(err, result, "no memory for a frame") : 0;
}

/* Writes the packets that are ready. The k-th packet is the k-th frame: nothing is reordered. */
static int write_packets(struct writer *writer, struct error *err) {
    AVRational from = {writer->lease.time_base.num, writer->lease.time_base.den};
    for (;;) {
        int result = avcodec_receive_packet(writer->encoder, writer->packet);
        if (result == AVERROR(EAGAIN) || result == AVERROR_EOF) {
            return 0;
        }
        if (result < 0) {
            return video_error(err, result, "a frame cannot be encoded");
        }
        AVPacket *packet = writer->packet;
        packet->pts = packet->dts = writer->lease.pts[writer->written++];
        packet->duration = 0;
        av_packet_rescale_ts(packet, from, writer->format->streams[0]->time_base);
        result = av_write_frame(writer->format, packet);
        av_packet_unref(packet);
        if (result < 0) {
            return video_error(err, result, "cannot write a part");
        }
    }
}

static int add_picture(struct writer *writer, const struct picture *picture, struct error *err) {
    if (writer->added == 0 && open_pictures(writer, picture, err) < 0) {
        return -1;
    }
    if (picture->width != writer->width || picture->height != writer->height) {
        return error_set(err, ERROR_INVALID,
                         "a result is %dx%d pixels, the ones before were %dx%d: the frames of a "
                         "video have one size",
                         picture->width, picture->height, writer->width, writer->height);
    }
    int result = av_frame_make_writable(writer->frame);
    if (result < 0) {
        return video_error(err, result, "no memory for a frame");
    }
    video_color_from_picture(picture, writer->frame);
    writer->frame->pts = writer->added;
    writer->frame->pict_type = writer->added ? AV_PICTURE_TYPE_NONE : AV_PICTURE_TYPE_I;
    result = avcodec_send_frame(writer->encoder, writer->frame);
    return result < 0 ? video_error(err, result, "a frame cannot be encoded")
                      : write_packets(writer, err);
}

static int finish_pictures(struct writer *writer, struct error *err) {
    (void)avcodec_send_frame(writer->encoder, NULL);
    if (write_packets(writer, err) < 0) {
        return -1;
    }
    if (writer->written != writer->added) {
        return error_set(err, ERROR_BUG, "the encoder gave %lld packets for %lld frames",
                         (long long)writer->written, (long long)writer->added);
    }
    int result = av_write_trailer(writer->format);
    avio_flush(writer->io);
    result = result < 0 ? result : writer->io->error;
    return result < 0 ? video_error(err, result, "cannot write a part") : 0;
}

/* ---- records -------------------------------------------------------------------------------- */

static int add_record(struct writer *writer, const json_t *record, struct error *err) {
    if (writer->added == 0 && open_temporary(writer, VIDEO_PART_RECORDS, err) < 0) {
        return -1;
    }
    AUTO(text_freep) char *line = json_dumps(record, JSON_COMPACT);
    AUTO(text_freep) char *text = x_printf("%s\n", line ? line : "null");
    for (size_t at = 0, length = strlen(text); at < length;) {
        ssize_t put = write(writer->fd, text + at, length - at);
        if (put < 0 && errno != EINTR) {
            return error_from_errno(err, errno, "cannot write a part");
        }
        at += put > 0 ? (size_t)put : 0;
    }
    return 0;
}

/* ---- both ----------------------------------------------------------------------------------- */

int video_write_add(struct writer *writer, const struct result *result, struct error *err) {
    enum video_part part = result->picture ? VIDEO_PART_PICTURES : VIDEO_PART_RECORDS;
    if (writer->added == writer->lease.count || (writer->added && part != writer->part)) {
        return error_set(err, ERROR_BUG, "a result that the lease does not ask for");
    }
    if ((part == VIDEO_PART_PICTURES ? add_picture(writer, result->picture, err)
                                     : add_record(writer, result->record, err)) < 0) {
        return error_context(err, "spec.output.path: %s", writer->folder);
    }
    writer->added++;
    return 0;
}

int video_write_commit(struct writer *writer, struct error *err) {
    if (writer->added != writer->lease.count) {
        return error_set(err, ERROR_BUG, "%lld results for %lld frames", (long long)writer->added,
                         (long long)writer->lease.count);
    }
    if (writer->part == VIDEO_PART_PICTURES && finish_pictures(writer, err) < 0) {
        return error_context(err, "spec.output.path: %s", writer->folder);
    }
    AUTO(text_freep)
    char *path = video_part_path(writer->folder, writer->lease.first, writer->part);
    if (fsync(writer->fd) < 0 || rename(writer->temporary, path) < 0) {
        return error_from_errno(err, errno, "spec.output.path: cannot write %s", path);
    }
    free(TAKE(writer->temporary));
    return 0;
}

void video_write_free(struct writer *writer) {
    if (!writer) {
        return;
    }
    if (writer->temporary) {
        unlink(writer->temporary);
    }
    av_packet_free(&writer->packet);
    av_frame_free(&writer->frame);
    avcodec_free_context(&writer->encoder);
    avformat_free_context(writer->format);
    video_io_close(&writer->io);
    fd_closep(&writer->fd);
    video_lease_release(&writer->lease);
    free(writer->temporary);
    free(writer->unique);
    free(writer->folder);
    free(writer);
}
