// SPDX-License-Identifier: Apache-2.0
/* Every operator's gradient against finite differences: the weighted sum of a node's outputs, along
 * a random direction of one input, from five points with a wide step; inputs of operators with
 * kinks keep a distance from them. A kink inside an operator (softsign in an LSTM) cannot be kept
 * away: its share of the difference shrinks with the step, which that of a wrong gradient does not.
 * SOAK_SEED, SOAK_ROUNDS: draws (3; 1 on cuda). On the emulated GPU each day another sixth of the
 * rows; all, and at most EMULATED_ROUNDS draws, in a soak. */
#include "agent/engine/device/kernel.h"
#include "agent/engine/ops/training/decompose.h"
#include "agent/engine/ops/training/gradient.h"
#include "agent/engine/run/execution_plan.h"
#include "tests/conformance/attributes.h"
#include "tests/conformance/draws.h"
#include "tests/conformance/emulation.h"
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>

static const double step_widest = 0.01, step_least = 0.01 / 8;
/* Relative to the gradient's length along a random direction; the worst seen is 1e-4. */
static const double tolerance = 1e-3;

enum kind { ABSENT, VARIED, INTEGERS, LABELS, NUMBER, TRUTHS };
enum { INPUTS_MAX = 8, OUTPUTS_MAX = 3, LIST_MAX = 10, EMULATED_ROUNDS = 2 };

struct input {
    enum kind kind;
    struct shape shape;
    int64_t integers[LIST_MAX];
    float number;
};

struct row {
    const char *op; /* NULL: internal */
    int opset;
    enum op_id id;
    enum draw draw;
    struct input inputs[INPUTS_MAX];
    struct attribute attributes[6];
    int output_count, used_outputs; /* 0 means 1 */
};

#define X(...)                                                                                     \
    {                                                                                              \
        .kind = VARIED, .shape = { sizeof LIST(__VA_ARGS__) / sizeof(int64_t), {__VA_ARGS__} }     \
    }
