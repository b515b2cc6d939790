// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/fast/dilated.h"

#include <string.h>

#include "agent/engine/device/cpu/fast/parallel.h"

enum { SAMPLES_MAX = 1 << 16, FLOATS_MAX = 1 << 29 };

static int divide_up(int value, int by) {
    return (value + by - 1) / by;
}

static int down_of(const struct conv_shape *s) {
    return MAX(s->dilation_h, 1);
}

static int across_of(const struct conv_shape *s) {
    return MAX(s->dilation_w, 1);
}

// Whether Winograd's products, its transforms and the copies take less time than the direct
// algorithm. In floating-point operations, as in conv_choose: a value that is copied costs 32.
static bool is_faster(const struct vector_ops *ops, const struct conv_shape *s,
                      const struct conv_shape *plain, int threads) {
    const struct winograd_ops *winograd =
        conv_winograd(ops, conv_choose(ops, plain, false, threads));
    if (!winograd) {
        return false;
    }
    double ins = s->channels_in, outs = s->channels_out, n = plain->n;
    double tiles =
        n * divide_up(plain->out_h, winograd->tile) * divide_up(plain->out_w, winograd->tile);
    double values = 2 * ins * outs + 32 * (ins + outs);
    double copies = 32 * n * (ins * plain->in_h * plain->in_w + outs * plain->out_h * plain->out_w);
    double direct = 18 * ins * outs * s->n * s->out_h * s->out_w;
    return tiles * winograd->side * winograd->side * values + copies < 0.8 * direct;
}

bool dilated_as_plain(const struct vector_ops *ops, const struct conv_shape *s, int threads,
                      struct conv_shape *ret_plain) {
    int down = down_of(s), across = across_of(s);
    int64_t n = (int64_t)s->n * down * across;
    if (n == s->n || n > SAMPLES_MAX || s->kernel_h != 3 || s->kernel_w != 3 || s->stride_h != 1 ||
        s->stride_w != 1 || s->groups > 1 || s->depthwise || s->transposed || s->depth.kernel ||
        s->doubled || s->border != BORDER_ZERO) {
        return false;
    }
    struct conv_shape plain = *s;
    plain.n = (int)n;
    plain.dilation_h = plain.dilation_w = 1;
    plain.pad_top = plain.pad_left = plain.pad_bottom = plain.pad_right = 0;
    plain.in_h = divide_up(s->out_h, down) + 2;
    plain.in_w = divide_up(s->out_w, across) + 2;
    int64_t floats = n * plain.in_h * plain.in_w * MAX(s->channels_in, s->channels_out);
    *ret_plain = plain;
    return floats <= FLOATS_MAX && conv_shape_finish(ret_plain) &&
           is_faster(ops, s, ret_plain, threads);
}

struct copy {
    const struct dilated *dilated;
    const float *in;
    float *out;
};

// A block of channels of a plain sample: the remainders of its pixels, and its index among the
// blocks of the dilated activation.
struct part {
    int row, column, index;
};

static struct part part_of(const struct dilated *dilated, int index, int channels) {
    const struct conv_shape *s = dilated->shape;
    int blocks = divide_up(channels, dilated->ops->block), sample = index / blocks;
    int remainder = sample % (down_of(s) * across_of(s));
    return (struct part){.row = remainder / across_of(s),
                         .column = remainder % across_of(s),
                         .index = sample / (down_of(s) * across_of(s)) * blocks + index % blocks};
}

static void copy_pixel(float *to, const float *from, int lanes) {
    for (int i = 0; i < lanes; i += 4) {
        memcpy(to + i, from + i, 4 * sizeof *to);
    }
}

// A row of a plain sample. from: the row of the dilated input; NULL: zeros.
static void split_row(const struct dilated *dilated, const float *from, int column, float *to) {
    const struct conv_shape *s = dilated->shape;
    int b = dilated->ops->block, x = column - s->pad_left;
    for (int i = 0; i < dilated->plain->in_w; i++, x += across_of(s), to += b) {
        if (from && x >= 0 && x < s->in_w) {
            copy_pixel(to, from + (size_t)x * (size_t)b, b);
        } else {
            memset(to, 0, (size_t)b * sizeof *to);
        }
    }
}

static void split_block(void *context, int index, int lane UNUSED) {
    const struct copy *copy = context;
    const struct conv_shape *s = copy->dilated->shape, *plain = copy->dilated->plain;
    const struct part part = part_of(copy->dilated, index, s->channels_in);
    size_t b = (size_t)copy->dilated->ops->block, row = (size_t)s->in_w * b;
    const float *from = copy->in + (size_t)part.index * (size_t)s->in_h * row;
    float *to = copy->out + (size_t)index * (size_t)plain->in_h * (size_t)plain->in_w * b;
    for (int i = 0; i < plain->in_h; i++, to += (size_t)plain->in_w * b) {
        int y = i * down_of(s) + part.row - s->pad_top;
        bool inside = y >= 0 && y < s->in_h;
        split_row(copy->dilated, inside ? from + (size_t)y * row : NULL, part.column, to);
    }
}

void dilated_split(const struct dilated *dilated, const float *in, float *out) {
    struct copy copy = {dilated, in, out};
    int blocks = divide_up(dilated->shape->channels_in, dilated->ops->block);
    parallel_for(dilated->threads, dilated->plain->n * blocks, split_block, &copy);
}

static void join_block(void *context, int index, int lane UNUSED) {
    const struct copy *copy = context;
    const struct conv_shape *s = copy->dilated->shape, *plain = copy->dilated->plain;
    const struct part part = part_of(copy->dilated, index, s->channels_out);
    size_t b = (size_t)copy->dilated->ops->block, row = (size_t)s->out_w * b;
    float *to = copy->out + (size_t)part.index * (size_t)s->out_h * row;
    const float *from = copy->in + (size_t)index * (size_t)plain->out_h * (size_t)plain->out_w * b;
    for (int y = part.row; y < s->out_h; y += down_of(s), from += (size_t)plain->out_w * b) {
        const float *pixel = from;
        for (int x = part.column; x < s->out_w; x += across_of(s), pixel += b) {
            copy_pixel(to + (size_t)y * row + (size_t)x * b, pixel, (int)b);
        }
    }
}

void dilated_join(const struct dilated *dilated, const float *in, float *out) {
    struct copy copy = {dilated, in, out};
    int blocks = divide_up(dilated->shape->channels_out, dilated->ops->block);
    parallel_for(dilated->threads, dilated->plain->n * blocks, join_block, &copy);
}
