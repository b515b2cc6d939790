// SPDX-License-Identifier: Apache-2.0
/* asking_refusals.h: how an API server refuses, for test_asking.c: hooks of api_double.h. */
#pragma once

#include "tests/kube/api_double.h"
#include "tests/kube/stepped_clock.h"

#include <string.h>

static int64_t start_ms; /* of the world */

static bool is_creation_of(const struct api_request *request, const char *plural) {
    return strcmp(request->verb, "create") == 0 && strcmp(request->plural, plural) == 0;
}

static bool is_write(const struct api_request *request) {
    return strcmp(request->verb, "create") == 0 || strcmp(request->verb, "update") == 0 ||
           strcmp(request->verb, "patch") == 0 || strcmp(request->verb, "delete") == 0;
}

#define REFUSES_PODS(function, code, reason, message)                                              \
    static bool function(void *context UNUSED, struct api_double *double_ UNUSED,                  \
                         const struct api_request *request) {                                      \
        if (is_creation_of(request, "pods")) {                                                     \
            api_double_refuse(request, code, reason, message);                                     \
            return true;                                                                           \
        }                                                                                          \
        return false;                                                                              \
    }
REFUSES_PODS(quota, 403, "Forbidden",
             "pods is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: "
             "pods=0")
REFUSES_PODS(limit_range, 403, "Forbidden",
             "pods is forbidden: minimum memory usage per Container is 8Gi, but request is 1Gi")
REFUSES_PODS(webhook_denies, 403, "Forbidden", "admission webhook w denied the request: no")
REFUSES_PODS(webhook_fails, 500, "InternalError", "failed calling webhook w: connection refused")
REFUSES_PODS(no_right_to_create, 403, "Forbidden",
             "pods is forbidden: User windlass cannot create resource pods")
REFUSES_PODS(refused_for_ever, 422, "Invalid", "Pod is invalid: spec.x: Invalid value")

static bool webhook_hangs(void *context UNUSED, struct api_double *double_ UNUSED,
                          const struct api_request *request) {
    return is_creation_of(request, "pods");
}

static bool services_refused(void *context UNUSED, struct api_double *double_ UNUSED,
                             const struct api_request *request) {
    if (is_creation_of(request, "services")) {
        api_double_refuse(request, 403, "Forbidden", "services is forbidden: exceeded quota: q");
        return true;
    }
    return false;
}

static bool status_refused(void *context UNUSED, struct api_double *double_ UNUSED,
                           const struct api_request *request) {
    if (strcmp(request->part, "status") == 0) {
        api_double_refuse(request, 403, "Forbidden", "cannot update resource jobs/status");
        return true;
    }
    return false;
}

static bool etcd_is_full(void *context UNUSED, struct api_double *double_ UNUSED,
                         const struct api_request *request) {
    if (is_write(request)) {
        api_double_refuse(request, 500, "", "etcdserver: mvcc: database space exceeded");
        return true;
    }
    return false;
}

static bool too_many_requests(void *context UNUSED, struct api_double *double_ UNUSED,
                              const struct api_request *request) {
    if (stepped_clock_ms() - start_ms > 30000) { /* not while the job begins */
        api_double_refuse(request, 429, "TooManyRequests", "too many requests");
        return true;
    }
    return false;
}

static bool server_is_away(void *context UNUSED, struct api_double *double_ UNUSED,
                           const struct api_request *request) {
    if (stepped_clock_ms() - start_ms > 30000) {
        script_cut(request->http->connection);
        return true;
    }
    return false;
}

static bool no_right_to_watch_pods(void *context UNUSED, struct api_double *double_ UNUSED,
                                   const struct api_request *request) {
    bool is_read = strcmp(request->verb, "list") == 0 || strcmp(request->verb, "watch") == 0;
    if (is_read && strcmp(request->plural, "pods") == 0) {
        api_double_refuse(request, 403, "Forbidden", "cannot list resource pods");
        return true;
    }
    return false;
}

/* Of a JSON patch of a status; NULL: it is none. */
static json_t *status_of(const struct api_request *request) {
    json_t *operation = strcmp(request->part, "status") == 0
                            ? (json_t *)(uintptr_t)tree_find(request->body, "path", "/status")
                            : NULL;
    return json_object_get(operation, "value");
}

static void drop_fields(const struct api_request *request, const char *const *names) {
    for (; *names; names++) {
        json_object_del(status_of(request), *names);
    }
}

/* A definition that lacks fields of the status: what is written there is not stored. */
static bool definition_is_old(void *context UNUSED, struct api_double *double_ UNUSED,
                              const struct api_request *request) {
    static const char *const names[] = {"items", "credentials", "progress", NULL};
    drop_fields(request, names);
    return false;
}

/* The same, of fields without which a job goes on. */
static bool definition_lacks_figures(void *context UNUSED, struct api_double *double_ UNUSED,
                                     const struct api_request *request) {
    static const char *const names[] = {"startTime", "waiting", "observedGeneration",
                                        "images",    "workers", NULL};
    drop_fields(request, names);
    return false;
}

/* 200, and the object as it was: a webhook or a proxy that takes the change out. */
static bool status_is_not_stored(void *context UNUSED, struct api_double *double_ UNUSED,
                                 const struct api_request *request) {
    json_t *status = status_of(request);
    if (status) {
        json_object_clear(status);
    }
    return false;
}

/* Everything that is asked about one kind ends with 500: its storage or its conversion fails. */
#define FAILS_FOR(function, kind)                                                                  \
    static bool function(void *context UNUSED, struct api_double *double_ UNUSED,                  \
                         const struct api_request *request) {                                      \
        if (strcmp(request->plural, kind) == 0) {                                                  \
            api_double_refuse(request, 500, "InternalError", "no such luck");                      \
            return true;                                                                           \
        }                                                                                          \
        return false;                                                                              \
    }
FAILS_FOR(pods_fail, "pods")
FAILS_FOR(services_fail, "services")
FAILS_FOR(secrets_fail, "secrets")
FAILS_FOR(policies_fail, "networkpolicies")
FAILS_FOR(events_fail, "events")
FAILS_FOR(trainings_fail, "disttrains")

/* Nothing is made in a namespace that is being deleted. */
static bool namespace_goes(void *context UNUSED, struct api_double *double_ UNUSED,
                           const struct api_request *request) {
    if (stepped_clock_ms() - start_ms > 30000 && strcmp(request->verb, "create") == 0) {
        api_double_refuse(request, 403, "Forbidden",
                          "unable to create new content in namespace default because it is being "
                          "terminated");
        return true;
    }
    return false;
}

/* The same from the first moment. */
static bool namespace_has_gone(void *context UNUSED, struct api_double *double_ UNUSED,
                               const struct api_request *request) {
    if (strcmp(request->verb, "create") == 0) {
        api_double_refuse(request, 403, "Forbidden",
                          "unable to create new content in namespace default because it is being "
                          "terminated");
        return true;
    }
    return false;
}
