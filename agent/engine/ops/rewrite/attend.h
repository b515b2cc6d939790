/* attend.h: attention in ordinary nodes, which devices fuse (device/cpu/product/attention.c):
 * what the rules of the standard's operator and of those of com.microsoft share. */
#pragma once

#include "agent/engine/ops/rewrite/expand.h"

/* q, k, v: [images, heads, length, size]; q may have several times as many heads as k and v. */
struct attention {
    int q, k, v;
    int bias;        /* added to the scores; -1: none */
    float scale;     /* 0: 1 / sqrt(size) */
    bool caps_first; /* before the bias, not after it */
    float softcap;   /* 0: none */
    bool is_grouped; /* q may have more heads than k and v */
};

/* One dimension of a value: int64 [1], or with no dimension. */
int attend_dim(struct expansion *expansion, int value, int64_t axis);
int attend_size(struct expansion *expansion, int value, int64_t axis);
/* x, of this many dimensions: where they are not known, a Transpose that changes nothing fails for
 * others when shapes are known. Else a Reshape could give what has four the meaning of three. */
int attend_of_rank(struct expansion *expansion, int x, int rank);
/* [images, length, heads * size] to [images, heads, length, size], and back. */
int attend_divide(struct expansion *expansion, int x, int64_t heads);
int attend_join(struct expansion *expansion, int x);
int attend_along(struct expansion *expansion, int a, int b, int64_t axis); /* Concat */
int attend_turn(struct expansion *expansion, int x, const int64_t *perm, size_t rank);
/* The type of numbers and masks beside the scores. */
enum tensor_type attend_type(struct expansion *expansion, const struct attention *a);
/* low where `hides`, else 0, of this type. */
int attend_hide(struct expansion *expansion, int hides, double low, enum tensor_type type);
/* Adds a bias to a->bias. */
void attend_add(struct expansion *expansion, struct attention *a, int bias);
/* Row i of q sees the keys up to place past + i. past: int64 with no dimension; -1: 0. */
void attend_make_causal(struct expansion *expansion, struct attention *a, int past);
/* Each image has this many keys: int32 or int64 [images]. */
void attend_hide_after(struct expansion *expansion, struct attention *a, int counts, double low);

/* The values that the computation passes through: the scaled products, with the bias, after the
 * cap, after the softmax, and the result [images, heads, length, size]. */
struct attend_values {
    int scores[4], y;
};
void attend_compute(struct expansion *expansion, const struct attention *a,
                    struct attend_values *ret_values);

/* ---- rotary embeddings: expand_rotary.c ---- */

struct rotary {
    int x;          /* [images, heads, length, size] or [images, length, heads, size] */
    int cos, sin;   /* broadcast to half of x's last axis */
    int64_t turned; /* numbers of each head that are turned; 0: all */
    bool is_interleaved;
};

int rotary_turn(struct expansion *expansion, const struct rotary *r);
/* The rows of a table for these places [images, length], or the table if it has a row for each
 * already (places -1), with one more axis: that of the heads in x. */
int rotary_angles(struct expansion *expansion, int table, int places, int64_t axis);
