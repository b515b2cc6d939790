// SPDX-License-Identifier: Apache-2.0
/* Which tensors look like buffers of a module: what modules register as buffers, and parameters as
 * they begin and as they are after a while. */
#include "agent/engine/ops/training/module_buffers.h"

#include "tests/conformance/network.h"
#include "tests/test.h"

typedef double formula(int64_t i, int64_t k, double noise); /* row, column; noise: -1 to 1 */

static double angle(int64_t i, int64_t k) {
    return (double)i * pow(10000, -(double)(k / 2 * 2) / 32);
}
static double position(int64_t i, int64_t k, double noise UNUSED) {
    return k % 2 ? cos(angle(i, k)) : sin(angle(i, k));
}
static double cosine(int64_t i, int64_t k, double noise UNUSED) {
    return cos((double)i * pow(10000, -(double)(k % 16) / 16));
}
static double progression(int64_t i UNUSED, int64_t k, double noise UNUSED) {
    return pow(10000, -(double)k / 16);
}
static double grid(int64_t i, int64_t k, double noise UNUSED) {
    return k ? -0.7 + 0.1 * (double)i : 0.3 - 0.04 * (double)i;
}
static double window(int64_t i UNUSED, int64_t k, double noise UNUSED) {
    return 0.5 - 0.5 * cos(2 * M_PI * (double)k / 24);
}
static double blur(int64_t i UNUSED, int64_t k, double noise UNUSED) {
    static const double row[] = {1, 2, 1};
    return row[k / 3] * row[k % 3] / 16;
}
static double number(int64_t i, int64_t k, double noise UNUSED) {
    return (double)(i - k);
}
static double triangle(int64_t i, int64_t k, double noise UNUSED) {
    return k <= i;
}
static double drawn(int64_t i UNUSED, int64_t k UNUSED, double noise) {
    return noise;
}
static double one(int64_t i UNUSED, int64_t k UNUSED, double noise UNUSED) {
    return 1;
}
static double nearly_one(int64_t i UNUSED, int64_t k UNUSED, double noise) {
    return 1 + 1e-4 * noise;
}
static double barely_one(int64_t i UNUSED, int64_t k UNUSED, double noise) {
    return 1 + 4e-7 * noise;
}
static double identity(int64_t i, int64_t k, double noise UNUSED) {
    return i == k;
}
static double gates(int64_t i UNUSED, int64_t k, double noise UNUSED) {
    return k >= 8 && k < 16;
}
static double smooth(int64_t i, int64_t k, double noise) {
    return position(i, k, 0) + 0.02 * noise;
}
static double last_row(int64_t i, int64_t k UNUSED, double noise) {
    return i == 8 ? noise : 0.5;
}
static double last_column(int64_t i UNUSED, int64_t k, double noise) {
    return k == 31 ? noise : (double)k / 31;
}

static const struct {
    const char *name;
    int64_t rows, columns;
    formula *make;
    bool looks;
} cases[] = {
    {"pe.table", 512, 32, position, true},
    {"short.table", 8, 32, position, true},
    {"cached", 40, 32, cosine, true},
    {"base", 1, 16, progression, true},
    {"places", 15, 2, grid, true},
    {"hann", 1, 24, window, true},
    {"kernel", 6, 9, blur, true},
    {"offsets", 5, 4, number, true},
    {"lower", 6, 6, triangle, true},
    {"net.pixel_mean", 1, 3, drawn, true},
    {"inv_freq", 1, 5, drawn, true},
    {"weight", 40, 32, drawn, false},
    {"bias", 1, 16, drawn, false},
    {"few", 2, 4, drawn, false},
    {"norm.weight", 1, 32, one, false},
    {"trained.weight", 1, 32, nearly_one, false},
    {"after.a.step", 1, 32, barely_one, false},
    {"turn.weight", 24, 24, identity, false},
    {"lstm.bias", 1, 32, gates, false},
    {"positions", 40, 32, smooth, false}, /* that began as sines */
    {"last.row", 9, 32, last_row, false},
    {"last.column", 9, 32, last_column, false},
    {"mean_head", 4, 4, drawn, false},
    {"onnx::Mul_12", 512, 32, position, false}, /* the log names it as computed */
};

static struct tensor make(struct network *network, size_t index) {
    int64_t rows = cases[index].rows, columns = cases[index].columns;
    struct tensor noise = {.shape = {2, {rows, columns}}};
    float *numbers = noise.data =
        arena_array(&network->graph.arena, (size_t)(rows * columns), sizeof *numbers);
    network_fill(&noise, (uint32_t)index);
    for (int64_t i = 0; i < rows * columns; i++) {
        numbers[i] = (float)cases[index].make(i / columns, i % columns, (double)numbers[i]);
    }
    return noise;
}

static void test_looks(void) {
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct network network;
        struct forms_list list = {.count = 0};
        network_init(&network, 14);
        int value = network_keep(&network, cases[i].name, make(&network, i));
        module_buffers_note(&network.graph, &list);
        if ((int)list.count != cases[i].looks) {
            printf("# %s\n", cases[i].name);
        }
        CHECK_INT((int)list.count, cases[i].looks);
        CHECK(!list.count || strcmp(list.names[0], cases[i].name) == 0);
        network.values[value].is_literal = true; /* it is not trained anyway */
        list.count = 0;
        module_buffers_note(&network.graph, &list);
        CHECK_INT((int)list.count, 0);
        arena_release(&network.graph.arena);
    }
}

/* A tensor of one number, or of none, has no formula. */
static void test_small(void) {
    struct network network;
    struct forms_list list = {.count = 0};
    network_init(&network, 14);
    network_constant(&network, (struct shape){0}, 1, 0);
    network_constant(&network, (struct shape){2, {0, 4}}, 1, 0);
    network_constant(&network, (struct shape){3, {1, 1, 1}}, 1, 0);
    module_buffers_note(&network.graph, &list);
    CHECK_INT((int)list.count, 0);
    arena_release(&network.graph.arena);
}

/* Who filters the list needs all names. */
static void test_many(void) {
    enum { MANY = 70 };
    struct network network;
    struct forms_list list = {.count = 0};
    char names[MANY][24];
    network_init(&network, 14);
    for (int i = 0; i < MANY; i++) {
        struct tensor constant = {.shape = {1, {4}}};
        float *numbers = constant.data = arena_array(&network.graph.arena, 4, sizeof *numbers);
        numbers[0] = (float)(i + 1);
        snprintf(names[i], sizeof names[i], "block%d.mean", i);
        network_keep(&network, names[i], constant);
    }
    module_buffers_note(&network.graph, &list);
    CHECK_INT((int)list.count, MANY);
    for (size_t i = 0; i < list.count; i++) {
        CHECK_STR(list.names[i], names[i]);
    }
    arena_release(&network.graph.arena);
}

int main(void) {
    TEST(test_looks);
    TEST(test_small);
    TEST(test_many);
    return TEST_END();
}
