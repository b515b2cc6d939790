// SPDX-License-Identifier: Apache-2.0
/* Defaults of the optimizer that depend on its kind: filled into what the agent gets, and into the
 * run's name, which is that of earlier releases for SGD. */
#include "operator/kinds/disttrain/optimizer_defaults.h"
#include "operator/kinds/disttrain/spec.h"
#include "tests/load_resource.h"
#include "tests/test.h"

static void test_each_kind_has_its_own(void) {
    static const char *const rows[][5] = {
        {"SGD", "0.1", "0", "0.999", "1e-8"},        {"Adam", "0.001", "0", "0.999", "1e-8"},
        {"AdamW", "0.001", "0.01", "0.999", "1e-8"}, {"LAMB", "0.001", "0.01", "0.999", "1e-6"},
        {"LARS", "0.1", "0", "0.999", "1e-8"},       {"RMSprop", "0.01", "0", "0.99", "1e-8"},
        {"Adagrad", "0.01", "0", "0.999", "1e-10"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *trainer = json_pack("{s:{s:s}}", "optimizer", "kind", rows[i][0]);
        optimizer_defaults_fill(trainer);
        CHECK_STR(tree_text(trainer, "optimizer.learningRate", ""), rows[i][1]);
        CHECK_STR(tree_text(trainer, "optimizer.weightDecay", ""), rows[i][2]);
        CHECK_STR(tree_text(trainer, "optimizer.beta2", ""), rows[i][3]);
        CHECK_STR(tree_text(trainer, "optimizer.epsilon", ""), rows[i][4]);
    }
}

static void read(const char *optimizer, struct disttrain_spec *ret_spec, json_t **ret_object) {
    struct error err = {0};
    CHECK_OK(load_resource("tests/data/gangs/trainer.yaml", false, ret_object, &err), &err);
    json_object_set_new(tree_get(*ret_object, "spec.trainer"), "optimizer",
                        json_loads(optimizer, 0, NULL));
    CHECK_OK(disttrain_spec_read(*ret_object, NULL, ret_spec, &err), &err);
}

/* An object that was accepted by an earlier release has its defaults stored: Adam at 0.1. */
static void test_what_is_there_stays(void) {
    AUTO(tree_freep) json_t *object = NULL;
    AUTO(disttrain_spec_release) struct disttrain_spec spec = {0};
    read("{\"kind\": \"Adam\", \"learningRate\": \"0.1\", \"momentum\": \"0.9\", \"nesterov\": "
         "false, "
         "\"weightDecay\": \"0\", \"beta1\": \"0.9\", \"beta2\": \"0.999\", \"epsilon\": \"1e-8\"}",
         &spec, &object);
    CHECK_STR(tree_text(spec.work, "trainer.optimizer.learningRate", ""), "0.1");
}

/* The run's name is the same whether an earlier release had filled in the defaults or not. */
static void test_the_run_keeps_its_name(void) {
    AUTO(tree_freep) json_t *old = NULL, *now = NULL, *other = NULL;
    AUTO(disttrain_spec_release) struct disttrain_spec before = {0}, after = {0}, adam = {0};
    read("{\"kind\": \"SGD\", \"learningRate\": \"0.1\", \"momentum\": \"0.9\", \"nesterov\": "
         "false, "
         "\"weightDecay\": \"0\", \"beta1\": \"0.9\", \"beta2\": \"0.999\", \"epsilon\": \"1e-8\"}",
         &before, &old);
    read("{\"kind\": \"SGD\", \"momentum\": \"0.9\", \"nesterov\": false, \"beta1\": \"0.9\"}",
         &after, &now);
    read("{\"kind\": \"Adam\", \"momentum\": \"0.9\", \"nesterov\": false, \"beta1\": \"0.9\"}",
         &adam, &other);
    CHECK_STR(before.job.run, after.job.run);
    CHECK(strcmp(after.job.run, adam.job.run) != 0);
    CHECK(
        !tree_get(now, "spec.trainer.optimizer.learningRate")); /* the object itself is unchanged */
    CHECK_STR(tree_text(adam.work, "trainer.optimizer.learningRate", ""), "0.001");
}

int main(void) {
    TEST(test_each_kind_has_its_own);
    TEST(test_what_is_there_stays);
    TEST(test_the_run_keeps_its_name);
    return TEST_END();
}
