// SPDX-License-Identifier: Apache-2.0
/* The NetworkPolicy of a job: whom it lets in, and when pods may be made without it. Which pod
 * reaches which: tests/e2e/security/test_policies.sh. */
#include "operator/kinds/job/guard/network_policy.h"

#include "operator/kinds/batchscore/plan.h"
#include "operator/kinds/disttrain/plan.h"
#include "operator/kinds/job/spec.h"
#include "tests/plan_result_json.h"
#include "tests/test.h"

static json_t *object_of(const char *kind) {
    return json_pack("{s:s, s:{s:s, s:s, s:s}}", "kind", kind, "metadata", "name", "a", "namespace",
                     "lab", "uid", "u1");
}

static const char service_text[] = "{\"metadata\": {\"name\": \"a-hub\", \"uid\": \"s1\"}, "
                                   "\"spec\": {\"ports\": [{\"port\": 9443}]}}";

static json_t *parse(const char *text) {
    struct error err = {0};
    json_t *tree = NULL;
    CHECK_OK(tree_parse(text, strlen(text), 1 << 20, &tree, &err), &err);
    return tree;
}

#define OWN(roles)                                                                                 \
    "{\"podSelector\":{\"matchExpressions\":[{\"key\":\"windlass.dev/role\",\"operator\":\"In\","  \
    "\"values\":[" roles "]}],\"matchLabels\":{\"windlass.dev/job\":\"a\"}}}"
#define SCORING "\"coordinator\",\"worker\""
#define SYSTEM                                                                                     \
    "{\"namespaceSelector\":{\"matchLabels\":{\"kubernetes.io/metadata.name\":\"kube-system\"}}}"
#define CONTROLLER                                                                                 \
    "{\"namespaceSelector\":{\"matchLabels\":{\"kubernetes.io/metadata.name\":\"ours\"}},"         \
    "\"podSelector\":{\"matchLabels\":{\"windlass.dev/role\":\"controller\"}}}"
#define PORTS "\"ports\":[{\"port\":9443,\"protocol\":\"TCP\"}]"

