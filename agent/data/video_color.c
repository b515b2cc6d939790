// SPDX-License-Identifier: Apache-2.0
#include "agent/data/video_color.h"

#include <libavutil/pixdesc.h>
#include <string.h>

/* Chroma is interpolated, not repeated, and rounding is exact. */
enum { SCALER_FLAGS = SWS_BILINEAR | SWS_FULL_CHR_H_INT | SWS_ACCURATE_RND };

static const int *matrix_of(const AVFrame *frame) {
    switch (frame->colorspace) {
    case AVCOL_SPC_BT709:
        return sws_getCoefficients(SWS_CS_ITU709);
    case AVCOL_SPC_FCC:
        return sws_getCoefficients(SWS_CS_FCC);
    case AVCOL_SPC_SMPTE240M:
        return sws_getCoefficients(SWS_CS_SMPTE240M);
    case AVCOL_SPC_BT2020_NCL:
    case AVCOL_SPC_BT2020_CL:
        return sws_getCoefficients(SWS_CS_BT2020);
    case AVCOL_SPC_BT470BG:
    case AVCOL_SPC_SMPTE170M:
        return sws_getCoefficients(SWS_CS_ITU601);
    default:
        return sws_getCoefficients(frame->width >= 1280 || frame->height > 576 ? SWS_CS_ITU709
                                                                               : SWS_CS_ITU601);
    }
}

/* The yuvj formats say "full range" in their name; swscale wants the plain ones and a flag. */
static enum AVPixelFormat plain_format(enum AVPixelFormat format, bool *is_full) {
    static const enum AVPixelFormat plain[][2] = {
        {AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_YUV420P}, {AV_PIX_FMT_YUVJ422P, AV_PIX_FMT_YUV422P},
        {AV_PIX_FMT_YUVJ444P, AV_PIX_FMT_YUV444P}, {AV_PIX_FMT_YUVJ440P, AV_PIX_FMT_YUV440P},
        {AV_PIX_FMT_YUVJ411P, AV_PIX_FMT_YUV411P},
    };
    for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
        if (plain[i][0] == format) {
            *is_full = true;
            return plain[i][1];
        }
    }
    return format;
}

int video_color_to_picture(struct SwsContext **scaler, const AVFrame *frame,
                           struct picture *picture, struct error *err) {
    bool is_full = frame->color_range == AVCOL_RANGE_JPEG;
    enum AVPixelFormat format = plain_format(frame->format, &is_full);
    *scaler =
        sws_getCachedContext(*scaler, frame->width, frame->height, format, picture->width,
                             picture->height, AV_PIX_FMT_RGB24, SCALER_FLAGS, NULL, NULL, NULL);
    if (!*scaler) {
        const char *name = av_get_pix_fmt_name(frame->format);
        return error_set(err, ERROR_UNSUPPORTED, "pixels of format %s cannot be converted",
                         name ? name : "?");
    }
    const int *matrix = matrix_of(frame);
    sws_setColorspaceDetails(*scaler, matrix, is_full, matrix, 1, 0, 1 << 16, 1 << 16);
    uint8_t *planes[4] = {picture->pixels};
    int strides[4] = {3 * picture->width};
    if (sws_scale(*scaler, (const uint8_t *const *)frame->data, frame->linesize, 0, frame->height,
                  planes, strides) != picture->height) {
        return error_set(err, ERROR_BUG, "a frame cannot be converted to RGB");
    }
    return 0;
}

int video_color_from_picture(struct SwsContext **scaler, const struct picture *picture,
                             AVFrame *frame, struct error *err) {
    AUTO(picture_release) struct picture even = {0};
    if (picture->width != frame->width || picture->height != frame->height) {
        picture_pad(picture, frame->width, frame->height, &even);
        picture = &even;
    }
    *scaler =
        sws_getCachedContext(*scaler, frame->width, frame->height, AV_PIX_FMT_RGB24, frame->width,
                             frame->height, AV_PIX_FMT_YUV420P, SCALER_FLAGS, NULL, NULL, NULL);
    if (!*scaler) {
        return error_set(err, ERROR_BUG, "RGB cannot be converted to yuv420p");
    }
    const int *matrix = sws_getCoefficients(SWS_CS_ITU709);
    sws_setColorspaceDetails(*scaler, matrix, 1, matrix, 0, 0, 1 << 16, 1 << 16);
    const uint8_t *planes[4] = {picture->pixels};
    int strides[4] = {3 * picture->width};
    if (sws_scale(*scaler, planes, strides, 0, picture->height, frame->data, frame->linesize) !=
        frame->height) {
        return error_set(err, ERROR_BUG, "a picture cannot be converted to yuv420p");
    }
    return 0;
}
