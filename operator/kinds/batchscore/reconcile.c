// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/reconcile.h"

#include "lib/digest.h"
#include "lib/tls.h"
#include "operator/kinds/batchscore/plan.h"

#include <stdlib.h>
#include <string.h>

enum { PROGRESS_MAX_BYTES = 64 << 10, TOKEN_BYTES = 32 };

/* Annotations have dots in their names, which tree_get takes for steps. */
static const char *annotation(const json_t *object, const char *name) {
    return json_string_value(json_object_get(tree_get(object, "metadata.annotations"), name));
}

static const char *label(const json_t *object, const char *name) {
    return json_string_value(json_object_get(tree_get(object, "metadata.labels"), name));
}

static bool coordinator_runs(const json_t *pods) {
    size_t i;
    json_t *pod;
    json_array_foreach(pods, i, pod) {
        const char *role = label(pod, LABEL_ROLE);
        if (role && strcmp(role, "coordinator") == 0 &&
            strcmp(tree_text(pod, "status.phase", ""), "Running") == 0) {
            return true;
        }
    }
    return false;
}

/* The coordinator's last answer, owned by the caller. NULL when there is no sound one: it may be
 * starting, gone or cut off, and plan goes by the pods then. */
static json_t *ask_progress(struct reconcile *request, const json_t *service, const json_t *pods) {
    const char *ip = tree_text(service, "spec.clusterIP", NULL);
    const char *certificate = annotation(service, ANNOTATION_CERTIFICATE);
    int64_t port = tree_integer(service, "spec.ports[0].port", 0);
    if (!ip || !certificate || port < 1 || !coordinator_runs(pods)) {
        return NULL;
    }
    bool is_v6 = strchr(ip, ':') != NULL;
    AUTO(text_freep)
    char *url = x_printf("https://%s%s%s:%lld/progress", is_v6 ? "[" : "", ip, is_v6 ? "]" : "",
                         (long long)port);
    const char *body = reconcile_ask(request, url, certificate);
    struct error ignored = {0};
    json_t *progress = NULL;
    if (!body || tree_parse(body, strlen(body), PROGRESS_MAX_BYTES, &progress, &ignored) < 0) {
        return NULL;
    }
    return progress;
}

static void apply_all(struct reconcile *request, const json_t *objects) {
    size_t i;
    json_t *object;
    json_array_foreach(objects, i, object) {
        reconcile_write(request, CLUSTER_APPLY, json_incref(object));
    }
}

/* Forgets them at once: the Secret is for the pods alone. */
static int make_credentials(struct reconcile *request, struct error *err) {
    AUTO(text_freep) char *certificate = NULL;
    AUTO(text_freep) char *key = NULL;
    char sha256[65];
    if (tls_make_certificate(&certificate, &key, err) < 0 ||
        tls_certificate_sha256(certificate, sha256, err) < 0) {
        return error_context(err, "credentials of the coordinator");
    }
    AUTO(text_freep) char *token = digest_random(TOKEN_BYTES);
    struct credentials credentials = {
        .token = token, .certificate = certificate, .certificate_sha256 = sha256, .key = key};
    AUTO(tree_freep) json_t *objects = batchscore_credentials(request->object, &credentials);
    apply_all(request, objects);
    return 0;
}

/* plan names what is to go by kind and name; the cache knows which one that is. */
static void delete_all(struct reconcile *request, const json_t *plan) {
    size_t i;
    json_t *named;
    json_array_foreach(json_object_get(plan, "delete"), i, named) {
        const json_t *object = cache_find(request->cache, tree_text(named, "kind", ""),
                                          request->namespace, tree_text(named, "name", ""));
        if (object && !tree_get(object, "metadata.deletionTimestamp")) {
            reconcile_write(request, CLUSTER_DELETE, json_incref((json_t *)object));
        }
    }
}

static void write_status(struct reconcile *request, json_t *status) {
    if (status && !json_equal(json_object_get(request->object, "status"), status)) {
        json_t *object = json_copy((json_t *)request->object);
        json_object_set(object, "status", status);
        reconcile_write(request, CLUSTER_STATUS, object);
    }
}

/* Gathers what is there and asks plan. */
static int reconcile(void *state, struct reconcile *request, struct error *err) {
    (void)state;
    const json_t *object = request->object;
    if (!object || tree_get(object, "metadata.deletionTimestamp")) {
        return 0; /* the cluster takes away what it owns */
    }
    AUTO(tree_freep) json_t *services = cache_owned(request->cache, "Service", object);
    AUTO(tree_freep) json_t *pods = cache_owned(request->cache, "Pod", object);
    const json_t *service = json_array_get(services, 0);
    AUTO(tree_freep) json_t *progress = ask_progress(request, service, pods);
    struct batchscore_observed observed = {.object = object,
                                           .service = service,
                                           .pods = pods,
                                           .progress = progress,
                                           .options = request->options};
    AUTO(tree_freep) json_t *plan = NULL;
    if (batchscore_plan(&observed, request->wall_ms, &plan, err) < 0 ||
        (tree_get(plan, "needs") && make_credentials(request, err) < 0)) {
        return -1;
    }
    apply_all(request, json_object_get(plan, "apply"));
    delete_all(request, plan);
    write_status(request, json_object_get(plan, "status"));
    request->again_ms = tree_integer(plan, "again_ms", 0);
    return 0;
}

static const char *const owned[] = {"v1 Service", "v1 Pod", NULL};

const struct kind batchscore_kind = {
    .api_version = "windlass.dev/v1alpha1",
    .name = "BatchScore",
    .owned = owned,
    .reconcile = reconcile,
};
