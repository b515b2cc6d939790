// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/guard/pod_secrets.h"

#include "operator/kinds/job/owned.h"
#include "operator/kinds/job/pod.h"
#include "operator/kinds/job/pod_volumes.h"

/* Through the pod's group (fsGroup), and read-only. */
enum { SECRET_MODE = 0440 };

#define VOLUME_SECRETS "windlass-secrets"
#define VOLUME_ONCE "windlass-once"
#define FOLDER_SECRETS POD_FOLDER "/secrets" /* where the agent reads them */
#define FOLDER_GIVEN POD_FOLDER "/given"     /* where our init container does */
/* As lib/secret.c reads them. */
#define FILE_SIGNING_KEY "signing.key"
#define FILE_CONNECTION "query.connection"
#define FILE_ENDPOINT_KEY "endpoint.key"
#define FILE_CLIENT_CERTIFICATE "endpoint.tls.crt"
#define FILE_CLIENT_KEY "endpoint.tls.key"

/* The agent of an older controller's image may know nothing of files. */
static bool are_files(const struct job_spec *spec) {
    return spec->secret_files && !spec->is_image_older;
}

static bool are_none(const struct pod_secrets *secrets) {
    return !secrets->secret && !secrets->signing_key && !secrets->connection &&
           !secrets->endpoint_key && !secrets->client_certificate;
}

/* from: {"secretName", "key"}, or NULL. */
static void add_variable(json_t *environment, const char *name, const json_t *from) {
    if (from) {
        pod_add_secret(environment, name, tree_text(from, "secretName", ""),
                       tree_text(from, "key", ""));
    }
}

void pod_secrets_add_variables(const struct job_spec *spec, const struct pod_secrets *secrets,
                               json_t *environment) {
    if (are_files(spec) && !are_none(secrets)) {
        pod_add_value(environment, "WINDLASS_SECRETS", FOLDER_SECRETS);
    }
    if (are_files(spec)) {
        return;
    }
    if (secrets->secret) {
        pod_add_secret(environment, "WINDLASS_TOKEN", secrets->secret, SECRET_TOKEN);
    }
    if (secrets->secret && secrets->is_hub) {
        pod_add_secret(environment, "WINDLASS_TLS_KEY", secrets->secret, SECRET_KEY);
    }
    add_variable(environment, "WINDLASS_SIGNING_KEY", secrets->signing_key);
    add_variable(environment, "WINDLASS_QUERY_CONNECTION", secrets->connection);
    add_variable(environment, "WINDLASS_ENDPOINT_KEY", secrets->endpoint_key);
    const json_t *client = secrets->client_certificate;
    if (client) {
        const char *name = tree_text(client, "secretName", "");
        pod_add_secret(environment, "WINDLASS_ENDPOINT_TLS_CERTIFICATE", name,
                       tree_text(client, "certificate", ""));
        pod_add_secret(environment, "WINDLASS_ENDPOINT_TLS_KEY", name,
                       tree_text(client, "key", ""));
    }
}

static json_t *item(const char *key, const char *path) {
    return json_pack("{s:s, s:s}", "key", key, "path", path);
}

static json_t *source(const char *secret, json_t *items_new) {
    return json_pack("{s:{s:s, s:o}}", "secret", "name", secret, "items", items_new);
}

static void add_source(json_t *sources, const json_t *from, const char *file) {
    if (from) {
        json_t *items = json_pack("[o]", item(tree_text(from, "key", ""), file));
        json_array_append_new(sources, source(tree_text(from, "secretName", ""), items));
    }
}

static json_t *volume_of(const struct pod_secrets *secrets) {
    json_t *sources = json_array();
    if (secrets->secret) {
        json_t *items = json_pack("[o]", item(SECRET_TOKEN, SECRET_TOKEN));
        if (secrets->is_hub) {
            json_array_append_new(items, item(SECRET_KEY, SECRET_KEY));
        }
        json_array_append_new(sources, source(secrets->secret, items));
    }
    add_source(sources, secrets->signing_key, FILE_SIGNING_KEY);
    add_source(sources, secrets->connection, FILE_CONNECTION);
    add_source(sources, secrets->endpoint_key, FILE_ENDPOINT_KEY);
    const json_t *client = secrets->client_certificate;
    if (client) {
        json_t *items =
            json_pack("[o, o]", item(tree_text(client, "certificate", ""), FILE_CLIENT_CERTIFICATE),
                      item(tree_text(client, "key", ""), FILE_CLIENT_KEY));
        json_array_append_new(sources, source(tree_text(client, "secretName", ""), items));
    }
    return json_pack("{s:s, s:{s:i, s:o}}", "name", VOLUME_SECRETS, "projected", "defaultMode",
                     SECRET_MODE, "sources", sources);
}

static json_t *read_only(const char *path) {
    return json_pack("{s:s, s:s, s:b}", "name", VOLUME_SECRETS, "mountPath", path, "readOnly", 1);
}

/* A read-only volume would stay where the program can read it, too: both have one user. */
static void give_once(json_t *pod, json_t *install, json_t *mounts) {
    json_t *words = json_object_get(install, "args");
    json_array_append_new(words, json_string("--secrets"));
    json_array_append_new(words, json_string(FOLDER_GIVEN));
    json_t *theirs = json_object_get(install, "volumeMounts");
    json_array_append_new(theirs, read_only(FOLDER_GIVEN));
    pod_add_mount(theirs, VOLUME_ONCE, FOLDER_SECRETS);
    pod_add_mount(mounts, VOLUME_ONCE, FOLDER_SECRETS);
    json_array_append_new(tree_get(pod, "spec.volumes"),
                          json_pack("{s:s, s:{s:s, s:s}}", "name", VOLUME_ONCE, "emptyDir",
                                    "medium", "Memory", "sizeLimit", "1Mi"));
}

void pod_secrets_add_files(const struct job_spec *spec, const struct pod_secrets *secrets,
                           json_t *pod) {
    if (!are_files(spec) || are_none(secrets)) {
        return;
    }
    json_t *agent = json_array_get(tree_get(pod, "spec.containers"), 0);
    json_t *install =
        (json_t *)tree_find(tree_get(pod, "spec.initContainers"), "name", "windlass-install");
    json_t *mounts = json_object_get(agent, "volumeMounts");
    json_array_append_new(tree_get(pod, "spec.volumes"), volume_of(secrets));
    if (install) {
        give_once(pod, install, mounts);
    } else {
        json_array_append_new(mounts, read_only(FOLDER_SECRETS));
    }
}
