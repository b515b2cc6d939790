// SPDX-License-Identifier: Apache-2.0
#include "agent/data/video/video_file.h"

#include "agent/data/input/media.h"
#include "agent/data/video/container/container.h"
#include "agent/data/video/video_hardware.h"
#include "agent/data/video/video_libav.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { IO_BUFFER_BYTES = 1 << 16 };

/* Demuxers of self-contained videos. Those that open other files (hls, dash, concat, sdp, image2)
 * are excluded: a manifest's video is one file of one volume. */
static const char formats[] = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpeg,mpegts,mpegvideo,"
                              "m4v,h264,hevc,obu,ivf,flv,live_flv,ogg,nut,asf,mxf,dv,gif,"
                              "yuv4mpegpipe,vc1,rm,wtv,av1,apng,mjpeg";

int video_threads(void) {
    const char *text = getenv("WINDLASS_THREADS");
    return text && strtol(text, NULL, 10) == 1 ? 1 : 2;
}

/* ---- bytes ---------------------------------------------------------------------------------- */

int video_io_new(const struct video_io *functions, AVIOContext **ret_io, struct error *err) {
    uint8_t *bytes = av.malloc(IO_BUFFER_BYTES);
    AVIOContext *io = bytes ? avio.alloc_context(bytes, IO_BUFFER_BYTES, functions->write != NULL,
                                                 functions->context, functions->read,
                                                 functions->write, functions->seek)
                            : NULL;
    if (!io) {
        av.free(bytes);
        return error_set(err, ERROR_EXHAUSTED, "no memory for a file's buffer");
    }
    *ret_io = io;
    return 0;
}

void video_io_close(AVIOContext **io) {
    if (*io) {
        av.freep(&(*io)->buffer);
        avio.context_free(io);
    }
}

/* ---- the file ------------------------------------------------------------------------------- */

static int read_source(void *context, uint8_t *bytes, int size) {
    struct video_file *file = context;
    int64_t got = video_source_read(file->source, file->position, bytes, (size_t)size);
    file->position += MAX(got, (int64_t)0);
    return got > 0 ? (int)got : got == 0 ? AVERROR_EOF : AVERROR(EIO);
}

static int64_t seek_source(void *context, int64_t offset, int whence) {
    struct video_file *file = context;
    int64_t size = file->size_bytes;
    if (whence & AVSEEK_SIZE) {
        return size;
    }
    whence &= ~AVSEEK_FORCE;
    int64_t from = whence == SEEK_CUR ? file->position : whence == SEEK_END ? size : 0;
    if (offset < -from || offset > INT64_MAX - from) {
        return AVERROR(EINVAL);
    }
    return file->position = from + offset;
}

static int refuse_other_files(AVFormatContext *format UNUSED, AVIOContext **io UNUSED,
                              const char *url UNUSED, int flags UNUSED,
                              AVDictionary **options UNUSED) {
    return AVERROR(EPERM);
}

static int quarter_turns(const AVStream *stream) {
    const uint8_t *matrix = av.stream_get_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, NULL);
    double angle = matrix ? av.display_rotation_get((const int32_t *)(const void *)matrix) : 0;
    if (!isfinite(angle)) {
        return 0;
    }
    /* libav's angle is counterclockwise. */
    return (((int)lround(-angle / 90.0) % 4) + 4) % 4;
}

static int open_bytes(struct video_file *file, const char *spec_path,
                      const struct video_origin *origin, struct error *err) {
    if (video_source_open(spec_path, origin, &file->source, err) < 0) {
        return -1;
    }
    int64_t missing = 0;
    file->size_bytes = video_source_size(file->source);
    enum container_state state = container_check(file->source, &missing);
    file->is_cut = state == CONTAINER_CUT;
    file->is_complete = state == CONTAINER_COMPLETE;
    return 0;
}

static int find_stream(struct video_file *file, struct error *err) {
    int best = av.find_best_stream(file->format, AVMEDIA_TYPE_VIDEO, -1, -1, NULL, 0);
    if (best < 0 || (file->format->streams[best]->disposition & AV_DISPOSITION_ATTACHED_PIC)) {
        return error_set(err, ERROR_INVALID, "contains no video stream (format %s)",
                         file->format->iformat->long_name);
    }
    for (unsigned i = 0; i < file->format->nb_streams; i++) {
        file->format->streams[i]->discard = (int)i == best ? AVDISCARD_DEFAULT : AVDISCARD_ALL;
    }
    file->stream = file->format->streams[best];
    const AVCodecParameters *codec = file->stream->codecpar;
    if (codec->width <= 0 || codec->height <= 0 || codec->width > MEDIA_SIDE_MAX ||
        codec->height > MEDIA_SIDE_MAX ||
        (int64_t)codec->width * codec->height > MEDIA_PIXELS_MAX) {
        return error_set(err, ERROR_INVALID, "is %dx%d pixels, at most %dx%d and %d in all",
                         codec->width, codec->height, MEDIA_SIDE_MAX, MEDIA_SIDE_MAX,
                         MEDIA_PIXELS_MAX);
    }
    file->turns = quarter_turns(file->stream);
    return 0;
}