#define INTEGERS_OF(...)                                                                           \
    {                                                                                              \
        .kind = INTEGERS, .shape = {1, {sizeof LIST(__VA_ARGS__) / sizeof(int64_t)}},              \
        .integers = {                                                                              \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define SCALAR_INTEGER(value)                                                                      \
    {                                                                                              \
        .kind = INTEGERS, .integers = { value }                                                    \
    }
#define NUMBER_OF(value)                                                                           \
    { .kind = NUMBER, .number = (value) }
#define NUMBERS(name_, ...)                                                                        \
    {                                                                                              \
        .name = name_, .kind = ATTRIBUTE_NUMBERS,                                                  \
        .count = sizeof((const float[]){__VA_ARGS__}) / sizeof(float),                             \
        .numbers = (const float[]) {                                                               \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define NONE                                                                                       \
    { .kind = ABSENT }

/* Most rows leave the last fields out; -Wextra would warn. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
static const struct row rows[] = {
#include "tests/conformance/gradient_rows.inc"
};

static const struct op *op_of(const struct row *row) {
    return row->op ? op_find(row->op, row->opset) : op_of_id(row->id);
}

/* ---- a graph, run ---- */

struct runner {
    struct device *device;
    struct graph graph;
    struct execution_plan *plan;
    void *block;
};

static void runner_end(struct runner *runner) {
    execution_plan_free(runner->plan);
    if (runner->block) {
        runner->device->ops->free(runner->device, runner->block);
    }
    graph_release(&runner->graph);
}

static int runner_run(struct runner *runner, const struct tensor *inputs, struct tensor *outputs,
                      struct error *err) {
    struct device *device = runner->device;
    if (!runner->plan &&
        (execution_plan_new(device, &runner->graph, inputs, &runner->plan, err) < 0 ||
         device->ops->alloc(device, runner->plan->schedule->block_bytes, &runner->block, err) <
             0)) {
        return -1;
    }
    return execution_plan_run(runner->plan, runner->block, inputs, outputs, NULL, err);
}

/* ---- one row, one draw ---- */

struct trial {
    const struct row *row;
    uint64_t state;
    int varied[INPUTS_MAX], outputs[OUTPUTS_MAX]; /* values */
    int varied_count, output_count;
    struct tensor inputs[INPUTS_MAX + OUTPUTS_MAX]; /* the varied, then the weights */
    struct graph written; /* as a file has it; the others are made of it, decomposed */
    struct runner forward, backward;
};

static int add_constant(struct trial *trial, struct builder *builder, const struct input *input) {
    struct tensor tensor = {.type = TENSOR_FLOAT32, .shape = input->shape};
    int64_t numbers[64] = {0};
    bool truths = input->kind == TRUTHS;
    bool per_channel = trial->row->op && strcmp(trial->row->op, "BatchNormalization") == 0;
    if (per_channel) {
        tensor.shape = trial->row->inputs[1].shape;
    }
    int64_t count = shape_count(&tensor.shape);
    for (int64_t i = 0; i < count; i++) {
        if (input->kind == NUMBER) {
            ((float *)numbers)[i] = input->number;
        } else if (truths) {
            ((uint8_t *)numbers)[i] = test_random(&trial->state) % 2;
        } else {
            numbers[i] = input->kind == LABELS ? (int64_t)(test_random(&trial->state) % 5)
                                               : input->integers[i];
        }
    }
    tensor.data = numbers;
    tensor.type = input->kind == NUMBER ? TENSOR_FLOAT32 : truths ? TENSOR_BOOL : TENSOR_INT64;
    return builder_constant(builder, &tensor);
}

static void add_row(struct trial *trial, struct builder *builder) {
    const struct row *row = trial->row;
    int inputs[INPUTS_MAX], count = 0;
    trial->varied_count = 0;
    for (int i = 0; i < INPUTS_MAX; i++) {
        const struct input *input = &row->inputs[i];
        inputs[i] = -1;
        if (input->kind == VARIED) {
            inputs[i] = builder_input(builder, "x", TENSOR_FLOAT32, &input->shape);
            trial->varied[trial->varied_count++] = inputs[i];
        } else if (input->kind != ABSENT) {
            inputs[i] = add_constant(trial, builder, input);
        }
        count = inputs[i] >= 0 ? i + 1 : count;
    }
    size_t attribute_count = 0;
    while (row->attributes[attribute_count].name) {
        attribute_count++;
    }
    const struct builder_new_node node = {.op = op_of(row),
                                          .name = op_of(row)->name,
                                          .opset = row->opset,
                                          .inputs = inputs,
                                          .input_count = count,
                                          .output_count = MAX(row->output_count, 1),
                                          .attributes = row->attributes,
                                          .attribute_count = attribute_count};
    int first = builder_node(builder, &node);
    trial->output_count = MAX(row->used_outputs, 1);
    for (int i = 0; i < trial->output_count; i++) {
        trial->outputs[i] = first + i;
    }
}

static int add_node(struct builder *builder, enum op_id id, const int *inputs, int count) {
    const struct builder_new_node node = {.op = op_of_id(id),
                                          .name = "loss",
                                          .inputs = inputs,
                                          .input_count = count,
                                          .output_count = 1};
    return builder_node(builder, &node);
}

/* Draws the varied inputs, and a weight for each element of the outputs. */
static int draw_inputs(struct trial *trial, struct error *err) {
    struct tensor outputs[OUTPUTS_MAX];
    int64_t count = 0, done = 0;
    for (int i = 0, k = 0; i < INPUTS_MAX; i++) {
        if (trial->row->inputs[i].kind == VARIED) {
            const struct shape *shape = &trial->row->inputs[i].shape;
            count += shape_count(shape);
            if (tensor_init(&trial->inputs[k++], TENSOR_FLOAT32, shape, err) < 0) {
                return -1;
            }
        }
    }
    int64_t *spaced = shuffle(count, &trial->state);
    for (int k = 0; k < trial->varied_count; k++) {
        count = shape_count(&trial->inputs[k].shape);
        fill(trial->inputs[k].data, count, trial->row->draw, spaced + done, &trial->state);
        done += count;
    }
    free(spaced);
    if (runner_run(&trial->forward, trial->inputs, outputs, err) < 0) {
        return -1;
    }
    for (int k = 0; k < trial->output_count; k++) {
        struct tensor *weights = &trial->inputs[trial->varied_count + k];
        if (tensor_init(weights, TENSOR_FLOAT32, &outputs[k].shape, err) < 0) {
            return -1;
        }
        fill(weights->data, shape_count(&weights->shape), SMOOTH, NULL, &trial->state);
    }
    return 0;
}

/* The forward graph; then the same with the weighted sum of its outputs and the gradients. */
static int make_graphs(struct trial *trial, struct error *err) {
    struct builder builder;
    builder_init(&builder, NULL);
    add_row(trial, &builder);
    for (int i = 0; i < trial->output_count; i++) {
        builder_output(&builder, trial->outputs[i]);
    }
    builder_take(&builder, &trial->written);
    if (decompose(&trial->written, &trial->forward.graph, err) < 0) {
        return -1;
    }
    builder_init(&builder, &trial->forward.graph);
    builder.graph.output_count = 0;
    int loss = -1, gradients[INPUTS_MAX];
    for (int i = 0; i < trial->output_count; i++) {
        int weights = builder_input(&builder, "weights", TENSOR_FLOAT32, NULL);
        int product = add_node(&builder, OP_MUL, (int[]){trial->outputs[i], weights}, 2);
        const struct attribute keeps = INT("keepdims", 0);
        const struct builder_new_node sum = {.op = op_of_id(OP_REDUCE_SUM),
                                             .name = "loss",
                                             .inputs = &product,
                                             .input_count = 1,
                                             .output_count = 1,
                                             .attributes = &keeps,
                                             .attribute_count = 1};
        int part = builder_node(&builder, &sum);
        loss = loss < 0 ? part : add_node(&builder, OP_ADD, (int[]){loss, part}, 2);
    }
    int result =
        gradient_build(&builder, loss, trial->varied, (size_t)trial->varied_count, gradients, err);
    for (int i = 0; result == 0 && i < trial->varied_count; i++) {
        if (gradients[i] < 0) {
            result = error_set(err, ERROR_BUG, "input %d has no gradient", i);
        } else {
            builder_output(&builder, gradients[i]);
        }
    }
    builder_take(&builder, &trial->backward.graph);
    return result;
}

/* input = x + t * direction */
static void set_input(struct tensor *input, const float *x, const float *direction, double t) {
    float *data = input->data;
    int64_t count = shape_count(&input->shape);
    for (int64_t i = 0; i < count; i++) {
        data[i] = (float)((double)x[i] + t * (double)direction[i]);
    }
}

/* The weighted sum of the outputs. */
static int weighted_sum(struct trial *trial, double *ret_sum, struct error *err) {
    struct tensor outputs[OUTPUTS_MAX];
    if (runner_run(&trial->forward, trial->inputs, outputs, err) < 0) {
        return -1;
    }
    *ret_sum = 0;
    for (int k = 0; k < trial->output_count; k++) {
        const float *weights = trial->inputs[trial->varied_count + k].data, *y = outputs[k].data;
        int64_t count = shape_count(&outputs[k].shape);
        for (int64_t i = 0; i < count; i++) {
            *ret_sum += (double)weights[i] * (double)y[i];
        }
    }
    return 0;
}

static int check_step(struct trial *trial, int which, const struct tensor *gradient, double step,
                      double *ret_apart, struct error *err) {
    struct tensor *x = &trial->inputs[which];
    int64_t count = shape_count(&x->shape);
    float *start = x_calloc((size_t)count + 1, sizeof *start);
    float *direction = x_calloc((size_t)count + 1, sizeof *direction);
    double sums[4] = {0}, wanted = 0, length = 1e-3;
    static const double points[4] = {-2, -1, 1, 2};
    memcpy(start, x->data, (size_t)count * sizeof *start);
    fill(direction, count, SMOOTH, NULL, &trial->state);
    for (int64_t i = 0; i < count; i++) {
        double dx = (double)((const float *)gradient->data)[i];
        wanted += dx * (double)direction[i];
        length += dx * dx;
    }
    int result = shape_equal(&gradient->shape, &x->shape)
                     ? 0
                     : error_set(err, ERROR_BUG, "the gradient has another shape");
    for (int k = 0; result == 0 && k < 4; k++) {
        set_input(x, start, direction, points[k] * step);
        result = weighted_sum(trial, &sums[k], err);
    }
    memcpy(x->data, start, (size_t)count * sizeof *start);
    double seen = (8 * (sums[2] - sums[1]) - (sums[3] - sums[0])) / (12 * step);
    *ret_apart = result < 0 ? 0 : fabs(seen - wanted) / sqrt(length);
    free(start);
    free(direction);
    return result;
}

static int check_one(struct trial *trial, int which, const struct tensor *gradient,
                     double *ret_apart, struct error *err) {
    const uint64_t state = trial->state; /* of the direction */
    int result = check_step(trial, which, gradient, step_widest, ret_apart, err);
    for (double step = step_widest / 2;
         result == 0 && !(*ret_apart <= tolerance) && step >= step_least; step /= 2) {
        trial->state = state;
        result = check_step(trial, which, gradient, step, ret_apart, err);
    }
    return result;
}

/* The greatest distance over the row's inputs. */
static int run_trial(struct trial *trial, double *ret_worst, struct error *err) {
    struct tensor gradients[INPUTS_MAX];
    if (make_graphs(trial, err) < 0 || draw_inputs(trial, err) < 0 ||
        runner_run(&trial->backward, trial->inputs, gradients, err) < 0 ||
        runner_run(&trial->backward, trial->inputs, gradients, err) < 0) {
        return -1; /* run twice, to find a kernel that leaves state behind */
    }
    int result = 0;
    for (int i = 0; result == 0 && i < trial->varied_count; i++) {
        double apart;
        result = check_one(trial, i, &gradients[i], &apart, err);
        *ret_worst = result == 0 && !(apart <= *ret_worst) ? apart : *ret_worst;
    }
    return result;
}

static void run_row(const struct row *row, struct device *device, uint64_t seed, double *worst) {
    struct trial trial = {.row = row, .state = seed + (uint64_t)(row - rows) * 1000003};
    struct error err = {0};
    double apart = 0;
    trial.forward.device = trial.backward.device = device;
    if (run_trial(&trial, &apart, &err) < 0 || !(apart <= tolerance)) {
        printf("# %s row %td on %s, SOAK_SEED=%llu: %g apart: %s\n", op_of(row)->name, row - rows,
               device->name, (unsigned long long)seed, apart, err.text);
        test_failures++;
    }
    *worst = MAX(*worst, apart);
    runner_end(&trial.backward);
    runner_end(&trial.forward);
    graph_release(&trial.written);
    for (size_t i = 0; i < ARRAY_LEN(trial.inputs); i++) {
        tensor_release(&trial.inputs[i]);
    }
}

static void run_rows(const char *device_name, uint64_t draws) {
    uint64_t seed = draws_number("SOAK_SEED", 1), rounds = draws_number("SOAK_ROUNDS", draws);
    struct error err = {0};
    struct device *device;
    double worst = 0;
    if (device_open(device_name, 2, &device, &err) < 0) {
        SKIP("%.200s", err.text);
    }
    rounds = is_emulated() ? MIN(rounds, EMULATED_ROUNDS) : rounds;
    for (uint64_t i = 0; i < rounds * ARRAY_LEN(rows); i++) {
        if (!test_samples(i, ARRAY_LEN(rows), is_emulated() ? 6 : 1, test_day())) {
            continue;
        }
        run_row(&rows[i % ARRAY_LEN(rows)], device, seed + i / ARRAY_LEN(rows), &worst);
    }
    printf("# %s: of %zu rows, SOAK_SEED=%llu SOAK_ROUNDS=%llu, %.2g apart\n", device_name,
           ARRAY_LEN(rows), (unsigned long long)seed, (unsigned long long)rounds, worst);
    device_close(device);
}

static void test_gradients_on_reference(void) {
    run_rows("reference", 3);
}

static void test_gradients_on_cpu(void) {
    run_rows("cpu", 3);
}

static void test_gradients_on_cuda(void) {
    run_rows("cuda", 1); /* slow without a GPU */
}

/* Every rule, and every operator that is decomposed, has a row; except rounding, whose gradient has
 * steps (test_bfloat.c). */
static void test_every_rule_has_a_row(void) {
    for (size_t i = 0; op_row(i); i++) {
        const struct op *op = op_row(i);
        gradient_rule *rule = gradient_rules[op->id];
        bool found = !rule || rule == gradient_refused || rule == gradient_stops ||
                     rule == gradient_round_bfloat;
        for (size_t k = 0; !found && k < ARRAY_LEN(rows); k++) {
            found = op_of(&rows[k])->id == op->id;
        }
        if (!found) {
            printf("# %s has a rule and no row\n", op->name);
            test_failures++;
        }
    }
}

/* So that none is forgotten: a rule, gradient_stops, gradient_decomposed or gradient_refused. */
static void test_every_operator_is_decided(void) {
    for (size_t i = 0; op_row(i); i++) {
        const struct op *op = op_row(i);
        bool is_of_files = op->until > 0;
        if (is_of_files && !gradient_rules[op->id]) {
            printf("# %s: whether a gradient goes through it is not decided\n", op->name);
            test_failures++;
        }
    }
}

int main(void) {
    if (!is_emulated()) { /* (the same code) */
        TEST(test_gradients_on_reference);
        TEST(test_gradients_on_cpu);
    }
    TEST(test_gradients_on_cuda);
    TEST(test_every_rule_has_a_row);
    TEST(test_every_operator_is_decided);
    return TEST_END();
}
