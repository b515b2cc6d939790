/* metrics_server.h: /metrics over TLS 1.3, to those alone whom the API server admits: the bearer
 * token of a request goes to a TokenReview, and who it is to a SubjectAccessReview (get of the
 * non-resource URL /metrics), as kube-rbac-proxy does. 401: no token, or an invalid one; 403: may
 * not; 429: too many unknown tokens; 503: the API server does not answer. Verdicts are kept
 * (verdicts.h). A thread of its own, so that a slow API server delays metrics alone. */
#pragma once

#include "operator/kube/config.h"

enum { METRICS_REVIEW_WAIT_MS = 5000 };

struct metrics_server_options {
    const char *bind;            /* "ADDRESS:PORT" */
    const char *tls_folder;      /* of tls.crt and tls.key; NULL: a certificate of its own, made at
                                    start */
    const struct config *config; /* the API server, and who asks it; outlives the server */
};

struct metrics_server;

/* The caller has blocked all signals. INVALID: an address, certificate or key that is wrong, or a
 * kubeconfig whose credentials come from a plug-in. */
NODISCARD int metrics_server_open(const struct metrics_server_options *options,
                                  struct metrics_server **ret_server, struct error *err);
void metrics_server_free(struct metrics_server *server); /* accepts NULL */
