// SPDX-License-Identifier: Apache-2.0
#include "agent/device/cpu/fast/conv.h"

#include <stdlib.h>
#include <string.h>

static int round_up(int value, int to) {
    return (value + to - 1) / to * to;
}

static float *floats_new(size_t count) {
    size_t bytes = (count * sizeof(float) + 63) / 64 * 64;
    float *data = aligned_alloc(64, MAX(bytes, (size_t)64));
    if (!data) {
        abort();
    }
    memset(data, 0, MAX(bytes, (size_t)64));
    return data;
}

static float weight_at(const struct conv_shape *s, const struct conv_source *source, int o, int i,
                       int ky, int kx) {
    if (o >= s->channels_out || i >= s->channels_in) {
        return 0;
    }
    size_t at =
        (((size_t)o * (size_t)s->channels_in + (size_t)i) * (size_t)s->kernel_h + (size_t)ky) *
            (size_t)s->kernel_w +
        (size_t)kx;
    if (source->turned) {
        at = (size_t)i * (size_t)s->channels_out + (size_t)o;
    }
    return source->weights[at] * (source->scale ? source->scale[o] : 1);
}

// [block pair][channel block][ky][kx][channel in block][block of the pair][lane]; planar inputs
// have channel blocks of one channel.
static float *pack_direct(const struct vector_ops *ops, const struct conv_shape *s, bool planar,
                          const struct conv_source *source) {
    int b = ops->block, inner = planar ? 1 : b;
    int ins = round_up(s->channels_in, inner), outs = round_up(s->channels_out, b);
    float *data = floats_new((size_t)ins * (size_t)outs * (size_t)(s->kernel_h * s->kernel_w));
    float *to = data;
    for (int o = 0; o < outs; o += DIRECT_BLOCKS_MAX * b) {
        int lanes = MIN(DIRECT_BLOCKS_MAX * b, outs - o);
        for (int i = 0; i < ins; i += inner) {
            for (int k = 0; k < s->kernel_h * s->kernel_w * inner; k++) {
                int ky = k / inner / s->kernel_w, kx = k / inner % s->kernel_w;
                for (int lane = 0; lane < lanes; lane++) {
                    *to++ = weight_at(s, source, o + lane, i + k % inner, ky, kx);
                }
            }
        }
    }
    return data;
}

// [channel block][ky][kx][output][lane]
static float *pack_thin(const struct vector_ops *ops, const struct conv_shape *s,
                        const struct conv_source *source) {
    int b = ops->block, ins = round_up(s->channels_in, b), outs = s->channels_out;
    float *data = floats_new((size_t)ins * (size_t)outs * (size_t)(s->kernel_h * s->kernel_w));
    float *to = data;
    for (int i = 0; i < ins; i += b) {
        for (int k = 0; k < s->kernel_h * s->kernel_w; k++) {
            for (int o = 0; o < outs; o++) {
                for (int lane = 0; lane < b; lane++) {
                    *to++ = weight_at(s, source, o, i + lane, k / s->kernel_w, k % s->kernel_w);
                }
            }
        }
    }
    return data;
}

// G g G^T in double: these values multiply everything.
static void winograd_kernel(const struct conv_shape *s, const struct conv_source *source, int t,
                            int o, int i, float out[36]) {
    static const double G[2][6][3] = {{{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}},
                                      {{1. / 4, 0, 0},
                                       {-1. / 6, -1. / 6, -1. / 6},
                                       {-1. / 6, 1. / 6, -1. / 6},
                                       {1. / 24, 1. / 12, 1. / 6},
                                       {1. / 24, -1. / 12, 1. / 6},
                                       {0, 0, 1}}};
    const double(*g)[3] = G[t == 4];
    int side = t + 2;
    double half[6][3] = {{0}};
    for (int k = 0; k < 3 * side; k++) {
        for (int j = 0; j < 3; j++) {
            half[k / 3][k % 3] += g[k / 3][j] * (double)weight_at(s, source, o, i, j, k % 3);
        }
    }
    for (int k = 0; k < side * side; k++) {
        double sum = 0;
        for (int j = 0; j < 3; j++) {
            sum += half[k / side][j] * g[k % side][j];
        }
        out[k] = (float)sum;
    }
}

// [block pair][(t + 2)^2][channel in][block of the pair][lane]
static float *pack_winograd(const struct vector_ops *ops, const struct conv_shape *s, int t,
                            const struct conv_source *source) {
    int b = ops->block, ins = round_up(s->channels_in, b), outs = round_up(s->channels_out, b);
    size_t window = (size_t)((t + 2) * (t + 2));
    float *data = floats_new((size_t)ins * (size_t)outs * window);
    for (int o = 0; o < s->channels_out; o++) {
        int first = o / (DIRECT_BLOCKS_MAX * b) * DIRECT_BLOCKS_MAX * b;
        size_t lanes = (size_t)MIN(DIRECT_BLOCKS_MAX * b, outs - first);
        float *pair = data + (size_t)first * (size_t)ins * window;
        for (int i = 0; i < s->channels_in; i++) {
            float kernel[36];
            winograd_kernel(s, source, t, o, i, kernel);
            for (size_t k = 0; k < window; k++) {
                pair[(k * (size_t)ins + (size_t)i) * lanes + (size_t)(o - first)] = kernel[k];
            }
        }
    }
    return data;
}

// [channel block][ky][kx][lane]
static float *pack_depthwise(const struct vector_ops *ops, const struct conv_shape *s,
                             const struct conv_source *source) {
    int b = ops->block, taps = s->kernel_h * s->kernel_w;
    float *data = floats_new((size_t)round_up(s->channels_out, b) * (size_t)taps);
    for (int o = 0; o < s->channels_out; o++) {
        for (int k = 0; k < taps; k++) {
            data[(o / b * taps + k) * b + o % b] =
                source->weights[o * taps + k] * (source->scale ? source->scale[o] : 1);
        }
    }
    return data;
}

struct conv_weights *conv_weights_new(const struct vector_ops *ops, const struct conv_shape *shape,
                                      enum conv_algorithm algorithm, bool planar,
                                      const struct conv_source *source) {
    struct conv_weights *weights = x_calloc(1, sizeof *weights);
    weights->algorithm = algorithm;
    weights->planar = planar;
    switch (algorithm) {
    case CONV_WINOGRAD:
    case CONV_WINOGRAD_2:
        weights->data = pack_winograd(ops, shape, conv_tile(algorithm), source);
        break;
    case CONV_THIN:
        weights->data = pack_thin(ops, shape, source);
        break;
    case CONV_DEPTHWISE:
        weights->data = pack_depthwise(ops, shape, source);
        break;
    case CONV_DIRECT:
        weights->data = pack_direct(ops, shape, planar, source);
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

void conv_weights_free(struct conv_weights *weights) {
    if (weights) {
        free(weights->data);
        free(weights->bias);
        free(weights);
    }
}
