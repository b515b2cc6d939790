/* anchors.h: the anchors of a detector, which are boxes on a grid over its input that it was
 * trained to move and stretch, and the boxes that its numbers make of them. Pure. Sources: Liu et
 * al., "SSD", 2016; Lin et al., "Focal loss", 2017 (RetinaNet); Tian et al., "FCOS", 2019;
 * Bazarevsky et al., "BlazeFace", 2019. */
#pragma once

#include "agent/score/post/box.h"
#include "lib/tree.h"

/* What the four numbers v of an anchor make of it; `size` is its width and height. EXPONENTIAL and
 * LINEAR: the box's centre is the anchor's plus v[0..1] * variances[0] * size. */
enum anchor_offsets {
    ANCHORS_EXPONENTIAL, /* box size = size * exp(v[2..3] * variances[1]): v are log(box / size) */
    ANCHORS_LINEAR,      /* box size = size * v[2..3] * variances[1] */
    ANCHORS_DISTANCES,   /* from the centre to left, top, right, bottom: v * variances[0] * size */
    ANCHORS_OFFSETS_COUNT
};

struct anchor {
    float x, y, width, height; /* of the centre, in pixels of the input */
};

/* One grid. Candidates are in the order of rows, columns, shapes. */
struct anchor_level {
    int stride;           /* from one cell to the next, in pixels */
    int cells;            /* if stride is 0: the number of cells along each side */
    float center;         /* where in a cell, of its side: 0.5 is its middle */
    size_t count;         /* of anchors in each cell */
    const float *widths;  /* in pixels */
    const float *heights; /* the same array: squares */
};

struct anchors {
    const struct anchor_level *levels;
    size_t count; /* 0: there are none */
    enum anchor_offsets offsets;
    float variances[2]; /* of positions, of sizes */
    /* An output beside the scores is the objectness, the probability that anything is there; a
     * candidate's score is sqrt(score * objectness). */
    bool has_objectness;
    float *numbers; /* what it owns; NULL: nothing */
};

/* anchors_of_blaze_face: two in each cell of a 16 x 16 grid, six in each of an 8 x 8 grid, at the
 * cell's middle; the network's numbers are pixels. anchors_of_grid, anchors_of_yunet: one in each
 * cell of 8, 16 and 32 pixels, at its upper left corner, as large as the cell; yunet has
 * objectness. */
extern const struct anchors anchors_of_blaze_face, anchors_of_grid, anchors_of_yunet;

/* Reads spec.scorer.onnx.postprocess: anchors, offsets, variances; without anchors, count is 0.
 * INVALID: the numbers of widths and heights of a level differ. The caller releases it. */
NODISCARD int anchors_read(const json_t *spec, struct anchors *ret_anchors, struct error *err);
void anchors_release(struct anchors *anchors);

struct anchor_grid {
    int64_t rows, columns;
};
struct anchor_grid anchors_grid(const struct anchor_level *level, int width, int height);
/* Of all levels, for an input of width x height pixels. */
int64_t anchors_count(const struct anchors *anchors, int width, int height);
/* Writes anchors_count of them. */
void anchors_place(const struct anchors *anchors, int width, int height, struct anchor *ret_list);
/* The box in pixels of the input, which may extend beyond it (box.h). */
struct box anchor_box(const struct anchors *anchors, const struct anchor *anchor,
                      const float values[static 4]);
