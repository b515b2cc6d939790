// SPDX-License-Identifier: Apache-2.0
/* asking_refusals.h: how an API server refuses, for test_asking.c: hooks of api_double.h. */
#pragma once

#include "tests/unit/operator/asking_world.h"

#include <string.h>

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

static bool secrets_refused(void *context UNUSED, struct api_double *double_ UNUSED,
                            const struct api_request *request) {
    if (is_creation_of(request, "secrets")) {
        api_double_refuse(request, 403, "Forbidden", "secrets is forbidden: exceeded quota: q");
        return true;
    }
    return false;
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

/* A definition without the subresource. */
static bool status_is_not_found(void *context UNUSED, struct api_double *double_ UNUSED,
                                const struct api_request *request) {
    if (strcmp(request->part, "status") == 0) {
        api_double_refuse(request, 404, "NotFound", "the server could not find the resource");
        return true;
    }
    return false;
}

static bool pods_unchangeable(void *context UNUSED, struct api_double *double_ UNUSED,
                              const struct api_request *request) {
    if (strcmp(request->verb, "patch") == 0 && strcmp(request->plural, "pods") == 0) {
        api_double_refuse(request, 403, "Forbidden", "admission webhook w denied the request: no");
        return true;
    }
    return false;
}

/* Nothing of what a job owns may be deleted. */
static bool undeletable(void *context UNUSED, struct api_double *double_ UNUSED,
                        const struct api_request *request) {
    if (strcmp(request->verb, "delete") == 0) {
        api_double_refuse(request, 403, "Forbidden", "admission webhook w denied the request: no");
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
