// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/owned.h"

#include "lib/digest.h"
#include "operator/cluster.h"
#include "operator/control/claim.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

const char *owned_annotation(const json_t *object, const char *name) {
    return json_string_value(json_object_get(tree_get(object, "metadata.annotations"), name));
}

const char *owned_label(const json_t *object, const char *name) {
    return json_string_value(json_object_get(tree_get(object, "metadata.labels"), name));
}

void owned_queue_pod(json_t *pod, const char *queue) {
    json_t *labels = tree_ensure_object(json_object_get(pod, "metadata"), "labels");
    json_object_set_new(labels, LABEL_KUEUE_QUEUE, json_string(queue));
    json_object_set_new(json_object_get(pod, "spec"), "schedulingGates",
                        json_pack("[{s:s}]", "name", KUEUE_GATE));
}

const char *owned_read_token(const json_t *service) {
    enum { DIGITS_MAX = 128 };
    const char *token = owned_annotation(service, ANNOTATION_READ_TOKEN);
    size_t digits = token ? strspn(token, "0123456789abcdef") : 0;
    return digits > 0 && digits <= DIGITS_MAX && !token[digits] ? token : NULL;
}

static bool has_annotation(const json_t *object, const char *name, const char *text) {
    const char *value = owned_annotation(object, name);
    return !text || (value && strcmp(value, text) == 0);
}

bool owned_is_service_of(const json_t *service, const char *secret, const char *sha256) {
    return has_annotation(service, ANNOTATION_SECRET, secret) &&
           has_annotation(service, ANNOTATION_CERTIFICATE_SHA256, sha256);
}

bool owned_endpoint_read(const json_t *service, struct endpoint *ret_endpoint) {
    const json_t *annotations = tree_get(service, "metadata.annotations");
    struct endpoint endpoint = {
        .address = tree_text(service, "spec.clusterIP", ""),
        .port = tree_integer(service, "spec.ports[0].port", 0),
        .certificate_sha256 =
            json_string_value(json_object_get(annotations, ANNOTATION_CERTIFICATE_SHA256)),
        .secret = json_string_value(json_object_get(annotations, ANNOTATION_SECRET)),
        .read_token = owned_read_token(service),
    };
    if (!*endpoint.address || endpoint.port < 1 || !endpoint.certificate_sha256 ||
        !endpoint.secret) {
        return false;
    }
    *ret_endpoint = endpoint;
    return true;
}

char *owned_prefix(const char *job, int max) {
    enum { DIGITS = 6 };
    char hex[65];
    if (strlen(job) <= (size_t)max) {
        return x_strdup(job);
    }
    digest_sha256(job, strlen(job), hex);
    return x_printf("%.*s%.*s", max - DIGITS, job, DIGITS, hex);
}

char *owned_next_name(const char *name, int tried) {
    return tried > 0 ? x_printf("%s-%c", name, 'a' + tried) : x_strdup(name);
}

static char *pod_name(const char *job, const char *part, const char *index, const char *attempt) {
    AUTO(text_freep) char *prefix = owned_prefix(job, OWNED_PREFIX_MAX);
    bool is_first = index && strcmp(attempt, "1") == 0;
    return x_printf("%s%s%s%s%s%s%s", prefix, part ? "-" : "", part ? part : "", index ? "-" : "",
                    index ? index : "", is_first ? "" : "-", is_first ? "" : attempt);
}

char *owned_pod_name(const char *job, const char *part, const char *index, int attempt) {
    char text[16];
    snprintf(text, sizeof text, "%d", attempt);
    return pod_name(job, part, index, text);
}

bool owned_is_misplaced(const json_t *pod, const char *job, const char *bare_role) {
    const char *role = owned_label(pod, LABEL_ROLE), *attempt = owned_label(pod, LABEL_ATTEMPT);
    if (!role || !attempt) {
        return attempt != NULL; /* without it nothing is known */
    }
    const char *part = bare_role && strcmp(role, bare_role) == 0 ? NULL : role;
    AUTO(text_freep) char *name = pod_name(job, part, owned_label(pod, LABEL_INDEX), attempt);
    return strcmp(tree_text(pod, "metadata.name", ""), name) != 0;
}

/* "BatchScore" -> "batchscore"; owned by the caller. */
static char *application(const json_t *object) {
    char *name = x_strdup(tree_text(object, "kind", ""));
    for (char *at = name; *at; at++) {
        *at = (char)tolower((unsigned char)*at);
    }
    return name;
}

