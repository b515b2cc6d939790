// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/guard/job_policy.h"

#include "lib/text/text_list.h"
#include "operator/manifest.h"

#include <string.h>
#include <strings.h>

/* What a field must be that a part of the policy is about; each may be absent. */
enum want {
    WANT_ABSENT,
    WANT_FALSE,     /* or 0: both are what Kubernetes takes for absent */
    WANT_NO_TEXT,   /* "", which it takes for absent, too */
    WANT_EMPTY,     /* a list */
    WANT_CONFINED,  /* anything but Unconfined and Unmasked */
    WANT_CONTAINER, /* a type of SELinux that containers have by default, or "" */
    WANT_KEPT,      /* not null, which takes out what Windlass sets */
    WANT_NOTES,     /* annotations, of which none takes seccomp or AppArmor away */
    WANT_LISTED,    /* a name on the policy's list */
    WANT_ACCOUNT,   /* or the namespace's default account, which "" stands for */
    WANT_NO_NODE,   /* an identity, but not the node's */
};

struct row {
    const char *part; /* of the policy */
    enum want want;
    const char *path; /* name[]: each of a list; *: each field; ~name: whatever its case */
};

/* Of the spec of a BatchScore or DistTrain. */
static const struct row spec_rows[] = {
    {"hostPath", WANT_ABSENT, "volumes[].hostPath"},
    {"images", WANT_LISTED, "image"},
    {"images", WANT_LISTED, "scorer.command.image"},
    {"images", WANT_LISTED, "scorer.endpoint.server.image"},
    {"serviceAccounts", WANT_ACCOUNT, "serviceAccountName"},
    {"nodeIdentity", WANT_NO_NODE, "buckets[].identity"},
    {"secrets", WANT_LISTED, "volumes[].blobfuse.secretName"},
    {"secrets", WANT_LISTED, "volumes[].azureFile.secretName"},
    {"secrets", WANT_LISTED, "stores[].secretName"},
    {"secrets", WANT_LISTED, "buckets[].secretName"},
    {"secrets", WANT_LISTED, "secrets[].secretName"},
    {"secrets", WANT_LISTED, "signingKey.secretName"},
    {"secrets", WANT_LISTED, "input.table.query.connection.secretName"},
    {"secrets", WANT_LISTED, "scorer.endpoint.key.secretName"},
    {"secrets", WANT_LISTED, "scorer.endpoint.clientCertificate.secretName"},
    {"secrets", WANT_LISTED, "imagePullSecrets[].name"},
};

/* Of a template. */
static const struct row template_rows[] = {
    {"privileged", WANT_NOTES, "metadata.annotations"},
};

/* Of a pod's spec, as a template has it. */
static const struct row pod_rows[] = {
    {"hostPath", WANT_ABSENT, "volumes[].hostPath"},
    {"hostPath", WANT_ABSENT, "volumes[].flexVolume"}, /* a program on the node, of any kind */
    {"hostPath", WANT_ABSENT, "volumes[].gitRepo"}, /* git on the node, as root: CVE-2024-10220 */
    {"hostNamespaces", WANT_FALSE, "hostNetwork"},
    {"hostNamespaces", WANT_FALSE, "hostPID"},
    {"hostNamespaces", WANT_FALSE, "hostIPC"},
    {"privileged", WANT_FALSE, "securityContext.windowsOptions.hostProcess"},
    {"privileged", WANT_KEPT, "securityContext"}, /* without seccompProfile it is Unconfined */
    {"privileged", WANT_KEPT, "securityContext.seccompProfile"},
    {"privileged", WANT_CONFINED, "securityContext.seccompProfile.type"},
    {"privileged", WANT_CONFINED, "securityContext.appArmorProfile.type"},
    {"privileged", WANT_CONTAINER, "securityContext.seLinuxOptions.type"},
    {"privileged", WANT_NO_TEXT, "securityContext.seLinuxOptions.user"},
    {"privileged", WANT_NO_TEXT, "securityContext.seLinuxOptions.role"},
    {"serviceAccounts", WANT_ACCOUNT, "serviceAccountName"},
    {"serviceAccounts", WANT_ACCOUNT, "serviceAccount"}, /* its older name, still taken */
    {"images", WANT_LISTED, "volumes[].image.reference"},
    {"secrets", WANT_LISTED, "imagePullSecrets[].name"},
    {"secrets", WANT_LISTED, "volumes[].secret.secretName"},
    {"secrets", WANT_LISTED, "volumes[].projected.sources[].secret.name"},
    {"secrets", WANT_LISTED, "volumes[].csi.nodePublishSecretRef.name"},
    {"secrets", WANT_LISTED, "volumes[].csi.volumeAttributes.~secretName"}, /* as drivers read it */
    {"secrets", WANT_LISTED, "volumes[].azureFile.secretName"},
    {"secrets", WANT_LISTED, "volumes[].*.secretRef.name"}, /* cephfs, iscsi, rbd and others */
};

