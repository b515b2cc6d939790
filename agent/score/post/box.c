// SPDX-License-Identifier: Apache-2.0
#include "agent/score/post/box.h"

#include <stdlib.h>
#include <string.h>

static float area(const struct box *box) {
    return MAX(box->right - box->left, 0) * MAX(box->bottom - box->top, 0);
}

float box_overlap(const struct box *a, const struct box *b) {
    const struct box both = {.left = MAX(a->left, b->left),
                             .top = MAX(a->top, b->top),
                             .right = MIN(a->right, b->right),
                             .bottom = MIN(a->bottom, b->bottom)};
    float shared = area(&both), all = area(a) + area(b) - shared;
    return all > 0 ? shared / all : 0;
}

/* Equal scores: the order of the network, which the sort must not change. */
struct ranked {
    struct box box;
    size_t place;
};

static int by_score(const void *left, const void *right) {
    const struct ranked *a = left, *b = right;
    if (a->box.score != b->box.score) {
        return a->box.score > b->box.score ? -1 : 1;
    }
    return a->place < b->place ? -1 : a->place > b->place;
}

static bool is_covered(const struct box *box, const struct box *kept, size_t count, float overlap) {
    for (size_t i = 0; i < count; i++) {
        if (kept[i].class == box->class && box_overlap(&kept[i], box) > overlap) {
            return true;
        }
    }
    return false;
}

size_t box_suppress(struct box *boxes, size_t count, float overlap, size_t most) {
    struct ranked *ranked = x_calloc(count, sizeof *ranked);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        ranked[i] = (struct ranked){boxes[i], i};
    }
    qsort(ranked, count, sizeof *ranked, by_score);
    for (size_t i = 0; i < count && kept < most; i++) {
        if (overlap >= 1 || !is_covered(&ranked[i].box, boxes, kept, overlap)) {
            boxes[kept++] = ranked[i].box;
        }
    }
    free(ranked);
    return kept;
}

/* ---- names of outputs ----------------------------------------------------------------------- */

static const char *const name_words[][5] = {
    [BOX_NAME_BOXES] = {"box", "loc", NULL},
    [BOX_NAME_SCORES] = {"score", "conf", "logit", "prob", NULL},
    [BOX_NAME_CLASSES] = {"class", "cls", "label", NULL},
    [BOX_NAME_OBJECTNESS] = {"obj", NULL},
};

bool box_name_says(const char *name, enum box_name what) {
    for (const char *const *word = name_words[what]; *word; word++) {
        if (strcasestr(name, *word)) {
            return true;
        }
    }
    return false;
}
