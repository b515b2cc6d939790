// SPDX-License-Identifier: Apache-2.0
/* Trees of hostile or broken files, and the error messages. */
#include "agent/engine/ops/ml/ml_tree.h"

#include "agent/engine/device/kernel.h"
#include "agent/engine/ops/cost.h"
#include "agent/engine/run/execution_plan.h"
#include "tests/test.h"

#include <math.h>

enum { NODES = 5, LISTS = 12, ENTRIES = 8 };

/* x0 <= 1 ? 10 : (x1 > 2 ? 20 : 30); ids 7, 3, 5, 9, 4. */
static const struct {
    const char *name;
    size_t count;
    int64_t integers[ENTRIES];
} sound[] = {
    {"nodes_treeids", NODES, {2, 2, 2, 2, 2}},
    {"nodes_nodeids", NODES, {7, 3, 5, 9, 4}},
    {"nodes_featureids", NODES, {0, 0, 1, 0, 0}},
    {"nodes_truenodeids", NODES, {3, 0, 9, 0, 0}},
    {"nodes_falsenodeids", NODES, {5, 0, 4, 0, 0}},
    {"target_treeids", 3, {2, 2, 2}},
    {"target_nodeids", 3, {3, 9, 4}},
    {"target_ids", 3, {0, 0, 0}},
    {"nodes_missing_value_tracks_true", NODES, {1}},
};

struct ensemble {
    struct node node;
    struct attribute attributes[LISTS + 1];
    int64_t integers[ARRAY_LEN(sound)][ENTRIES];
    struct attribute_string modes[NODES];
    float values[NODES], weights[3];
};

#define MODE(text)                                                                                 \
    { text, sizeof text - 1 }

static void make(struct ensemble *ensemble) {
    size_t count = 0;
    *ensemble = (struct ensemble){
        .modes = {MODE("BRANCH_LEQ"), MODE("LEAF"), MODE("BRANCH_GT"), MODE("LEAF"), MODE("LEAF")},
        .values = {1, 0, 2, 0, 0},
        .weights = {10, 20, 30}};
    for (size_t i = 0; i < ARRAY_LEN(sound); i++) {
        memcpy(ensemble->integers[i], sound[i].integers, sizeof sound[i].integers);
        ensemble->attributes[count++] = (struct attribute){.name = sound[i].name,
                                                           .kind = ATTRIBUTE_INTEGERS,
                                                           .count = sound[i].count,
                                                           .integers = ensemble->integers[i]};
    }
    ensemble->attributes[count++] = (struct attribute){.name = "nodes_modes",
                                                       .kind = ATTRIBUTE_STRINGS,
                                                       .count = NODES,
                                                       .strings = ensemble->modes};
    ensemble->attributes[count++] = (struct attribute){.name = "nodes_values",
                                                       .kind = ATTRIBUTE_NUMBERS,
                                                       .count = NODES,
                                                       .numbers = ensemble->values};
    ensemble->attributes[count++] = (struct attribute){.name = "target_weights",
                                                       .kind = ATTRIBUTE_NUMBERS,
                                                       .count = 3,
                                                       .numbers = ensemble->weights};
    ensemble->node = (struct node){.op = ml_table_find("TreeEnsembleRegressor", 1),
                                   .name = "forest",
                                   .opset = 1,
                                   .input_count = 1,
                                   .output_count = 1,
                                   .attribute_count = count,
                                   .attributes = ensemble->attributes};
}

static struct attribute *list(struct ensemble *ensemble, const char *name) {
    size_t i = 0;
    while (strcmp(ensemble->attributes[i].name, name) != 0) {
        i++;
    }
    return &ensemble->attributes[i];
}

static void test_rows_reach_their_leaves(void) {
    static const struct {
        double x[2], wanted;
    } rows[] = {{{1, 0}, 10}, {{1.5, 3}, 20}, {{1.5, 2}, 30}, {{NAN, 0}, 10}, {{2, NAN}, 30}};
    struct ensemble ensemble;
    struct error err = {0};
    AUTO(ml_trees_freep) struct ml_trees *trees = NULL;
    make(&ensemble);
    CHECK_OK(ml_trees_read(&ensemble.node, &trees, &err), &err);
    for (size_t i = 0; trees && i < ARRAY_LEN(rows); i++) {
        const struct tree_node *leaf = ml_trees_leaf(trees, 0, rows[i].x);
        CHECK_INT(leaf->feature, 1);
        CHECK(trees->weights[leaf->child].value == rows[i].wanted);
    }
    CHECK(trees && trees->feature_count == 2 && trees->tree_count == 1);
}