/* Of a container. */
static const struct row container_rows[] = {
    {"hostNamespaces", WANT_FALSE, "ports[].hostPort"},
    /* The kubelet asks, in the node's network: what only nodes reach, such as metadata services. */
    {"hostNamespaces", WANT_NO_TEXT, "*.httpGet.host"}, /* of probes */
    {"hostNamespaces", WANT_NO_TEXT, "*.tcpSocket.host"},
    {"hostNamespaces", WANT_NO_TEXT, "lifecycle.*.httpGet.host"},
    {"hostNamespaces", WANT_NO_TEXT, "lifecycle.*.tcpSocket.host"},
    {"privileged", WANT_FALSE, "securityContext.privileged"},
    {"privileged", WANT_EMPTY, "securityContext.capabilities.add"},
    {"privileged", WANT_CONFINED, "securityContext.procMount"},
    {"privileged", WANT_FALSE, "securityContext.windowsOptions.hostProcess"},
    {"privileged", WANT_CONFINED, "securityContext.seccompProfile.type"},
    {"privileged", WANT_CONFINED, "securityContext.appArmorProfile.type"},
    {"privileged", WANT_CONTAINER, "securityContext.seLinuxOptions.type"},
    {"privileged", WANT_NO_TEXT, "securityContext.seLinuxOptions.user"},
    {"privileged", WANT_NO_TEXT, "securityContext.seLinuxOptions.role"},
    {"images", WANT_LISTED, "image"},
    {"secrets", WANT_LISTED, "envFrom[].secretRef.name"},
    {"secrets", WANT_LISTED, "env[].valueFrom.secretKeyRef.name"},
};

/* Those of Kubernetes' Pod Security Standards. */
static const char *const container_types[] = {"container_t", "container_init_t", "container_kvm_t",
                                              "container_engine_t", NULL};

static const char *const switches[] = {"hostPath", "hostNamespaces", "privileged", "nodeIdentity",
                                       NULL};
static const char *const name_lists[] = {"images", "serviceAccounts", "secrets", NULL};

/* ---- the policy itself ---- */

static int check_names(const char *part, const json_t *list, struct error *err) {
    if (!json_is_array(list)) {
        return error_set(err, ERROR_INVALID, "--job-policy: %s: expected a list of names", part);
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        const char *star = name ? strchr(name, '*') : NULL;
        if (!name || !*name || (star && star[1])) {
            return error_set(err, ERROR_INVALID,
                             "--job-policy: %s[%zu]: expected a name, or a prefix followed by *",
                             part, i);
        }
        /* registry.example* would allow registry.example.somebody.else/x. */
        if (star && strcmp(part, "images") == 0 && !strchr(name, '/')) {
            return error_set(err, ERROR_INVALID,
                             "--job-policy: images[%zu]: %.100s allows registries of others, too; "
                             "expected a / before *",
                             i, name);
        }
    }
    return 0;
}

static int check_policy(const json_t *policy, struct error *err) {
    const char *part;
    json_t *value;
    if (!json_is_object(policy)) {
        return error_set(err, ERROR_INVALID, "--job-policy: expected fields, as {hostPath: false}");
    }
    json_object_foreach((json_t *)policy, part, value) {
        if (text_list_has(switches, part)) {
            if (!json_is_boolean(value)) {
                return error_set(err, ERROR_INVALID, "--job-policy: %s: expected true or false",
                                 part);
            }
        } else if (!text_list_has(name_lists, part)) {
            return error_set(err, ERROR_INVALID,
                             "--job-policy: %.60s: is unknown, expected hostPath, hostNamespaces, "
                             "privileged, nodeIdentity, images, serviceAccounts or secrets",
                             part);
        } else if (check_names(part, value, err) < 0) {
            return -1;
        }
    }
    return 0;
}

