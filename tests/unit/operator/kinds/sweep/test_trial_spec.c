// SPDX-License-Identifier: Apache-2.0
/* The value of $(NAME), by place and type; other fields that every trial gets; and that DistTrain's
 * own schema accepts the numbers of a space as written. */
#include "operator/kinds/sweep/trial_spec.h"

#include "operator/kinds/kinds.h"
#include "operator/kinds/sweep/search/space.h"
#include "tests/seed.h"
#include "tests/test.h"

#include <math.h>
#include <regex.h>

static json_t *parse(const char *text) {
    json_t *tree = json_loads(text, JSON_DECODE_ANY, NULL);
    CHECK(tree != NULL);
    return tree;
}

static char *dump(const json_t *tree) {
    return json_dumps(tree, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
}

static const char values_text[] =
    "{\"RATE\": \"0.01\", \"N\": \"12\", \"ON\": \"true\", \"OPT\": \"16,32=@\", \"A\": \"(N)\"}";

static void test_texts(void) {
    static const struct {
        const char *text, *filled;
    } rows[] = {
        {"$(RATE)", "0.01"},
        {"--lr=$(RATE)", "--lr=0.01"},
        {"$(RATE)$(N)", "0.0112"},
        {"a$(N)b$(OPT)c", "a12b16,32=@c"},
        {"$$(RATE)", "$$(RATE)"},
        {"$$$(RATE)", "$$0.01"},
        {"x$$$$(RATE)$(N)", "x$$$$(RATE)12"},
        {"$(data)/x/$(N)", "$(data)/x/12"},
        {"$RATE ${RATE}", "$RATE ${RATE}"},
        {"$(RATE", "$(RATE"},
        {"$()", "$()"},
        {"$(rate)", "$(rate)"},
        {"$($(N))", "$(12)"},
        {"$$(A)$(A)", "$$(A)(N)"}, /* once: a value is not expanded again */
        {"$", "$"},
        {"", ""},
    };
    AUTO(tree_freep) json_t *values = parse(values_text);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *text = json_string(rows[i].text);
        AUTO(tree_freep) json_t *filled = trial_spec_fill(text, NULL, values);
        CHECK_STR(json_string_value(filled), rows[i].filled);
    }
}

/* A parameter that is not active: its text is left out, a field or an element. */
static void test_inactive(void) {
    static const char *const rows[][2] = {
        {"{\"momentum\": \"$(M)\", \"rate\": \"$(N)\"}", "{\"rate\":\"12\"}"},
        {"[\"train\", \"--momentum=$(M)\", \"--n=$(N)\"]", "[\"train\",\"--n=12\"]"},
        {"[[\"$(M)\"], {\"a\": \"$(N)$(M)\"}, \"$$(M)\"]", "[[],{},\"$$(M)\"]"},
    };
    AUTO(tree_freep) json_t *values = parse("{\"N\": \"12\", \"M\": null}");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *tree = parse(rows[i][0]);
        AUTO(tree_freep) json_t *filled = trial_spec_fill(tree, NULL, values);
        AUTO(text_freep) char *text = dump(filled);
        CHECK_STR(text, rows[i][1]);
    }
    AUTO(tree_freep) json_t *apart = parse("{\"c\": [\"x\", \"--m\", \"$(M)\"]}");
    AUTO(tree_freep) json_t *joined = parse("{\"c\": [\"x\", \"--m=$(M)\", \"$(M)\"]}");
    CHECK(trial_spec_follows_option(apart, "M") && !trial_spec_follows_option(apart, "N"));
    CHECK(trial_spec_follows_option(joined, "M")); /* "--m=..." is an option, too */
}

static void test_types(void) {
    static const struct {
        const char *schema, *text, *filled;
    } rows[] = {
        {"{\"type\": \"integer\"}", "$(N)", "12"},
        {"{\"type\": \"integer\"}", "$(N)0", "\"120\""}, /* with other characters: a text */
        {"{\"type\": \"integer\"}", "$(RATE)", "\"0.01\""},
        {"{\"type\": \"integer\"}", "$(ON)", "\"true\""},
        {"{\"type\": \"boolean\"}", "$(ON)", "true"},
        {"{\"type\": \"boolean\"}", "$(N)", "\"12\""},
        {"{\"type\": \"string\"}", "$(N)", "\"12\""},
        {"{\"x-kubernetes-int-or-string\": true}", "$(N)", "12"},
        {"{\"x-kubernetes-int-or-string\": true}", "$(RATE)", "\"0.01\""},
        {"null", "$(N)", "\"12\""},
    };
    AUTO(tree_freep) json_t *values = parse(values_text);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *schema = parse(rows[i].schema);
        AUTO(tree_freep) json_t *text = json_string(rows[i].text);
        AUTO(tree_freep) json_t *filled = trial_spec_fill(text, schema, values);
        AUTO(text_freep) char *seen = dump(filled);
        CHECK_STR(seen, rows[i].filled);
    }
}

