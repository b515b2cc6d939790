// SPDX-License-Identifier: Apache-2.0
/* Ranges, fields and metrics of `windlass sweep`. */
#include "operator/kinds/kinds.h"
#include "operator/kinds/sweep/derived/derived_sweep.h"
#include "tests/parse_json.h"
#include "tests/test.h"

static const char trainer[] =
    "{\"kind\":\"DistTrain\",\"metadata\":{\"name\":\"a\"},\"spec\":{\"trainer\":{\"data\":{"
    "\"test\":{}}}}}";
static const char program[] = "{\"kind\":\"DistTrain\",\"metadata\":{\"name\":\"a\"},\"spec\":{"
                              "\"command\":[\"x\",\"$(X)\"]}}";

static void check(const char *job, struct kind_vary vary, const char *metric, const char *wanted) {
    struct error err = {0};
    AUTO(schema_freep) struct schema *made = NULL;
    AUTO(kind_scored_release) struct kind_scored scored = {0};
    AUTO(tree_freep) json_t *tree = parse(job);
    CHECK_OK(kinds_children_schema(kinds_find("Sweep"), &made, &err), &err);
    const struct kind_sweep sweep = {.job = tree, .vary = &vary, .count = 1, .metric = metric};
    if (derived_sweep(&sweep, made, &scored, &err) < 0) {
        CHECK(strstr(err.text, wanted));
        return;
    }
    AUTO(text_freep)
    char *seen = json_dumps(tree_get(scored.object, "spec.parameters[0]"),
                            JSON_COMPACT | JSON_REAL_PRECISION(15));
    CHECK_STR(seen, wanted);
}

static void test_ranges(void) {
    static const struct {
        const char *range, *wanted;
    } rows[] = {
        {"0.1..0.3", "{\"name\":\"LEARNING_RATE\",\"uniform\":{\"min\":0.1,\"max\":0.3}}"},
        {"0.001..0.3", "{\"name\":\"LEARNING_RATE\",\"loguniform\":{\"min\":0.001,\"max\":0.3}}"},
        {"1..8", "{\"name\":\"LEARNING_RATE\",\"quniform\":{\"min\":1,\"max\":8,\"q\":1}}"},
        {"-1..0.5", "{\"name\":\"LEARNING_RATE\",\"uniform\":{\"min\":-1,\"max\":0.5}}"},
        {"1,2.5,a", "{\"name\":\"LEARNING_RATE\",\"choice\":[1,2.5,\"a\"]}"},
        {"1,nan,inf,2", "{\"name\":\"LEARNING_RATE\",\"choice\":[1,\"nan\",\"inf\",2]}"},
        {"1..inf", "expected two numbers"},
        {"0.3..0.1", "the smaller first"},
        {"a..b", "expected two numbers"},
        {"", "expected FIELD=MIN..MAX"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        check(trainer, (struct kind_vary){"learningRate", rows[i].range}, NULL, rows[i].wanted);
    }
}

static void test_fields(void) {
    static const struct {
        const char *job, *field, *metric, *wanted;
    } rows[] = {
        {trainer, "trainer.epochs", NULL, "{\"name\":\"EPOCHS\",\"choice\":[1]}"},
        {trainer, "workers", NULL, "{\"name\":\"WORKERS\",\"choice\":[1]}"},
        {program, "X", "score", "{\"name\":\"X\",\"choice\":[1]}"},
        {program, "X", NULL, "--metric NAME is missing"},
        {program, "Y", "score", "neither a field of the training"},
        {trainer, "optimizer", NULL, "spec.trainer.optimizer is not one value"},
        {"{\"kind\":\"BatchScore\",\"spec\":{}}", "X", "score", "a DistTrain is expected"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        check(rows[i].job, (struct kind_vary){rows[i].field, "1"}, rows[i].metric, rows[i].wanted);
    }
}

int main(void) {
    TEST(test_ranges);
    TEST(test_fields);
    return TEST_END();
}
