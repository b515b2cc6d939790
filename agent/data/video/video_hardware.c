// SPDX-License-Identifier: Apache-2.0
#include "agent/data/video/video_hardware.h"

#include "agent/data/image/yuv.h"
#include "agent/data/video/video_libav.h"
#include "agent/data/video/video_log.h"

#include <string.h>

int video_hardware_open(AVBufferRef **ret_device, struct error *err) {
    video_log_quiet();
    *ret_device = NULL;
    int result = av.hwdevice_ctx_create(ret_device, AV_HWDEVICE_TYPE_CUDA, NULL, NULL, 0);
    if (result >= 0) {
        return 0;
    }
    video_error(err, result, "cannot use the GPU's video decoder");
    err->kind = ERROR_UNAVAILABLE;
    return -1;
}

/* libav asks again without the GPU's format if the device does not support the stream. */
static enum AVPixelFormat choose(AVCodecContext *decoder, const enum AVPixelFormat *formats) {
    for (const enum AVPixelFormat *format = formats; *format != AV_PIX_FMT_NONE; format++) {
        if (*format == AV_PIX_FMT_CUDA) {
            return *format;
        }
    }
    return avcodec.default_get_format(decoder, formats);
}

bool video_hardware_attach(AVBufferRef *device, AVCodecContext *decoder) {
    for (int i = 0;; i++) {
        const AVCodecHWConfig *config = avcodec.get_hw_config(decoder->codec, i);
        if (!config) {
            return false;
        }
        if (config->device_type == AV_HWDEVICE_TYPE_CUDA &&
            (config->methods & AV_CODEC_HW_CONFIG_METHOD_HW_DEVICE_CTX)) {
            decoder->hw_device_ctx = av.buffer_ref(device);
            decoder->get_format = choose;
            decoder->thread_count = 1; /* threads would only wait for the GPU */
            return decoder->hw_device_ctx != NULL;
        }
    }
}

/* Splits the pairs of NV12 into two planes. */
static int split(const AVFrame *pairs, AVFrame *planes, struct error *err) {
    planes->format = AV_PIX_FMT_YUV420P;
    planes->width = pairs->width;
    planes->height = pairs->height;
    if (av.frame_get_buffer(planes, 0) < 0) {
        return error_set(err, ERROR_EXHAUSTED, "no memory for a frame");
    }
    for (int y = 0; y < pairs->height; y++) {
        memcpy(planes->data[0] + (ptrdiff_t)y * planes->linesize[0],
               pairs->data[0] + (ptrdiff_t)y * pairs->linesize[0], (size_t)pairs->width);
    }
    int wide = (pairs->width + 1) / 2, high = (pairs->height + 1) / 2;
    for (int y = 0; y < high; y++) {
        yuv_split(pairs->data[1] + (ptrdiff_t)y * pairs->linesize[1], wide,
                  planes->data[1] + (ptrdiff_t)y * planes->linesize[1],
                  planes->data[2] + (ptrdiff_t)y * planes->linesize[2]);
    }
    return 0;
}

static int fetch(const AVFrame *there, AVFrame *here, AVFrame *planes, struct error *err) {
    int result = av.hwframe_transfer_data(here, there, 0);
    if (result < 0) {
        video_error(err, result, "cannot copy a frame from the GPU");
        err->kind = ERROR_UNAVAILABLE;
        return -1;
    }
    here->width = there->width; /* the transferred frame may be larger */
    here->height = there->height;
    return here->format == AV_PIX_FMT_NV12 ? split(here, planes, err) : 0;
}

int video_hardware_fetch(AVFrame *frame, struct error *err) {
    if (frame->format != AV_PIX_FMT_CUDA) {
        return 0;
    }
    AVFrame *here = av.frame_alloc(), *planes = av.frame_alloc();
    int result = !here || !planes ? error_set(err, ERROR_EXHAUSTED, "no memory for a frame")
                                  : fetch(frame, here, planes, err);
    if (result == 0) {
        AVFrame *made = here->format == AV_PIX_FMT_NV12 ? planes : here;
        result = av.frame_copy_props(made, frame) < 0
                     ? error_set(err, ERROR_EXHAUSTED, "no memory for a frame")
                     : 0;
        av.frame_unref(frame);
        av.frame_move_ref(frame, made);
    }
    av.frame_free(&here);
    av.frame_free(&planes);
    return result;
}
