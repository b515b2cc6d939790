/* config.h: which API server to ask and who we are: from a kubeconfig, as kubectl reads it, or from
 * what a pod has. Read once at start; what changes afterwards (tokens) is credential.h. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

enum {
    CONFIG_BYTES_MAX = 1 << 20, /* of a kubeconfig */
    CONFIG_FILE_MAX = 1 << 20,  /* of a certificate, key or token file it names */
};

#define CONFIG_SERVICE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"

struct config {
    char *name;      /* where it comes from, for messages: "context aks of /root/.kube/config" */
    char *server;    /* "https://10.0.0.1:6443", without a slash at the end */
    char *namespace; /* of the context or the pod; "default" when it has none */
    char *authorities_pem; /* NULL: this machine's */
    char *server_name;     /* NULL: the one in `server` */
    bool is_insecure;
    char *proxy; /* NULL: none. The environment's HTTPS_PROXY is not asked */

    char *client_certificate_pem, *client_key_pem; /* both or neither */
    char *token;
    char *token_file; /* wins over token */
    json_t *exec;     /* the user's `exec`, its command made whole; NULL: none */
};

struct config_options {
    const char
        *kubeconfig;     /* NULL: in a pod the pod's own, else $KUBECONFIG, else ~/.kube/config */
    const char *context; /* NULL: current-context. Of a kubeconfig: never the pod's own */
};

/* Fails with INVALID: a line that names the file, the entry and what is expected. */
NODISCARD int config_load(const struct config_options *options, struct config **ret_config,
                          struct error *err);
void config_free(struct config *config);
void config_freep(struct config **config);

/* The parts of config_load, for who has the texts. */

/* What is inside a pod: the service account's folder, the address from the two environment values.
 */
NODISCARD int config_from_pod(const char *folder, const char *host, const char *port,
                              struct config **ret_config, struct error *err);
/* Puts a kubeconfig's text after those that are in *merged ({}: the first). An entry that is there
 * already stays, as kubectl has it. Files it names are made relative to `folder`. */
NODISCARD int config_merge(json_t *merged, const char *name, const char *text, const char *folder,
                           struct error *err);
NODISCARD int config_choose(const json_t *merged, const char *name, const char *context,
                            struct config **ret_config, struct error *err);
