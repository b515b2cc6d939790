// SPDX-License-Identifier: Apache-2.0
/* Tensors that PyTorch does not train, though its exporter writes them as parameters are. */
#include "agent/engine/ops/training/frozen.h"
#include "agent/engine/training_graph.h"

#include "tests/conformance/attributes.h"
#include "tests/conformance/network.h"
#include "tests/test.h"

enum { WIDTH = 4 };

static const struct shape row = {1, {WIDTH}}, matrix = {2, {WIDTH, WIDTH}};

struct fixture {
    struct network network;
    struct graph graph;
    struct training_graph training;
    struct forms forms;
    struct error err;
    int y;
};

static void begin(struct fixture *fixture, int opset) {
    *fixture = (struct fixture){.y = 0};
    network_init(&fixture->network, opset);
    fixture->y = network_input(&fixture->network, (struct shape){2, {-1, WIDTH}});
    fixture->network.values[fixture->y].has_shape = true;
}

static int constant(struct fixture *fixture, const char *name, struct shape shape) {
    int value = network_constant(&fixture->network, shape, 0.1f, 1);
    fixture->network.values[value].name = name;
    return value;
}

static void multiply(struct fixture *fixture, int by) {
    fixture->y = network_node(&fixture->network, "Mul", (int[]){fixture->y, by, -2}, NULL);
}

/* Below opset 14 outputs say it. */
static void norm(struct fixture *fixture, bool trains, int mean, int variance) {
    bool is_new = fixture->network.opset > 13;
    const struct attribute mode[] = {INT("training_mode", trains), {.name = NULL}};
    int scale = constant(fixture, "n.weight", row), shift = constant(fixture, "n.bias", row);
    fixture->y = network_node_many(&fixture->network, "BatchNormalization",
                                   (int[]){fixture->y, scale, shift, mean, variance, -2},
                                   is_new ? mode : NULL,
                                   !trains  ? 1
                                   : is_new ? 3
                                            : 5);
}

static void dropout(struct fixture *fixture) {
    struct network *network = &fixture->network;
    struct tensor ratio = {.type = TENSOR_FLOAT32}, yes = {.type = TENSOR_BOOL};
    ratio.data = arena_alloc(&network->graph.arena, sizeof(float));
    yes.data = arena_alloc(&network->graph.arena, 1);
    *(float *)ratio.data = 0.5f;
    *(uint8_t *)yes.data = 1;
    int inputs[] = {fixture->y, network_keep(network, "ratio", ratio),
                    network_keep(network, "yes", yes), -2};
    fixture->y = network_node(network, "Dropout", inputs, NULL);
}

static void build(struct fixture *fixture, const char *freeze) {
    const struct training_options options = {
        .loss = TRAINING_MEAN_SQUARED, .freeze = &freeze, .freeze_count = freeze ? 1 : 0};
    network_output(&fixture->network, fixture->y);
    CHECK_OK(
        forms_normalize(&fixture->network.graph, &fixture->graph, &fixture->forms, &fixture->err),
        &fixture->err);
    CHECK_OK(training_graph_build(&fixture->graph, &options, &fixture->training, &fixture->err),
             &fixture->err);
}

static void end(struct fixture *fixture) {
    training_graph_release(&fixture->training);
    graph_release(&fixture->graph);
    arena_release(&fixture->network.graph.arena);
}

static enum role role_of(const struct fixture *fixture, int value) {
    const struct roles *roles = &fixture->training.roles;
    for (size_t i = 0; i < roles->count; i++) {
        if (roles->constants[i].value == value) {
            return roles->constants[i].role;
        }
    }
    return ROLE_COUNT;
}

/* ---- norms that were in eval() -------------------------------------------------------------- */

/* In a file of eval() every norm is one that is trained as in train(), also where F.dropout(x) has
 * written a Dropout in training. */
