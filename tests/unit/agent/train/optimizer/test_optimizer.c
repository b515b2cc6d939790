// SPDX-License-Identifier: Apache-2.0
/* Each optimizer follows its formulas, calculated here in double precision, over 200 steps. */
#include "agent/engine/device/kernel.h"
#include "agent/train/dataset/order.h"
#include "agent/train/optimizer/optimizer.h"
#include "tests/agent_defaults.h"
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>

enum { COUNT = 37, PARAMETERS = 3, STEPS = 200 };

/* An optimizer's part of a spec, with the defaults of the definition. */
static json_t *spec_of(const char *text) {
    json_t *spec = json_loads(text, 0, NULL);
    fill_part("crds/disttrain.yaml", "spec.trainer.optimizer", spec);
    return spec;
}

struct reference {
    const char *spec;
    char kind; /* 's', 'n' (nesterov), 'a' (Adam), 'b' (LAMB), 'l' (LARS), 'r' (RMSprop), 'g'
                  (Adagrad) */
    double rate, momentum, decay;
    double decoupled_decay; /* decoupled decay */
    double limit;           /* clipValue; 0: none */
    double epsilon;         /* 0: 1e-8 */
};

static double draw(int64_t step, int64_t at) {
    return 2 * philox_unit(philox_bits(11, step, at, 0)) - 1;
}

/* A gradient that depends on the weights, so that errors would grow. */
static double gradient(double w, int64_t step, int64_t at) {
    return 0.3 * w + 0.5 * draw(step, at);
}

/* The parameters 0 and 2 decay, 1 does not. */
struct own {
    double decay, keep, q; /* keep: what decoupled decay leaves; q: LARS' ratio */
};

static double clip(const struct reference *reference, double g) {
    return reference->limit > 0 ? fmax(fmin(g, reference->limit), -reference->limit) : g;
}

/* Adam's and LAMB's direction. */
static double adam_step(const struct reference *reference, int64_t step, double d, double *first,
                        double *second) {
    *first = 0.9 * *first + 0.1 * d;
    *second = 0.999 * *second + 0.001 * d * d;
    double mean = *first / (1 - pow(0.9, (double)step + 1));
    double square = *second / (1 - pow(0.999, (double)step + 1));
    return mean / (sqrt(square) + (reference->epsilon > 0 ? reference->epsilon : 1e-8));
}

static void step_lamb(const struct reference *reference, const double *g, int64_t step,
                      const struct own *own, double *const state[3]) {
    double u[COUNT], ws = 0, us = 0;
    for (int i = 0; i < COUNT; i++) {
        u[i] =
            adam_step(reference, step, g[i], &state[1][i], &state[2][i]) + own->decay * state[0][i];
        ws += state[0][i] * state[0][i];
        us += u[i] * u[i];
    }
    double ratio = own->q > 0 && ws > 0 && us > 0 ? sqrt(ws / us) : 1;
    for (int i = 0; i < COUNT; i++) {
        state[0][i] -= reference->rate * ratio * u[i];
    }
}

static double direction(const struct reference *reference, int64_t step, double d, double *first,
                        double *second) {
    switch (reference->kind) {
    case 'a':
        return adam_step(reference, step, d, first, second);
    case 'r':
        *first = 0.99 * *first + 0.01 * d * d;
        return d / (sqrt(*first) + 1e-8);
    case 'g':
        *first += d * d;
        return d / (sqrt(*first) + 1e-10);
    default:
        *first = reference->momentum * *first + d;
        return reference->kind == 'n' ? d + reference->momentum * *first : *first;
    }
}

static void step_reference(const struct reference *reference, int parameter, int64_t step,
                           double *w, double *first, double *second) {
    bool decays = parameter != 1;
    struct own own = {decays ? reference->decay : 0,
                      decays ? 1 - reference->rate * reference->decoupled_decay : 1, 1};
    double ws = 0, gs = 0, g[COUNT];
    for (int i = 0; i < COUNT; i++) {
        g[i] = clip(reference, gradient(w[i], step, parameter * 1000 + i));
        ws += w[i] * w[i];
        gs += g[i] * g[i];
    }
    if (reference->kind == 'b') {
        own.q = decays;
        step_lamb(reference, g, step, &own, (double *const[]){w, first, second});
        return;
    }
    if (reference->kind == 'l' && decays && ws > 0 && gs > 0) {
        own.q = 0.001 * sqrt(ws) / (sqrt(gs) + own.decay * sqrt(ws));
    }
    for (int i = 0; i < COUNT; i++) {
        double d = own.q * (g[i] + own.decay * w[i]);
        w[i] = own.keep * w[i] -
               reference->rate * direction(reference, step, d, &first[i], &second[i]);
    }
}

