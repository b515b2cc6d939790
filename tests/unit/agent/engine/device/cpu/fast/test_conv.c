// SPDX-License-Identifier: Apache-2.0
// Every algorithm in every instruction set of this processor against the definition, in double.
#include "agent/engine/device/cpu/fast/conv.h"

#include <math.h>
#include <stdlib.h>

#include "agent/engine/device/cpu/fast/conv_run.h"
#include "agent/engine/device/cpu/vector/vector_bfloat_choice.h"
#include "tests/seed.h"
#include "tests/test.h"
#include "tests/unit/agent/engine/device/cpu/fast/conv_rows.inc"

static struct threads *pools[4]; // by number of threads
static unsigned seed = 1;

static float random_float(void) {
    seed = seed * 1664525u + 1013904223u;
    return (float)(seed >> 8) / (float)(1 << 23) - 1;
}

static float *random_floats(size_t count) {
    float *data = aligned_alloc(64, (count * sizeof(float) + 127) / 64 * 64);
    for (size_t i = 0; i < count; i++) {
        data[i] = random_float();
    }
    return data;
}

struct fixture {
    struct conv_shape shape;
    float *input;         /* row-major, pending work not done */
    float *scale, *shift; /* [n, c] */
    float *weights, *bias, *gamma, *beta, *add;
    double *wanted; /* row-major, with everything applied except the affine of `normed` */
    double *affine; /* [n, 2, channels_out] */
    double *sizes;  /* as wanted: the sums of the absolute values of what is added */
    bool is_size;   /* these are computed now */
};

static int place(int x, int size, enum border border) {
    if (x >= 0 && x < size) {
        return x;
    }
    return border == BORDER_ZERO   ? -1
           : border == BORDER_EDGE ? (x < 0 ? 0 : size - 1)
           : x < 0                 ? -x
                                   : 2 * size - 2 - x;
}

static double input_at(const struct fixture *f, const struct row *row, int n, int c, int y, int x) {
    const struct conv_shape *s = &f->shape;
    int times = s->doubled ? 2 : 1;
    y = place(y - s->pad_top, s->in_h * times, s->border);
    x = place(x - s->pad_left, s->in_w * times, s->border);
    if (y < 0 || x < 0) {
        return 0;
    }
    int channel = n * s->channels_in + c;
    double value = (double)f->input[(channel * s->in_h + y / times) * s->in_w + x / times];
    if (row->form == PENDING) {
        value = value * (double)f->scale[channel] + (double)f->shift[channel];
        value = value < 0 ? 0 : value;
    }
    return f->is_size ? fabs(value) : value;
}

static double weight_at(const struct fixture *f, int at) {
    double value = (double)f->weights[at];
    return f->is_size ? fabs(value) : value;
}

// A transposed convolution: input x and element k of the kernel make output x stride + k - pad.
static double transposed_at(const struct fixture *f, const struct row *row, int n, int o, int y,
                            int x) {
    const struct conv_shape *s = &f->shape;
    double sum = 0;
    for (int i = 0; i < s->channels_in; i++) {
        for (int k = 0; k < s->kernel_h * s->kernel_w; k++) {
            int from_y = y + s->crop_top - k / s->kernel_w;
            int from_x = x + s->crop_left - k % s->kernel_w;
            if (from_y < 0 || from_x < 0 || from_y % s->up_h || from_x % s->up_w ||
                from_y / s->up_h >= s->in_h || from_x / s->up_w >= s->in_w) {
                continue;
            }
            sum += input_at(f, row, n, i, from_y / s->up_h + s->pad_top,
                            from_x / s->up_w + s->pad_left) *
                   weight_at(f, (i * s->channels_out + o) * s->kernel_h * s->kernel_w + k);
        }
    }
    return sum;
}

