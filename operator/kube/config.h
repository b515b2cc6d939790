/* config.h: the API server's address and our identity: from a kubeconfig, as kubectl reads it, or
 * from a pod's service account. It is read once at start; credentials that change afterwards
 * (tokens) are in credential.h. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

enum {
    CONFIG_BYTES_MAX = 1 << 20, /* of a kubeconfig */
    CONFIG_FILE_MAX = 1 << 20,  /* of a certificate, key or token file that it names */
};

#define CONFIG_SERVICE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"

struct config {
    char *name;            /* the source, for messages: "context aks of /root/.kube/config" */
    char *server;          /* "https://10.0.0.1:6443", without a slash at the end */
    char *namespace;       /* of the context or the pod; "default" when it has none */
    char *authorities_pem; /* certificate authorities; NULL: those of this machine */
    char *server_name;     /* expected in the certificate; NULL: the host in `server` */
    bool is_insecure;      /* insecure-skip-tls-verify: the certificate is not checked */
    char *proxy;           /* NULL: none. The environment's HTTPS_PROXY is ignored */

    char *client_certificate_pem, *client_key_pem; /* both or neither */
    char *token;
    char *token_file; /* takes precedence over token */
    json_t *exec;     /* the user's `exec`, with the command's full path; NULL: none */
};

struct config_options {
    /* NULL: in a pod its service account, or $KUBECONFIG, or ~/.kube/config. */
    const char *kubeconfig;
    const char *context; /* NULL: current-context. For a kubeconfig only */
};

/* Fails with INVALID; the error names the file, the entry and the expected value. */
NODISCARD int config_load(const struct config_options *options, struct config **ret_config,
                          struct error *err);
/* False: no cluster is named, in an option, a file or the environment. Nothing is read. */
bool config_is_there(const struct config_options *options);
void config_free(struct config *config);
void config_freep(struct config **config);

/* The parts of config_load, for callers that have the texts. */

/* The configuration of a pod: the service account's folder, and the address from the two
 * environment variables. */
NODISCARD int config_from_pod(const char *folder, const char *host, const char *port,
                              struct config **ret_config, struct error *err);
/* Adds the entries of a kubeconfig (its text) to `merged`, {} at first. As in kubectl, the first
 * entry of a name counts. name: the file, for messages. Relative file names are resolved against
 * `folder`. */
NODISCARD int config_merge(json_t *merged, const char *name, const char *text, const char *folder,
                           struct error *err);
/* Reads the entries of one context (NULL: current-context) from merged kubeconfigs. */
NODISCARD int config_choose(const json_t *merged, const char *name, const char *context,
                            struct config **ret_config, struct error *err);
