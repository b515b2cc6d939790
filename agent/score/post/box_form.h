/* box_form.h: the forms in which detectors give their boxes: which outputs they have, and how boxes
 * are read from them. Pure, but for the tensors that it reads. Sources: the exporters of
 * ultralytics/yolov5 and ultralytics (YOLOv8, YOLOv10), Ge et al., "YOLOX", 2021, Liu et al.,
 * "SSD", 2016, TensorFlow's Object Detection API, Carion et al., "DETR", 2020, Wu et al., "YuNet",
 * 2023. */
#pragma once

#include "agent/score/post/anchors.h"
#include "agent/score/post/class_scores.h"
#include "agent/score/post/post_kind.h"

enum box_layout {
    BOX_ROWS,    /* [n, k, 5 + c]: box, objectness, scores of classes */
    BOX_GRID,    /* the same, but boxes are offsets to a grid with one candidate in each cell */
    BOX_COLUMNS, /* [n, 4 + c, k]: box, scores of classes */
    BOX_FINAL,   /* [n, k, 6]: box, score, class */
    BOX_PAIR,    /* boxes [n, k, 4] and scores [n, k, c] */
    BOX_LISTS,   /* boxes [n, k, 4], scores [n, k] and classes [n, k]; of one item also without n */
    BOX_ANCHORED /* numbers of anchors, and scores (anchor_rows.h) */
};
enum box_coordinates {
    BOX_LTRB,   /* left, top, right, bottom */
    BOX_TLBR,   /* top, left, bottom, right */
    BOX_CXCYWH, /* of the centre, width, height */
    BOX_COORDINATES_COUNT
};
enum box_units {
    BOX_PIXELS, /* of the network's input */
    BOX_UNIT,   /* fractions of its width and height, 0 to 1 */
    BOX_UNITS_COUNT
};
/* Which class means "no object". */
enum box_background { BOX_NONE, BOX_FIRST, BOX_LAST, BOX_BACKGROUND_COUNT };

struct box_form {
    const char *name;
    const char *needs; /* the outputs that it reads, for messages */
    enum box_layout layout;
    enum box_coordinates coordinates;
    enum box_units units;
    enum class_scores scores;
    enum box_background background;
    float overlap; /* the default limit for boxes that are kept; 1: the network has already removed
                      duplicates */
    const char *pictures;          /* the fields of preprocess that most trainings had */
    const struct anchors *anchors; /* of BOX_GRID and BOX_ANCHORED; NULL: as the spec lists them */
};

extern const struct box_form box_forms[];
extern const size_t box_form_count;

/* The outputs that a form reads; borrowed. */
struct box_source {
    struct box_form form;
    const struct tensor *boxes, *scores,
        *classes;        /* scores, classes: NULL: `boxes` holds them, too */
    int64_t candidates;  /* k */
    int64_t class_count; /* of the columns that are scores of classes; 0: all */
    float threshold;     /* boxes below this score are left out; set by the caller */
    /* BOX_GRID, BOX_ANCHORED, set by the caller: those of one item. With BOX_ANCHORED its rows are
     * `boxes` and `scores`. */
    const struct anchors *anchors;
    const struct anchor *anchor_list;
};

/* Finds the form's outputs among these. False: they are not there. BOX_ANCHORED: only their shapes
 * are looked at. */
bool box_form_find(const struct box_form *form, const struct post_outputs *outputs,
                   struct box_source *ret_source);
/* The same where no form is named: without those whose shapes more likely mean another one. */
bool box_form_guess(const struct box_form *form, const struct post_outputs *outputs,
                    struct box_source *ret_source);
/* The number of classes, without the background; 0: the outputs do not say it. */
int64_t box_form_classes(const struct box_source *source);
/* The same of rows that have this many columns of scores; 0: none. */
int64_t box_form_classes_of(const struct box_source *source, int64_t columns);
/* The boxes of item `index`, in the form's units; the caller frees *ret_boxes. FAILED: a value that
 * is not a finite number, or a score outside 0 to 1. */
NODISCARD int box_form_read(const struct box_source *source, int64_t index, struct box **ret_boxes,
                            size_t *ret_count, struct error *err);
