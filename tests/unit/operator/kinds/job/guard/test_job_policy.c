// SPDX-License-Identifier: Apache-2.0
/* What an administrator's policy refuses in a job, and by which field it says so. Each case passes
 * without the policy. The same cases at the ValidatingAdmissionPolicy of the chart:
 * tests/e2e/security/test_admission.sh; at a controller: test_job_policy.sh. */
#include "operator/kinds/job/guard/job_policy.h"

#include "tests/load_json.h"

/* A member of the patch replaces the base's; fields within fields are merged. */
static json_t *object_of(const json_t *data, const json_t *one) {
    const char *kind = tree_text(one, "kind", "");
    const char *base = tree_text(one, "base", kind);
    json_t *spec = json_deep_copy(json_object_get(json_object_get(data, "base"), base));
    json_object_update_recursive(spec, json_object_get(one, "spec"));
    return json_pack("{s:s, s:s, s:{s:s, s:s, s:s, s:i}, s:o}", "apiVersion",
                     "windlass.dev/v1beta1", "kind", kind, "metadata", "name", "a", "namespace",
                     "lab", "uid", "u1", "generation", 1, "spec", spec);
}

static void test_each_attack(void) {
    AUTO(tree_freep) json_t *data = load_json("tests/data/job-policy", "cases.json");
    const json_t *cases = json_object_get(data, "cases"), *policy = json_object_get(data, "policy");
    CHECK(json_array_size(cases) > 50);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *one = json_array_get(cases, i);
        AUTO(tree_freep) json_t *object = object_of(data, one);
        const char *field = tree_text(one, "field", NULL), *part = tree_text(one, "part", NULL);
        struct error err = {0};
        CHECK_OK(job_policy_check(NULL, object, &err), &err);
        if (!field) {
            CHECK_OK(job_policy_check(policy, object, &err), &err);
            continue;
        }
        CHECK(job_policy_check(policy, object, &err) < 0);
        CHECK_INT(err.kind, ERROR_INVALID);
        AUTO(text_freep) char *said = x_printf("%.*s", (int)strcspn(err.text, ":"), err.text);
        CHECK_STR(said, field);
        CHECK(strstr(err.text, part) != NULL);
        /* Only that part of the policy refuses it. nodeIdentity is false without being there. */
        AUTO(tree_freep) json_t *others = json_deep_copy(policy);
        json_object_del(others, part);
        if (strcmp(part, "nodeIdentity") == 0) {
            json_object_set_new(others, part, json_true());
        }
        struct error none = {0};
        CHECK_OK(job_policy_check(others, object, &none), &none);
    }
}

static void test_a_databases_secret(void) {
    AUTO(tree_freep) json_t *data = load_json("tests/data/job-policy", "cases.json");
    AUTO(tree_freep)
    json_t *one =
        json_pack("{s:s, s:{s:{s:{s:{s:{s:s, s:s}}}, s:n}}}", "kind", "BatchScore", "spec", "input",
                  "table", "query", "connection", "secretName", "others", "key", "k", "files");
    AUTO(tree_freep) json_t *object = object_of(data, one);
    struct error err = {0};
    CHECK(job_policy_check(json_object_get(data, "policy"), object, &err) < 0);
    CHECK(text_starts(err.text, "spec.input.table.query.connection.secretName: "));
}

/* The node's role is for all where neither accounts nor Secrets are limited. */
static void test_the_nodes_role(void) {
    static const struct {
        const char *policy;
        bool is_refused;
    } rows[] = {
        {"{}", false},
        {"{hostPath: false}", false},
        {"{nodeIdentity: false}", true},
        {"{nodeIdentity: true, secrets: []}", false},
        {"{serviceAccounts: [lab]}", true},
        {"{secrets: [team-*]}", true},
    };
    static const char text[] =
        "{\"spec\": {\"buckets\": [{\"name\": \"films\", \"identity\": \"Node\"}]}}";
    AUTO(tree_freep) json_t *object = json_loads(text, 0, NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *policy = NULL;
        struct error err = {0}, refusal = {0};
        CHECK_OK(job_policy_read(rows[i].policy, &policy, &err), &err);
        CHECK_INT(job_policy_check(policy, object, &refusal), rows[i].is_refused ? -1 : 0);
        CHECK_STR(refusal.text, rows[i].is_refused ? "spec.buckets[0].identity: is refused by this "
                                                     "cluster's administrator (nodeIdentity)"
                                                   : "");
    }
}

static void test_what_is_no_policy(void) {
    static const struct {
        const char *text, *error;
    } rows[] = {
        {"{\"hostpath\": false}", "--job-policy: hostpath: is unknown, expected hostPath, "
                                  "hostNamespaces, privileged, nodeIdentity, images, "
                                  "serviceAccounts or secrets"},
        {"{hostPath: \"no\"}", "--job-policy: hostPath: expected true or false"},
        {"{images: good.example}", "--job-policy: images: expected a list of names"},
        {"{secrets: [a*b]}",
         "--job-policy: secrets[0]: expected a name, or a prefix followed by *"},
        {"{secrets: [\"\"]}",
         "--job-policy: secrets[0]: expected a name, or a prefix followed by *"},
        {"{images: [good.example*]}",
         "--job-policy: images[0]: good.example* allows registries of others, too; expected a / "
         "before *"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        json_t *policy = NULL;
        CHECK(job_policy_read(rows[i].text, &policy, &err) < 0);
        CHECK_INT(err.kind, ERROR_INVALID);
        CHECK_STR(err.text, rows[i].error);
    }
}

static void test_an_empty_list_allows_nothing_and_no_list_everything(void) {
    static const char secret[] = "{\"spec\": {\"secrets\": [{\"secretName\": \"x\"}]}}";
    struct error err = {0};
    AUTO(tree_freep) json_t *object = json_loads(secret, 0, NULL);
    AUTO(tree_freep) json_t *none = NULL;
    AUTO(tree_freep) json_t *all = NULL;
    CHECK_OK(job_policy_read("{secrets: [], hostPath: true}", &none, &err), &err);
    CHECK_OK(job_policy_read("{hostPath: true}", &all, &err), &err);
    CHECK(job_policy_check(none, object, &err) < 0);
    struct error other = {0};
    CHECK_OK(job_policy_check(all, object, &other), &other);
}

int main(void) {
    TEST(test_each_attack);
    TEST(test_a_databases_secret);
    TEST(test_the_nodes_role);
    TEST(test_what_is_no_policy);
    TEST(test_an_empty_list_allows_nothing_and_no_list_everything);
    return TEST_END();
}
