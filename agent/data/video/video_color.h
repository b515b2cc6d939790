/* video_color.h: between a decoder's or encoder's frames and packed 8-bit RGB, with the colour
 * matrix and range always said, never guessed by libswscale. In: the stream's own; if it does not
 * say, BT.709 from 1280 wide or 577 high up, else BT.601, limited range unless the pixel format
 * says full. Out: BT.709, limited range. HDR (PQ, HLG) is not tone-mapped. */
#pragma once

#include "agent/data/input/media.h"

#include <libavutil/frame.h>
#include <libswscale/swscale.h>

/* Scales and converts the frame to the picture's size. *scaler is kept from call to call (NULL at
 * first); free it with sws_freeContext. */
NODISCARD int video_color_to_picture(struct SwsContext **scaler, const AVFrame *frame,
                                     struct picture *picture, struct error *err);

/* Converts the picture to the frame (yuv420p, allocated, of the same size or one more per odd
 * side, which repeats the edge). */
void video_color_from_picture(const struct picture *picture, AVFrame *frame);
