// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/write.h"

#include "operator/kube/backoff.h"
#include "tests/test.h"

static json_t *parse(const char *text) {
    json_t *tree = json_loads(text, 0, NULL);
    CHECK(tree);
    return tree;
}

#define THING                                                                                      \
    "{\"apiVersion\":\"a/"                                                                         \
    "v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":\"x\",\"namespace\":\"n\","                    \
    "\"uid\":\"u\",\"resourceVersion\":\"5\",\"managedFields\":[{}]},\"spec\":{},"                 \
    "\"status\":{\"p\":1}}"

static void test_requests(void) {
    static const struct {
        enum cluster_verb verb;
        const char *object, *method, *type, *path, *body;
    } rows[] = {
        {CLUSTER_CREATE, THING, "POST", "application/json",
         "/apis/a/v1/namespaces/n/things?fieldManager=windlass&fieldValidation=Strict",
         "{\"apiVersion\":\"a/v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":\"x\",\"namespace\":"
         "\"n\",\"uid\":\"u\",\"resourceVersion\":\"5\"},\"spec\":{}}"},
        {CLUSTER_APPLY, "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"x\"}}",
         "PATCH", "application/apply-patch+yaml",
         "/api/v1/nodes/x?force=true&fieldManager=windlass",
         "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"x\"}}"},
        {CLUSTER_STATUS, THING, "PATCH", "application/json-patch+json",
         "/apis/a/v1/namespaces/n/things/x/status?fieldManager=windlass",
         "[{\"op\":\"test\",\"path\":\"/metadata/uid\",\"value\":\"u\"},"
         "{\"op\":\"replace\",\"path\":\"/metadata/resourceVersion\",\"value\":\"5\"},"
         "{\"op\":\"add\",\"path\":\"/status\",\"value\":{\"p\":1}}]"},
        {CLUSTER_DELETE, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"x\"}}",
         "DELETE", "application/json", "/api/v1/namespaces/default/pods/x",
         "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"propagationPolicy\":\"Background\"}"},
        {CLUSTER_DELETE, THING, "DELETE", "application/json", "/apis/a/v1/namespaces/n/things/x",
         "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"propagationPolicy\":\"Background\","
         "\"preconditions\":{\"uid\":\"u\"}}"},
        {CLUSTER_CREATE, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}", NULL, NULL, NULL, NULL},
        {CLUSTER_APPLY, "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"x\"}}", NULL, NULL, NULL, NULL},
        {CLUSTER_APPLY, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a/b\"}}",
         NULL, NULL, NULL, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        AUTO(tree_freep) json_t *object = parse(rows[i].object);
        AUTO(write_request_release) struct write_request request = {0};
        int result = write_prepare(rows[i].verb, object, &request, &err);
        CHECK_INT(result, rows[i].method ? 0 : -1);
        if (rows[i].method) {
            CHECK_STR(request.method, rows[i].method);
            CHECK_STR(request.content_type, rows[i].type);
            CHECK_STR(request.path, rows[i].path);
            CHECK_STR(request.body, rows[i].body);
        } else {
            CHECK_INT(err.kind, ERROR_INVALID);
        }
    }
}

#define DENIED_BY_WEBHOOK                                                                          \
    "{\"message\":\"admission webhook \\\"w.example\\\" denied the request: no\"}"
#define DENIED_BY_POLICY                                                                           \
    "{\"reason\":\"Invalid\",\"message\":\"pods \\\"x\\\" is forbidden: "                          \
    "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no\","                         \
    "\"details\":{\"causes\":[{\"message\":\"no\"}]}}"

/* The answers are those of real servers, 1.20 and 1.36. */
static void test_verdicts(void) {
    static const struct {
        enum cluster_verb verb;
        int status;
        const char *answer;
        enum write_verdict verdict;
        enum error_kind kind;
    } rows[] = {
        {CLUSTER_CREATE, 201, "{}", WRITE_DONE, ERROR_NONE},
        {CLUSTER_CREATE, 409, "{\"reason\":\"AlreadyExists\"}", WRITE_FAILED, ERROR_CONFLICT},
        {CLUSTER_CREATE, 409,
         "{\"reason\":\"Conflict\",\"message\":\"Operation cannot be fulfilled on resourcequotas "
         "\\\"q\\\": the object has been modified\"}",
         WRITE_AGAIN, ERROR_BUSY},
        {CLUSTER_CREATE, 429, "{}", WRITE_AGAIN, ERROR_BUSY},
        {CLUSTER_CREATE, 500, "{}", WRITE_AGAIN, ERROR_UNAVAILABLE},
        {CLUSTER_CREATE, 504, "{}", WRITE_AGAIN, ERROR_TIMEOUT},
        {CLUSTER_CREATE, 0, NULL, WRITE_AGAIN, ERROR_UNAVAILABLE},
        {CLUSTER_CREATE, 403, "{}", WRITE_FAILED, ERROR_DENIED},
        {CLUSTER_CREATE, 400, "{\"message\":\"strict decoding error\"}", WRITE_FAILED,
         ERROR_INVALID},
        {CLUSTER_CREATE, 400, DENIED_BY_WEBHOOK, WRITE_FAILED, ERROR_DENIED},
        {CLUSTER_CREATE, 409, DENIED_BY_WEBHOOK, WRITE_FAILED, ERROR_DENIED},
        {CLUSTER_CREATE, 422, DENIED_BY_POLICY, WRITE_FAILED, ERROR_DENIED},
        {CLUSTER_STATUS, 422, DENIED_BY_POLICY, WRITE_FAILED, ERROR_DENIED},
        {CLUSTER_DELETE, 404, DENIED_BY_WEBHOOK, WRITE_FAILED, ERROR_DENIED},
        {CLUSTER_APPLY, 422, DENIED_BY_POLICY, WRITE_FAILED, ERROR_DENIED},
        {CLUSTER_CREATE, 500, DENIED_BY_WEBHOOK, WRITE_AGAIN, ERROR_UNAVAILABLE},
        {CLUSTER_APPLY, 422,
         "{\"details\":{\"causes\":[{\"field\":\"metadata.uid\",\"message\":\"immutable\"}]}}",
         WRITE_FAILED, ERROR_CONFLICT},
        {CLUSTER_APPLY, 422, "{\"details\":{\"causes\":[{\"field\":\"spec.x\"}]}}", WRITE_FAILED,
         ERROR_INVALID},
        {CLUSTER_APPLY, 409, "{}", WRITE_FAILED, ERROR_CONFLICT},
        {CLUSTER_STATUS, 409, "{}", WRITE_FAILED, ERROR_CONFLICT},
        {CLUSTER_STATUS, 409,
         "{\"message\":\"...: Precondition failed: UID in precondition: a, UID in object meta: \"}",
         WRITE_FAILED, ERROR_NOT_FOUND},
        {CLUSTER_STATUS, 409,
         "{\"message\":\"...: Precondition failed: UID in precondition: a, UID in object meta: "
         "b\"}",
         WRITE_FAILED, ERROR_CONFLICT},
        {CLUSTER_STATUS, 422, "{\"message\":\"the server rejected our request\"}", WRITE_FAILED,
         ERROR_CONFLICT},
        {CLUSTER_STATUS, 422, "{\"details\":{\"causes\":[{\"field\":\"status.x\"}]}}", WRITE_FAILED,
         ERROR_INVALID},
        {CLUSTER_STATUS, 404, "{}", WRITE_FAILED, ERROR_NOT_FOUND},
        {CLUSTER_DELETE, 404, "{}", WRITE_DONE, ERROR_NONE},
        {CLUSTER_DELETE, 409,
         "{\"message\":\"...: the UID in the precondition (a) does not match the UID in record\"}",
         WRITE_DONE, ERROR_NONE},
        {CLUSTER_DELETE, 409,
         "{\"message\":\"Precondition failed: UID in precondition: a, UID in object meta: b\"}",
         WRITE_DONE, ERROR_NONE},
        {CLUSTER_DELETE, 409, "{\"message\":\"the object has been modified\"}", WRITE_AGAIN,
         ERROR_CONFLICT},
        {CLUSTER_DELETE, 403, "{}", WRITE_FAILED, ERROR_DENIED},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0}, why = {0};
        AUTO(tree_freep) json_t *tree = rows[i].answer ? parse(rows[i].answer) : NULL;
        struct client_answer answer = {.status = rows[i].status, .tree = tree};
        if (rows[i].status == 0) {
            error_set(&why, ERROR_UNAVAILABLE, "cut");
        } else if (rows[i].status >= 300) {
            client_error(rows[i].status, tree, &why);
        }
        answer.err = why.kind ? &why : NULL;
        CHECK_INT(write_judge(rows[i].verb, &answer, &err), rows[i].verdict);
        CHECK_INT(err.kind, rows[i].kind);
    }
}

