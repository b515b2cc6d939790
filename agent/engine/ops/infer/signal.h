/* signal.h: Fourier transforms and related operators (ONNX 17). Complex numbers are a last
 * dimension of size 2: real part, imaginary part. */
#pragma once

#include "agent/engine/graph/node.h"

struct dft {
    int axis;
    int64_t size, length; /* size: of the input along the axis. length: of the transform; the input
                             is truncated or padded with zeros */
    int64_t bins;         /* of the output; about half the length if onesided */
    int64_t parts;        /* of an input number: 1 real, 2 complex */
    bool is_inverse;
};
NODISCARD int dft_params(const struct node *node, const struct fact *const *inputs,
                         struct dft *ret_dft, struct error *err);

struct stft {
    int64_t step, length, frames, bins, parts;
};
NODISCARD int stft_params(const struct node *node, const struct fact *const *inputs,
                          struct stft *ret_stft, struct error *err);

/* Reads the first `count` inputs, each one integer. */
NODISCARD int signal_sizes(const struct fact *const *inputs, int count, int64_t *ret_sizes,
                           struct error *err);

NODISCARD int infer_dft(const struct node *node, const struct fact *const *inputs,
                        struct fact *outputs, struct error *err);
NODISCARD int infer_stft(const struct node *node, const struct fact *const *inputs,
                         struct fact *outputs, struct error *err);
/* HannWindow, HammingWindow, BlackmanWindow; the input is the size. */
NODISCARD int infer_signal_window(const struct node *node, const struct fact *const *inputs,
                                  struct fact *outputs, struct error *err);
/* Inputs: number of bands, length of the transform, samples per second, lowest and highest
 * frequency. */
NODISCARD int infer_mel_weights(const struct node *node, const struct fact *const *inputs,
                                struct fact *outputs, struct error *err);