int job_policy_read(const char *given, json_t **ret_policy, struct error *err) {
    AUTO(manifest_freep) struct manifest *manifest = NULL;
    int result = *given == '{'
                     ? manifest_parse("--job-policy", given, strlen(given), &manifest, err)
                     : manifest_load(given, &manifest, err);
    if (result < 0) {
        return -1;
    }
    if (manifest->count != 1) {
        return error_set(err, ERROR_INVALID, "--job-policy: %s: expected one policy",
                         manifest->name);
    }
    if (check_policy(manifest->documents[0].tree, err) < 0) {
        return -1;
    }
    *ret_policy = json_incref(manifest->documents[0].tree);
    return 0;
}

/* ---- a field ---- */

struct check {
    const json_t *part; /* of the policy: true or false, or a list */
    const struct row *row;
};

static bool is_listed(const json_t *list, const char *name) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *entry = json_string_value(json_array_get(list, i));
        size_t length = strcspn(entry, "*");
        if (strncmp(entry, name, length) == 0 && (entry[length] == '*' || !name[length])) {
            return true;
        }
    }
    return false;
}

static bool is_confined(const json_t *value) {
    const char *text = json_string_value(value);
    return text && strcmp(text, "Unconfined") != 0 && strcmp(text, "Unmasked") != 0;
}

/* What kubelets before 1.30 (AppArmor) and before 1.27 (seccomp) read beside the fields. */
static bool are_notes_confined(const json_t *annotations) {
    static const char *const starts[] = {"container.apparmor.security.beta.kubernetes.io/",
                                         "container.seccomp.security.alpha.kubernetes.io/",
                                         "seccomp.security.alpha.kubernetes.io/"};
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)annotations, name, value) {
        for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
            if (text_starts(name, starts[i]) && json_is_string(value) &&
                strcmp(json_string_value(value), "unconfined") == 0) {
                return false;
            }
        }
    }
    return true;
}

static bool is_allowed(const struct check *check, const json_t *value) {
    const char *text = json_is_string(value) ? json_string_value(value) : NULL;
    switch (check->row->want) {
    case WANT_FALSE:
        return json_is_false(value) || (json_is_integer(value) && json_integer_value(value) == 0);
    case WANT_EMPTY:
        return json_is_array(value) && json_array_size(value) == 0;
    case WANT_NO_TEXT:
        return text && !*text;
    case WANT_CONFINED:
        return is_confined(value);
    case WANT_CONTAINER:
        return text && (!*text || text_list_has(container_types, text));
    case WANT_KEPT:
        return !json_is_null(value);
    case WANT_NOTES:
        return are_notes_confined(value);
    case WANT_LISTED:
        return text && is_listed(check->part, text);
    case WANT_ACCOUNT:
        return text && (!*text || strcmp(text, "default") == 0 || is_listed(check->part, text));
    case WANT_NO_NODE:
        return text && strcmp(text, "Node") != 0;
    case WANT_ABSENT:
    default:
        return false;
    }
}

static int check_value(const struct check *check, const json_t *value, const char *field,
                       struct error *err) {
    bool is_absent = !value || (json_is_null(value) && check->row->want != WANT_KEPT);
    if (is_absent || is_allowed(check, value)) {
        return 0;
    }
    if (check->row->want == WANT_LISTED || check->row->want == WANT_ACCOUNT) {
        return error_set(err, ERROR_INVALID,
                         "%s: %.100s is not among the %s that this cluster's administrator allows",
                         field, json_is_string(value) ? json_string_value(value) : "(no text)",
                         check->row->part);
    }
    return error_set(err, ERROR_INVALID, "%s: is refused by this cluster's administrator (%s)",
                     field, check->row->part);
}

/* ---- the fields of a path ---- */

static int check_path(const struct check *check, const json_t *tree, const char *path,
                      const char *field, struct error *err);

