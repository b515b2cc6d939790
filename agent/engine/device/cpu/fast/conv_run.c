// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/fast/conv_run.h"

#include <string.h>

/* ---- what is read ---------------------------------------------------------------------------- */

// The source row of row y of the padded activation; -1: a row of zeros.
static int source_row(const struct conv_shape *s, int y) {
    int height = s->in_h * (s->doubled ? 2 : 1);
    y -= s->pad_top;
    if (y < 0 || y >= height) {
        switch (s->border) {
        case BORDER_REFLECT:
            y = y < 0 ? -y : 2 * height - 2 - y;
            break;
        case BORDER_EDGE:
            y = y < 0 ? 0 : height - 1;
            break;
        default:
            return -1;
        }
    }
    // Winograd's tiles are always whole, so they may request rows below the last one that the
    // kernel needs.
    return y < 0 || y >= height ? -1 : s->doubled ? y / 2 : y;
}

// Loads one padded channel of a row-major activation as adjacent floats.
static void load_planar(const struct load_job *job) {
    int width = job->in_width * (job->doubled ? 2 : 1);
    for (int i = 0; i < job->count; i++) {
        int x = job->first + i;
        if (x >= 0 && x < width && job->in && !job->doubled) {
            int together = MIN(job->count - i, width - x);
            memcpy(job->out + i, job->in + x, (size_t)together * sizeof(float));
            i += together - 1;
            continue;
        }
        bool inside = x >= 0 && x < width;
        if (!inside && job->border == BORDER_REFLECT) {
            x = x < 0 ? -x : 2 * width - 2 - x;
        } else if (!inside && job->border == BORDER_EDGE) {
            x = x < 0 ? 0 : width - 1;
        }
        inside = x >= 0 && x < width && job->in;
        job->out[i] = inside ? job->in[job->doubled ? x / 2 : x] : 0;
    }
}

// Where a group of an image is in memory.
struct place {
    int n, channels, group; /* of the tensor: sample, channels, and the group among its own */
    size_t first, pixels;   /* of the tensor's channels: where the image's rows begin; in all */
    bool is_zero;           /* a plane of the padding */
};

static struct place place_of(const struct conv_shape *s, int lanes, int n, int group) {
    const struct conv_depth *depth = &s->depth;
    size_t plane = (size_t)s->in_h * (size_t)s->in_w;
    if (!depth->kernel) {
        return (struct place){n, s->channels_in, group, 0, plane, false};
    }
    int groups = depth->step / lanes;
    int z = n % depth->out * depth->stride + group / groups * depth->dilation - depth->pad;
    bool is_zero = z < 0 || z >= depth->in;
    return (struct place){n / depth->out,
                          depth->channels,
                          group % groups,
                          is_zero ? 0 : (size_t)z * plane,
                          (size_t)depth->in * plane,
                          is_zero};
}

static void load_group(const struct conv_pass *run, const struct conv_unit *unit, int n, int group,
                       int row, struct load_job *job) {
    const struct conv *conv = run->conv;
    const struct conv_operand *in = run->in;
    size_t b = (size_t)conv->ops->block, w = (size_t)conv->shape.in_w;
    const struct place at = place_of(&conv->shape, conv->weights->planar ? 1 : (int)b, n, group);
    const size_t first = at.first + (size_t)MAX(row, 0) * w;
    bool is_zero = row < 0 || at.is_zero;
    if (conv->weights->planar) {
        size_t channel = (size_t)at.n * (size_t)at.channels + (size_t)at.group;
        job->in = is_zero ? NULL : in->data + channel * at.pixels + first;
        load_planar(job);
        return;
    }
    size_t blocks = (size_t)conv_blocks(conv, at.channels);
    if (in->affine) {
        float *affine = in->affine + (size_t)at.n * 2 * blocks * b;
        job->pending.scale = affine + (size_t)at.group * b;
        job->pending.shift = affine + (blocks + (size_t)at.group) * b;
    }
    job->pending.relu = in->relu;
    if (is_zero) {
        job->in = NULL;
    } else if (in->blocked) {
        size_t block = (size_t)at.n * blocks + (size_t)at.group;
        job->in = in->data + (block * at.pixels + first) * b;
    } else {
        int channel = at.group * (int)b;
        size_t from = ((size_t)at.n * (size_t)at.channels + (size_t)channel) * at.pixels + first;
        conv->ops->from_planar(unit->line, in->data + from, at.pixels,
                               MIN((int)b, at.channels - channel), w);
        job->in = unit->line;
    }
    conv->ops->load(job);
}

// Whether the window's rows are those in memory, with zeros around them.
static bool copies_rows(const struct conv_pass *run) {
    const struct conv_shape *s = &run->conv->shape;
    const struct conv_operand *in = run->in;
    return in->blocked && !in->affine && !in->relu && !run->conv->weights->planar && !s->doubled &&
           s->border == BORDER_ZERO && !s->depth.kernel;
}

static void zero_pixels(float *to, int count, size_t b) {
    if (count > 0) {
        memset(to, 0, (size_t)count * b * sizeof *to);
    }
}

