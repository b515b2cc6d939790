// SPDX-License-Identifier: Apache-2.0
/* DFT, STFT, windows and mel weights. */
#include "agent/engine/ops/infer/signal.h"

#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/reference/reference.h"
#include "agent/engine/ops/infer/params.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

/* ---- transforms: direct sums, with sine and cosine from a table ------------------------------ */

struct transform {
    const struct tensor *x, *window; /* window: NULL for none */
    struct tensor *y;
    int64_t size, length, bins, parts; /* parts per number: read; of the transform; written */
    const double *points;              /* [length, 2]: cosine and sine of 2 pi i / length */
    bool is_inverse;
    /* Offset of the first number and distance to the next, in elements. */
    int64_t x_start, x_step, y_start, y_step;
};

static double *circle(int64_t length, struct tensor *table, struct error *err) {
    if (tensor_init(table, TENSOR_FLOAT64, &(struct shape){2, {length, 2}}, err) < 0) {
        return NULL;
    }
    double *points = table->data;
    for (int64_t i = 0; i < length; i++) {
        points[2 * i] = cos(2 * pi * (double)i / (double)length);
        points[2 * i + 1] = sin(2 * pi * (double)i / (double)length);
    }
    return points;
}

static void transform_bin(const struct transform *t, int64_t bin) {
    double real = 0, imaginary = 0;
    int64_t count = MIN(t->size, t->length), at = 0; /* at: bin * n, around the circle */
    for (int64_t n = 0; n < count; n++) {
        double weight = t->window ? tensor_number(t->window, n) : 1;
        int64_t from = t->x_start + n * t->x_step;
        double a = weight * tensor_number(t->x, from);
        double b = t->parts == 2 ? weight * tensor_number(t->x, from + 1) : 0;
        double cosine = t->points[2 * at];
        double sine = t->is_inverse ? t->points[2 * at + 1] : -t->points[2 * at + 1];
        real += a * cosine - b * sine;
        imaginary += a * sine + b * cosine;
        at = (at + bin) % t->length;
    }
    double divisor = t->is_inverse ? (double)t->length : 1;
    int64_t to = t->y_start + bin * t->y_step;
    tensor_put_number(t->y, to, real / divisor);
    tensor_put_number(t->y, to + 1, imaginary / divisor);
}

static int dft_run(const struct call *call, struct error *err) {
    const struct tensor *x = call->inputs[0];
    struct cpu_call_facts facts = {0};
    struct tensor table;
    struct dft dft;
    if (dft_params(call->node, cpu_call_collect_facts(call, &facts), &dft, err) < 0) {
        return -1;
    }
    struct transform t = {x,
                          NULL,
                          call->outputs[0],
                          dft.size,
                          dft.length,
                          dft.bins,
                          dft.parts,
                          circle(dft.length, &table, err),
                          dft.is_inverse,
                          0,
                          0,
                          0,
                          0};
    if (!t.points) {
        return -1;
    }
    struct around around = param_around_axis(&x->shape, dft.axis);
    int64_t inner = around.inner / dft.parts, outer = around.outer; /* of numbers */
    t.x_step = inner * dft.parts;
    t.y_step = inner * 2;
    for (int64_t i = 0; i < outer * inner; i++) {
        t.x_start = (i / inner * dft.size * inner + i % inner) * dft.parts;
        t.y_start = (i / inner * dft.bins * inner + i % inner) * 2;
        for (int64_t bin = 0; bin < dft.bins; bin++) {
            transform_bin(&t, bin);
        }
    }
    tensor_release(&table);
    return 0;
}
const struct kernel reference_dft = {"reference dft", dft_run};

static int stft_run(const struct call *call, struct error *err) {
    const struct tensor *x = call->inputs[0];
    struct cpu_call_facts facts = {0};
    struct tensor table;
    struct stft stft;
    if (stft_params(call->node, cpu_call_collect_facts(call, &facts), &stft, err) < 0) {
        return -1;
    }
    struct transform t = {.x = x,
                          .window = call->input_count > 2 ? call->inputs[2] : NULL,
                          .y = call->outputs[0],
                          .size = stft.length,
                          .length = stft.length,
                          .bins = stft.bins,
                          .parts = stft.parts,
                          .points = circle(stft.length, &table, err),
                          .x_step = stft.parts,
                          .y_step = 2};
    if (!t.points) {
        return -1;
    }
    for (int64_t i = 0; i < x->shape.dims[0] * stft.frames; i++) {
        int64_t sequence = i / stft.frames, frame = i % stft.frames;
        t.x_start = (sequence * x->shape.dims[1] + frame * stft.step) * stft.parts;
        t.y_start = i * stft.bins * 2;
        for (int64_t bin = 0; bin < stft.bins; bin++) {
            transform_bin(&t, bin);
        }
    }
    tensor_release(&table);
    return 0;
}
const struct kernel reference_stft = {"reference stft", stft_run};

/* ---- windows and bands ----------------------------------------------------------------------- */

/* a - b cos(x) + c cos(2 x), over one period. */
static int signal_window_run(const struct call *call, struct error *err UNUSED) {
    int id = call->node->op->id;
    struct tensor *y = call->outputs[0];
    int64_t size = y->shape.dims[0];
    int64_t around = node_integer(call->node, "periodic", 1) ? size : MAX(size - 1, 1);
    double a = id == OP_HANN_WINDOW ? 0.5 : id == OP_HAMMING_WINDOW ? 25.0 / 46 : 0.42;
    double b = id == OP_HANN_WINDOW ? 0.5 : id == OP_HAMMING_WINDOW ? 21.0 / 46 : 0.5;
    double c = id == OP_BLACKMAN_WINDOW ? 0.08 : 0;
    for (int64_t i = 0; i < size; i++) {
        double x = 2 * pi * (double)i / (double)around;
        tensor_put_number(y, i, a - b * cos(x) + c * cos(2 * x));
    }
    return 0;
}
const struct kernel reference_signal_window = {"reference signal_window", signal_window_run};

/* The bin of the edge of a band; bands have equal widths on the mel scale. */
static double band_edge(const struct tensor *const *inputs, int64_t edge) {
    double bands = tensor_number(inputs[0], 0) + 2, length = tensor_number(inputs[1], 0);
    double low = 2595 * log10(1 + tensor_number(inputs[3], 0) / 700);
    double high = 2595 * log10(1 + tensor_number(inputs[4], 0) / 700);
    double mel = low + (double)edge * (high - low) / bands;
    double hertz = 700 * (pow(10, mel / 2595) - 1);
    return floor((length + 1) * hertz / tensor_number(inputs[2], 0));
}

/* Each band is a triangle: 1 in its centre, 0 in the centres of the neighbouring bands. */
static int mel_weights_run(const struct call *call, struct error *err UNUSED) {
    struct tensor *y = call->outputs[0];
    int64_t bins = y->shape.dims[0], bands = y->shape.dims[1];
    for (int64_t band = 0; band < bands; band++) {
        double low = band_edge(call->inputs, band), middle = band_edge(call->inputs, band + 1);
        double high = band_edge(call->inputs, band + 2);
        for (int64_t bin = 0; bin < bins; bin++) {
            double at = (double)bin, weight = 0;
            if (at >= middle && at < high) {
                weight = (high - at) / (high - middle);
            } else if (at >= low && at <= middle) {
                weight = middle > low ? (at - low) / (middle - low) : 1;
            }
            tensor_put_number(y, bin * bands + band, weight);
        }
    }
    return 0;
}
const struct kernel reference_mel_weights = {"reference mel_weights", mel_weights_run};
