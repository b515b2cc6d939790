/* video_color.h: converts between a decoder's or encoder's frames and packed 8-bit RGB. Colour
 * matrix and range are always set explicitly, never guessed by libswscale. In: those of the stream;
 * if it has none, BT.709 for widths from 1280 or heights from 577 up, else BT.601, and limited
 * range unless the pixel format says full. Out: BT.709, limited range. HDR (PQ, HLG) is not
 * tone-mapped. */
#pragma once

#include "agent/data/input/media.h"
#include "agent/data/video/video_libav.h"

/* Scales the frame to picture->width x height, and fills picture->pixels, which the caller has
 * allocated. *scaler is reused between calls (NULL at
 * first); free it with sws_freeContext. */
NODISCARD int video_color_to_picture(struct SwsContext **scaler, const AVFrame *frame,
                                     struct picture *picture, struct error *err);

/* Converts the picture to the frame: yuv420p, allocated, of the same size; where the picture's
 * width or height is odd, the frame has one pixel more, which repeats the edge. */
void video_color_from_picture(const struct picture *picture, AVFrame *frame);
