// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/guard/network_policy.h"

#include "operator/cluster.h"

#include <stdlib.h>

enum { TRIES_MAX = 3 }; /* of a server that fails; what it forbids is not tried again */

/* A label that each namespace has, since Kubernetes 1.21. */
#define LABEL_NAMESPACE "kubernetes.io/metadata.name"

/* Jobs of two kinds may have one name: the roles distinguish them. Only labels that a template
 * cannot change. */
static json_t *own_pods(const struct owned_hub *hub, const json_t *metadata) {
    const json_t *labels = json_object_get(metadata, "labels");
    return json_pack("{s:{s:O}, s:[{s:s, s:s, s:[s, s*]}]}", "matchLabels", LABEL_JOB,
                     json_object_get(labels, LABEL_JOB), "matchExpressions", "key", LABEL_ROLE,
                     "operator", "In", "values", hub->role, hub->others);
}

static json_t *namespace_of(const char *name) {
    return json_pack("{s:{s:s}}", "matchLabels", LABEL_NAMESPACE, name);
}

static json_t *hub_rule(const struct owned_hub *hub, const json_t *metadata, int64_t port,
                        const struct network_policy_options *options) {
    json_t *from = json_array();
    if (!hub->index) { /* else a rule of its own */
        json_array_append_new(from, json_pack("{s:o}", "podSelector", own_pods(hub, metadata)));
    }
    if (options->controller_namespace) {
        json_array_append_new(from,
                              json_pack("{s:o, s:{s:{s:s}}}", "namespaceSelector",
                                        namespace_of(options->controller_namespace), "podSelector",
                                        "matchLabels", LABEL_ROLE, ROLE_CONTROLLER));
    }
    json_array_append_new(from,
                          json_pack("{s:o}", "namespaceSelector", namespace_of("kube-system")));
    return json_pack("{s:[{s:s, s:I}], s:o}", "ports", "protocol", "TCP", "port", (json_int_t)port,
                     "from", from);
}

json_t *network_policy_make(const json_t *object, const struct owned_hub *hub,
                            const json_t *service, const char *name,
                            const struct network_policy_options *options) {
    json_t *metadata = owned_metadata(object, name, hub->role), *ingress = json_array();
    json_object_set_new(metadata, "ownerReferences", owned_by_service(service));
    /* Pods listen where the Service says. */
    int64_t port = tree_integer(service, "spec.ports[0].port", JOB_PORT);
    json_array_append_new(ingress, hub_rule(hub, metadata, port, options));
    if (hub->index) { /* a gang */
        json_array_append_new(
            ingress, json_pack("{s:[{s:o}]}", "from", "podSelector", own_pods(hub, metadata)));
    }
    if (json_array_size(options->peers) > 0) { /* an empty list would be everybody */
        json_array_append_new(ingress, json_pack("{s:O}", "from", options->peers));
    }
    json_t *spec = json_pack("{s:o, s:[s], s:o}", "podSelector", own_pods(hub, metadata),
                             "policyTypes", "Ingress", "ingress", ingress);
    return json_pack("{s:s, s:s, s:o, s:o}", "apiVersion", "networking.k8s.io/v1", "kind",
                     "NetworkPolicy", "metadata", metadata, "spec", spec);
}

void network_policy_note(struct credentials *credentials, const struct error *err) {
    credentials->policy_tries++;
    credentials->has_policy = !err || err->kind == ERROR_CONFLICT; /* of an answer that was lost */
    if (credentials->has_policy) {
        return;
    }
    bool is_final = err->kind == ERROR_DENIED || err->kind == ERROR_INVALID ||
                    err->kind == ERROR_NOT_FOUND || err->kind == ERROR_UNSUPPORTED;
    if (is_final || credentials->policy_tries >= TRIES_MAX) {
        free((char *)credentials->policy_refused);
        credentials->policy_refused = x_strdup(err->text);
    }
}

bool network_policy_is_settled(const struct credentials *credentials) {
    return credentials->has_policy || credentials->policy_refused;
}