// As conv_window_load, if copies_rows: small activations have short rows, and what load_group does
// for each would take longer than their convolution.
static void copy_rows(const struct conv_pass *run, const struct conv_unit *unit, int n, int first,
                      int last, int y) {
    const struct conv *conv = run->conv;
    const struct conv_shape *s = &conv->shape;
    size_t b = (size_t)conv->ops->block, wide = (size_t)s->in_w * b, plane = (size_t)s->in_h * wide;
    int x = unit->column * s->stride_w - s->pad_left;
    int left = MIN(MAX(-x, 0), conv->window_w), end = MAX(MIN(s->in_w - x, conv->window_w), left);
    size_t block = (size_t)n * (size_t)conv_blocks(conv, s->channels_in) + (size_t)unit->group;
    for (int i = first; i < last; i++, y++) {
        int row = end > left ? source_row(s, y) : -1;
        float *to = unit->window + (size_t)i * conv->window_row;
        size_t from = block * plane + (size_t)MAX(row, 0) * wide + (size_t)MAX(x + left, 0) * b;
        for (int group = unit->group; group < unit->group_end; group++, from += plane) {
            if (row < 0) {
                zero_pixels(to, conv->window_w, b);
            } else {
                zero_pixels(to, left, b);
                memcpy(to + (size_t)left * b, run->in->data + from,
                       (size_t)(end - left) * b * sizeof *to);
                zero_pixels(to + (size_t)end * b, conv->window_w - end, b);
            }
            to += (size_t)conv->window_w * b;
        }
    }
}

void conv_window_load(const struct conv_pass *run, const struct conv_unit *unit, int n, int first,
                      int last, int y) {
    const struct conv *conv = run->conv;
    const struct conv_shape *s = &conv->shape;
    if (copies_rows(run)) {
        copy_rows(run, unit, n, first, last, y);
        return;
    }
    bool planar = conv->weights->planar;
    size_t lanes = planar ? 1 : (size_t)conv->ops->block;
    struct load_job job = {
        .in_width = s->in_w,
        .first = unit->column * s->stride_w - s->pad_left,
        .count = conv->window_w,
        .doubled = s->doubled,
        .border = s->border,
    };
    // Columns beyond the padded activation belong to outputs that are not stored.
    int end = s->in_w * (s->doubled ? 2 : 1) + s->pad_right;
    job.count = MIN(job.count, end - job.first);
    for (int i = first; i < last; i++, y++) {
        int row = source_row(s, y);
        for (int group = unit->group; group < unit->group_end; group++) {
            job.out = unit->window + (size_t)i * conv->window_row +
                      (size_t)(group - unit->group) * (size_t)conv->window_w * lanes;
            load_group(run, unit, n, group, row, &job);
            // Winograd's last tiles mix them into outputs that are stored, so they must not be NaN.
            memset(job.out + (size_t)job.count * lanes, 0,
                   (size_t)(conv->window_w - job.count) * lanes * sizeof(float));
        }
    }
}

/* ---- what is written ------------------------------------------------------------------------- */

void conv_target(const struct conv_pass *run, struct direct_job *job, int n, int block, int row,
                 int column) {
    const struct conv *conv = run->conv;
    const struct conv_shape *s = &conv->shape;
    size_t b = (size_t)conv->ops->block, outs = (size_t)conv_blocks(conv, s->channels_out);
    size_t plane = (size_t)s->out_h * (size_t)s->out_w * b;
    size_t planes = (size_t)MAX(s->depth.out, 1), z = (size_t)n % planes;
    size_t at = (((size_t)n / planes * outs + (size_t)block) * planes + z) * plane +
                ((size_t)row * (size_t)s->out_w + (size_t)column) * b;
    job->bias = conv->weights->bias + (size_t)block * b;
    job->low = conv->low;
    job->high = conv->high;
    job->out = run->out->data + at;
    job->add = run->add ? run->add->data + at : NULL;
    job->out_row = (size_t)s->out_w * b;
    job->out_block = planes * plane;
}

struct conv_unit conv_unit_outputs(const struct conv *conv, const struct conv_unit *unit) {
    int high = MAX(conv->shape.up_h, 1), wide = MAX(conv->shape.up_w, 1);
    struct conv_unit made = *unit;
    made.row *= high;
    made.row_end *= high;
    made.column *= wide;
    made.column_end *= wide;
    return made;
}

void conv_complete(const struct conv_pass *run, const struct conv_unit *unit, int n, int block,
                   int row, int rows) {
    const struct conv *conv = run->conv;
    if (!conv->after) {
        return;
    }
    struct direct_job target;
    conv_target(run, &target, n, block, row, unit->column);
    int width = unit->column_end - unit->column;
    if ((size_t)(width * conv->ops->block) == target.out_row) { // whole rows are adjacent
        width *= rows;
        rows = 1;
    }
    int planes = MAX(conv->shape.depth.out, 1), z = n % planes;
    int64_t first = ((int64_t)z * conv->shape.out_h + row) * conv->shape.out_w + unit->column;
    int blocks = conv_blocks(conv, conv->shape.channels_out);
    struct conv_piece piece = {.data = target.out,
                               .plane = (int64_t)(n / planes) * blocks + block,
                               .first = first,
                               .count = width,
                               .thread = unit->thread};
    for (int y = 0; y < rows; y++) {
        conv->after->run(conv->after, run->context, &piece);
        piece.data += target.out_row;
        piece.first += conv->shape.out_w;
    }
}