static double worst_of(const struct reference *reference, struct device *device) {
    static float weights[PARAMETERS][COUNT], gradients[PARAMETERS][COUNT];
    static double w[PARAMETERS][COUNT], first[PARAMETERS][COUNT], second[PARAMETERS][COUNT];
    struct optimizer_parameter parameters[PARAMETERS];
    memset(first, 0, sizeof first);
    memset(second, 0, sizeof second);
    for (int p = 0; p < PARAMETERS; p++) {
        parameters[p] = (struct optimizer_parameter){"p", weights[p], gradients[p], COUNT, p != 1};
        for (int i = 0; i < COUNT; i++) {
            weights[p][i] = p == 2 ? 0 : (float)draw(-1, p * 1000 + i); /* |w| is 0 at first */
            w[p][i] = weights[p][i];
        }
    }
    struct error err = {0};
    AUTO(optimizer_freep) struct optimizer *optimizer = NULL;
    double rate = 0, worst = 0;
    json_t *spec = spec_of(reference->spec);
    const struct optimizer_options options = {spec, NULL, device, parameters, PARAMETERS};
    CHECK_OK(optimizer_new(&options, &optimizer, &rate, &err), &err);
    json_decref(spec);
    CHECK(fabs(rate - reference->rate) < 1e-15);
    for (int64_t step = 0; step < STEPS; step++) {
        for (int p = 0; p < PARAMETERS; p++) {
            for (int i = 0; i < COUNT; i++) {
                gradients[p][i] = (float)gradient(weights[p][i], step, p * 1000 + i);
            }
            step_reference(reference, p, step, w[p], first[p], second[p]);
        }
        CHECK_OK(optimizer_apply(optimizer, 0, 1, step, rate, &err), &err);
        CHECK_OK(optimizer_apply(optimizer, 1, 2, step, rate, &err), &err);
    }
    double moved = 0;
    for (int p = 0; p < PARAMETERS; p++) {
        for (int i = 0; i < COUNT; i++) {
            worst = MAX(worst, fabs(weights[p][i] - w[p][i]));
            moved = MAX(moved, fabs(weights[p][i] - (p == 2 ? 0 : draw(-1, p * 1000 + i))));
            if (reference->kind == 'a') {
                CHECK(fabs(optimizer_state(optimizer, (size_t)p, 1)[i] - second[p][i]) < 1e-5);
            }
        }
    }
    CHECK(moved > 0.01);
    return worst;
}

static void test_each_follows_its_formulas(void) {
    static const struct reference rows[] = {
        {"{\"learningRate\": \"0.05\", \"momentum\": 0}", 's', 0.05, 0, .decay = 0},
        {"{\"kind\": \"SGD\", \"learningRate\": \"0.05\", \"momentum\": \"0\", "
         "\"weightDecay\": \"5e-2\"}",
         's', 0.05, 0, .decay = 0.05},
        {"{\"learningRate\": 0.02, \"momentum\": \"0.9\", \"weightDecay\": \"0.01\"}", 's', 0.02,
         0.9, .decay = 0.01},
        {"{\"learningRate\": \"0.02\", \"momentum\": 0.9, \"nesterov\": true, \"weightDecay\": "
         "0.01}",
         'n', 0.02, 0.9, .decay = 0.01},
        {"{\"kind\": \"Adam\", \"learningRate\": \"0.01\", \"weightDecay\": \"0.01\"}", 'a', 0.01,
         0, .decay = 0.01},
        {"{\"kind\": \"LARS\", \"learningRate\": \"0.5\", \"weightDecay\": \"0.01\"}", 'l', 0.5,
         0.9, .decay = 0.01},
        {"{\"kind\": \"LARS\", \"learningRate\": \"0.5\", \"clipValue\": \"0.2\"}", 'l', 0.5, 0.9,
         0, .limit = 0.2},
        {"{\"learningRate\": \"0.02\", \"weightDecay\": \"0.5\", \"decoupledWeightDecay\": true}",
         's', 0.02, 0.9, .decoupled_decay = 0.5},
        {"{\"learningRate\": \"0.02\", \"momentum\": \"0\", \"weightDecay\": \"0.5\", "
         "\"decoupledWeightDecay\": true, \"clipValue\": \"0.3\"}",
         's', 0.02, 0, .decoupled_decay = 0.5, .limit = 0.3},
        {"{\"kind\": \"AdamW\", \"learningRate\": \"0.01\", \"weightDecay\": \"0.5\"}", 'a', 0.01,
         .decoupled_decay = 0.5},
        {"{\"kind\": \"AdamW\"}", 'a', 0.001, .decoupled_decay = 0.01},
        {"{\"kind\": \"Adam\", \"clipValue\": \"0.1\"}", 'a', 0.001, .limit = 0.1},
        {"{\"kind\": \"LAMB\", \"learningRate\": \"0.01\"}", 'b', 0.01, .decay = 0.01,
         .epsilon = 1e-6},
        {"{\"kind\": \"LAMB\", \"weightDecay\": \"0.1\", \"clipValue\": \"0.2\"}", 'b', 0.001,
         .decay = 0.1, .epsilon = 1e-6, .limit = 0.2},
        {"{\"kind\": \"RMSprop\", \"weightDecay\": \"0.01\"}", 'r', 0.01, .decay = 0.01},
        {"{\"kind\": \"RMSprop\", \"learningRate\": \"0.003\", \"weightDecay\": \"0.5\", "
         "\"decoupledWeightDecay\": true}",
         'r', 0.003, .decoupled_decay = 0.5},
        {"{\"kind\": \"Adagrad\", \"weightDecay\": \"0.01\", \"clipValue\": \"0.4\"}", 'g', 0.01,
         .decay = 0.01, .limit = 0.4},
    };
    struct error err = {0};
    struct device *device = NULL;
    CHECK_OK(device_open(NULL, 3, &device, &err), &err);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        double worst = worst_of(&rows[i], device);
        if (!(worst < 2e-5)) {
            printf("# %s: %g away\n", rows[i].spec, worst);
            test_failures++;
        }
    }
    device_close(device);
}

