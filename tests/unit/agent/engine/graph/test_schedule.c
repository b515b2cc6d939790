// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/graph/schedule.h"

#include "tests/conformance/network.h"
#include "tests/test.h"

static struct schedule *schedule_of(struct network *network, struct fact *facts) {
    struct error err = {0};
    struct arena known = {0};
    struct schedule *schedule = NULL;
    for (size_t i = 0; i < network->graph.input_count; i++) {
        int input = network->inputs[i];
        facts[input] =
            (struct fact){network->values[input].type, network->values[input].shape, NULL};
    }
    CHECK_OK(shape_infer(&network->graph, device_evaluate, &known, facts, &err), &err);
    if (!err.kind) {
        CHECK_OK(schedule_new(&network->graph, facts, &known, &schedule, &err), &err);
    }
    arena_release(&known);
    return schedule;
}

static int relu(struct network *network, int x) {
    return network_node(network, "Relu", (int[]){x, -2}, NULL);
}

/* x -> Shape -> Gather(0) -> Unsqueeze -> Concat(it, -1) -> Reshape(x): all except the Reshape is
 * known before the run, and the Reshape is a view. */
static void test_shape_chains_fold(void) {
    struct network network;
    struct fact facts[NETWORK_VALUES] = {0};
    network_init(&network, 13);
    int x = network_input(&network, (struct shape){4, {2, 3, 4, 5}});
    int shape = network_node(&network, "Shape", (int[]){x, -2}, NULL);
    int index = network_integers(&network, (int64_t[]){0}, 1);
    int batch = network_node(&network, "Gather", (int[]){shape, index, -2}, NULL);
    int rest = network_integers(&network, (int64_t[]){-1}, 1);
    const struct attribute axis[] = {{.name = "axis", .kind = ATTRIBUTE_INTEGER, .integer = 0},
                                     {.name = NULL}};
    int both = network_node(&network, "Concat", (int[]){batch, rest, -2}, axis);
    int flat = network_node(&network, "Reshape", (int[]){x, both, -2}, NULL);
    int y = relu(&network, flat);
    network_output(&network, y);
    struct schedule *schedule = schedule_of(&network, facts);
    CHECK(facts[both].known != NULL);
    CHECK_INT(facts[flat].shape.rank, 2);
    CHECK_INT(facts[flat].shape.dims[0], 2);
    CHECK_INT(facts[flat].shape.dims[1], 60);
    CHECK_INT(schedule->step_count, 1);
    CHECK_INT(schedule->slots[flat].place, PLACE_VIEW);
    CHECK_INT(schedule->slots[flat].view_of, x);
    CHECK(schedule->slots[x].viewed);
    schedule_free(schedule);
    arena_release(&network.graph.arena);
}

static void test_dead_nodes_are_dropped(void) {
    struct network network;
    struct fact facts[NETWORK_VALUES] = {0};
    network_init(&network, 13);
    int x = network_input(&network, (struct shape){1, {8}});
    int used = relu(&network, x);
    int dead = relu(&network, used);
    network_output(&network, used);
    struct schedule *schedule = schedule_of(&network, facts);
    CHECK_INT(schedule->step_count, 1);
    CHECK_INT(schedule->slots[dead].place, PLACE_NONE);
    schedule_free(schedule);
    arena_release(&network.graph.arena);
}

/* A chain needs two buffers, however long it is; every pair that lives at once is apart. */
static void test_memory_is_reused_and_never_shared(void) {
    struct error err = {0};
    struct network network;
    struct fact facts[NETWORK_VALUES] = {0};
    network_init(&network, 13);
    int values[12];
    values[0] = relu(&network, network_input(&network, (struct shape){1, {1000}}));
    for (int i = 1; i < 12; i++) {
        values[i] = relu(&network, values[i - 1]);
    }
    int sum = network_node(&network, "Add", (int[]){values[3], values[11], -2}, NULL);
    network_output(&network, sum);
    struct schedule *schedule = schedule_of(&network, facts);
    CHECK_OK(schedule_place(schedule, &err), &err);
    size_t one = (4000 + 63) / 64 * 64;
    CHECK_INT(schedule->block_bytes, 3 * one); /* values[3] and two of the chain */
    const struct schedule_slot *kept = &schedule->slots[values[3]];
    for (int i = 4; i < 12; i++) {
        const struct schedule_slot *other = &schedule->slots[values[i]];
        CHECK(other->offset + other->size_bytes <= kept->offset ||
              kept->offset + kept->size_bytes <= other->offset);
        const struct schedule_slot *before = &schedule->slots[values[i - 1]];
        CHECK(other->offset + other->size_bytes <= before->offset ||
              before->offset + before->size_bytes <= other->offset);
    }
    schedule_free(schedule);
    arena_release(&network.graph.arena);
}

static void test_fusing(void) {
    struct network network;
    struct fact facts[NETWORK_VALUES] = {0};
    network_init(&network, 13);
    int x = network_input(&network, (struct shape){1, {8}});
    int a = relu(&network, x);
    int b = relu(&network, a);
    int c = network_node(&network, "Add", (int[]){b, x, -2}, NULL);
    int d = network_node(&network, "Add", (int[]){c, c, -2}, NULL);
    network_output(&network, d);
    struct schedule *schedule = schedule_of(&network, facts);
    struct step *first = schedule_producer(schedule, a);
    struct step *second = schedule_only_user(schedule, a);
    CHECK(first == &schedule->steps[0]);
    CHECK(second == &schedule->steps[1]);
    CHECK(schedule_only_user(schedule, c) == NULL); /* read twice */
    CHECK(schedule_only_user(schedule, d) == NULL); /* an output */
    CHECK(schedule_only_user(schedule, x) == NULL); /* an input */
    struct step *both = schedule_absorb(schedule, first, second);
    CHECK(both == second);
    CHECK(schedule->steps[0].node == NULL);
    CHECK_INT(both->inputs[0], x);
    CHECK_INT(both->outputs[0], b);
    CHECK_INT(schedule->slots[a].place, PLACE_NONE);
    CHECK_INT(schedule_add_input(schedule, both, c), 1);
    CHECK_INT(both->input_count, 2);
    CHECK_INT(both->inputs[1], c);
    schedule_free(schedule);
    arena_release(&network.graph.arena);
}

int main(void) {
    TEST(test_shape_chains_fold);
    TEST(test_dead_nodes_are_dropped);
    TEST(test_memory_is_reused_and_never_shared);
    TEST(test_fusing);
    return TEST_END();
}