static double output_at(const struct fixture *f, const struct row *row, int n, int o, int y,
                        int x) {
    const struct conv_shape *s = &f->shape;
    double sum = (double)f->bias[o];
    int groups = s->depthwise ? s->channels_in : MAX(s->groups, 1);
    int group = s->channels_in / groups; // channels that an output reads
    sum += s->transposed ? transposed_at(f, row, n, o, y, x) : 0;
    for (int i = 0; i < group && !s->transposed; i++) {
        int c = o / (s->channels_out / groups) * group + i;
        for (int k = 0; k < s->kernel_h * s->kernel_w; k++) {
            int ky = k / s->kernel_w, kx = k % s->kernel_w;
            sum += input_at(f, row, n, c, y * s->stride_h + ky * MAX(s->dilation_h, 1),
                            x * s->stride_w + kx * MAX(s->dilation_w, 1)) *
                   weight_at(f, (o * group + i) * s->kernel_h * s->kernel_w + k);
        }
    }
    sum += row->add ? (double)f->add[((n * s->channels_out + o) * s->out_h + y) * s->out_w + x] : 0;
    return row->relu && sum < 0 ? 0 : sum;
}

static void fixture_init(struct fixture *f, const struct row *row) {
    f->shape = row->shape;
    struct conv_shape *s = &f->shape;
    CHECK(conv_shape_finish(s));
    size_t ins = (size_t)s->channels_in, outs = (size_t)s->channels_out, n = (size_t)s->n;
    size_t pixels = (size_t)s->out_h * (size_t)s->out_w;
    f->input = random_floats(n * ins * (size_t)(s->in_h * s->in_w));
    f->scale = random_floats(n * ins);
    f->shift = random_floats(n * ins);
    f->weights = random_floats(ins * outs * (size_t)(s->kernel_h * s->kernel_w));
    f->bias = random_floats(outs);
    f->gamma = random_floats(outs);
    f->beta = random_floats(outs);
    f->add = random_floats(n * outs * pixels);
    f->wanted = calloc(n * outs * pixels, sizeof(double));
    f->affine = calloc(n * 2 * outs, sizeof(double));
    f->sizes = calloc(n * outs * pixels, sizeof(double));
    for (size_t i = 0; i < n * outs; i++) {
        int o = (int)(i % outs);
        double sum = 0, squares = 0, *plane = f->wanted + i * pixels;
        for (size_t k = 0; k < pixels; k++) {
            int y = (int)k / s->out_w, x = (int)k % s->out_w;
            plane[k] = output_at(f, row, (int)(i / outs), o, y, x);
            f->is_size = true;
            f->sizes[i * pixels + k] = fabs(output_at(f, row, (int)(i / outs), o, y, x));
            f->is_size = false;
            sum += plane[k];
        }
        for (size_t k = 0; k < pixels; k++) {
            double d = plane[k] - sum / (double)pixels;
            squares += d * d;
        }
        double scale = (double)f->gamma[o] / sqrt(squares / (double)pixels + 1e-5);
        f->affine[i / outs * 2 * outs + i % outs] = scale;
        f->affine[(i / outs * 2 + 1) * outs + i % outs] =
            (double)f->beta[o] - sum / (double)pixels * scale;
    }
}

// [n, c, pixels] to the blocked layout, with odd values in the unused lanes.
static float *to_blocked(const float *from, int n, int c, int pixels, int b, float filler) {
    int blocks = (c + b - 1) / b;
    float *to = random_floats((size_t)(n * blocks * pixels * b));
    for (int i = 0; i < n * blocks * b; i++) {
        int image = i / (blocks * b), channel = i % (blocks * b);
        for (int k = 0; k < pixels; k++) {
            to[((image * blocks + channel / b) * pixels + k) * b + channel % b] =
                channel < c ? from[(image * c + channel) * pixels + k] : filler;
        }
    }
    return to;
}

/* Pixel k of a channel of the blocked output. */
static float blocked_output(const struct conv *conv, const float *data, int n, int channel, int k) {
    int b = conv->ops->block, blocks = (conv->shape.channels_out + b - 1) / b;
    int pixels = conv->shape.out_h * conv->shape.out_w;
    return data[((n * blocks + channel / b) * pixels + k) * b + channel % b];
}

