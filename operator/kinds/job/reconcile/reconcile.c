// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/reconcile.h"

#include "lib/time/clock.h"
#include "operator/kinds/job/reconcile/credentials.h"
#include "operator/kinds/job/reconcile/mounts.h"
#include "operator/kinds/job/reconcile/status_write.h"
#include "operator/kinds/job/reconcile/write_failures.h"

#include <stdlib.h>
#include <string.h>

enum {
    PROGRESS_MAX_BYTES = 64 << 10,
    APPLIED_MS = 60000, /* unwatched objects are assumed to exist for this time after an apply */
};

/* Kept between passes: "namespace/name" -> {"uid", "wroteMs": the last status,
 *    "credentials": see struct credentials, until they are in use,
 *    "refused": {"count": in a row, "untilMs": end of the pause}, while there is one,
 *    "ended": {POD NAME: when it was first seen to have ended, wall clock},
 *    "dropped": the field of the status that was not stored, if any,
 *    "mounts": {POD NAME: the kubelet's message}, "mountsMs": when they were requested,
 *    "applied": {"KIND NAME": time of the last success, for unwatched objects},
 *    "troubles": {"Pod NAME": {"kind": of error, "text", "sinceMs"}}}.
 */
struct state {
    json_t *jobs;
};

void *job_state_new(void) {
    struct state *state = x_calloc(1, sizeof *state);
    state->jobs = json_object();
    return state;
}

void job_state_free(void *opaque) {
    struct state *state = opaque;
    json_decref(state->jobs);
    free(state);
}

/* Borrowed; created when there is none yet, or only that of an earlier job of that name. */
static json_t *find_kept(struct state *state, const struct reconcile *request) {
    AUTO(text_freep) char *key = x_printf("%s/%s", request->namespace, request->name);
    json_t *kept = json_object_get(state->jobs, key);
    const char *uid = tree_text(request->object, "metadata.uid", "");
    if (!kept || strcmp(tree_text(kept, "uid", ""), uid) != 0) {
        kept = json_pack("{s:s, s:{}}", "uid", uid, "troubles");
        json_object_set_new(state->jobs, key, kept);
    }
    return kept;
}

static void forget(struct state *state, const struct reconcile *request) {
    AUTO(text_freep) char *key = x_printf("%s/%s", request->namespace, request->name);
    json_object_del(state->jobs, key);
}

static bool hub_runs(const struct job_ops *ops, const json_t *pods) {
    size_t i;
    json_t *pod;
    json_array_foreach(pods, i, pod) {
        if (ops->is_hub(pod) && strcmp(tree_text(pod, "status.phase", ""), "Running") == 0) {
            return true;
        }
    }
    return false;
}

/* The hub's last answer, owned by the caller. NULL when there is no valid one: the hub may be
 * starting, gone or unreachable, and plan then uses only the pods. */
static json_t *ask_progress(const struct job_ops *ops, struct reconcile *request,
                            const json_t *service, const json_t *pods) {
    const char *ip = tree_text(service, "spec.clusterIP", NULL);
    const char *certificate = owned_annotation(service, ANNOTATION_CERTIFICATE);
    int64_t port = tree_integer(service, "spec.ports[0].port", 0);
    if (!ip || !certificate || port < 1 || !hub_runs(ops, pods)) {
        return NULL;
    }
    bool is_v6 = strchr(ip, ':') != NULL;
    AUTO(text_freep)
    char *url = x_printf("https://%s%s%s:%lld/progress", is_v6 ? "[" : "", ip, is_v6 ? "]" : "",
                         (long long)port);
    bool is_first = ops->is_first && ops->is_first(request->object);
    const char *body = reconcile_poll(request, url, certificate, is_first);
    struct error ignored = {0};
    json_t *progress = NULL;
    if (!body || tree_parse(body, strlen(body), PROGRESS_MAX_BYTES, &progress, &ignored) < 0) {
        return NULL;
    }
    return progress;
}

static void note_applied(json_t *kept, const json_t *object) {
    AUTO(text_freep)
    char *name =
        x_printf("%s %s", tree_text(object, "kind", ""), tree_text(object, "metadata.name", ""));
    json_t *applied = json_object_get(kept, "applied");
    if (!applied) {
        applied = json_object();
        json_object_set_new(kept, "applied", applied);
    }
    json_object_set_new(applied, name, json_integer(clock_monotonic_ms()));
}

