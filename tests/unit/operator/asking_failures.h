// SPDX-License-Identifier: Apache-2.0
/* asking_failures.h: how an API server fails, for test_asking.c: hooks of api_double.h. */
#pragma once

#include "tests/unit/operator/asking_refusals.h"

/* Of a JSON patch of a status; NULL: it is not one. */
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

/* An API server that has started, and has not read the definitions yet. */
static bool trainings_are_missing(void *context UNUSED, struct api_double *double_ UNUSED,
                                  const struct api_request *request) {
    int64_t at_ms = stepped_clock_ms() - start_ms;
    if (strcmp(request->plural, "disttrains") == 0 && at_ms > 130000 && at_ms < 140000) {
        api_double_refuse(request, 404, "NotFound", "page not found");
        return true;
    }
    return false;
}

/* A mutating webhook takes something of ours off what is created. */
#define TAKES_OFF(function, kind, member)                                                          \
    static bool function(void *context UNUSED, struct api_double *double_ UNUSED,                  \
                         const struct api_request *request) {                                      \
        if (is_creation_of(request, kind)) {                                                       \
            json_object_del(json_object_get(request->body, "metadata"), member);                   \
        }                                                                                          \
        return false;                                                                              \
    }
TAKES_OFF(pods_lose_labels, "pods", "labels")
TAKES_OFF(pods_lose_annotations, "pods", "annotations")
TAKES_OFF(pods_lose_owners, "pods", "ownerReferences")
/* Another controller among the owners in place of ours. */
static bool pods_change_owners(void *context UNUSED, struct api_double *double_ UNUSED,
                               const struct api_request *request) {
    if (is_creation_of(request, "pods")) {
        json_object_set_new(json_object_get(request->body, "metadata"), "ownerReferences",
                            json_pack("[{s:s, s:s, s:s, s:s, s:b}]", "apiVersion", "a.example/v1",
                                      "kind", "Other", "name", "o", "uid", "u", "controller", 1));
    }
    return false;
}
TAKES_OFF(services_lose_labels, "services", "labels")
TAKES_OFF(trainings_lose_labels, "disttrains", "labels")
TAKES_OFF(trainings_lose_annotations, "disttrains", "annotations")

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
