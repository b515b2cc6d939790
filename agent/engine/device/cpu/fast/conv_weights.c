// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/fast/conv_weights.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LARGE_PAGE = 2 << 20, MATRIX_ROWS = 64 };

static int round_up(int value, int to) {
    return (value + to - 1) / to * to;
}

// A network reads its weights once per run, and they exceed what the processor's TLB covers. So
// weights that fill large pages are in such pages, if the system has them.
static float *floats_new(size_t count) {
    size_t bytes = MAX((count * sizeof(float) + 63) / 64 * 64, (size_t)64);
    size_t whole = bytes / LARGE_PAGE * LARGE_PAGE;
    void *data = NULL; /* not from aligned_alloc, which requires a size of whole large pages */
    if (posix_memalign(&data, whole ? LARGE_PAGE : 64, bytes) != 0) {
        abort();
    }
    if (whole) {
        madvise(data, whole, MADV_HUGEPAGE); // the system may refuse
    }
    memset(data, 0, bytes);
    return data;
}

// How many weights an output has for an element of a plane of the kernel.
static size_t ins_of(const struct conv_shape *s) {
    const struct conv_depth *depth = &s->depth;
    return (size_t)(depth->kernel ? depth->channels * depth->kernel
                                  : s->channels_in / MAX(s->groups, 1));
}

// Blocks may have more channels than the input.
static bool has_channel(const struct conv_shape *s, int i) {
    return i < s->channels_in && (!s->depth.kernel || i % s->depth.step < s->depth.channels);
}

// Where the weight of an output and an input channel for an element of the kernel is.
static size_t index_of(const struct conv_shape *s, bool transposed, int o, int i, int ky, int kx) {
    size_t ins = ins_of(s), outs = (size_t)s->channels_out;
    const struct conv_depth *depth = &s->depth;
    if (depth->kernel) {
        i = i % depth->step * depth->kernel + i / depth->step;
    }
    size_t pair = transposed ? (size_t)i * outs + (size_t)o : (size_t)o * ins + (size_t)i % ins;
    return (pair * (size_t)s->kernel_h + (size_t)ky) * (size_t)s->kernel_w + (size_t)kx;
}

static float weight_at(const struct conv_shape *s, const struct conv_source *source, int o, int i,
                       int ky, int kx) {
    if (o >= s->channels_out || !has_channel(s, i)) {
        return 0;
    }
    return source->weights[index_of(s, source->transposed, o, i, ky, kx)] *
           (source->scale ? source->scale[o] : 1);
}

struct tap {
    int channel, y, x; /* channel: of the input; y, x: of the kernel */
};

/* Outputs out .. out + lanes - 1 and inputs in .. in_end - 1, in blocks of `inner`. */
struct packed {
    int out, lanes, in, in_end, inner;
};

// Packs the weights of a tap, an output per lane.
static void pack_lanes(const struct conv_shape *s, const struct conv_source *source,
                       const struct packed *part, struct tap tap, float *to) {
    int o = part->out;
    int real = has_channel(s, tap.channel) ? MIN(s->channels_out - o, part->lanes) : 0;
    size_t taps = (size_t)(s->kernel_h * s->kernel_w);
    size_t step = source->transposed ? taps : ins_of(s) * taps;
    const float *from = source->weights;
    from += real > 0 ? index_of(s, source->transposed, o, tap.channel, tap.y, tap.x) : 0;
    for (int lane = 0; lane < real; lane++) {
        to[lane] = from[(size_t)lane * step] * (source->scale ? source->scale[o + lane] : 1);
    }
}

// The weights of a 1x1 kernel: a matrix. They are packed with plain instructions, also for another
// instruction set.
struct matrix {
    int block;
    const struct conv_shape *shape;
    const struct conv_source *source;
};