/* Threads share large variables, with the same bits for any number of threads. */
static void test_threads_change_no_bit(void) {
    enum { LARGE = 300007 };
    static float weights[3][LARGE], gradients[LARGE];
    for (int run = 0; run < 3; run++) {
        struct error err = {0};
        struct device *device = NULL;
        struct optimizer *optimizer = NULL;
        double rate;
        for (int i = 0; i < LARGE; i++) {
            weights[run][i] = (float)draw(0, i);
            gradients[i] = (float)draw(1, i);
        }
        const struct optimizer_parameter parameter = {"p", weights[run], gradients, LARGE, true};
        json_t *spec = spec_of("{\"kind\": \"LARS\", \"learningRate\": 3}");
        CHECK_OK(device_open(NULL, 1 + run, &device, &err), &err);
        const struct optimizer_options options = {spec, NULL, device, &parameter, 1};
        CHECK_OK(optimizer_new(&options, &optimizer, &rate, &err), &err);
        for (int64_t step = 0; step < 3; step++) {
            CHECK_OK(optimizer_apply(optimizer, 0, 1, step, rate, &err), &err);
        }
        CHECK(weights[run][5] != (float)draw(0, 5));
        optimizer_free(optimizer);
        device_close(device);
        json_decref(spec);
    }
    CHECK(memcmp(weights[0], weights[1], sizeof weights[0]) == 0);
    CHECK(memcmp(weights[0], weights[2], sizeof weights[0]) == 0);
}

