// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/reconcile.h"

#include "lib/digest.h"
#include "lib/http.h"
#include "lib/tls.h"
#include "operator/kinds/batchscore/plan.h"

#include <stdlib.h>
#include <string.h>

enum {
    PROGRESS_EVERY_MS = 1000,
    PROGRESS_RETRY_MS = 100,   /* after a failure, doubling up to the time above */
    PROGRESS_TIMEOUT_MS = 800, /* one slow coordinator must not hold up the other jobs for long */
    PROGRESS_MAX_BYTES = 64 << 10,
    TOKEN_BYTES = 32,
};

/* Kept between looks: "namespace/name" -> {"uid", "progress", "failures", "nextMs"}. */
struct state {
    json_t *jobs;
};

static void *state_new(void) {
    struct state *state = x_calloc(1, sizeof *state);
    state->jobs = json_object();
    return state;
}

static void state_free(void *opaque) {
    struct state *state = opaque;
    json_decref(state->jobs);
    free(state);
}

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

/* NULL when there is no sound answer: the coordinator may be starting, gone or cut off, and plan
 * goes by the pods then. */
static json_t *ask_progress(const json_t *service) {
    const char *ip = tree_text(service, "spec.clusterIP", NULL);
    const char *certificate = annotation(service, ANNOTATION_CERTIFICATE);
    int64_t port = tree_integer(service, "spec.ports[0].port", 0);
    if (!ip || !certificate || port < 1) {
        return NULL;
    }
    bool is_v6 = strchr(ip, ':') != NULL;
    AUTO(text_freep)
    char *url = x_printf("https://%s%s%s:%lld/progress", is_v6 ? "[" : "", ip, is_v6 ? "]" : "",
                         (long long)port);
    struct http_request request = {.url = url,
                                   .certificate_pem = certificate,
                                   .timeout_ms = PROGRESS_TIMEOUT_MS,
                                   .max_bytes = PROGRESS_MAX_BYTES};
    struct error ignored = {0};
    int status = 0;
    AUTO(text_freep) char *body = NULL;
    json_t *progress = NULL;
    if (http_get(&request, &status, &body, &ignored) < 0 || status != 200 ||
        tree_parse(body, strlen(body), PROGRESS_MAX_BYTES, &progress, &ignored) < 0) {
        return NULL;
    }
    return progress;
}

/* The last answer, or a new one when it is time. Owned by the caller; NULL when there is none. A
 * coordinator that just started does not listen yet, hence the short waits after failures. */
static json_t *find_progress(struct state *state, const struct reconcile *request,
                             const json_t *service, const json_t *pods) {
    if (!service || !coordinator_runs(pods)) {
        return NULL;
    }
    AUTO(text_freep) char *key = x_printf("%s/%s", request->namespace, request->name);
    const char *uid = tree_text(request->object, "metadata.uid", "");
    json_t *kept = json_object_get(state->jobs, key);
    if (kept && strcmp(tree_text(kept, "uid", ""), uid) == 0 &&
        request->monotonic_ms < tree_integer(kept, "nextMs", 0)) {
        return json_incref(json_object_get(kept, "progress"));
    }
    json_t *progress = ask_progress(service);
    int64_t failures = progress ? 0 : tree_integer(kept, "failures", 0) + 1;
    int64_t wait_ms = progress ? PROGRESS_EVERY_MS
                               : MIN((int64_t)PROGRESS_RETRY_MS << MIN(failures - 1, 10),
                                     (int64_t)PROGRESS_EVERY_MS);
    json_object_set_new(state->jobs, key,
                        json_pack("{s:s, s:O?, s:I, s:I}", "uid", uid, "progress", progress,
                                  "failures", (json_int_t)failures, "nextMs",
                                  (json_int_t)(request->monotonic_ms + wait_ms)));
    return progress;
}

/* When to look again: when plan says so, and when the coordinator is to be asked again. */
static int64_t next_look_ms(const struct state *state, const struct reconcile *request,
                            const json_t *plan) {
    AUTO(text_freep) char *key = x_printf("%s/%s", request->namespace, request->name);
    const json_t *kept = json_object_get(state->jobs, key);
    int64_t again_ms = tree_integer(plan, "again_ms", 0);
    int64_t ask_ms = tree_integer(kept, "nextMs", 0) - request->monotonic_ms;
    return again_ms > 0 && ask_ms > 0 ? MIN(again_ms, ask_ms) : again_ms;
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
static int look(struct state *state, const struct reconcile *request, json_t **ret_plan,
                struct error *err) {
    AUTO(tree_freep) json_t *services = cache_owned(request->cache, "Service", request->object);
    AUTO(tree_freep) json_t *pods = cache_owned(request->cache, "Pod", request->object);
    const json_t *service = json_array_get(services, 0);
    AUTO(tree_freep) json_t *progress = find_progress(state, request, service, pods);
    struct batchscore_observed observed = {
        .object = request->object, .service = service, .pods = pods, .progress = progress};
    return batchscore_plan(&observed, request->wall_ms, ret_plan, err);
}

static int reconcile(void *opaque, struct reconcile *request, struct error *err) {
    struct state *state = opaque;
    if (!request->object) {
        AUTO(text_freep) char *key = x_printf("%s/%s", request->namespace, request->name);
        json_object_del(state->jobs, key);
        return 0;
    }
    if (tree_get(request->object, "metadata.deletionTimestamp")) {
        return 0; /* the cluster takes away what it owns */
    }
    AUTO(tree_freep) json_t *plan = NULL;
    if (look(state, request, &plan, err) < 0 ||
        (tree_get(plan, "needs") && make_credentials(request, err) < 0)) {
        return -1;
    }
    apply_all(request, json_object_get(plan, "apply"));
    delete_all(request, plan);
    write_status(request, json_object_get(plan, "status"));
    request->again_ms = next_look_ms(state, request, plan);
    return 0;
}

static const char *const owned[] = {"v1 Service", "v1 Pod", NULL};

const struct kind batchscore_kind = {
    .api_version = "windlass.dev/v1alpha1",
    .name = "BatchScore",
    .owned = owned,
    .state_new = state_new,
    .state_free = state_free,
    .reconcile = reconcile,
};