/* The trees made when a file is read serve every plan; so does the device's own form of them. */
static void test_trees_are_compiled_once_for_all_plans(void) {
    struct ensemble ensemble;
    struct error err = {0};
    struct arena arena = {0};
    struct device *device = NULL;
    const void *states[3] = {NULL};
    make(&ensemble);
    CHECK_OK(ml_check(&ensemble.node, &arena, &err), &err);
    struct ml_trees *trees = ensemble.node.made;
    CHECK(trees && trees->row_steps == 4); /* two branches, a leaf, its weight */
    CHECK_OK(device_open("cpu", 1, &device, &err), &err);
    struct value values[] = {
        {.name = "x", .is_input = true, .has_shape = true, .shape = {2, {-1, 2}}}, {.name = "y"}};
    int ports[] = {0, 1};
    ensemble.node.inputs = &ports[0];
    ensemble.node.outputs = &ports[1];
    struct graph graph = {.value_count = 2,
                          .values = values,
                          .node_count = 1,
                          .nodes = &ensemble.node,
                          .input_count = 1,
                          .inputs = &ports[0],
                          .output_count = 1,
                          .outputs = &ports[1]};
    for (int i = 0; device && i < 3; i++) {
        struct tensor x;
        struct execution_plan *plan = NULL;
        CHECK_OK(tensor_init(&x, TENSOR_FLOAT32, &(struct shape){2, {i + 1, 2}}, &err), &err);
        CHECK_OK(execution_plan_new(device, &graph, &x, &plan, &err), &err);
        states[i] = plan ? plan->schedule->steps[0].state : NULL;
        CHECK(states[i] == trees && trees->is_fast_tried && trees->fast);
        states[i] = trees->fast;
        execution_plan_free(plan);
        tensor_release(&x);
    }
    CHECK(states[0] == states[1] && states[1] == states[2]);
    arena_release(&arena);
    device_close(device);
}

/* The work of a large table through many trees is counted before anything is folded or run. */
static void test_work_goes_by_rows_and_depth(void) {
    struct ensemble ensemble;
    struct fact x = {TENSOR_FLOAT32, {2, {1000, 2}}, NULL}, y = {0};
    const struct fact *inputs[] = {&x};
    make(&ensemble);
    CHECK(cost_of_node(&ensemble.node, inputs, &y) == 4000);
    x.shape = (struct shape){1, {2}};
    CHECK(cost_of_node(&ensemble.node, inputs, &y) == 4);
    int64_t categories[300] = {0};
    struct attribute list = {.name = "cats_int64s",
                             .kind = ATTRIBUTE_INTEGERS,
                             .count = ARRAY_LEN(categories),
                             .integers = categories};
    struct node hot = {.op = ml_table_find("OneHotEncoder", 1),
                       .input_count = 1,
                       .output_count = 1,
                       .attribute_count = 1,
                       .attributes = &list};
    CHECK(cost_of_node(&hot, inputs, &y) == 600);
    float coefficients[6] = {0};
    struct attribute linear[] = {{.name = "coefficients",
                                  .kind = ATTRIBUTE_NUMBERS,
                                  .count = ARRAY_LEN(coefficients),
                                  .numbers = coefficients},
                                 {.name = "targets", .kind = ATTRIBUTE_INTEGER, .integer = 3}};
    hot.op = ml_table_find("LinearRegressor", 1);
    hot.attribute_count = 2;
    hot.attributes = linear;
    x.shape = (struct shape){2, {1000, 2}};
    CHECK(cost_of_node(&hot, inputs, &y) == 6000);
}

/* Changes one entry; with at = -1 the list gets `value` entries. */
static const struct {
    const char *list;
    int at;
    int64_t value;
    const char *said;
} broken[] = {
    {"nodes_truenodeids", 0, 8, "tree 2, node 7: the tree has no node (its true node) 8"},
    {"nodes_falsenodeids", 2, INT64_MAX, "no node (its false node) 9223372036854775807"},
    {"nodes_truenodeids", 0, INT64_MIN, "no node (its true node) -9223372036854775808"},
    {"nodes_truenodeids", 0, 7, "tree 2, node 3: not reached from this root are nodes: 4"},
    {"nodes_falsenodeids", 2, 7, "tree 2, node 4: not reached from this root are nodes: 4"},
    {"nodes_falsenodeids", 2, 3, "another branch leads to its child, too: 3"},
    {"nodes_truenodeids", 2, 4, "another branch leads to its child, too: 4"},
    {"nodes_nodeids", 3, 4, "tree 2: node id 4 is a duplicate"},
    {"nodes_treeids", 4, 3, "tree 2, node 5: the tree has no node (its false node) 4"},
    {"nodes_featureids", 2, -1, "tree 2, node 5: invalid feature id -1"},
    {"nodes_featureids", 0, (int64_t)1 << 40, "invalid feature id 1099511627776"},
    {"target_nodeids", 1, 1, "weight 1: tree 2 has no node 1"},
    {"target_treeids", 1, 0, "weight 1: tree 0 has no node 9"},
    {"target_ids", 2, 1, "weight 2 is for target or class 1 of 1"},
    {"target_ids", 2, -1, "weight 2 is for target or class -1 of 1"},
    {"nodes_featureids", -1, 4, "\"nodes_featureids\" has 4 entries, 5 are expected"},
    {"nodes_modes", -1, 4, "\"nodes_modes\" has 4 entries, 5 are expected"},
    {"nodes_values", -1, 0, "\"nodes_values\" has 0 entries, 5 are expected"},
    {"nodes_treeids", -1, 0, "\"nodes_treeids\" has 0 entries, 1 to"},
    {"nodes_missing_value_tracks_true", -1, 1, "has 1 entries, 5 are expected"},
    {"target_ids", -1, 2, "\"target_ids\" has 2 entries, 3 are expected"},
    {"target_weights", -1, 2, "\"target_weights\" has 2 entries, 3 are expected"},
};

