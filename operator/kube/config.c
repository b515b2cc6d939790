// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/config.h"

#include "lib/file.h"
#include "lib/text/base64.h"
#include "operator/manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void config_free(struct config *config) {
    if (!config) {
        return;
    }
    free(config->name);
    free(config->server);
    free(config->namespace);
    free(config->authorities_pem);
    free(config->server_name);
    free(config->proxy);
    free(config->client_certificate_pem);
    free(config->client_key_pem);
    free(config->token);
    free(config->token_file);
    json_decref(config->exec);
    free(config);
}

void config_freep(struct config **config) {
    config_free(*config);
    *config = NULL;
}

/* ---- merging files ---- */

/* Fields that name a file, relative to the kubeconfig that contains them. */
static const char *const file_fields[] = {"certificate-authority", "client-certificate",
                                          "client-key", "tokenFile"};

static void make_absolute(json_t *object, const char *field, const char *folder) {
    const char *path = json_string_value(json_object_get(object, field));
    if (path && *path && *path != '/') {
        AUTO(text_freep) char *absolute = file_join(folder, path);
        json_object_set_new(object, field, json_string(absolute));
    }
}

static void make_files_absolute(json_t *body, const char *folder) {
    for (size_t i = 0; i < ARRAY_LEN(file_fields); i++) {
        make_absolute(body, file_fields[i], folder);
    }
    json_t *exec = json_object_get(body, "exec");
    const char *command = tree_text(exec, "command", "");
    if (strchr(command, '/')) { /* a command without a slash is searched in the PATH */
        make_absolute(exec, "command", folder);
    }
}

static int merge_list(json_t *merged, const json_t *tree, const char *list, const char *one,
                      const char *folder, struct error *err) {
    json_t *entries = json_object_get(tree, list), *into = json_object_get(merged, list);
    if (entries && !json_is_array(entries) && !json_is_null(entries)) {
        return error_set(err, ERROR_INVALID, "%s: expected a list", list);
    }
    if (!into) {
        into = json_object();
        json_object_set_new(merged, list, into);
    }
    size_t i;
    json_t *entry;
    json_array_foreach(entries, i, entry) {
        const char *name = tree_text(entry, "name", NULL);
        json_t *body = json_object_get(entry, one);
        if (!name) {
            return error_set(err, ERROR_INVALID, "%s[%zu].name: expected a string", list, i);
        }
        if (json_is_object(body) && !json_object_get(into, name)) {
            make_files_absolute(body, folder);
            json_object_set(into, name, body);
        }
    }
    return 0;
}

int config_merge(json_t *merged, const char *name, const char *text, const char *folder,
                 struct error *err) {
    AUTO(manifest_freep) struct manifest *manifest = NULL;
    if (manifest_parse(name, text, strlen(text), &manifest, err) < 0) {
        return -1;
    }
    if (manifest->count > 1) {
        return error_set(err, ERROR_INVALID, "%s: more than one document", name);
    }
    if (manifest->count == 0) { /* an empty file, as `kubectl config` may leave one */
        return 0;
    }
    json_t *tree = manifest->documents[0].tree;
    const char *kind = tree_text(tree, "kind", "Config");
    if (strcmp(kind, "Config") != 0) {
        return error_set(err, ERROR_INVALID, "%s: kind is %s, a kubeconfig has Config", name, kind);
    }
    if (merge_list(merged, tree, "clusters", "cluster", folder, err) < 0 ||
        merge_list(merged, tree, "users", "user", folder, err) < 0 ||
        merge_list(merged, tree, "contexts", "context", folder, err) < 0) {
        return error_context(err, "%s", name);
    }
    const char *current = tree_text(tree, "current-context", "");
    if (*current && !json_object_get(merged, "current-context")) {
        json_object_set_new(merged, "current-context", json_string(current));
    }
    return 0;
}

/* ---- the chosen context ---- */

/* FIELD-data (base64) or the file FIELD; NULL when neither is set. */
static int read_pem(const json_t *body, const char *field, char **ret_pem, struct error *err) {
    AUTO(text_freep) char *data_field = x_printf("%s-data", field);
    const char *data = json_string_value(json_object_get(body, data_field));
    const char *path = json_string_value(json_object_get(body, field));
    char *pem = NULL;
    size_t size = 0;
    if (data && *data) {
        if (base64_decode(data, &pem, &size, err) < 0) {
            return error_context(err, "%s", data_field);
        }
    } else if (path && *path) {
        if (file_read(path, CONFIG_FILE_MAX, &pem, &size, err) < 0) {
            err->kind = ERROR_INVALID;
            return error_context(err, "%s", field);
        }
    }
    *ret_pem = pem;
    return 0;
}

static char *copy_text(const json_t *body, const char *field) {
    const char *text = json_string_value(json_object_get(body, field));
    return text && *text ? x_strdup(text) : NULL;
}