static void test_who_is_let_in(void) {
    AUTO(tree_freep) json_t *service = parse(service_text);
    AUTO(tree_freep) json_t *peers = parse("[{\"ipBlock\":{\"cidr\":\"10.0.0.0/8\"}}]");
    AUTO(tree_freep) json_t *no_peers = parse("[]");
    const struct {
        const char *kind;
        const struct owned_hub *hub;
        struct network_policy_options options;
        const char *ingress;
    } rows[] = {
        {"BatchScore",
         &batchscore_words.hub,
         {"ours", NULL},
         "[{\"from\":[" OWN(SCORING) "," CONTROLLER "," SYSTEM "]," PORTS "}]"},
        {"BatchScore",
         &batchscore_words.hub,
         {NULL, no_peers},
         "[{\"from\":[" OWN(SCORING) "," SYSTEM "]," PORTS "}]"},
        {"DistTrain",
         &disttrain_words.hub,
         {"ours", NULL},
         "[{\"from\":[" CONTROLLER "," SYSTEM "]," PORTS "},{\"from\":[" OWN("\"member\"") "]}]"},
        {"DistTrain",
         &disttrain_words.hub,
         {NULL, peers},
         "[{\"from\":[" SYSTEM "]," PORTS
         "},{\"from\":[" OWN("\"member\"") "]},"
                                           "{\"from\":[{\"ipBlock\":{\"cidr\":\"10.0.0.0/8\"}}]}]"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *object = object_of(rows[i].kind);
        AUTO(tree_freep)
        json_t *made =
            network_policy_make(object, rows[i].hub, service, "a-1b2c", &rows[i].options);
        AUTO(text_freep) char *ingress = tree_canonical(tree_get(made, "spec.ingress"));
        CHECK_STR(ingress, rows[i].ingress);
        CHECK_STR(tree_text(made, "metadata.name", ""), "a-1b2c");
        CHECK_STR(tree_text(made, "metadata.namespace", ""), "lab");
        CHECK_STR(tree_text(made, "metadata.ownerReferences[0].uid", ""), "s1");
        CHECK_STR(tree_text(made, "spec.policyTypes[0]", ""), "Ingress");
        CHECK_INT(json_array_size(tree_get(made, "spec.policyTypes")), 1);
    }
}

static void test_when_it_is_settled(void) {
    static const struct {
        enum error_kind kind; /* 0: written */
        int tries;            /* after which it is settled; 0: never */
        bool is_there;
    } rows[] = {{0, 1, true},
                {ERROR_CONFLICT, 1, true}, /* an earlier write, whose answer was lost */
                {ERROR_DENIED, 1, false},
                {ERROR_NOT_FOUND, 1, false},
                {ERROR_INVALID, 1, false},
                {ERROR_UNAVAILABLE, 3, false},
                {ERROR_TIMEOUT, 3, false}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct credentials credentials = {0};
        struct error err = {.kind = rows[i].kind, .text = "why"};
        for (int tries = 1; tries <= rows[i].tries; tries++) {
            CHECK(!network_policy_is_settled(&credentials));
            network_policy_note(&credentials, err.kind ? &err : NULL);
        }
        CHECK(network_policy_is_settled(&credentials));
        CHECK_INT(credentials.has_policy, rows[i].is_there);
        CHECK_INT(credentials.policy_refused != NULL, !rows[i].is_there);
        free((char *)credentials.policy_refused);
    }
}

/* What a plan makes of a job whose Secret is confirmed: the kinds, and the reason of its event. */
static void plan_with(const struct credentials *credentials,
                      const struct network_policy_options *policy, char *ret_kinds, size_t size) {
    struct error err = {0};
    AUTO(tree_freep)
    json_t *object = parse(
        "{\"apiVersion\": \"windlass.dev/v1beta1\", \"kind\": \"BatchScore\", \"metadata\": "
        "{\"name\": "
        "\"a\", \"namespace\": \"lab\", \"uid\": \"u1\", \"generation\": 1}, \"spec\": {\"input\": "
        "{\"video\": {\"path\": \"data/in.mp4\"}}, \"scorer\": {\"onnx\": {\"path\": \"data/m\"}}, "
        "\"output\": {\"path\": \"data/out\"}, \"workers\": {\"min\": 1, \"max\": 1}, \"volumes\": "
        "[{\"name\": \"data\", \"hostPath\": {\"path\": \"/x\"}}]}, \"status\": {\"credentials\": "
        "{\"secret\": \"a-1b2c\", \"certificateSHA256\": \"ab\", \"created\": false}}}");
    AUTO(tree_freep)
    json_t *service = parse("{\"metadata\": {\"name\": \"a-coordinator\", \"uid\": \"s1\", "
                            "\"annotations\": {\"windlass.dev/secret\": \"a-1b2c\", "
                            "\"windlass.dev/certificate-sha256\": \"ab\"}}, \"spec\": "
                            "{\"clusterIP\": \"10.0.0.1\", \"ports\": [{\"port\": 8443}]}}");
    AUTO(tree_freep) json_t *pods = json_array();
    struct job_options options = {.network_policy = policy};
    struct batchscore_observed observed = {.job = {.object = object,
                                                   .service = service,
                                                   .pods = pods,
                                                   .options = &options,
                                                   .credentials = credentials}};
    struct plan_result result = {0};
    CHECK_OK(batchscore_decide(&observed, 1000000, &result, &err), &err);
    AUTO(tree_freep) json_t *json = plan_result_json(&result);
    size_t i;
    const json_t *one;
    *ret_kinds = 0;
    json_array_foreach(json_object_get(json, "create"), i, one) {
        snprintf(ret_kinds + strlen(ret_kinds), size - strlen(ret_kinds), "%s ",
                 tree_text(one, "kind", ""));
    }
    json_array_foreach(json_object_get(json, "events"), i, one) {
        snprintf(ret_kinds + strlen(ret_kinds), size - strlen(ret_kinds), "!%s ",
                 tree_text(one, "reason", ""));
    }
}

static void test_it_is_made_before_pods(void) {
    static const struct network_policy_options some = {"ours", NULL};
    const struct {
        const struct network_policy_options *policy;
        bool is_confirmed, has_policy;
        const char *refused, *made;
    } rows[] = {{NULL, false, false, NULL, "Secret "},
                {NULL, true, false, NULL, "Pod Pod "},
                {&some, false, false, NULL, "Secret NetworkPolicy "},
                {&some, false, true, NULL, "Secret "},
                {&some, true, false, NULL, "NetworkPolicy "},
                {&some, true, true, NULL, "Pod Pod "},
                {&some, true, false, "forbidden", "Pod Pod !NetworkPolicyRefused "}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct credentials credentials = {.secret = "a-1b2c",
                                                .token = "t",
                                                .certificate = "c",
                                                .certificate_sha256 = "ab",
                                                .key = "k",
                                                .is_confirmed = rows[i].is_confirmed,
                                                .has_policy = rows[i].has_policy,
                                                .policy_refused = rows[i].refused};
        char kinds[256];
        plan_with(&credentials, rows[i].policy, kinds, sizeof kinds);
        CHECK_STR(kinds, rows[i].made);
    }
}

int main(void) {
    TEST(test_who_is_let_in);
    TEST(test_when_it_is_settled);
    TEST(test_it_is_made_before_pods);
    return TEST_END();
}