/* Removes applied objects that are too old. */
static void forget_applied(const json_t *kept, int64_t now_ms) {
    json_t *applied = json_object_get(kept, "applied"), *since;
    const char *name;
    void *next;
    json_object_foreach_safe(applied, next, name, since) {
        if (now_ms - json_integer_value(since) >= APPLIED_MS) {
            json_object_del(applied, name);
        }
    }
}

void job_wrote(void *opaque, const struct written *written) {
    const struct state *state = opaque;
    AUTO(text_freep) char *key = x_printf("%s/%s", written->namespace, written->name);
    json_t *kept = json_object_get(state->jobs, key);
    if (!kept) {
        return;
    }
    status_write_note(kept, written);
    if (written->verb == CLUSTER_APPLY && !written->err) {
        note_applied(kept, written->object);
    }
    if (written->verb == CLUSTER_CREATE || written->verb == CLUSTER_APPLY) {
        write_failures_note(kept, written);
    }
    if (written->verb == CLUSTER_CREATE) {
        if (strcmp(tree_text(written->object, "kind", ""), "Secret") == 0) {
            job_credentials_note(kept, written);
        }
    }
}

void job_listed(void *opaque, const char *namespace, const char *name, const json_t *list) {
    const struct state *state = opaque;
    AUTO(text_freep) char *key = x_printf("%s/%s", namespace, name);
    json_t *kept = json_object_get(state->jobs, key);
    if (kept) {
        job_mounts_note(kept, list);
    }
}

/* ---- writes ---- */

static void write_all(struct reconcile *request, enum cluster_verb verb, const json_t *objects) {
    size_t i;
    json_t *object;
    json_array_foreach(objects, i, object) {
        reconcile_write(request, verb, json_incref(object));
    }
}

void job_make_all(struct reconcile *request, const json_t *kept, json_t *create) {
    const json_t *refused = json_object_get(kept, "refused");
    int64_t left_ms = tree_integer(refused, "untilMs", 0) - request->monotonic_ms;
    request->starts_slowly = refused != NULL;
    if (left_ms > 0 && json_array_size(create) > 0) {
        status_write_requeue(request, left_ms);
        json_array_clear(create);
    }
    write_all(request, CLUSTER_CREATE, create);
}

/* Identified by name alone, because the cache does not have it. */
static json_t *unwatched(const struct reconcile *request, const json_t *named) {
    return json_pack("{s:O, s:O, s:{s:O, s:s}}", "apiVersion", json_object_get(named, "apiVersion"),
                     "kind", json_object_get(named, "kind"), "metadata", "name",
                     json_object_get(named, "name"), "namespace", request->namespace);
}

void job_delete_all(struct reconcile *request, const json_t *plan) {
    size_t i;
    json_t *named;
    json_array_foreach(json_object_get(plan, "delete"), i, named) {
        AUTO(tree_freep)
        json_t *object = json_object_get(named, "apiVersion")
                             ? unwatched(request, named)
                             : cache_find(request->cache, tree_text(named, "kind", ""),
                                          request->namespace, tree_text(named, "name", ""));
        if (object && !tree_get(object, "metadata.deletionTimestamp")) {
            reconcile_write(request, CLUSTER_DELETE, json_incref(object));
        }
    }
}

/* Sends the events of a status with its write, also when that was postponed; events of objects that
 * are not created are dropped. */
static void tell_events(struct reconcile *request, const json_t *plan, bool with_status) {
    const json_t *create = json_object_get(plan, "create");
    size_t i;
    json_t *event;
    json_array_foreach(json_object_get(plan, "events"), i, event) {
        struct reconcile_event one = {.type = tree_text(event, "type", ""),
                                      .reason = tree_text(event, "reason", ""),
                                      .note = tree_text(event, "note", ""),
                                      .after = tree_text(event, "of", NULL)};
        if (one.after ? tree_find(create, "metadata.name", one.after) != NULL : with_status) {
            event_recorder_add(request, &one);
        }
    }
}

/* ---- one pass ---- */

