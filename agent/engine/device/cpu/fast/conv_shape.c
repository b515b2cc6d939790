// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/fast/conv_shape.h"

bool conv_groups_fit(const struct vector_ops *ops, const struct conv_shape *s) {
    return s->channels_in / s->groups % ops->block == 0 &&
           s->channels_out / s->groups % ops->block == 0;
}

bool conv_groups_share(const struct vector_ops *ops, const struct conv_shape *s) {
    int reads = conv_group_reads(s);
    return s->groups > 1 && !s->transposed && s->channels_in == s->channels_out &&
           reads < ops->block && ops->block % reads == 0;
}

struct conv_shape conv_shape_unfold(const struct vector_ops *ops, const struct conv_shape *shape,
                                    bool planar) {
    struct conv_shape s = *shape;
    if (s.depth.kernel) {
        int b = planar ? 1 : ops->block;
        s.depth.step = (s.depth.channels + b - 1) / b * b;
        s.n *= s.depth.out;
        s.channels_in = s.depth.kernel * s.depth.step;
    }
    return s;
}

// Transposed convolutions as phases: input x of stride u and element k of the kernel add to output
// x u + k - crop. So output y u + i reads, with the elements k for which i + crop - k is a multiple
// of u, the inputs y + (i + crop - k) / u: adjacent ones, in falling order of k.

enum { PHASES_MAX = 16 };

/* One dimension. */
struct line {
    int kernel, up, crop;
};

/* The first input that a phase reads, relative to the grid's pixel, in `first`. */
static struct conv_taps taps_of(const struct line *line, int phase) {
    int least = (phase + line->crop) % line->up; // the smallest element
    int count = (line->kernel - 1 - least) / line->up + 1;
    return (struct conv_taps){.first = (phase + line->crop) / line->up - count + 1,
                              .count = count,
                              .element = least + (count - 1) * line->up,
                              .step = -line->up};
}

// The window of all phases. False: its first pixel is behind the grid's, or it ends before the
// input does.
static bool find_window(const struct line *line, int in, int out, int *ret_extent, int *ret_begin,
                        int *ret_end) {
    if (line->kernel < line->up || out % line->up != 0) {
        return false;
    }
    int first = 0, end = 1;
    for (int i = 0; i < line->up; i++) {
        const struct conv_taps taps = taps_of(line, i);
        first = i ? MIN(first, taps.first) : taps.first;
        end = i ? MAX(end, taps.first + taps.count) : taps.first + taps.count;
    }
    *ret_extent = end - first;
    *ret_begin = -first;
    *ret_end = out / line->up - 1 + end - in;
    return *ret_begin >= 0 && *ret_end >= 0;
}

static struct line line_h(const struct conv_shape *s) {
    return (struct line){s->kernel_h, s->up_h, s->crop_top};
}

static struct line line_w(const struct conv_shape *s) {
    return (struct line){s->kernel_w, s->up_w, s->crop_left};
}

static bool finish_transposed(struct conv_shape *s) {
    const struct line h = line_h(s), w = line_w(s);
    return MAX(s->dilation_h, 1) == 1 && MAX(s->dilation_w, 1) == 1 && s->groups <= 1 &&
           !s->depthwise && s->up_h <= PHASES_MAX && s->up_w <= PHASES_MAX &&
           conv_phase_count(s) <= PHASES_MAX &&
           find_window(&h, s->in_h, s->out_h, &s->extent_h, &s->pad_top, &s->pad_bottom) &&
           find_window(&w, s->in_w, s->out_w, &s->extent_w, &s->pad_left, &s->pad_right);
}

bool conv_shape_finish(struct conv_shape *s) {
    if (s->transposed) {
        return finish_transposed(s);
    }
    int h = s->in_h * (s->doubled ? 2 : 1), w = s->in_w * (s->doubled ? 2 : 1);
    int tall = h + s->pad_top + s->pad_bottom, wide = w + s->pad_left + s->pad_right;
    s->extent_h = (s->kernel_h - 1) * MAX(s->dilation_h, 1) + 1;
    s->extent_w = (s->kernel_w - 1) * MAX(s->dilation_w, 1) + 1;
    if (h <= 0 || w <= 0 || s->extent_h > tall || s->extent_w > wide) {
        return false;
    }
    if (s->border == BORDER_REFLECT &&
        (MAX(s->pad_top, s->pad_bottom) >= h || MAX(s->pad_left, s->pad_right) >= w)) {
        return false;
    }
    s->out_h = (tall - s->extent_h) / s->stride_h + 1;
    s->out_w = (wide - s->extent_w) / s->stride_w + 1;
    return true;
}

struct conv_taps conv_taps_h(const struct conv_shape *s, int phase) {
    if (!s->transposed) {
        return (struct conv_taps){.count = s->kernel_h, .step = 1};
    }
    const struct line line = line_h(s);
    struct conv_taps taps = taps_of(&line, phase);
    taps.first += s->pad_top;
    return taps;
}

struct conv_taps conv_taps_w(const struct conv_shape *s, int phase) {
    if (!s->transposed) {
        return (struct conv_taps){.count = s->kernel_w, .step = 1};
    }
    const struct line line = line_w(s);
    struct conv_taps taps = taps_of(&line, phase);
    taps.first += s->pad_left;
    return taps;
}