static float *pending_affine(const struct fixture *f, int b) {
    int n = f->shape.n, c = f->shape.channels_in, lanes = (c + b - 1) / b * b;
    float *affine = random_floats((size_t)(n * 2 * lanes));
    for (int i = 0; i < n * lanes; i++) {
        int at = i / lanes * c + i % lanes;
        affine[i / lanes * 2 * lanes + i % lanes] = i % lanes < c ? f->scale[at] : 0;
        affine[(i / lanes * 2 + 1) * lanes + i % lanes] = i % lanes < c ? f->shift[at] : 0;
    }
    return affine;
}

static void check_output(const struct fixture *f, const struct conv *conv, const char *label,
                         const struct conv_operand *out) {
    const struct conv_shape *s = &f->shape;
    int b = conv->ops->block, pixels = s->out_h * s->out_w,
        lanes = (s->channels_out + b - 1) / b * b;
    double worst = 0, largest = 1e-3, worst_affine = 0;
    const double most = conv->bfloat ? 1 : 2e-5, most_affine = conv->bfloat ? 0.05 : 1e-3;
    for (int i = 0; i < s->n * s->channels_out; i++) {
        int n = i / s->channels_out, o = i % s->channels_out;
        for (int k = 0; k < pixels; k++) {
            float seen =
                out->blocked ? blocked_output(conv, out->data, n, o, k) : out->data[i * pixels + k];
            double wanted = f->wanted[i * pixels + k];
            if (isfinite(seen) && isfinite(wanted)) {
                double off = fabs((double)seen - wanted);
                /* Each factor is off by 2^-8 of its size at most. */
                double bound = 0x1.02p-7 * (f->sizes[i * pixels + k] + 2) + 2e-5;
                worst = MAX(worst, conv->bfloat ? off / bound : off);
                largest = MAX(largest, fabs(wanted));
            } else if (isfinite(seen) != isfinite(wanted)) {
                worst = INFINITY;
            }
        }
        for (int k = 0; conv->normed && k < 2; k++) {
            double wanted = f->affine[(n * 2 + k) * s->channels_out + o];
            double off = fabs((double)out->affine[(n * 2 + k) * lanes + o] - wanted);
            worst_affine = MAX(worst_affine, off / (1 + fabs(wanted)));
        }
    }
    if (worst > most * (conv->bfloat ? 1 : largest) || worst_affine > most_affine) {
        printf("# %s: off by %g of %g, affine %g\n", label, worst, largest, worst_affine);
        test_failures++;
    }
}

// What conv_after is for: it must see each pixel once, and complete. The count is beside the
// numbers.
struct completion {
    const struct conv_operand *out;
    int64_t pixels;
    int block;
    unsigned char *seen; // by plane and pixel
};

static void negate(const struct conv_after *after UNUSED, const void *context,
                   const struct conv_piece *piece) {
    const struct completion *completion = context;
    int64_t at = piece->plane * completion->pixels + piece->first;
    CHECK(piece->data == completion->out->data + at * completion->block);
    for (int i = 0; i < piece->count; i++) {
        completion->seen[at + i]++;
        for (int lane = 0; lane < completion->block; lane++) {
            float *number = piece->data + i * completion->block + lane;
            *number = -*number;
        }
    }
}

static const struct conv_after negation = {.run = negate};

