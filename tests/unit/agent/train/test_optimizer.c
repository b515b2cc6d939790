// SPDX-License-Identifier: Apache-2.0
/* Each optimizer follows its formulas, calculated here in double precision, over 200 steps. */
#include "agent/engine/device/kernel.h"
#include "agent/train/dataset/order.h"
#include "agent/train/optimizer.h"
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>

enum { COUNT = 37, PARAMETERS = 3, STEPS = 200 };

struct reference {
    const char *spec;
    char kind; /* 's', 'n' (nesterov), 'a', 'l' */
    double rate, momentum, decay;
};

static double draw(int64_t step, int64_t at) {
    return 2 * philox_unit(philox_bits(11, step, at, 0)) - 1;
}

/* A gradient that depends on the weights, so that errors would grow. */
static double gradient(double w, int64_t step, int64_t at) {
    return 0.3 * w + 0.5 * draw(step, at);
}

static void step_reference(const struct reference *reference, int parameter, int64_t step,
                           double *w, double *first, double *second) {
    bool decays = parameter != 1;
    double decay = decays ? reference->decay : 0, q = 1, ws = 0, gs = 0, g[COUNT];
    for (int i = 0; i < COUNT; i++) {
        g[i] = gradient(w[i], step, parameter * 1000 + i);
        ws += w[i] * w[i];
        gs += g[i] * g[i];
    }
    if (reference->kind == 'l' && decays && ws > 0 && gs > 0) {
        q = 0.001 * sqrt(ws) / (sqrt(gs) + decay * sqrt(ws));
    }
    for (int i = 0; i < COUNT; i++) {
        double d = q * (g[i] + decay * w[i]);
        if (reference->kind == 'a') {
            first[i] = 0.9 * first[i] + 0.1 * d;
            second[i] = 0.999 * second[i] + 0.001 * d * d;
            double mean = first[i] / (1 - pow(0.9, (double)step + 1));
            double square = second[i] / (1 - pow(0.999, (double)step + 1));
            w[i] -= reference->rate * mean / (sqrt(square) + 1e-8);
            continue;
        }
        first[i] = reference->momentum * first[i] + d;
        w[i] -= reference->rate *
                (reference->kind == 'n' ? d + reference->momentum * first[i] : first[i]);
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
    json_t *spec = json_loads(reference->spec, 0, NULL);
    const struct optimizer_options options = {spec, device, parameters, PARAMETERS};
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
        {"{\"learningRate\": \"0.05\"}", 's', 0.05, 0, 0},
        {"{\"kind\": \"SGD\", \"learningRate\": \"0.05\", \"weightDecay\": \"5e-2\"}", 's', 0.05, 0,
         0.05},
        {"{\"learningRate\": 0.02, \"momentum\": \"0.9\", \"weightDecay\": \"0.01\"}", 's', 0.02,
         0.9, 0.01},
        {"{\"learningRate\": \"0.02\", \"momentum\": 0.9, \"nesterov\": true, \"weightDecay\": "
         "0.01}",
         'n', 0.02, 0.9, 0.01},
        {"{\"kind\": \"Adam\", \"learningRate\": \"0.01\", \"weightDecay\": \"0.01\"}", 'a', 0.01,
         0, 0.01},
        {"{\"kind\": \"LARS\", \"learningRate\": \"0.5\", \"weightDecay\": \"0.01\"}", 'l', 0.5,
         0.9, 0.01},
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
        json_t *spec = json_loads("{\"kind\": \"LARS\", \"learningRate\": 3}", 0, NULL);
        CHECK_OK(device_open(NULL, 1 + run, &device, &err), &err);
        const struct optimizer_options options = {spec, device, &parameter, 1};
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
        {"{\"learningRate\": 1}", NULL, NULL},
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
        json_t *spec = json_loads(rows[i][0], 0, NULL);
        CHECK_OK(device_open(NULL, 1, &device, &err), &err);
        const struct optimizer_options options = {spec, device, &parameter, 1};
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
        {"{}", "optimizer: learningRate: a number from"},
        {"{\"learningRate\": 0}", "optimizer: learningRate: a number from"},
        {"{\"learningRate\": 1, \"kind\": \"AdamW\"}", "optimizer: kind: one of SGD, Adam, LARS"},
        {"{\"learningRate\": 1, \"nesterov\": true}", "optimizer.nesterov: SGD with a momentum"},
        {"{\"learningRate\": 1, \"kind\": \"LARS\", \"nesterov\": true}", "optimizer.nesterov"},
        {"{\"learningRate\": 1, \"momentum\": 1}", "optimizer: momentum: a number from"},
        {"{\"learningRate\": 1, \"weightDecay\": \"-1\"}", "optimizer: weightDecay: a number"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct optimizer *optimizer = NULL;
        double rate;
        json_t *spec = json_loads(rows[i][0], 0, NULL);
        const struct optimizer_options options = {.spec = spec};
        CHECK_INT(optimizer_new(&options, &optimizer, &rate, &err), -1);
        json_decref(spec);
        CHECK(strstr(err.text, rows[i][1]) || (printf("# %s\n", err.text), 0));
    }
}

int main(void) {
    TEST(test_each_follows_its_formulas);
    TEST(test_threads_change_no_bit);
    TEST(test_states_are_named);
    TEST(test_what_is_wrong_is_named);
    return TEST_END();
}
