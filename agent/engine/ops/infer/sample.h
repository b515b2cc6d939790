/* sample.h: GridSample and RoiAlign: sampling between pixels of images; MaxUnpool. */
#pragma once

#include "agent/engine/graph/node.h"

enum sample_mode { SAMPLE_LINEAR, SAMPLE_NEAREST, SAMPLE_CUBIC };
enum sample_border { SAMPLE_ZEROS, SAMPLE_EDGE, SAMPLE_REFLECTION };

struct grid_sample {
    enum sample_mode mode;
    enum sample_border border;
    bool aligns; /* -1 and 1 are the centres of the outer pixels; else their outer edges */
};
struct grid_sample grid_sample_params(const struct node *node);

struct roi_align {
    int64_t height, width; /* of the output */
    int64_t samples;       /* per bin and direction; 0: one for each pixel that the bin spans */
    float scale, offset;   /* convert the coordinates of a region to pixels */
    bool is_whole;         /* a region is at least one pixel wide and high */
};
/* A region that is longer than ROI_IMAGES_MAX images is refused, because it would have too many
 * samples. */
enum { ROI_IMAGES_MAX = 64, ROI_SAMPLES_MAX = 256 };
struct roi_align roi_align_params(const struct node *node);

/* x [n, c, h, w], grid [n, height, width, 2] */
NODISCARD int infer_grid_sample(const struct node *node, const struct fact *const *inputs,
                                struct fact *outputs, struct error *err);
/* x [n, c, h, w], regions [r, 4], index of the image [r] */
NODISCARD int infer_roi_align(const struct node *node, const struct fact *const *inputs,
                              struct fact *outputs, struct error *err);