// Packs inputs first .. last - 1 for a pair of blocks.
static void pack_rows(const struct matrix *m, const struct packed *part, int first, int last,
                      float *to) {
    const struct conv_shape *s = m->shape;
    size_t lanes = (size_t)part->lanes, outs = (size_t)s->channels_out;
    int real = MIN(s->channels_out - part->out, part->lanes);
    to += (size_t)first * lanes;
    if (m->source->transposed) {
        const float *from = m->source->weights + (size_t)first * outs + (size_t)part->out;
        for (int k = 0; k < last - first; k++) {
            memcpy(to + (size_t)k * lanes, from + (size_t)k * outs, (size_t)real * sizeof *to);
        }
    } else {
        size_t ins = (size_t)s->channels_in;
        vector_ops_plain.transpose(to, lanes, m->source->weights + (size_t)part->out * ins + first,
                                   ins, real, last - first);
    }
    for (int k = 0; m->source->scale && k < last - first; k++) {
        for (int lane = 0; lane < real; lane++) {
            to[(size_t)k * lanes + (size_t)lane] *= m->source->scale[part->out + lane];
        }
    }
}

// `ins`: floats of a packed column. Pieces of the source are in the cache for all pairs.
static void pack_matrix(const struct matrix *m, int ins, float *data) {
    const struct conv_shape *s = m->shape;
    int step = DIRECT_BLOCKS_MAX * m->block, outs = round_up(s->channels_out, m->block);
    for (int k = 0; k < s->channels_in; k += MATRIX_ROWS) {
        for (int o = 0; o < outs; o += step) {
            const struct packed part = {.out = o, .lanes = MIN(step, outs - o)};
            pack_rows(m, &part, k, MIN(k + MATRIX_ROWS, s->channels_in),
                      data + (size_t)o * (size_t)ins);
        }
    }
}

// A phase: [channel block][ky][kx][channel in block][block of the pair][lane]; planar inputs have
// channel blocks of one channel. The memory is zero. Returns the end.
static float *pack_phase(const struct conv_shape *s, const struct conv_source *source,
                         const struct conv_taps *y, const struct conv_taps *x,
                         const struct packed *part, float *to) {
    int inner = part->inner;
    for (int i = part->in; i < part->in_end; i += inner) {
        for (int k = 0; k < y->count * x->count * inner; k++, to += part->lanes) {
            int ky = k / inner / x->count, kx = k / inner % x->count;
            const struct tap tap = {i + k % inner, y->element + ky * y->step,
                                    x->element + kx * x->step};
            pack_lanes(s, source, part, tap, to);
        }
    }
    return to;
}

// [group][block pair][phase]
static void pack_direct(const struct vector_ops *ops, const struct conv_shape *s, bool planar,
                        const struct conv_source *source, float *to) {
    int b = ops->block, inner = planar ? 1 : b, groups = MAX(s->groups, 1);
    int ins = round_up(s->channels_in, inner) / groups;
    int outs = round_up(s->channels_out, b) / groups;
    int wide = MAX(s->up_w, 1);
    if (s->kernel_h * s->kernel_w == 1 && s->groups <= 1 && !s->depth.kernel) {
        pack_matrix(&(struct matrix){b, s, source}, ins, to);
        return;
    }
    for (int o = 0, lanes; o < outs * groups; o += lanes) {
        int group = o / outs;
        lanes = MIN(DIRECT_BLOCKS_MAX * b, (group + 1) * outs - o);
        const struct packed part = {o, lanes, group * ins, (group + 1) * ins, inner};
        for (int phase = 0; phase < conv_phase_count(s); phase++) {
            const struct conv_taps y = conv_taps_h(s, phase / wide),
                                   x = conv_taps_w(s, phase % wide);
            to = pack_phase(s, source, &y, &x, &part, to);
        }
    }
}

// [channel block][ky][kx][output][lane]
static void pack_thin(const struct vector_ops *ops, const struct conv_shape *s,
                      const struct conv_source *source, float *to) {
    int b = ops->block, ins = round_up(s->channels_in, b), outs = s->channels_out;
    for (int i = 0; i < ins; i += b) {
        for (int k = 0; k < s->kernel_h * s->kernel_w; k++) {
            for (int at = 0; at < outs * b; at++) {
                *to++ = weight_at(s, source, at / b, i + at % b, k / s->kernel_w, k % s->kernel_w);
            }
        }
    }
}

enum { PAIR_LANES = DIRECT_BLOCKS_MAX * VECTOR_LANES_MAX };

