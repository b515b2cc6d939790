/* resnet50.h: sizes of ResNet-50's gradients (25,557,032 numbers), and when backward makes them, in
 * multiply-adds at 224x224: for plans of buckets and for benchmarks that have no network to train.
 */
#pragma once

#include <stddef.h>

struct resnet50 {
    size_t bytes[256];         /* in the order of forward, as in a model */
    int ready_after_step[256]; /* in the order of backward: the first layer's is last */
    double done[256]; /* the share of backward's work that is done when it is made, (0, 1] */
    double work[256]; /* of this layer, in multiply-adds of forward */
    size_t count;
};

static inline void resnet50_add(struct resnet50 *net, size_t values, double work) {
    net->work[net->count] = work;
    net->bytes[net->count++] = values * sizeof(float);
}

/* A convolution's weights, and scale and shift of the norm after it. side: of its output. */
static inline void resnet50_conv(struct resnet50 *net, size_t out, size_t in, size_t kernel,
                                 size_t side) {
    size_t weights = out * in * kernel * kernel;
    resnet50_add(net, weights, (double)(weights * side * side));
    resnet50_add(net, out, 0);
    resnet50_add(net, out, 0);
}

static inline void resnet50_init(struct resnet50 *net) {
    static const size_t blocks[] = {3, 4, 6, 3};
    *net = (struct resnet50){0};
    resnet50_conv(net, 64, 3, 7, 112);
    for (size_t stage = 0, in = 64; stage < 4; stage++) {
        size_t width = (size_t)64 << stage, side = 56 >> stage;
        for (size_t block = 0; block < blocks[stage]; block++, in = 4 * width) {
            resnet50_conv(net, width, in, 1, block == 0 && stage > 0 ? 2 * side : side);
            resnet50_conv(net, width, width, 3, side);
            resnet50_conv(net, 4 * width, width, 1, side);
            if (block == 0) {
                resnet50_conv(net, 4 * width, in, 1, side);
            }
        }
    }
    resnet50_add(net, 1000 * 2048, 1000 * 2048);
    resnet50_add(net, 1000, 0);
    double all = 0, done = 0;
    for (size_t i = 0; i < net->count; i++) {
        net->ready_after_step[i] = (int)(net->count - 1 - i);
        all += net->work[i];
    }
    for (size_t i = net->count; i-- > 0;) {
        done += net->work[i];
        net->done[i] = done / all;
    }
}