/* By our clock; for existing pods only. */
static void note_ended(json_t *kept, const json_t *pods, int64_t wall_ms) {
    const json_t *before = json_object_get(kept, "ended");
    json_t *ended = json_object();
    for (size_t i = 0; i < json_array_size(pods); i++) {
        const struct pod_phase phase = pod_phase_read(json_array_get(pods, i));
        if (phase.stage == POD_PHASE_DEAD || phase.stage == POD_PHASE_SUCCEEDED) {
            json_t *since = json_object_get(before, phase.name);
            json_object_set_new(ended, phase.name,
                                since ? json_incref(since) : json_integer(wall_ms));
        }
    }
    json_object_set_new(kept, "ended", ended);
}

/* Avoids a first plan whose only result, for every job that begins, would be that it needs them. */
static bool needs_credentials(const struct job_ops *ops, const json_t *kept,
                              const struct job_observed *observed) {
    const json_t *object = observed->object;
    return !observed->service && !json_object_get(kept, "credentials") &&
           (!ops->begins || ops->begins(object, observed->options)) &&
           !tree_get(object, "status.credentials") && !conditions_is_finished(object) &&
           !tree_bool(object, "spec.suspend", false);
}

static int ask_plan(const struct job_ops *ops, struct reconcile *request, json_t *kept,
                    struct job_observed *observed, json_t **ret_plan, struct error *err) {
    struct credentials credentials;
    if (needs_credentials(ops, kept, observed) &&
        job_credentials_make(kept, request->object, err) < 0) {
        return -1;
    }
    observed->credentials = job_credentials_read(kept, &credentials) ? &credentials : NULL;
    if (ops->plan(request, observed, ret_plan, err) < 0) {
        return -1;
    }
    if (!tree_get(*ret_plan, "needs")) {
        return 0;
    }
    tree_freep(ret_plan);
    if (job_credentials_make(kept, request->object, err) < 0) {
        return -1;
    }
    job_credentials_read(kept, &credentials);
    observed->credentials = &credentials;
    return ops->plan(request, observed, ret_plan, err);
}

static void trim_all(const struct job_ops *ops, const struct reconcile *request,
                     const json_t *objects) {
    size_t i;
    json_t *object;
    json_array_foreach(objects, i, object) {
        cache_reduce(request->cache, object, ops->transform_ended);
    }
}

int job_reconcile(const struct job_ops *ops, void *opaque, struct reconcile *request,
                  struct error *err) {
    struct state *state = opaque;
    const json_t *object = request->object;
    if (!object || tree_get(object, "metadata.deletionTimestamp")) {
        forget(state, request);
        return 0; /* the cluster deletes the objects that it owns */
    }
    json_t *kept = find_kept(state, request);
    if (tree_bool(object, "status.credentials.created", false)) {
        json_object_del(kept, "credentials"); /* in use */
    }
    AUTO(tree_freep) json_t *services = cache_owned(request->cache, "Service", object);
    AUTO(tree_freep) json_t *pods = cache_owned(request->cache, "Pod", object);
    const json_t *service = json_array_get(services, 0);
    note_ended(kept, pods, request->wall_ms);
    forget_applied(kept, request->monotonic_ms);
    AUTO(tree_freep) json_t *progress = ask_progress(ops, request, service, pods);
    AUTO(tree_freep) json_t *write_failures = write_failures_of(request, kept);
    struct job_observed observed = {.object = object,
                                    .service = service,
                                    .pods = pods,
                                    .progress = progress,
                                    .options = request->options,
                                    .write_failures = write_failures,
                                    .applied = json_object_get(kept, "applied"),
                                    .ended = json_object_get(kept, "ended"),
                                    .dropped = tree_text(kept, "dropped", NULL),
                                    .mounts = json_object_get(kept, "mounts")};
    AUTO(tree_freep) json_t *plan = NULL;
    if (ask_plan(ops, request, kept, &observed, &plan, err) < 0) {
        return -1;
    }
    request->again_ms = tree_integer(plan, "again_ms", 0);
    job_mounts_query(request, kept, pods);
    job_make_all(request, kept, json_object_get(plan, "create"));
    write_all(request, CLUSTER_APPLY, json_object_get(plan, "apply"));
    job_delete_all(request, plan);
    bool with_status = status_write(request, kept, json_object_get(plan, "status"));
    tell_events(request, plan, with_status);
    if (conditions_is_finished(object)) {
        forget(state, request);
        trim_all(ops, request, pods);
        trim_all(ops, request, services);
    }
    return 0;
}