// The 3x3 kernels of outputs out .. out + lanes - 1 for input i.
static void read_kernels(const struct conv_shape *s, const struct conv_source *source,
                         const struct packed *part, int i, double kernels[9][PAIR_LANES]) {
    for (int lane = 0; lane < part->lanes; lane++) {
        int o = part->out + lane;
        const float *from = o < s->channels_out && has_channel(s, i)
                                ? source->weights + index_of(s, false, o, i, 0, 0)
                                : NULL;
        float scale = from && source->scale ? source->scale[o] : 1;
        for (int k = 0; k < 9; k++) {
            kernels[k][lane] = from ? (double)(from[k] * scale) : 0;
        }
    }
}

// G g G^T in double, since every product uses these values; matrix k of the result is at
// out + k * matrix.
static void winograd_kernels(double kernels[9][PAIR_LANES], int side, int lanes, float *out,
                             size_t matrix) {
    // By the window's side.
    static const double G[3][6][3] = {{{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}},
                                      {{1, 0, 0}, {1, 0, 1}, {0, 0, 1}, {0, 1, 0}, {0, 1, 0}},
                                      {{1. / 4, 0, 0},
                                       {-1. / 6, -1. / 6, -1. / 6},
                                       {-1. / 6, 1. / 6, -1. / 6},
                                       {1. / 24, 1. / 12, 1. / 6},
                                       {1. / 24, -1. / 12, 1. / 6},
                                       {0, 0, 1}}};
    const double(*g)[3] = G[side - 4];
    double half[3][PAIR_LANES];
    for (int y = 0; y < side; y++) {
        for (int x = 0; x < 3; x++) {
            for (int lane = 0; lane < lanes; lane++) {
                half[x][lane] = g[y][0] * kernels[x][lane] + g[y][1] * kernels[3 + x][lane] +
                                g[y][2] * kernels[6 + x][lane];
            }
        }
        for (int x = 0; x < side; x++, out += matrix) {
            for (int lane = 0; lane < lanes; lane++) {
                out[lane] = (float)(half[0][lane] * g[x][0] + half[1][lane] * g[x][1] +
                                    half[2][lane] * g[x][2]);
            }
        }
    }
}

// [block pair][side^2][channel in][block of the pair][lane]
static void pack_winograd(const struct vector_ops *ops, const struct conv_shape *s, int side,
                          const struct conv_source *source, float *data) {
    int b = ops->block, ins = round_up(s->channels_in, b), outs = round_up(s->channels_out, b);
    size_t window = (size_t)(side * side);
    double kernels[9][PAIR_LANES];
    for (int o = 0; o < outs; o += DIRECT_BLOCKS_MAX * b) {
        const struct packed part = {.out = o, .lanes = MIN(DIRECT_BLOCKS_MAX * b, outs - o)};
        float *pair = data + (size_t)o * (size_t)ins * window;
        for (int i = 0; i < s->channels_in; i++) {
            read_kernels(s, source, &part, i, kernels);
            winograd_kernels(kernels, side, part.lanes, pair + (size_t)(i * part.lanes),
                             (size_t)(ins * part.lanes));
        }
    }
}

// [channel block][ky][kx][channel of the group][lane]
static void pack_depthwise(const struct vector_ops *ops, const struct conv_shape *s,
                           const struct conv_source *source, float *data) {
    size_t b = (size_t)ops->block, taps = (size_t)(s->kernel_h * s->kernel_w);
    size_t reads = (size_t)conv_group_reads(s), values = reads * taps;
    for (size_t o = 0; o < (size_t)s->channels_out; o++) {
        for (size_t k = 0; k < values; k++) { // k / reads: the tap
            data[(o / b * values + k) * b + o % b] =
                source->weights[o * values + k % reads * taps + k / reads] *
                (source->scale ? source->scale[o] : 1);
        }
    }
}

