// SPDX-License-Identifier: Apache-2.0
/* Whom the controller asks for a job's progress: the Service with the certificate that the status
 * has, while a hub runs and the job has not ended. To no other address does it connect. */
#include "operator/kinds/job/reconcile/hub_progress.h"

#include "lib/net/tls.h"
#include "operator/kinds/job/owned.h"
#include "tests/parse_json.h"
#include "tests/test.h"

#include <string.h>

#define OTHER "00ab" /* the digest of another certificate */
#define SPEC "{'clusterIP': '10.0.0.1', 'ports': [{'port': 8443}]}"
#define HUB(phase) "[{'metadata': {'name': 'a-0'}, 'status': {'phase': '" phase "'}}]"

static struct {
    char *certificate, sha256[65];
    struct poller *poller;
} world;

static void on_news(void *context UNUSED, const char *key UNUSED) {
}

static bool is_hub(const json_t *pod) {
    return strcmp(tree_text(pod, "metadata.name", ""), "a-0") == 0;
}

static const struct job_ops ops = {.is_hub = is_hub};

static void open_world(void) {
    struct error err = {0};
    AUTO(text_freep) char *key = NULL;
    CHECK_OK(tls_make_certificate(&world.certificate, &key, world.sha256, &err), &err);
    CHECK_OK(poller_open(on_news, NULL, &world.poller, &err), &err);
}

static void close_world(void) {
    poller_free(world.poller);
    free(world.certificate);
}

/* "ours": the digest of the Service's certificate; NULL: nothing. */
static void set_digest(json_t *tree, const char *field, const char *digest) {
    if (digest) {
        bool is_ours = strcmp(digest, "ours") == 0;
        json_object_set_new(tree, field, json_string(is_ours ? world.sha256 : digest));
    }
}

static void test_who_is_asked(void) {
    static const struct {
        const char *recorded, *annotated; /* in the status, at the Service */
        const char *spec, *pods;
        bool has_certificate, is_asked;
        const char *succeeded; /* the job's condition; NULL: it has none */
    } rows[] = {
        {"ours", "ours", SPEC, HUB("Running"), true, true, NULL},
        {"ours", NULL, SPEC, HUB("Running"), true, true, NULL},
        {NULL, "ours", SPEC, HUB("Running"), true, true, NULL}, /* before there is a status */
        {"ours", "ours", "{'clusterIP': 'fd00::1', 'ports': [{'port': 8443}]}", HUB("Running"),
         true, true, NULL},
        {OTHER, "ours", SPEC, HUB("Running"), true, false, NULL},
        {OTHER, OTHER, SPEC, HUB("Running"), true, false, NULL},
        {NULL, OTHER, SPEC, HUB("Running"), true, false, NULL},
        {NULL, NULL, SPEC, HUB("Running"), true, false, NULL},
        {"ours", "ours", SPEC, HUB("Running"), false, false, NULL},
        {"ours", "ours", "{'ports': [{'port': 8443}]}", HUB("Running"), true, false, NULL},
        {"ours", "ours", "{'clusterIP': '10.0.0.1', 'ports': [{'port': 0}]}", HUB("Running"), true,
         false, NULL},
        {"ours", "ours", SPEC, "[]", true, false, NULL},
        {"ours", "ours", SPEC, HUB("Pending"), true, false, NULL},
        {"ours", "ours", SPEC, "[{'metadata': {'name': 'a-1'}, 'status': {'phase': 'Running'}}]",
         true, false, NULL},
        {"ours", "ours", SPEC, HUB("Running"), true, true, "Unknown"},
        /* Who has the key of a job that has ended may make a pod that looks like its hub. */
        {"ours", "ours", SPEC, HUB("Running"), true, false, "True"},
        {"ours", "ours", SPEC, HUB("Running"), true, false, "False"},
    };
    open_world();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *object = parse("{'status': {'credentials': {}}}");
        AUTO(tree_freep) json_t *service = parse("{'metadata': {'annotations': {}}}");
        AUTO(tree_freep) json_t *pods = parse(rows[i].pods);
        json_t *annotations = tree_get(service, "metadata.annotations");
        json_object_set_new(service, "spec", parse(rows[i].spec));
        set_digest(tree_get(object, "status.credentials"), "certificateSHA256", rows[i].recorded);
        set_digest(annotations, ANNOTATION_CERTIFICATE_SHA256, rows[i].annotated);
        if (rows[i].succeeded) {
            json_object_set_new(
                tree_get(object, "status"), "conditions",
                json_pack("[{s:s, s:s}]", "type", "Succeeded", "status", rows[i].succeeded));
        }
        if (rows[i].has_certificate) {
            json_object_set_new(annotations, ANNOTATION_CERTIFICATE,
                                json_string(world.certificate));
        }
        struct reconcile request = {.kind = "DistTrain",
                                    .namespace = "ml",
                                    .name = "a",
                                    .object = object,
                                    .poller = world.poller};
        CHECK(!hub_progress_ask(&ops, &request, service, pods)); /* no answer yet */
        CHECK_INT(poller_count(world.poller), rows[i].is_asked);
        CHECK_INT(request.is_polling, rows[i].is_asked);
        poller_stop(world.poller, "DistTrain ml/a");
    }
    close_world();
}

int main(void) {
    TEST(test_who_is_asked);
    return TEST_END();
}
