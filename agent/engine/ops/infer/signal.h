/* signal.h: Fourier transforms and what goes with them (ONNX 17). Complex numbers are a last
 * dimension of 2: real part, imaginary part. */
#pragma once

#include "agent/engine/graph.h"

struct dft {
    int axis;
    int64_t size, length; /* of the input along the axis; of the transform: cut off, or zeros */
    int64_t bins;         /* of the output: the half of them where the input is real (onesided) */
    int64_t parts;        /* of a number of the input: 1, 2 */
    bool is_inverse;
};
NODISCARD int dft_params(const struct node *node, const struct fact *const *inputs,
                         struct dft *ret_dft, struct error *err);

struct stft {
    int64_t step, length, frames, bins, parts;
};
NODISCARD int stft_params(const struct node *node, const struct fact *const *inputs,
                          struct stft *ret_stft, struct error *err);

/* The first inputs, of one integer each. */
NODISCARD int signal_sizes(const struct fact *const *inputs, int count, int64_t *ret_sizes,
                           struct error *err);

NODISCARD int infer_dft(const struct node *node, const struct fact *const *inputs,
                        struct fact *outputs, struct error *err);
NODISCARD int infer_stft(const struct node *node, const struct fact *const *inputs,
                         struct fact *outputs, struct error *err);
/* HannWindow, HammingWindow, BlackmanWindow: of the size. */
NODISCARD int infer_signal_window(const struct node *node, const struct fact *const *inputs,
                                  struct fact *outputs, struct error *err);
/* bands, length of the transform, samples a second, lowest and highest frequency */
NODISCARD int infer_mel_weights(const struct node *node, const struct fact *const *inputs,
                                struct fact *outputs, struct error *err);