static int open_format(struct video_file *file, struct error *err) {
    video_log_quiet();
    video_log_clear();
    struct video_io functions = {.context = file, .read = read_source, .seek = seek_source};
    if (video_io_new(&functions, &file->io, err) < 0) {
        return -1;
    }
    AVFormatContext *format = avformat.alloc_context();
    format->pb = file->io;
    format->flags |= AVFMT_FLAG_CUSTOM_IO;
    format->io_open = refuse_other_files;
    AVDictionary *options = NULL;
    av.dict_set(&options, "format_whitelist", formats, 0);
    int result = avformat.open_input(&format, "", NULL, &options); /* frees format on failure */
    av.dict_free(&options);
    if (video_file_check(file, err) < 0) {
        avformat.close_input(&format);
        return -1;
    }
    if (result < 0) {
        return video_error(err, result,
                           file->is_cut ? "is truncated and cannot be read"
                                        : "is not a video that can be read");
    }
    file->format = format;
    result = avformat.find_stream_info(format, NULL);
    if (video_file_check(file, err) < 0) {
        return -1;
    }
    if (result < 0) {
        return video_error(err, result, "is not a video that can be read");
    }
    return find_stream(file, err);
}

int video_file_open(struct video_file *file, const char *spec_path,
                    const struct video_origin *origin, struct error *err) {
    *file = (struct video_file){0};
    if (video_libav_open(err) < 0) {
        return error_context(err, "%s", spec_path);
    }
    if (open_bytes(file, spec_path, origin, err) < 0) {
        video_file_close(file);
        return -1;
    }
    if (open_format(file, err) < 0) {
        video_file_close(file);
        return text_starts(err->text, spec_path) ? -1 : error_context(err, "%s", spec_path);
    }
    return 0;
}

void video_file_close(struct video_file *file) {
    if (file->format) {
        avformat.close_input(&file->format);
    }
    video_io_close(&file->io);
    video_source_free(TAKE(file->source));
    file->stream = NULL;
}

bool video_file_is_listed(const struct video_file *file, int64_t size_bytes, const char *core) {
    return file->size_bytes == size_bytes && video_source_holds(file->source, core);
}

int video_file_check(const struct video_file *file, struct error *err) {
    const struct error *failure = video_source_failure(file->source);
    if (failure->kind) {
        *err = *failure;
    }
    return failure->kind ? -1 : 0;
}

int video_file_next(struct video_file *file, AVPacket *packet, struct error *err) {
    for (;;) {
        av.packet_unref(packet);
        int result = av.read_frame(file->format, packet);
        if (video_file_check(file, err) < 0) {
            return -1;
        }
        if (result == AVERROR(EAGAIN)) {
            continue;
        }
        if (result < 0) { /* demuxers return various errors for a truncated end */
            file->ended = result;
            return 0;
        }
        if (packet->stream_index == file->stream->index && packet->size > 0) {
            return 1;
        }
    }
}

int video_file_decoder(const struct video_file *file, int threads, AVBufferRef *hardware,
                       AVCodecContext **ret_decoder, struct error *err) {
    const AVCodecParameters *parameters = file->stream->codecpar;
    const AVCodec *codec = avcodec.find_decoder(parameters->codec_id);
    if (!codec) {
        return error_set(err, ERROR_UNSUPPORTED, "has the codec %s, which this build cannot decode",
                         avcodec.get_name(parameters->codec_id));
    }
    AVCodecContext *decoder = avcodec.alloc_context3(codec);
    int result = avcodec.parameters_to_context(decoder, parameters);
    decoder->pkt_timebase = file->stream->time_base;
    decoder->thread_count = threads;
    decoder->max_pixels = MEDIA_PIXELS_MAX;
    if (hardware) {
        (void)video_hardware_attach(hardware, decoder);
    }
    result = result < 0 ? result : avcodec.open2(decoder, codec, NULL);
    if (result < 0) {
        avcodec.free_context(&decoder);
        return video_error(err, result, "the decoder cannot start");
    }
    *ret_decoder = decoder;
    return 0;
}