static json_t *labels(const json_t *object, const char *job, const char *role) {
    AUTO(text_freep) char *name = application(object);
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", LABEL_JOB, job, LABEL_ROLE, role,
                     "app.kubernetes.io/name", name, "app.kubernetes.io/instance", job,
                     "app.kubernetes.io/component", role, "app.kubernetes.io/managed-by",
                     "windlass");
}

/* Objects are deleted with the resource that owns them. A resource without a uid is not stored yet.
 */
json_t *owned_metadata(const json_t *object, const char *name, const char *role) {
    const char *job = tree_text(object, "metadata.name", "");
    json_t *made = json_pack("{s:s, s:s, s:o}", "name", name, "namespace",
                             tree_text(object, "metadata.namespace", "default"), "labels",
                             labels(object, job, role));
    const char *uid = tree_text(object, "metadata.uid", NULL);
    if (uid) {
        json_object_set_new(made, "ownerReferences",
                            json_pack("[o]", claim_owner_reference(object)));
    }
    return made;
}

json_t *owned_selector(const char *job, const struct owned_hub *hub) {
    return json_pack("{s:s, s:s, s:s*}", LABEL_JOB, job, LABEL_ROLE, hub->role, LABEL_INDEX,
                     hub->index);
}

json_t *owned_service_ports(void) {
    return json_pack("[{s:s, s:s, s:i, s:i}]", "name", "work", "protocol", "TCP", "port", JOB_PORT,
                     "targetPort", JOB_PORT);
}

json_t *owned_service(const json_t *object, const struct owned_hub *hub,
                      const struct credentials *credentials, const char *begun) {
    const char *job = tree_text(object, "metadata.name", "");
    AUTO(text_freep) char *prefix = owned_prefix(job, OWNED_PREFIX_MAX);
    AUTO(text_freep) char *name = x_printf("%s-%s", prefix, hub->suffix);
    json_t *service =
        json_pack("{s:s, s:s, s:o, s:{s:s, s:o, s:o}}", "apiVersion", "v1", "kind", "Service",
                  "metadata", owned_metadata(object, name, hub->role), "spec", "type", "ClusterIP",
                  "selector", owned_selector(job, hub), "ports", owned_service_ports());
    json_object_set_new(json_object_get(service, "metadata"), "annotations",
                        json_pack("{s:s, s:s, s:s, s:s*, s:s}", ANNOTATION_CERTIFICATE,
                                  credentials->certificate, ANNOTATION_CERTIFICATE_SHA256,
                                  credentials->certificate_sha256, ANNOTATION_SECRET,
                                  credentials->secret, ANNOTATION_READ_TOKEN,
                                  credentials->read_token, ANNOTATION_SPEC_SNAPSHOT, begun));
    return service;
}

json_t *owned_by_service(const json_t *service) {
    return json_pack("[{s:s, s:s, s:s, s:s}]", "apiVersion", "v1", "kind", "Service", "name",
                     tree_text(service, "metadata.name", ""), "uid",
                     tree_text(service, "metadata.uid", ""));
}

json_t *owned_secret(const json_t *object, const struct owned_hub *hub, const json_t *service,
                     const struct credentials *credentials) {
    json_t *metadata = owned_metadata(object, credentials->secret, hub->role);
    json_object_set_new(metadata, "ownerReferences", owned_by_service(service));
    return json_pack("{s:s, s:s, s:o, s:s, s:b, s:{s:s, s:s, s:s}}", "apiVersion", "v1", "kind",
                     "Secret", "metadata", metadata, "type", "Opaque", "immutable", true,
                     "stringData", SECRET_TOKEN, credentials->token, SECRET_CERTIFICATE,
                     credentials->certificate, SECRET_KEY, credentials->key);
}

bool owned_is_stripped(const json_t *object, const char *maker, const char *found_by) {
    const json_t *owner = tree_get(object, "metadata.ownerReferences[0]");
    const char *label = owned_label(object, LABEL_JOB);
    bool is_seen = tree_integer(object, "status.observedGeneration", -1) >= 0; /* -1: the default */
    if (!maker || strcmp(tree_text(owner, "kind", ""), maker) != 0 || is_seen) {
        return false; /* it has begun, or was looked at when it had its labels */
    }
    return !label || strcmp(label, tree_text(owner, "name", "")) != 0 ||
           (found_by && !owned_annotation(object, found_by));
}