static int check_each(const struct check *check, const json_t *list, const char *rest,
                      const char *field, struct error *err) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        AUTO(text_freep) char *inner = x_printf("%s[%zu]", field, i);
        if (check_path(check, json_array_get(list, i), rest, inner, err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* wanted: NULL: every field; else those of this name, in any case. */
static int check_any(const struct check *check, const json_t *tree, const char *wanted,
                     const char *rest, const char *field, struct error *err) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)tree, name, value) {
        AUTO(text_freep) char *inner = x_printf("%s.%s", field, name);
        bool is_wanted = !wanted || strcasecmp(wanted, name) == 0;
        if (is_wanted && check_path(check, value, rest, inner, err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* path: NULL: the tree is what it leads to. */
static int check_path(const struct check *check, const json_t *tree, const char *path,
                      const char *field, struct error *err) {
    if (!path) {
        return check_value(check, tree, field, err);
    }
    size_t length = strcspn(path, ".");
    const char *rest = path[length] ? path + length + 1 : NULL;
    if (*path == '*') {
        return check_any(check, tree, NULL, rest, field, err);
    }
    bool is_list = length > 2 && path[length - 1] == ']';
    AUTO(text_freep) char *name = x_printf("%.*s", (int)length - (is_list ? 2 : 0), path);
    if (*name == '~') {
        return check_any(check, tree, name + 1, rest, field, err);
    }
    AUTO(text_freep) char *inner = x_printf("%s.%s", field, name);
    const json_t *value = json_object_get(tree, name);
    return is_list ? check_each(check, value, rest, inner, err)
                   : check_path(check, value, rest, inner, err);
}

/* Whether a part limits anything. Who limits accounts or Secrets does not mean to leave the node's
 * rights to every job: nodeIdentity is false then, unless it says true. */
static bool is_limit(const json_t *policy, const char *part) {
    const json_t *value = json_object_get(policy, part);
    if (!value && strcmp(part, "nodeIdentity") == 0) {
        return json_object_get(policy, "serviceAccounts") || json_object_get(policy, "secrets");
    }
    return json_is_false(value) || json_is_array(value);
}

static int check_rows(const json_t *policy, const struct row *rows, size_t count,
                      const json_t *tree, const char *field, struct error *err) {
    for (size_t i = 0; i < count; i++) {
        struct check check = {json_object_get(policy, rows[i].part), &rows[i]};
        if (is_limit(policy, rows[i].part) &&
            check_path(&check, tree, rows[i].path, field, err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- a job ---- */

static int check_pod_spec(const json_t *policy, const json_t *pod, const char *field,
                          struct error *err) {
    static const char *const groups[] = {"containers", "initContainers", "ephemeralContainers"};
    if (check_rows(policy, pod_rows, ARRAY_LEN(pod_rows), pod, field, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
        const json_t *list = json_object_get(pod, groups[i]);
        for (size_t k = 0; k < json_array_size(list); k++) {
            AUTO(text_freep) char *inner = x_printf("%s.%s[%zu]", field, groups[i], k);
            if (check_rows(policy, container_rows, ARRAY_LEN(container_rows),
                           json_array_get(list, k), inner, err) < 0) {
                return -1;
            }
        }
    }
    return 0;
}

static int check_spec(const json_t *policy, const json_t *spec, const char *field,
                      struct error *err) {
    static const char *const templates[] = {"template", "workers.template", "coordinator.template"};
    if (check_rows(policy, spec_rows, ARRAY_LEN(spec_rows), spec, field, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < ARRAY_LEN(templates); i++) {
        AUTO(text_freep) char *outer = x_printf("%s.%s", field, templates[i]);
        AUTO(text_freep) char *inner = x_printf("%s.spec", outer);
        const json_t *template = tree_get(spec, templates[i]);
        if (check_rows(policy, template_rows, ARRAY_LEN(template_rows), template, outer, err) < 0 ||
            check_pod_spec(policy, json_object_get(template, "spec"), inner, err) < 0) {
            return -1;
        }
    }
    return 0;
}

int job_policy_check(const json_t *policy, const json_t *object, struct error *err) {
    const json_t *spec = json_object_get(object, "spec");
    return policy && (check_spec(policy, spec, "spec", err) < 0 ||
                      check_spec(policy, json_object_get(spec, "trial"), "spec.trial", err) < 0)
               ? -1
               : 0;
}
