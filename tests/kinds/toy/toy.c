// SPDX-License-Identifier: Apache-2.0
/* A kind that makes one pod, NAME-toy, and ends with it. */
#include "tests/kinds/toy/toy.h"

#include "operator/kinds/job/conditions.h"
#include "operator/kinds/job/pod_phase.h"

#include <string.h>

EMBED_TEXT(toy_crd, "tests/kinds/toy/toy.yaml");

static int check(const json_t *object, struct error *err) {
    return strcmp(tree_text(object, "spec.text", ""), "nothing") == 0
               ? error_set(err, ERROR_INVALID, "spec.text: must not be \"nothing\"")
               : 0;
}

/* "echo" gets the text as an argument, and no shell reads it. */
static json_t *make_pod(const json_t *object) {
    AUTO(text_freep) char *name = x_printf("%s-toy", tree_text(object, "metadata.name", ""));
    return json_pack("{s:s, s:s, s:o, s:{s:s, s:[{s:s, s:s, s:[s, s]}]}}", "apiVersion", "v1",
                     "kind", "Pod", "metadata", owned_metadata(object, name, "toy"), "spec",
                     "restartPolicy", "Never", "containers", "name", "agent", "image",
                     tree_text(object, "spec.image", ""), "command", "echo",
                     tree_text(object, "spec.text", ""));
}

static int pods(const json_t *object, const struct endpoint *endpoint UNUSED,
                const struct schema *made UNUSED, json_t **ret_pods, struct error *err UNUSED) {
    *ret_pods = json_pack("[o]", make_pod(object));
    return 0;
}

static void say(const json_t *pod, struct conditions *conditions) {
    struct pod_phase phase = {.stage = POD_PHASE_WAITING};
    if (pod) {
        phase = pod_phase_read(pod);
    }
    conditions->pods_requested = pod != NULL;
    if (phase.stage == POD_PHASE_SUCCEEDED) {
        conditions_set(conditions, CONDITIONS_SUCCEEDED, "Completed", "the text is printed");
    } else if (phase.stage == POD_PHASE_DEAD) {
        conditions_set(conditions, CONDITIONS_FAILED, "ToyBroken", "the pod failed");
    } else {
        conditions_set(conditions, CONDITIONS_UNDER_WAY,
                       phase.stage == POD_PHASE_RUNNING ? "Running" : "Pending", "one pod");
    }
}

static int reconcile(void *state UNUSED, struct reconcile *request, struct error *err UNUSED) {
    const json_t *object = request->object;
    if (!object || conditions_is_finished(object)) {
        return 0;
    }
    struct conditions conditions = {0};
    AUTO(tree_freep) json_t *all = cache_owned(request->cache, "Pod", object);
    const json_t *pod = json_array_get(all, 0);
    say(pod, &conditions);
    json_t *status = conditions_status(object, NULL, &conditions, request->wall_ms);
    bool is_over = conditions.state != CONDITIONS_UNDER_WAY;
    json_object_set_new(status, "progress", json_string(is_over ? "1/1" : "0/1"));
    if (!pod) {
        reconcile_write(request, CLUSTER_CREATE, make_pod(object));
    }
    if (json_equal(status, json_object_get(object, "status"))) {
        json_decref(status);
        return 0;
    }
    json_t *changed = json_copy((json_t *)object);
    json_object_set_new(changed, "status", status);
    reconcile_write(request, CLUSTER_STATUS, changed);
    return 0;
}

static const struct owned_kind owned[] = {{"v1", "Pod"}, {NULL, NULL}};

static const struct kind toy_kind = {
    .api_version = "windlass.dev/v1alpha1",
    .name = "Toy",
    .may_be_absent = true,
    .owned = owned,
    .reconcile = reconcile,
};

static const char *unit(const json_t *object UNUSED) {
    return "texts";
}

static int64_t fit(json_t *spec UNUSED, int64_t asked UNUSED, int processors UNUSED) {
    return 1;
}

const struct kind_row toy_row = {
    .loop = &toy_kind,
    .crd = toy_crd,
    .pods_about = "its pod",
    .check = check,
    .pods = pods,
    .unit = unit,
    .local = {.about = "prints its text.",
              .workers_about = "always one",
              .within = "spec",
              .fit = fit},
};