static size_t packed_count(const struct vector_ops *ops, const struct conv_shape *s,
                           enum conv_algorithm algorithm, bool planar) {
    const struct winograd_ops *winograd = conv_winograd(ops, algorithm);
    size_t ins = (size_t)round_up(s->channels_in, planar ? 1 : ops->block);
    size_t outs = (size_t)round_up(s->channels_out, ops->block);
    size_t taps = (size_t)(s->kernel_h * s->kernel_w);
    switch (algorithm) {
    case CONV_WINOGRAD:
    case CONV_WINOGRAD_2:
    case CONV_WINOGRAD_STRIDED:
        return ins * outs * (size_t)(winograd->side * winograd->side);
    case CONV_THIN:
        return ins * (size_t)s->channels_out * taps;
    case CONV_DEPTHWISE:
        return outs * taps * (size_t)conv_group_reads(s);
    case CONV_DIRECT:
        break;
    }
    return ins / (size_t)MAX(s->groups, 1) * outs * taps;
}

struct conv_weights *conv_weights_new(const struct vector_ops *ops, const struct conv_shape *shape,
                                      enum conv_algorithm algorithm, bool planar,
                                      const struct conv_source *source) {
    struct conv_weights *weights = x_calloc(1, sizeof *weights);
    weights->algorithm = algorithm;
    weights->planar = planar;
    weights->count = packed_count(ops, shape, algorithm, planar);
    weights->data = floats_new(weights->count);
    switch (algorithm) {
    case CONV_WINOGRAD:
    case CONV_WINOGRAD_2:
    case CONV_WINOGRAD_STRIDED:
        pack_winograd(ops, shape, conv_winograd(ops, algorithm)->side, source, weights->data);
        break;
    case CONV_THIN:
        pack_thin(ops, shape, source, weights->data);
        break;
    case CONV_DEPTHWISE:
        pack_depthwise(ops, shape, source, weights->data);
        break;
    case CONV_DIRECT:
        pack_direct(ops, shape, planar, source, weights->data);
        break;
    }
    weights->bias = floats_new((size_t)round_up(shape->channels_out, ops->block));
    for (int o = 0; o < shape->channels_out; o++) {
        float bias = source->bias ? source->bias[o] : 0;
        weights->bias[o] =
            bias * (source->scale ? source->scale[o] : 1) + (source->shift ? source->shift[o] : 0);
    }
    return weights;
}

// The values of k in phase i of the phases, for each output.
static int phase_values(const struct conv_shape *s, int ins, int i) {
    int wide = MAX(s->up_w, 1);
    return conv_taps_h(s, i / wide).count * conv_taps_w(s, i % wide).count * ins;
}

void conv_weights_round(const struct vector_ops *ops, const struct bfloat_ops *bfloat,
                        const struct conv_shape *s, struct conv_weights *weights) {
    int b = ops->block, groups = MAX(s->groups, 1), phases = conv_phase_count(s);
    int ins = round_up(s->channels_in, weights->planar ? 1 : b) / groups;
    int outs = round_up(s->channels_out, b) / groups / b; // blocks
    size_t steps = 0;
    for (int i = 0; i < phases; i++) {
        steps += (size_t)vector_bfloat_steps(phase_values(s, ins, i));
    }
    size_t values = steps * (size_t)(outs * groups) * BFLOAT_TILE;
    weights->bfloat = (uint16_t *)(void *)floats_new((values + 1) / 2);
    const float *from = weights->data;
    uint16_t *to = weights->bfloat;
    for (int o = 0, blocks; o < outs * groups; o += blocks) {
        blocks = MIN(DIRECT_BLOCKS_MAX, (o / outs + 1) * outs - o);
        for (int i = 0; i < phases; i++) {
            int k = phase_values(s, ins, i);
            const struct bfloat_matrix matrix = {
                .data = from, .row = blocks * b, .column = 1, .k = k, .columns = blocks * b};
            bfloat->pack(to, &matrix, b);
            from += (size_t)k * (size_t)(blocks * b);
            to += vector_bfloat_block_count(vector_bfloat_steps(k)) * (size_t)blocks;
        }
    }
    free(TAKE(weights->data));
}

void conv_weights_free(struct conv_weights *weights) {
    if (weights) {
        free(weights->bfloat);
        free(weights->data);
        free(weights->bias);
        free(weights);
    }
}
