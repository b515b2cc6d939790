/* anchors.h: the anchors of a detector, which are boxes on a grid over its input that it was
 * trained to move and stretch, and the boxes that its numbers make of them. Pure. Sources: Liu et
 * al., "SSD", 2016; Lin et al., "Focal loss", 2017 (RetinaNet); Tian et al., "FCOS", 2019;
 * Bazarevsky et al., "BlazeFace", 2019. */
#pragma once

#include "agent/score/post/box.h"
#include "lib/tree.h"

/* What the four numbers of an anchor are, each times a variance and the anchor's width or height.
 */
enum anchor_offsets {
    ANCHORS_EXPONENTIAL, /* of the centre; logarithms of the stretching */
    ANCHORS_LINEAR,      /* of the centre; width and height themselves */
    ANCHORS_DISTANCES,   /* from the centre to left, top, right and bottom */
    ANCHORS_OFFSETS_COUNT
};

struct anchor {
    float x, y, width, height; /* of the centre, in pixels of the input */
};

/* One grid. Candidates are in the order of rows, columns, shapes. */
struct anchor_level {
    int stride;           /* from one cell to the next, in pixels */
    int cells;            /* stride is 0: as many along each side instead */
    float center;         /* where in a cell: 0.5 in its middle */
    size_t count;         /* of shapes in each cell */
    const float *widths;  /* in pixels */
    const float *heights; /* the same array: squares */
};

struct anchors {
    const struct anchor_level *levels;
    size_t count; /* 0: there are none */
    enum anchor_offsets offsets;
    float variances[2]; /* of positions, of sizes */
    /* An output beside the scores says whether anything is there; a score is the root of both
     * numbers' product. */
    bool has_objectness;
    float *numbers; /* what it owns; NULL: nothing */
};

/* anchors_of_grid, anchors_of_yunet: one in each cell of 8, 16 and 32 pixels, at its corner. */
extern const struct anchors anchors_of_blaze_face, anchors_of_grid, anchors_of_yunet;

/* Reads spec.scorer.onnx.postprocess: anchors, offsets, variances; without anchors, count is 0.
 * INVALID: the numbers of widths and heights of a level differ. The caller releases it. */
NODISCARD int anchors_read(const json_t *spec, struct anchors *ret_anchors, struct error *err);
void anchors_release(struct anchors *anchors);

struct anchor_grid {
    int64_t rows, columns;
};
struct anchor_grid anchors_grid(const struct anchor_level *level, int width, int height);
/* Of all levels, for an input of that size. */
int64_t anchors_count(const struct anchors *anchors, int width, int height);
/* Writes anchors_count of them. */
void anchors_place(const struct anchors *anchors, int width, int height, struct anchor *ret_list);
struct box anchor_box(const struct anchors *anchors, const struct anchor *anchor,
                      const float values[static 4]);