static void test_what_was_stored_of_a_brief_answer(void) {
    static const char pod[] = "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":"
                              "\"x\"},\"spec\":{\"nodeName\":\"n\"},\"status\":{}}";
    struct error err = {0};
    AUTO(tree_freep) json_t *object = parse(pod);
    AUTO(tree_freep)
    json_t *service = parse("{\"apiVersion\":\"v1\",\"kind\":\"Service\","
                            "\"metadata\":{\"name\":\"x\"}}");
    AUTO(write_request_release) struct write_request of_pod = {0};
    AUTO(write_request_release) struct write_request of_service = {0};
    AUTO(write_request_release) struct write_request of_status = {0};
    CHECK_OK(write_prepare(CLUSTER_CREATE, object, &of_pod, &err), &err);
    CHECK_OK(write_prepare(CLUSTER_CREATE, service, &of_service, &err), &err);
    CHECK_OK(write_prepare(CLUSTER_STATUS, object, &of_status, &err), &err);
    CHECK(of_pod.is_brief);
    CHECK(!of_service.is_brief); /* its address is needed */
    CHECK(!of_status.is_brief);
    AUTO(tree_freep)
    json_t *brief = parse("{\"apiVersion\":\"meta.k8s.io/v1\",\"kind\":\"PartialObjectMetadata\","
                          "\"metadata\":{\"name\":\"x\",\"uid\":\"u\"}}");
    AUTO(tree_freep) json_t *stored = write_stored(object, brief);
    CHECK_STR(tree_text(stored, "kind", ""), "Pod");
    CHECK_STR(tree_text(stored, "metadata.uid", ""), "u");
    CHECK_STR(tree_text(stored, "spec.nodeName", ""), "n");
    CHECK(!json_object_get(stored, "status")); /* the server makes its own */
    CHECK(!tree_get(object, "metadata.uid"));
    /* Without a stored object in the answer. */
    AUTO(tree_freep) json_t *whole = write_stored(NULL, object);
    CHECK(whole == object);
}

static void test_waiting_grows_and_obeys(void) {
    for (int round = 0; round < 50; round++) {
        struct backoff backoff = {0};
        int middle_ms = BACKOFF_MIN_MS;
        for (int i = 0; i < 12; i++) {
            int wait_ms = backoff_next(&backoff, 0);
            CHECK(wait_ms >= middle_ms / 2 && wait_ms <= middle_ms * 3 / 2);
            middle_ms = MIN(middle_ms * 2, BACKOFF_MAX_MS);
        }
        int wait_ms = backoff_next(&backoff, 7);
        CHECK(wait_ms >= 7000 && wait_ms <= 10500); /* never before the requested time */
        CHECK(backoff_next(&backoff, 1 << 30) <= BACKOFF_RETRY_AFTER_MAX_MS * 3 / 2);
    }
}

int main(void) {
    TEST(test_requests);
    TEST(test_verdicts);
    TEST(test_what_was_stored_of_a_brief_answer);
    TEST(test_waiting_grows_and_obeys);
    return TEST_END();
}
