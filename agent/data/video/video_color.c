// SPDX-License-Identifier: Apache-2.0
#include "agent/data/video/video_color.h"

#include "agent/data/image/yuv.h"
#include "agent/data/video/video_libav.h"

#include <string.h>

/* Chroma is interpolated, not repeated, and rounding is exact. */
enum { SCALER_FLAGS = SWS_BILINEAR | SWS_FULL_CHR_H_INT | SWS_ACCURATE_RND };

struct matrix {
    struct yuv_matrix yuv; /* is_full: not set */
    int scaler;            /* libswscale's constant */
};

/* Weights of ITU-T H.273, table 4. */
static const struct matrix bt601 = {{.kr = 0.299, .kb = 0.114}, SWS_CS_ITU601};
static const struct matrix bt709 = {{.kr = 0.2126, .kb = 0.0722}, SWS_CS_ITU709};
static const struct matrix bt2020 = {{.kr = 0.2627, .kb = 0.0593}, SWS_CS_BT2020};
static const struct matrix fcc = {{.kr = 0.30, .kb = 0.11}, SWS_CS_FCC};
static const struct matrix smpte240 = {{.kr = 0.212, .kb = 0.087}, SWS_CS_SMPTE240M};

static const struct matrix *matrix_of(const AVFrame *frame) {
    switch (frame->colorspace) {
    case AVCOL_SPC_BT709:
        return &bt709;
    case AVCOL_SPC_FCC:
        return &fcc;
    case AVCOL_SPC_SMPTE240M:
        return &smpte240;
    case AVCOL_SPC_BT2020_NCL:
    case AVCOL_SPC_BT2020_CL:
        return &bt2020;
    case AVCOL_SPC_BT470BG:
    case AVCOL_SPC_SMPTE170M:
        return &bt601;
    default:
        return frame->width >= 1280 || frame->height > 576 ? &bt709 : &bt601;
    }
}

static struct yuv_planes planes_of(const AVFrame *frame) {
    struct yuv_planes yuv = {.width = frame->width, .height = frame->height};
    for (int i = 0; i < 3; i++) {
        yuv.planes[i] = frame->data[i];
        yuv.strides[i] = frame->linesize[i];
    }
    return yuv;
}

/* The yuvj formats mean full range; swscale needs the plain formats and a flag. */
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

/* True for formats that yuv.h converts. */
static bool is_direct(const AVFrame *frame, enum AVPixelFormat format) {
    return format == AV_PIX_FMT_YUV444P ||
           (format == AV_PIX_FMT_YUV420P && (frame->chroma_location == AVCHROMA_LOC_LEFT ||
                                             frame->chroma_location == AVCHROMA_LOC_UNSPECIFIED));
}

int video_color_to_picture(struct SwsContext **scaler, const AVFrame *frame,
                           struct picture *picture, struct error *err) {
    bool is_full = frame->color_range == AVCOL_RANGE_JPEG;
    enum AVPixelFormat format = plain_format(frame->format, &is_full);
    const struct matrix *matrix = matrix_of(frame);
    if (is_direct(frame, format) && frame->width == picture->width &&
        frame->height == picture->height) {
        struct yuv_planes yuv = planes_of(frame);
        struct yuv_matrix with_range = matrix->yuv;
        yuv.is_444 = format == AV_PIX_FMT_YUV444P;
        with_range.is_full = is_full;
        yuv_to_rgb(&yuv, &with_range, picture->pixels);
        return 0;
    }
    *scaler =
        sws.getCachedContext(*scaler, frame->width, frame->height, format, picture->width,
                             picture->height, AV_PIX_FMT_RGB24, SCALER_FLAGS, NULL, NULL, NULL);
    if (!*scaler) {
        const char *name = av.get_pix_fmt_name(frame->format);
        return error_set(err, ERROR_UNSUPPORTED, "pixels of format %s cannot be converted",
                         name ? name : "?");
    }
    const int *weights = sws.getCoefficients(matrix->scaler);
    sws.setColorspaceDetails(*scaler, weights, is_full, weights, 1, 0, 1 << 16, 1 << 16);
    uint8_t *planes[4] = {picture->pixels};
    int strides[4] = {3 * picture->width};
    if (sws.scale(*scaler, (const uint8_t *const *)frame->data, frame->linesize, 0, frame->height,
                  planes, strides) != picture->height) {
        return error_set(err, ERROR_BUG, "a frame cannot be converted to RGB");
    }
    return 0;
}

void video_color_from_picture(const struct picture *picture, AVFrame *frame) {
    AUTO(picture_release) struct picture even = {0};
    if (picture->width != frame->width || picture->height != frame->height) {
        picture_pad(picture, frame->width, frame->height, &even);
        picture = &even;
    }
    struct yuv_planes yuv = planes_of(frame);
    yuv_from_rgb(picture->pixels, &bt709.yuv, &yuv);
}
