// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/service_selector.h"

#include "operator/control/claim.h"

#include <stdlib.h>
#include <string.h>

void service_selector_release(struct service_selector *selector) {
    free(selector->refused);
    *selector = (struct service_selector){0};
}

/* What the selector is to have, and null for what else it has. NULL: it is right. */
static json_t *find_difference(const json_t *has, json_t *wanted_new) {
    const char *label;
    json_t *value;
    if (has && json_equal(has, wanted_new)) {
        json_decref(wanted_new);
        return NULL;
    }
    json_object_foreach((json_t *)has, label, value) {
        if (!json_object_get(wanted_new, label)) {
            json_object_set_new(wanted_new, label, json_null());
        }
    }
    return wanted_new;
}

/* One port, with the name that we give it, to where the pods listen: where the Service said when
 * they were made, JOB_PORT. On one machine each Service has another port (operator/local/). */
static bool is_port_right(const json_t *service) {
    const json_t *ports = tree_get(service, "spec.ports"), *port = json_array_get(ports, 0);
    bool is_local = strcmp(tree_text(service, "spec.clusterIP", ""), "127.0.0.1") == 0;
    int64_t number = tree_integer(port, "port", -1);
    return !port ||
           (json_array_size(ports) == 1 && strcmp(tree_text(port, "name", ""), "work") == 0 &&
            strcmp(tree_text(port, "protocol", "TCP"), "TCP") == 0 &&
            (number == JOB_PORT || is_local) && number == tree_integer(port, "targetPort", -2));
}

/* The members of its spec that are to be changed, as for a merge patch; owned. NULL: it is right.
 * ret_what: the first of them. */
static json_t *find_wrong(const json_t *service, const char *job, const struct owned_hub *hub,
                          const char **ret_what) {
    json_t *spec = json_object();
    json_t *selector =
        find_difference(tree_get(service, "spec.selector"), owned_selector(job, hub));
    const char *type = tree_text(service, "spec.type", "ClusterIP"); /* (the cache keeps others) */
    bool has_type = strcmp(type, "ClusterIP") == 0, has_port = is_port_right(service);
    *ret_what = selector ? "selector" : has_type ? "ports" : "type";
    if (selector) {
        json_object_set_new(spec, "selector", selector);
    }
    if (!has_type) {
        /* Without the members that the API server refuses beside that type. */
        json_object_update_new(spec, json_pack("{s:s, s:n, s:n}", "type", "ClusterIP",
                                               "externalName", "loadBalancerSourceRanges"));
    }
    if (!has_type || !has_port) { /* without the ports of nodes */
        json_object_set_new(spec, "ports", owned_service_ports());
    }
    if (json_object_size(spec) == 0) {
        json_decref(spec);
        return NULL;
    }
    return spec;
}

static void report(struct reconcile *request, const json_t *service, const char *what) {
    const char *name = tree_text(service, "metadata.name", "");
    AUTO(text_freep)
    char *note = x_printf("somebody changed the %s of Service %.80s, by which the job's pods find "
                          "each other; it is put right",
                          what, name);
    struct reconcile_event event = {
        .type = "Warning", .reason = "ServiceChanged", .note = note, .after = name};
    event_recorder_add(request, &event);
}

static void report_refused(struct reconcile *request, const json_t *service, const char *what,
                           const char *refused) {
    const char *name = tree_text(service, "metadata.name", "");
    AUTO(text_freep)
    char *note = x_printf("somebody changed the %s of Service %.80s, by which the job's pods find "
                          "each other, and it cannot be put right: %.400s",
                          what, name, refused);
    struct reconcile_event event = {
        .type = "Warning", .reason = "ServiceRefused", .note = note, .after = name};
    event_recorder_add(request, &event);
}

void service_selector_settle(struct reconcile *request, struct service_selector *selector,
                             const struct owned_hub *hub, const json_t *service) {
    if (!service || tree_get(service, "metadata.deletionTimestamp")) {
        return;
    }
    const char *job = tree_text(request->object, "metadata.name", "");
    const char *what = NULL;
    AUTO(tree_freep) json_t *wanted = find_wrong(service, job, hub, &what);
    AUTO(text_freep) char *refused = TAKE(selector->refused);
    if (!wanted) {
        return;
    }
    if (refused) {
        report_refused(request, service, what, refused);
    }
    if (request->monotonic_ms - selector->changed_ms >= SERVICE_SELECTOR_FORGET_MS) {
        selector->delay = (struct retry_delay){0};
    }
    selector->changed_ms = request->monotonic_ms;
    /* As what failed once: a change that is undone again and again has succeeded each time, and
     * must not let other jobs, which may wait for the same, go before their time. */
    if (selector->delay.failures > 0 &&
        !reconcile_may_retry(request, selector->delay.not_before_ms, /* failures= */ 1)) {
        return;
    }
    retry_delay_note(&selector->delay);
    AUTO(tree_freep) json_t *spec = json_pack("{s:O}", "spec", wanted);
    reconcile_write(request, CLUSTER_MERGE, claim_correction(service, spec));
    report(request, service, what);
}

void service_selector_note(struct service_selector *selector, const struct written *written) {
    const struct error *err = written->err;
    if (written->verb != CLUSTER_MERGE || !tree_get(written->object, "spec") ||
        strcmp(tree_text(written->object, "kind", ""), "Service") != 0) {
        return;
    }
    free(TAKE(selector->refused));
    if (err && (err->kind == ERROR_DENIED || err->kind == ERROR_INVALID ||
                err->kind == ERROR_UNSUPPORTED)) {
        selector->refused = x_strdup(err->text);
    }
}