static void test_states_are_named(void) {
    static const char *const rows[][3] = {
        {"{\"learningRate\": 1, \"momentum\": 0}", NULL, NULL},
        {"{\"learningRate\": 1, \"momentum\": 0.5}", "momentum", NULL},
        {"{\"kind\": \"LARS\", \"learningRate\": 1, \"momentum\": 0}", "momentum", NULL},
        {"{\"kind\": \"Adam\", \"learningRate\": 1}", "mean", "square"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct optimizer *optimizer = NULL;
        double rate;
        float w = 1, g = 1;
        struct optimizer_parameter parameter = {"p", &w, &g, 1, true};
        struct device *device = NULL;
        json_t *spec = spec_of(rows[i][0]);
        CHECK_OK(device_open(NULL, 1, &device, &err), &err);
        const struct optimizer_options options = {spec, NULL, device, &parameter, 1};
        CHECK_OK(optimizer_new(&options, &optimizer, &rate, &err), &err);
        json_decref(spec);
        CHECK_INT(optimizer_state_count(optimizer), !!rows[i][1] + !!rows[i][2]);
        for (size_t k = 0; k < optimizer_state_count(optimizer); k++) {
            CHECK_STR(optimizer_state_name(optimizer, k), rows[i][1 + k]);
            CHECK(optimizer_state(optimizer, 0, k)[0] == 0);
        }
        optimizer_free(TAKE(optimizer));
        device_close(device);
    }
}

static void test_what_is_wrong_is_named(void) {
    static const char *const rows[][2] = {
        {"{\"learningRate\": \"fast\"}", "optimizer: learningRate: a number is expected"},
        {"{\"learningRate\": \"\"}", "optimizer: learningRate: a number is expected"},
        {"{\"learningRate\": 1, \"kind\": \"AdamX\"}",
         "optimizer: kind: one of SGD, Adam, AdamW, LAMB"},
        {"{\"learningRate\": 1, \"nesterov\": true, \"momentum\": 0}",
         "optimizer.nesterov: SGD with a momentum"},
        {"{\"learningRate\": 1, \"kind\": \"LARS\", \"nesterov\": true}", "optimizer.nesterov"},
        {"{\"learningRate\": 1, \"momentum\": \"1e999\"}", "optimizer: momentum: a number is"},
        {"{\"learningRate\": 1, \"weightDecay\": true}", "optimizer: weightDecay: a number"},
        {"{\"clipNorm\": \"0\"}", "optimizer: clipNorm: a number above 0 is expected"},
        {"{\"clipValue\": \"inf\"}", "optimizer: clipValue: a number is expected"},
        {"{\"clipValue\": 1, \"clipNorm\": 1}", "one of clipNorm and clipValue is expected"},
        {"{\"kind\": \"LAMB\", \"decoupledWeightDecay\": true}", "optimizer.decoupledWeightDecay"},
        {"{\"noDecay\": \"*\"}", "optimizer: noDecay: a list of at most 64 patterns is expected"},
        {"{\"noDecay\": [1]}", "optimizer: noDecay[0]: a string is expected"},
        {"{\"layerRates\": []}", "optimizer: layerRates: a list of 1 to 64 items is expected"},
        {"{\"layerRates\": [{\"weights\": \"a\", \"factor\": -1}]}",
         "layerRates[0].factor: a number"},
        {"{\"layerRates\": [{\"weights\": \"a\"}]}", "layerRates[0]: factor: a number is expected"},
        {"{\"noDecay\": [\"a*\"]}", "optimizer.noDecay: no trained weight is named as \"a*\""},
        {"{\"layerRates\": [{\"weights\": \"b\", \"factor\": 1}]}",
         "optimizer.layerRates: no trained weight is named as \"b\""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct optimizer *optimizer = NULL;
        double rate;
        json_t *spec = spec_of(rows[i][0]);
        const struct optimizer_options options = {.spec = spec};
        CHECK_INT(optimizer_new(&options, &optimizer, &rate, &err), -1);
        json_decref(spec);
        CHECK(strstr(err.text, rows[i][1]) || (printf("# %s\n", err.text), 0));
    }
}

/* What a step makes of weights 1 and 1 with gradients 0.5 and 0.5, named "head.weight" and
 * "head.bias", the second of rank 1. */
static void step_two(const char *text, const char *ema, struct optimizer **ret, float seen[2]) {
    static float weights[2], gradients[2];
    struct error err = {0};
    static struct device *device;
    struct optimizer_parameter parameters[2] = {
        {"head.weight", weights, gradients, 1, true},
        {"head.bias", weights + 1, gradients + 1, 1, false}};
    json_t *spec = spec_of(text), *average = ema ? json_loads(ema, 0, NULL) : NULL;
    double rate = 0;
    weights[0] = weights[1] = 1;
    gradients[0] = gradients[1] = 0.5f;
    if (!device) {
        CHECK_OK(device_open(NULL, 1, &device, &err), &err);
    }
    const struct optimizer_options options = {spec, average, device, parameters, 2};
    CHECK_OK(optimizer_new(&options, ret, &rate, &err), &err);
    if (optimizer_clip_norm(*ret) > 0) {
        CHECK_OK(optimizer_scale(*ret, sqrt(0.5), &err), &err);
    }
    CHECK_OK(optimizer_apply(*ret, 0, 2, 0, rate, &err), &err);
    seen[0] = weights[0];
    seen[1] = weights[1];
    if (ema) { /* a second step, for which the average differs from the weights */
        CHECK_OK(optimizer_apply(*ret, 0, 2, 1, rate, &err), &err);
    }
    json_decref(spec);
    json_decref(average);
}

static void test_names_choose_decay_and_rate(void) {
    static const struct {
        const char *spec;
        double weight, bias;
    } rows[] = {
        {"\"weightDecay\": \"0.5\"", 0.9, 0.95},
        {"\"weightDecay\": \"0.5\", \"noDecay\": []", 0.9, 0.9},
        {"\"weightDecay\": \"0.5\", \"noDecay\": [\"*.weight\"]", 0.95, 0.9},
        {"\"weightDecay\": \"0.5\", \"noDecay\": [\"head.*\", \"*.bias\"]", 0.95, 0.95},
        {"\"layerRates\": [{\"weights\": \"*.bias\", \"factor\": \"0.1\"}]", 0.95, 0.995},
        {"\"layerRates\": [{\"weights\": \"head.bias\", \"factor\": \"0\"}, {\"weights\": "
         "\"head.*\", "
         "\"factor\": \"2\"}]",
         0.9, 1},
        {"\"weightDecay\": \"0.5\", \"decoupledWeightDecay\": true, \"layerRates\": [{\"weights\": "
         "\"*\", "
         "\"factor\": \"2\"}]",
         0.8, 0.9},
        {"\"clipNorm\": \"0.07071067811865476\"", 0.995, 0.995},
        {"\"clipNorm\": \"5\"", 0.95, 0.95},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep)
        char *spec = x_printf("{\"learningRate\": \"0.1\", \"momentum\": 0, %s}", rows[i].spec);
        struct optimizer *optimizer = NULL;
        float seen[2];
        step_two(spec, NULL, &optimizer, seen);
        if (fabs(seen[0] - rows[i].weight) > 1e-6 || fabs(seen[1] - rows[i].bias) > 1e-6) {
            printf("# %s: %.9g %.9g\n", spec, (double)seen[0], (double)seen[1]);
            test_failures++;
        }
        optimizer_free(optimizer);
    }
}

/* The average is what the weights were after the first step, and then follows them. */
static void test_average_follows(void) {
    struct optimizer *optimizer = NULL;
    float seen[2];
    step_two("{\"learningRate\": \"0.1\", \"momentum\": 0, \"weightDecay\": 0}",
             "{\"decay\": \"0.75\"}", &optimizer, seen);
    CHECK_INT(optimizer_state_count(optimizer), 1);
    CHECK_STR(optimizer_state_name(optimizer, 0), "average");
    for (size_t i = 0; i < 2; i++) {
        CHECK(fabs(optimizer_average(optimizer, i)[0] - (0.75 * 0.95 + 0.25 * 0.9)) < 1e-7);
    }
    optimizer_free(optimizer);
}

/* Clipping must not make a number of NaN. */
static void test_not_a_number_stays_one(void) {
    struct error err = {0};
    struct device *device = NULL;
    struct optimizer *optimizer = NULL;
    float w = 1, g = NAN;
    double rate;
    const struct optimizer_parameter parameter = {"p", &w, &g, 1, true};
    json_t *spec = spec_of("{\"clipValue\": 1}");
    CHECK_OK(device_open(NULL, 1, &device, &err), &err);
    const struct optimizer_options options = {spec, NULL, device, &parameter, 1};
    CHECK_OK(optimizer_new(&options, &optimizer, &rate, &err), &err);
    CHECK_OK(optimizer_apply(optimizer, 0, 1, 0, rate, &err), &err);
    CHECK(isnan(w));
    CHECK_INT(optimizer_scale(optimizer, NAN, &err), -1);
    CHECK_INT(err.kind, ERROR_FAILED);
    optimizer_free(optimizer);
    device_close(device);
    json_decref(spec);
}

/* The agent has no defaults: a field that is missing is named. */
static void test_a_missing_field_is_named(void) {
    static const char *const names[] = {"kind",        "learningRate", "momentum", "nesterov",
                                        "weightDecay", "beta1",        "beta2",    "epsilon"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct error err = {0};
        struct optimizer *optimizer = NULL;
        double rate;
        json_t *spec = spec_of("{}");
        const struct optimizer_options options = {.spec = spec};
        AUTO(text_freep) char *wanted = x_printf("optimizer: %s: ", names[i]);
        CHECK_INT(json_object_del(spec, names[i]), 0);
        CHECK_INT(optimizer_new(&options, &optimizer, &rate, &err), -1);
        CHECK_INT(err.kind, ERROR_INVALID);
        CHECK(strstr(err.text, wanted) && strstr(err.text, "expected"));
        json_decref(spec);
    }
}

int main(void) {
    TEST(test_each_follows_its_formulas);
    TEST(test_threads_change_no_bit);
    TEST(test_states_are_named);
    TEST(test_what_is_wrong_is_named);
    TEST(test_names_choose_decay_and_rate);
    TEST(test_average_follows);
    TEST(test_not_a_number_stays_one);
    TEST(test_a_missing_field_is_named);
    return TEST_END();
}
