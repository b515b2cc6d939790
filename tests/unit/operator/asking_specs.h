// SPDX-License-Identifier: Apache-2.0
/* asking_specs.h: who changes specs, and deletes objects, all the time, for test_asking.c: what
 * somebody does each second. */
#pragma once

#include "tests/unit/operator/asking_changes.h"

/* An autoscaler that does not make up its mind. */
static bool scale(json_t *job, int second) {
    json_t *workers = json_deep_copy(tree_get(job, "spec.workers"));
    json_object_set_new(workers, "max", json_integer(2 + second % 3));
    set_in_spec(job, "workers", workers);
    return true;
}

static void scale_each_second(int second) {
    change_all("batchscores", second, scale);
}

/* What may not change. */
static bool change_spec(json_t *job, int second) {
    if (tree_get(job, "spec.trial")) {
        set_in_spec(job, "maxTrials", json_integer(3 + second % 3));
    } else {
        set_in_spec(job, "miniBatchSize", json_integer(2 + second % 3));
    }
    return true;
}

static void change_specs(int second) {
    change_all("batchscores", second, change_spec);
    change_all("sweeps", second, change_spec);
}

/* What may change while the job is suspended, which it is from the 20th second on. */
static bool change_suspended(json_t *job, int second) {
    if (second < 20) {
        return false;
    }
    json_t *spec = json_object_get(job, "spec");
    json_object_set_new(spec, "suspend", json_true());
    AUTO(text_freep) char *class = x_printf("class-%d", second);
    set_in_spec(job, "priorityClassName", json_string(class));
    return true;
}

static void change_while_suspended(int second) {
    change_all("batchscores", second, change_suspended);
}

/* What a Service owns goes with it. */
static void delete_services(int second UNUSED) {
    delete_every("services");
    delete_every("secrets");
    delete_every("networkpolicies");
}

static void delete_trials(int second UNUSED) {
    delete_every("disttrains");
}

static bool keep_service(json_t *service, int second UNUSED) {
    return json_object_update_new(json_object_get(service, "metadata"),
                                  json_pack("{s:s, s:[s]}", "deletionTimestamp",
                                            "2026-11-23T00:01:00Z", "finalizers",
                                            "service.kubernetes.io/load-balancer-cleanup")) == 0;
}

/* Deleted, and held by the finalizer of somebody. */
static void keep_services(int second) {
    if (second == 20) {
        change_all("services", second, keep_service);
    }
}

/* Pods that are deleted and do not go: their node is lost, or a finalizer holds them. */
static void keep_pods(int second) {
    const char *name;
    json_t *pod;
    void *next;
    if (second == 20) {
        json_object_foreach_safe(api_double_all(api, "pods"), next, name, pod) {
            json_t *copy = json_deep_copy(pod);
            json_object_update_new(json_object_get(copy, "metadata"),
                                   json_pack("{s:s, s:[s]}", "deletionTimestamp",
                                             "2026-11-23T00:01:00Z", "finalizers", "a.example/b"));
            api_double_put(api, "pods", copy);
        }
    }
}

static bool add_owner(json_t *pod, int second) {
    json_t *owners = tree_get(pod, "metadata.ownerReferences");
    if (second % 2 == 0) {
        json_array_append_new(owners, json_pack("{s:s, s:s, s:s, s:s}", "apiVersion", "v1", "kind",
                                                "ConfigMap", "name", "c", "uid", "other"));
    } else if (json_array_size(owners) > 1) {
        json_array_remove(owners, 1);
    }
    return owners != NULL;
}

/* Another owner beside ours comes and goes. */
static void share_pods(int second) {
    change_all("pods", second, add_owner);
}