static void test_frozen_norms(void) {
    static const struct {
        int opset;
        bool trains, has_dropout, is_shared;
        int frozen;
    } cases[] = {
        {9, true, false, false, 1},   {13, true, false, false, 1}, {15, true, false, false, 1},
        {15, false, true, false, 0},  {15, true, true, false, 1},  {15, false, false, false, 0},
        {13, false, false, false, 0}, {15, true, false, true, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture fixture;
        begin(&fixture, cases[i].opset);
        int mean = constant(&fixture, "a.running_mean", row);
        int variance = constant(&fixture, "a.running_var", row);
        norm(&fixture, false, mean, variance);
        if (cases[i].has_dropout) {
            dropout(&fixture);
        }
        norm(&fixture, cases[i].trains,
             cases[i].is_shared ? mean : constant(&fixture, "b.running_mean", row),
             cases[i].is_shared ? variance : constant(&fixture, "b.running_var", row));
        build(&fixture, NULL);
        CHECK_INT((int)fixture.training.norm_count, 2 - cases[i].frozen);
        CHECK_INT(role_of(&fixture, mean), cases[i].frozen ? ROLE_LITERAL : ROLE_STATISTIC);
        CHECK_INT(fixture.graph.values[mean].is_literal, cases[i].frozen > 0);
        CHECK_INT(fixture.graph.values[variance].is_literal, cases[i].frozen > 0);
        CHECK_INT((int)fixture.forms.kept.count, cases[i].frozen);
        CHECK_INT((int)fixture.training.variable_count, 4); /* scales and shifts */
        end(&fixture);
    }
}

/* Scale and shift are trained, the statistics stay. */
static void test_statistics_that_are_named(void) {
    static const char *const patterns[] = {"*.running_mean", "*.running_var", "*.running_*"};
    for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
        struct fixture fixture;
        begin(&fixture, 15);
        norm(&fixture, false, constant(&fixture, "n.running_mean", row),
             constant(&fixture, "n.running_var", row));
        build(&fixture, patterns[i]);
        CHECK_INT((int)fixture.training.norm_count, 0);
        CHECK_INT((int)fixture.training.variable_count, 2);
        end(&fixture);
    }
}

/* ---- names ---------------------------------------------------------------------------------- */

static void test_names(void) {
    static const struct {
        const char *name, *beside;
        bool is_matrix;
        enum role role;
    } cases[] = {
        {"c.weight_u", "c.weight_orig", false, ROLE_LITERAL},
        {"c.weight_v", "c.weight_orig", false, ROLE_LITERAL},
        {"weight_u", "weight_orig", false, ROLE_LITERAL},
        {"c.parametrizations.weight.0._u", "c.parametrizations.weight.original", false,
         ROLE_LITERAL},
        {"c.parametrizations.weight.12._v", "c.parametrizations.weight.original", false,
         ROLE_LITERAL},
        {"n.running_mean", "c.weight", false, ROLE_LITERAL},
        {"n.running_var", "c.weight", false, ROLE_LITERAL},
        {"c.weight_u", "c.weight", false, ROLE_VARIABLE},
        {"c.weight_u", "d.weight_orig", false, ROLE_VARIABLE},
        {"c.weight_u", "c.weight_orig", true, ROLE_VARIABLE},
        {"c.weight_w", "c.weight_orig", false, ROLE_VARIABLE},
        {"c.parametrizations.weight._u", "c.parametrizations.original", false, ROLE_VARIABLE},
        {"c.parts.weight.0._u", "c.parts.weight.original", false, ROLE_VARIABLE},
        {"m._u", "m.original", false, ROLE_VARIABLE},
        {"_u", "_orig", false, ROLE_LITERAL},
        {"running_mean", "c.weight", false, ROLE_VARIABLE},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture fixture;
        begin(&fixture, 15);
        int value = constant(&fixture, cases[i].name, cases[i].is_matrix ? matrix : row);
        int beside = constant(&fixture, cases[i].beside, row);
        multiply(&fixture, value);
        multiply(&fixture, beside);
        build(&fixture, NULL);
        CHECK_INT(role_of(&fixture, value), cases[i].role);
        CHECK_INT(role_of(&fixture, beside), ROLE_VARIABLE);
        end(&fixture);
    }
}

/* A name may be as long as a file says. */
static void test_long_names(void) {
    enum { LONG = 4000 };
    static char name[LONG + 1], beside[LONG + 1];
    struct fixture fixture;
    for (int i = 0; i < LONG; i++) {
        name[i] = beside[i] = 'a';
    }
    (void)snprintf(name + LONG - 5, 6, "_u");
    (void)snprintf(beside + LONG - 5, 6, "_orig");
    begin(&fixture, 15);
    int value = constant(&fixture, name, row);
    multiply(&fixture, value);
    multiply(&fixture, constant(&fixture, beside, row));
    build(&fixture, NULL);
    CHECK_INT(role_of(&fixture, value), ROLE_VARIABLE);
    end(&fixture);
}

int main(void) {
    TEST(test_frozen_norms);
    TEST(test_statistics_that_are_named);
    TEST(test_names);
    TEST(test_long_names);
    return TEST_END();
}