static void check_conv(const struct fixture *f, const struct row *row, enum isa isa,
                       enum conv_algorithm algorithm, const struct bfloat_ops *bfloat,
                       int threads) {
    const struct conv_shape *s = &f->shape;
    const struct vector_ops *ops = vector_ops_get(isa);
    int b = ops->block;
    bool planar = row->form == ROW_MAJOR && conv_reads_planar(ops, s) && algorithm == CONV_DIRECT;
    struct conv_source source = {
        .weights = f->weights, .bias = f->bias, .transposed = s->transposed};
    struct conv_weights *weights = conv_weights_new(ops, s, algorithm, planar, &source);
    if (bfloat) {
        conv_weights_round(ops, bfloat, s, weights);
    }
    struct conv conv = {.ops = ops,
                        .shape = *s,
                        .weights = weights,
                        .bfloat = bfloat,
                        .high = INFINITY,
                        .low = row->relu ? 0 : -INFINITY,
                        .gamma = f->gamma,
                        .beta = f->beta,
                        .normed = row->normed && algorithm != CONV_THIN,
                        .epsilon = 1e-5F};
    conv_plan(&conv, threads, row->form != ROW_MAJOR, row->form == PENDING);
    struct conv_operand in = {.blocked = row->form != ROW_MAJOR, .relu = row->form == PENDING};
    in.data =
        in.blocked ? to_blocked(f->input, s->n, s->channels_in, s->in_h * s->in_w, b, 3) : f->input;
    in.affine = row->form == PENDING ? pending_affine(f, b) : NULL;
    struct conv_operand add = {.blocked = true};
    add.data = to_blocked(f->add, s->n, s->channels_out, s->out_h * s->out_w, b, 5);
    struct conv_operand out = {.blocked = algorithm != CONV_THIN};
    out.data = random_floats(conv_blocked_count(ops, s->n, s->channels_out, s->out_h, s->out_w));
    out.affine = random_floats(conv_affine_count(ops, s->n, s->channels_out));
    void *scratch = aligned_alloc(64, (conv.scratch_bytes + 63) / 64 * 64);
    memset(scratch, 0xff, conv.scratch_bytes); // NaN, in case it is read
    bool completes = algorithm != CONV_THIN && !conv.normed;
    int64_t planes = s->n * ((s->channels_out + b - 1) / b), pixels = s->out_h * s->out_w;
    struct completion completion = {.out = &out, .pixels = pixels, .block = b};
    completion.seen = x_calloc((size_t)(planes * pixels), 1);
    conv.after = completes ? &negation : NULL;
    const struct conv_operands operands = {&in, row->add && algorithm != CONV_THIN ? &add : NULL,
                                           &out, &completion};
    conv_run(&conv, pools[threads], &operands, scratch);
    for (int64_t i = 0; completes && i < planes * pixels; i++) {
        CHECK_INT(1, completion.seen[i]);
    }
    free(completion.seen);
    char label[128];
    snprintf(label, sizeof label, "%s, %s, %s, %s, %d threads", row->name, isa_name(isa),
             bfloat ? bfloat->name : "float32",
             (const char *[]){"direct", "thin", "Winograd", "Winograd 2x2", "Winograd strided",
                              "depthwise"}[algorithm],
             threads);
    for (int64_t i = 0; completes && i < planes * pixels * b; i++) {
        out.data[i] = -out.data[i];
    }
    check_output(f, &conv, label, &out);
    free(scratch);
    free(in.blocked ? in.data : NULL);
    free(in.affine);
    free(add.data);
    free(out.data);
    free(out.affine);
    conv_release(&conv);
    conv_weights_free(weights);
}

static bool can(const struct row *row, enum isa isa, enum conv_algorithm algorithm) {
    const struct conv_shape *s = &row->shape;
    bool is_grouped = s->depthwise || conv_groups_share(vector_ops_get(isa), s);
    switch (algorithm) {
    case CONV_THIN:
        return !s->depthwise && !s->transposed && s->channels_out <= THIN_OUTPUTS_MAX &&
               !row->add && !row->normed;
    case CONV_WINOGRAD:
    case CONV_WINOGRAD_2:
    case CONV_WINOGRAD_STRIDED:
        return !s->depthwise && !s->transposed && s->groups <= 1 && s->dilation_h < 2 &&
               s->dilation_w < 2 && s->kernel_h == 3 && s->kernel_w == 3 &&
               s->stride_h == s->stride_w &&
               s->stride_h == (algorithm == CONV_WINOGRAD_STRIDED ? 2 : 1);
    case CONV_DEPTHWISE:
        return is_grouped;
    default:
        return !is_grouped;
    }
}

// Computed once for all instruction sets, and kept.
static struct fixture fixtures[ARRAY_LEN(ROWS) + ARRAY_LEN(OTHER_ROWS)];