static int set_server(struct config *config, const char *server, struct error *err) {
    if (!text_starts(server, "https://") && !text_starts(server, "http://")) {
        return error_set(err, ERROR_INVALID,
                         "server is '%.200s', expected an address that starts with https://",
                         server);
    }
    size_t length = strlen(server);
    while (length && server[length - 1] == '/') {
        length--;
    }
    config->server = x_strndup(server, length);
    return 0;
}

static int take_cluster(struct config *config, const json_t *cluster, struct error *err) {
    if (set_server(config, tree_text(cluster, "server", ""), err) < 0 ||
        read_pem(cluster, "certificate-authority", &config->authorities_pem, err) < 0) {
        return -1;
    }
    config->server_name = copy_text(cluster, "tls-server-name");
    config->proxy = copy_text(cluster, "proxy-url");
    config->is_insecure = json_is_true(json_object_get(cluster, "insecure-skip-tls-verify"));
    if (config->is_insecure && config->authorities_pem) {
        return error_set(err, ERROR_INVALID,
                         "insecure-skip-tls-verify and certificate-authority cannot be combined");
    }
    return 0;
}

/* Fields that kubectl once accepted and that are not supported here. */
static const struct {
    const char *field, *advice;
} refused[] = {
    {"auth-provider", "was removed from Kubernetes: an exec plug-in replaces it (for Azure: "
                      "kubelogin convert-kubeconfig)"},
    {"username", "and password were removed from Kubernetes 1.19: use a token or a certificate"},
    {"as", "(impersonation) is not supported: use that user's own token or certificate"},
};

static int take_user(struct config *config, const json_t *user, struct error *err) {
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        if (json_object_get(user, refused[i].field)) {
            return error_set(err, ERROR_INVALID, "%s %s", refused[i].field, refused[i].advice);
        }
    }
    if (read_pem(user, "client-certificate", &config->client_certificate_pem, err) < 0 ||
        read_pem(user, "client-key", &config->client_key_pem, err) < 0) {
        return -1;
    }
    if (!config->client_certificate_pem != !config->client_key_pem) {
        return error_set(err, ERROR_INVALID,
                         "client-certificate and client-key belong together: %s is missing",
                         config->client_key_pem ? "client-certificate" : "client-key");
    }
    config->token = copy_text(user, "token");
    config->token_file = copy_text(user, "tokenFile");
    json_t *exec = json_object_get(user, "exec");
    if (json_is_object(exec)) {
        if (!*tree_text(exec, "command", "")) {
            return error_set(err, ERROR_INVALID, "exec.command: expected a program");
        }
        config->exec = json_incref(exec);
    }
    return 0;
}

static const json_t *find_entry(const json_t *merged, const char *list, const char *name) {
    return json_object_get(json_object_get(merged, list), name);
}

static int unknown_context(const json_t *merged, const char *name, const char *chosen,
                           struct error *err) {
    char known[300] = "";
    const char *context;
    json_t *ignored;
    size_t size = 0;
    json_object_foreach(json_object_get(merged, "contexts"), context, ignored) {
        size += (size_t)snprintf(known + size, sizeof known - size, "%s%.80s", size ? ", " : "",
                                 context);
        if (size >= sizeof known) {
            break; /* cut */
        }
    }
    return error_set(err, ERROR_INVALID, "%s: no context named %s, expected one of: %s", name,
                     chosen, *known ? known : "(it has none)");
}

int config_choose(const json_t *merged, const char *name, const char *context,
                  struct config **ret_config, struct error *err) {
    AUTO(config_freep) struct config *config = x_calloc(1, sizeof *config);
    const char *chosen = context ? context : tree_text(merged, "current-context", NULL);
    if (!chosen) {
        return error_set(err, ERROR_INVALID, "%s: no current-context: give --context NAME", name);
    }
    const json_t *body = find_entry(merged, "contexts", chosen);
    if (!body) {
        return unknown_context(merged, name, chosen, err);
    }
    config->name = x_printf("context %s of %s", chosen, name);
    const char *cluster_name = tree_text(body, "cluster", ""),
               *user_name = tree_text(body, "user", "");
    const json_t *cluster = find_entry(merged, "clusters", cluster_name);
    const json_t *user = find_entry(merged, "users", user_name);
    if (!cluster) {
        return error_set(err, ERROR_INVALID, "%s: context %s: cluster '%s' is not defined", name,
                         chosen, cluster_name);
    }
    if (!user && *user_name) {
        return error_set(err, ERROR_INVALID, "%s: context %s: user '%s' is not defined", name,
                         chosen, user_name);
    }
    if (take_cluster(config, cluster, err) < 0) {
        return error_context(err, "%s: cluster %s", name, cluster_name);
    }
    if (user && take_user(config, user, err) < 0) {
        return error_context(err, "%s: user %s", name, user_name);
    }
    const char *namespace = tree_text(body, "namespace", "");
    config->namespace = x_strdup(*namespace ? namespace : "default");
    *ret_config = TAKE(config);
    return 0;
}