static void check_said(struct ensemble *ensemble, const char *said) {
    static const char node[] = "TreeEnsembleRegressor node \"forest\": ";
    struct error err = {0};
    struct arena arena = {0};
    CHECK_INT(ml_check(&ensemble->node, &arena, &err), -1);
    CHECK(!ensemble->node.made);
    arena_release(&arena);
    if (!strstr(err.text, said) || strncmp(err.text, node, strlen(node)) != 0) {
        printf("# '%s' does not say '%s'\n", err.text, said);
        test_failures++;
    }
}

static void test_broken_lists(void) {
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        struct ensemble ensemble;
        make(&ensemble);
        struct attribute *attribute = list(&ensemble, broken[i].list);
        if (broken[i].at < 0) {
            attribute->count = (size_t)broken[i].value;
        } else {
            ensemble.integers[attribute - ensemble.attributes][broken[i].at] = broken[i].value;
        }
        check_said(&ensemble, broken[i].said);
    }
}

static void test_broken_nodes(void) {
    struct ensemble ensemble;
    make(&ensemble);
    ensemble.modes[2] = (struct attribute_string)MODE("BRANCH_XOR");
    check_said(&ensemble, "tree 2, node 5: mode \"BRANCH_XOR\" is not known");
    make(&ensemble);
    ensemble.values[0] = NAN;
    check_said(&ensemble, "tree 2, node 7: its threshold is not a number");
    make(&ensemble);
    ensemble.modes[0] = (struct attribute_string)MODE("LEAF");
    check_said(&ensemble, "the tree has two roots");
    make(&ensemble);
    list(&ensemble, "target_ids")->name = "n_targets"; /* absurdly many */
    struct attribute *targets = list(&ensemble, "n_targets");
    targets->kind = ATTRIBUTE_INTEGER;
    targets->integer = (int64_t)1 << 50;
    check_said(&ensemble, "targets or classes; 1 to");
}

/* A missing input column is reported as soon as the shape is known. */
static void test_the_input_must_have_the_features(void) {
    struct ensemble ensemble;
    struct error err = {0};
    const struct fact narrow = {.type = TENSOR_FLOAT32, .shape = {2, {4, 1}}};
    const struct fact *input = &narrow;
    struct fact output = {0};
    make(&ensemble);
    CHECK_INT(infer_ml_trees(&ensemble.node, &input, &output, &err), -1);
    CHECK_STR(err.text, "it reads feature 1, its input has 1");
}

/* An empty list counts as absent: otherwise its type would differ from what the kernel writes. */
static void test_an_empty_list_of_a_label_encoder_counts_for_nothing(void) {
    static const int64_t two[] = {5, 6};
    const struct attribute attributes[] = {
        {.name = "keys_int64s", .kind = ATTRIBUTE_INTEGERS, .count = 2, .integers = two},
        {.name = "values_int64s", .kind = ATTRIBUTE_INTEGERS, .count = 2, .integers = two},
        {.name = "keys_floats", .kind = ATTRIBUTE_NUMBERS},
        {.name = "values_floats", .kind = ATTRIBUTE_NUMBERS}};
    const struct node node = {.attributes = attributes, .attribute_count = ARRAY_LEN(attributes)};
    const struct fact integers = {.type = TENSOR_INT64, .shape = {1, {4}}};
    const struct fact *input = &integers;
    struct fact output = {0};
    struct error err = {0};
    CHECK_OK(infer_ml_label_encoder(&node, &input, &output, &err), &err);
    CHECK_INT(output.type, TENSOR_INT64);
}

int main(void) {
    TEST(test_rows_reach_their_leaves);
    TEST(test_trees_are_compiled_once_for_all_plans);
    TEST(test_work_goes_by_rows_and_depth);
    TEST(test_broken_lists);
    TEST(test_broken_nodes);
    TEST(test_the_input_must_have_the_features);
    TEST(test_an_empty_list_of_a_label_encoder_counts_for_nothing);
    return TEST_END();
}