static void check_isa(enum isa isa) {
    if (!isa_runs_here(isa)) {
        SKIP("this processor has no %s", isa_name(isa));
    }
    for (size_t i = 0; i < ARRAY_LEN(fixtures); i++) {
        bool plain = i < ARRAY_LEN(ROWS), taken = test_takes(i + isa, ARRAY_LEN(ROWS));
        const struct row *row = plain ? &ROWS[i] : &OTHER_ROWS[i - ARRAY_LEN(ROWS)];
        if (taken && !fixtures[i].wanted) {
            fixture_init(&fixtures[i], row);
        }
        for (enum conv_algorithm a = CONV_DIRECT; a <= CONV_DEPTHWISE; a++) {
            for (int threads = 1; taken && threads <= 3 && can(row, isa, a); threads++) {
                check_conv(&fixtures[i], row, isa, a, NULL, threads);
            }
        }
    }
}

// The direct algorithm in bfloat16, in the layouts of an instruction set.
static void check_bfloat(const char *name, enum isa isa) {
    const struct bfloat_ops *bfloat = vector_bfloat_get(name);
    if (!bfloat || !isa_runs_here(isa)) {
        SKIP("this processor has no %s", bfloat ? isa_name(isa) : name);
    }
    for (size_t i = 0; i < ARRAY_LEN(fixtures); i++) {
        const struct row *row = i < ARRAY_LEN(ROWS) ? &ROWS[i] : &OTHER_ROWS[i - ARRAY_LEN(ROWS)];
        uint64_t part = bfloat == &vector_bfloat_plain ? 8 : 1; // whose loops are slow
        bool taken = can(row, isa, CONV_DIRECT) &&
                     test_samples(i + isa, ARRAY_LEN(ROWS), part, test_seed(test_day()));
        if (taken && !fixtures[i].wanted) {
            fixture_init(&fixtures[i], row);
        }
        for (int threads = 1; taken && threads <= 3; threads += 2) {
            check_conv(&fixtures[i], row, isa, CONV_DIRECT, bfloat, threads);
        }
    }
}

static void test_bfloat_plain(void) {
    check_bfloat("plain", ISA_PLAIN);
}

static void test_bfloat_avx2(void) {
    check_bfloat("plain", ISA_AVX2);
}

static void test_bfloat_avx512(void) {
    check_bfloat("avx512_bf16", ISA_AVX512);
}

static void test_bfloat_amx(void) {
    check_bfloat("amx", ISA_AVX512);
}

static void test_conv_plain(void) {
    check_isa(ISA_PLAIN);
}

static void test_conv_avx2(void) {
    check_isa(ISA_AVX2);
}

static void test_conv_avx512(void) {
    check_isa(ISA_AVX512);
}

// An infinite number of one group, whose blocks others share, stays in it.
static void test_groups_are_apart(void) {
    struct row row = {.name = "groups that are apart",
                      .shape = {SHAPE(1, 24, 24, 3, 3), PADS(1), KERNEL(3, 1), .groups = 12},
                      .form = BLOCKED};
    static struct fixture f;
    fixture_init(&f, &row);
    enum { PIXELS = 9, GROUP = 2 };
    for (int k = 0; k < PIXELS; k++) {
        f.input[(GROUP + 1) * PIXELS + k] = INFINITY;
    }
    for (int i = GROUP * PIXELS; i < 2 * GROUP * PIXELS; i++) {
        f.wanted[i] = INFINITY;
    }
    for (enum isa isa = ISA_PLAIN; isa <= ISA_AVX512; isa++) {
        if (isa_runs_here(isa)) {
            check_conv(&f, &row, isa, CONV_DEPTHWISE, NULL, 1);
        }
    }
}

static void test_shapes_that_do_not_fit(void) {
    struct conv_shape kernel = {SHAPE(1, 3, 8, 4, 4), KERNEL(5, 1)};
    CHECK(!conv_shape_finish(&kernel));
    struct conv_shape reflected = {SHAPE(1, 3, 8, 4, 4), KERNEL(9, 1), PADS(4),
                                   .border = BORDER_REFLECT};
    CHECK(!conv_shape_finish(&reflected));
}