/* ---- locations of configurations ---- */

int config_from_pod(const char *folder, const char *host, const char *port,
                    struct config **ret_config, struct error *err) {
    AUTO(config_freep) struct config *config = x_calloc(1, sizeof *config);
    AUTO(text_freep) char *authorities = file_join(folder, "ca.crt");
    AUTO(text_freep) char *namespace = file_join(folder, "namespace");
    size_t size = 0;
    bool is_v6 = strchr(host, ':') != NULL;
    config->name = x_printf("service account of this pod (%s)", folder);
    config->server = x_printf("https://%s%s%s:%s", is_v6 ? "[" : "", host, is_v6 ? "]" : "", port);
    config->token_file = file_join(folder, "token");
    if (file_read(authorities, CONFIG_FILE_MAX, &config->authorities_pem, &size, err) < 0 ||
        file_read(namespace, CONFIG_FILE_MAX, &config->namespace, &size, err) < 0) {
        err->kind = ERROR_INVALID;
        return error_context(err, "%s", config->name);
    }
    config->namespace[strcspn(config->namespace, " \r\n")] = 0;
    *ret_config = TAKE(config);
    return 0;
}

static int merge_file(json_t *merged, const char *path, struct error *err) {
    AUTO(text_freep) char *text = NULL;
    size_t size = 0;
    if (file_read(path, CONFIG_BYTES_MAX, &text, &size, err) < 0) {
        return error_context(err, "kubeconfig");
    }
    const char *name = file_basename(path);
    AUTO(text_freep) char *folder = x_strndup(path, (size_t)(name - path));
    return config_merge(merged, path, text, *folder ? folder : ".", err);
}

/* The next of a list as in $PATH. Owned. */
static char *next_file(const char **rest) {
    size_t length = strcspn(*rest, ":");
    char *path = x_strndup(*rest, length);
    *rest += length + ((*rest)[length] == ':');
    return path;
}

/* The existing files of $KUBECONFIG, as in kubectl. */
static int merge_files(json_t *merged, const char *list, struct error *err) {
    size_t found = 0;
    for (const char *rest = list; *rest;) {
        AUTO(text_freep) char *path = next_file(&rest);
        if (*path && access(path, F_OK) == 0) {
            found++;
            if (merge_file(merged, path, err) < 0) {
                return -1;
            }
        }
    }
    return found
               ? 0
               : error_set(err, ERROR_INVALID, "none of the files in $KUBECONFIG exists: %s", list);
}

static int load_files(const struct config_options *options, struct config **ret_config,
                      struct error *err) {
    AUTO(tree_freep) json_t *merged = json_object();
    const char *list = getenv("KUBECONFIG"), *home = getenv("HOME");
    AUTO(text_freep) char *usual = file_join(home ? home : "/", ".kube/config");
    const char *name = options->kubeconfig;
    if (name) {
        if (merge_file(merged, name, err) < 0) {
            err->kind = ERROR_INVALID;
            return -1;
        }
    } else if (list && *list) {
        name = list;
        if (merge_files(merged, list, err) < 0) {
            return -1;
        }
    } else {
        name = usual;
        if (access(usual, F_OK) < 0) {
            return error_set(err, ERROR_INVALID,
                             "no cluster is configured: KUBECONFIG is not set, %s does not "
                             "exist, and this is not a pod; give --kubeconfig FILE",
                             usual);
        }
        if (merge_file(merged, usual, err) < 0) {
            return -1;
        }
    }
    return config_choose(merged, name, options->context, ret_config, err);
}

static bool is_in_pod(const char *host, const char *port) {
    return host && *host && port && *port && access(CONFIG_SERVICE_ACCOUNT "/token", F_OK) == 0;
}

bool config_is_there(const struct config_options *options) {
    const char *list = getenv("KUBECONFIG"), *home = getenv("HOME");
    if (options->kubeconfig || options->context ||
        is_in_pod(getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT"))) {
        return true;
    }
    if (!list || !*list) {
        AUTO(text_freep) char *usual = file_join(home ? home : "/", ".kube/config");
        return access(usual, F_OK) == 0;
    }
    bool any = false;
    for (const char *rest = list; *rest && !any;) {
        AUTO(text_freep) char *path = next_file(&rest);
        any = *path && access(path, F_OK) == 0;
    }
    return any;
}

int config_load(const struct config_options *options, struct config **ret_config,
                struct error *err) {
    const char *host = getenv("KUBERNETES_SERVICE_HOST"), *port = getenv("KUBERNETES_SERVICE_PORT");
    if (!options->kubeconfig && !options->context && is_in_pod(host, port)) {
        return config_from_pod(CONFIG_SERVICE_ACCOUNT, host, port, ret_config, err);
    }
    return load_files(options, ret_config, err);
}