/* Through lists, fields and fields of any name; keys are left alone. */
static void test_trees(void) {
    AUTO(tree_freep)
    json_t *schema = parse("{\"type\": \"object\", \"properties\": {"
                           "\"epochs\": {\"type\": \"integer\"},"
                           "\"shape\": {\"type\": \"array\", \"items\": {\"type\": \"integer\"}},"
                           "\"any\": {\"additionalProperties\": {\"type\": \"integer\"}}}}");
    AUTO(tree_freep)
    json_t *tree =
        parse("{\"epochs\": \"$(N)\", \"shape\": [\"$(N)\", 3], \"$(N)\": 1.5,"
              " \"any\": {\"x\": \"$(N)\"}, \"free\": {\"y\": [\"$(N)\"]}, \"no\": null}");
    AUTO(tree_freep) json_t *values = parse(values_text);
    AUTO(tree_freep) json_t *filled = trial_spec_fill(tree, schema, values);
    AUTO(text_freep) char *seen = dump(filled);
    CHECK_STR(seen, "{\"$(N)\":1.5,\"any\":{\"x\":12},\"epochs\":12,\"free\":{\"y\":[\"12\"]},"
                    "\"no\":null,\"shape\":[12,3]}");
    CHECK(trial_spec_uses(tree, "N") && !trial_spec_uses(tree, "RATE") &&
          !trial_spec_uses(tree, "NN"));
}

static void test_uses(void) {
    AUTO(tree_freep) json_t *tree = parse("[\"$$(A) $(AB)\", {\"k\": \"x$(C)\"}, \"$(D\"]");
    CHECK(!trial_spec_uses(tree, "A") && trial_spec_uses(tree, "AB") && trial_spec_uses(tree, "C"));
    CHECK(!trial_spec_uses(tree, "D") && !trial_spec_uses(tree, "k"));
}

static void test_extras(void) {
    AUTO(tree_freep)
    json_t *spec = parse(
        "{\"environment\": {\"PARAM_N\": \"mine\", \"HOME\": \"/h\"},"
        " \"trainer\": {\"output\": {\"path\": \"out/model\"}}, \"logs\": {\"path\": \"out/logs\"},"
        " \"metrics\": {\"pattern\": \"p\", \"goal\": \"?\"},"
        " \"outputs\": [{\"id\": \"A\", \"path\": \"out\"}, {\"id\": \"B\", \"path\": "
        "\"az://a/b\"}]}");
    AUTO(tree_freep) json_t *values = parse("{\"N\": \"12\", \"RATE\": \"0.01\"}");
    AUTO(tree_freep) json_t *metrics = parse("{\"objective\": \"acc\", \"goal\": \"Maximize\"}");
    trial_spec_extend(spec, &(struct trial_spec_extras){values, metrics, "digits-1234abcd/0007"});
    AUTO(text_freep) char *seen = dump(spec);
    CHECK_STR(seen,
              "{\"environment\":{\"HOME\":\"/h\",\"PARAM_N\":\"mine\",\"PARAM_RATE\":\"0.01\","
              "\"PYTHONUNBUFFERED\":\"1\"},\"logs\":{\"path\":\"out/logs/digits-1234abcd/0007\"},"
              "\"metrics\":{\"goal\":\"Maximize\",\"objective\":\"acc\",\"pattern\":\"p\"},"
              "\"outputs\":[{\"id\":\"A\",\"path\":\"out/digits-1234abcd/0007\"},"
              "{\"id\":\"B\",\"path\":\"az://a/b/digits-1234abcd/0007\"}],"
              "\"trainer\":{\"output\":{\"path\":\"out/model/digits-1234abcd/0007\"}},"
              "\"ttlSecondsAfterFinished\":3600}");
    AUTO(tree_freep) json_t *bare = parse("{\"ttlSecondsAfterFinished\": 0}");
    trial_spec_extend(bare, &(struct trial_spec_extras){values, metrics, "a/0000"});
    CHECK_INT(tree_integer(bare, "ttlSecondsAfterFinished", -1), 0);
    CHECK_STR(tree_text(bare, "environment.PARAM_N", ""), "12");
}

/* ---- numbers against DistTrain's schema ---- */

/* Every pattern of the definition that matches 0.5 is that of a number. */
static int each_number_pattern(const json_t *schema, const char *number) {
    const char *pattern = tree_text(schema, "pattern", NULL), *key;
    regex_t regex;
    int count = 0;
    if (pattern && strstr(pattern, "[eE]-?") && regcomp(&regex, pattern, REG_EXTENDED) == 0) {
        if (regexec(&regex, number, 0, NULL, 0) != 0) {
            printf("# %s does not fit %s\n", number, pattern);
            test_failures++;
        }
        regfree(&regex);
        count++;
    }
    json_t *child;
    json_object_foreach(json_is_object(schema) ? (json_t *)schema : NULL, key, child) {
        count += each_number_pattern(child, number);
    }
    return count;
}

static void test_numbers_fit_a_trainer(void) {
    struct error err = {0};
    AUTO(schema_freep) struct schema *schema = NULL;
    CHECK_OK(kinds_schema(kinds_find("DistTrain"), &schema, &err), &err);
    uint64_t state = test_seed(1);
    for (int i = 0; i < 60; i++) {
        double exponent = (double)test_below(&state, 114) - 99; /* 1e-99 .. 1e14 */
        double value = (1 + (double)test_below(&state, 1000000) / 111111) * pow(10, exponent);
        char text[SPACE_NUMBER_MAX];
        space_number(i < 2 ? i : value, text);
        CHECK(each_number_pattern(schema_root(schema), text) >= 8);
    }
}

int main(void) {
    TEST(test_texts);
    TEST(test_inactive);
    TEST(test_types);
    TEST(test_trees);
    TEST(test_uses);
    TEST(test_extras);
    TEST(test_numbers_fit_a_trainer);
    return TEST_END();
}