static struct conv_weights *some_weights(const struct vector_ops *ops, const struct conv_shape *s,
                                         enum conv_algorithm algorithm, bool planar) {
    float *values =
        random_floats((size_t)(s->channels_in * s->channels_out * s->kernel_h * s->kernel_w));
    struct conv_source source = {.weights = values};
    struct conv_weights *weights = conv_weights_new(ops, s, algorithm, planar, &source);
    free(values);
    return weights;
}

// Where the outputs of a plan's units are counted.
struct marks {
    const struct conv *conv;
    size_t width, blocks; // pixels of a row, blocks of channels
    char *seen;
    bool is_right; // no output was seen twice, and no unit is too large
};

// Marks the outputs of a unit; returns their number.
static double mark_unit(struct marks *marks, int index) {
    const struct conv *conv = marks->conv;
    struct conv_unit u;
    conv_unit_bounds(conv, index, &u);
    size_t columns = (size_t)(u.column_end - u.column), blocks = (size_t)(u.block_end - u.block);
    marks->is_right = marks->is_right && u.block_end - u.block <= conv->blocks &&
                      u.row_end - u.row <= conv->rows && u.column_end - u.column <= conv->columns;
    for (int y = u.row; y < u.row_end; y++) {
        size_t row = (size_t)u.n * (size_t)conv->span + (size_t)y;
        for (size_t i = 0; i < columns * blocks; i++) {
            size_t x = (size_t)u.column + i / blocks, block = (size_t)u.block + i % blocks;
            char *at = &marks->seen[(row * marks->width + x) * marks->blocks + block];
            marks->is_right = marks->is_right && !*at;
            *at = 1;
        }
    }
    return (double)(u.row_end - u.row) * (double)(columns * blocks);
}

// Marks the outputs of each unit; returns -1 if an output is written twice or not at all, otherwise
// the share of the thread that begins with the most units, times the number of threads.
static double heaviest(const struct conv *conv, int threads) {
    int blocks = (conv->shape.channels_out + conv->ops->block - 1) / conv->ops->block;
    int wide = conv->flat ? conv->shape.out_h * conv->shape.out_w : conv->shape.out_w;
    size_t all = (size_t)conv->images * (size_t)conv->span * (size_t)wide * (size_t)blocks;
    struct marks marks = {conv, (size_t)wide, (size_t)blocks, x_calloc(all, 1), true};
    double most = 0, total = 0;
    for (int lane = 0; lane < threads; lane++) {
        double work = 0;
        for (int i = conv->units * lane / threads; i < conv->units * (lane + 1) / threads; i++) {
            work += mark_unit(&marks, i);
        }
        most = MAX(most, work);
        total += work;
    }
    free(marks.seen);
    return marks.is_right && total == (double)all ? most * threads / total : -1;
}

struct units_row {
    struct conv_shape shape;
    enum conv_algorithm algorithm;
    double most;
};

static void check_units(const struct units_row *row, enum isa isa, int threads) {
    const struct vector_ops *ops = vector_ops_get(isa);
    struct conv_shape s = row->shape;
    CHECK(conv_shape_finish(&s));
    bool planar = s.channels_in == 3;
    struct conv_weights *weights = some_weights(ops, &s, row->algorithm, planar);
    struct conv conv = {.ops = ops, .shape = s, .weights = weights};
    conv_plan(&conv, threads, !planar, false);
    double most = heaviest(&conv, threads);
    bool wanted = isa == ISA_AVX512 && threads == 2 && row->most < 2;
    CHECK(!wanted || conv_choose(ops, &s, planar, 2) == row->algorithm);
    if (most < 1 || (wanted && most > row->most)) {
        printf("# %d channels of %dx%d, %s, %d threads: %g\n", s.channels_in, s.in_h, s.in_w,
               isa_name(isa), threads, most);
        test_failures++;
    }
    conv_release(&conv);
    conv_weights_free(weights);
}

// For every shape, each output belongs to one unit; and ResNet-50's layers use the algorithm
// that was the fastest, and two threads begin with halves of them, or with 4 and 3 of 7 rows of
// tiles.
static void test_units(void) {
    static const struct units_row rows[] = {
        {{SHAPE(1, 3, 64, 224, 224), PADS(3), KERNEL(7, 2)}, CONV_DIRECT, 1.02},
        {{SHAPE(1, 256, 64, 56, 56), KERNEL(1, 1)}, CONV_DIRECT, 1.01},
        {{SHAPE(1, 64, 64, 56, 56), PADS(1), KERNEL(3, 1)}, CONV_WINOGRAD, 1.01},
        {{SHAPE(1, 512, 128, 28, 28), KERNEL(1, 1)}, CONV_DIRECT, 1.01},
        {{SHAPE(1, 128, 128, 56, 56), PADS(1), KERNEL(3, 2)}, CONV_WINOGRAD_STRIDED, 1.01},
        {{SHAPE(1, 256, 256, 28, 28), PADS(1), KERNEL(3, 2)}, CONV_WINOGRAD_STRIDED, 1.15},
        {{SHAPE(1, 512, 512, 14, 14), PADS(1), KERNEL(3, 2)}, CONV_DIRECT, 1.01},
        {{SHAPE(1, 128, 128, 28, 28), PADS(1), KERNEL(3, 1)}, CONV_WINOGRAD, 1.15},
        {{SHAPE(1, 1024, 256, 14, 14), KERNEL(1, 1)}, CONV_DIRECT, 1.01},
        {{SHAPE(1, 256, 256, 14, 14), PADS(1), KERNEL(3, 1)}, CONV_WINOGRAD_2, 1.15},
        {{SHAPE(1, 2048, 512, 7, 7), KERNEL(1, 1)}, CONV_DIRECT, 1.01},
        {{SHAPE(1, 512, 512, 7, 7), PADS(1), KERNEL(3, 1)}, CONV_WINOGRAD_2, 1.01},
        {{SHAPE(3, 40, 50, 13, 19), KERNEL(1, 1)}, CONV_DIRECT, 2},
        {{SHAPE(1, 16, 16, 1, 15), KERNEL(1, 1)}, CONV_DIRECT, 2},
        {{SHAPE(3, 20, 50, 13, 19), PADS(1), KERNEL(3, 1)}, CONV_WINOGRAD, 2},
        {{SHAPE(2, 30, 70, 90, 190), PADS(1), KERNEL(3, 1)}, CONV_WINOGRAD_2, 2},
        {{SHAPE(2, 30, 70, 33, 190), PADS(1), KERNEL(3, 2)}, CONV_WINOGRAD_STRIDED, 2},
        {{SHAPE(1, 128, 128, 56, 56), PADS(1), KERNEL(3, 2)}, CONV_DIRECT, 2},
        {{SHAPE(2, 3, 8, 70, 999), PADS(1), KERNEL(3, 1)}, CONV_DIRECT, 2},
        {{SHAPE(2, 96, 192, 31, 77), .groups = 6, PADS(1), KERNEL(3, 1)}, CONV_DIRECT, 2},
        {{SHAPE(2, 48, 48, 31, 77), .depthwise = true, PADS(1), KERNEL(3, 1)}, CONV_DEPTHWISE, 2},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        for (enum isa isa = ISA_PLAIN; isa <= ISA_AVX512 && test_takes(i, ARRAY_LEN(rows)); isa++) {
            for (int threads = 1; threads <= 5; threads++) {
                check_units(&rows[i], isa, threads);
            }
        }
    }
}

int main(void) {
    struct error err = {0};
    CHECK_OK(threads_new(2, &pools[2], &err), &err);
    CHECK_OK(threads_new(3, &pools[3], &err), &err);
    TEST(test_conv_plain);
    TEST(test_conv_avx2);
    TEST(test_conv_avx512);
    TEST(test_bfloat_plain);
    TEST(test_bfloat_avx2);
    TEST(test_bfloat_avx512);
    TEST(test_bfloat_amx);
    TEST(test_groups_are_apart);
    TEST(test_shapes_that_do_not_fit);
    TEST(test_units);
    threads_free(pools[2]);
    threads_free(pools[3]);
    return TEST_END();
}
