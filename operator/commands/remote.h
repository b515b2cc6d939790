/* remote.h: the shared part of the commands that read and change jobs of a cluster: the choice of
 * cluster and namespace, and requests, one after the other. */
#pragma once

#include "operator/kube/client.h"
#include "operator/kube/rest.h"

struct remote_options {
    const char *kubeconfig, *context, *namespace;
    bool all; /* namespaces */
};

/* Rows for a command's option table. */
#define REMOTE_ROWS(options)                                                                       \
    {"namespace",          'n', OPTION_TEXT, "NS", "Namespace (default: the context's).",          \
     &(options)->namespace},                                                                       \
        {"context",                                                                                \
         0,                                                                                        \
         OPTION_TEXT,                                                                              \
         "NAME",                                                                                   \
         "Context in the kubeconfig (default: current-context).",                                  \
         &(options)->context},                                                                     \
    {                                                                                              \
        "kubeconfig", 0, OPTION_TEXT, "FILE",                                                      \
            "The kubeconfig file (default: $KUBECONFIG, else "                                     \
            "~/.kube/config).",                                                                    \
            &(options)->kubeconfig                                                                 \
    }

struct remote {
    struct config *config;
    struct loop *loop;
    struct client *client;
    const char *namespace; /* NULL: all. Borrowed from the options or the configuration */
    int64_t end_ms; /* monotonic: the time of all further requests; TIMEOUT behind it. 0: of each
                       one CLIENT_TIMEOUT_MS */
};

/* False: no cluster is configured at all. */
bool remote_is_configured(const struct remote_options *options);
NODISCARD int remote_open(const struct remote_options *options, struct remote *ret_remote,
                          struct error *err);
void remote_release(struct remote *remote); /* for AUTO, too */

/* GET of a place in the remote's namespace (place->namespace is ignored), with a query
 * ("limit=500"; NULL: none). The result is owned. */
NODISCARD int remote_get(struct remote *remote, const struct rest_place *place, const char *query,
                         json_t **ret_tree, struct error *err);
/* The same of what is not JSON: a pod's log. EXHAUSTED: more than bytes_max. Owned. */
NODISCARD int remote_text(struct remote *remote, const struct rest_place *place, const char *query,
                          size_t bytes_max, char **ret_text, struct error *err);
/* What the API server would store if this object were applied (server-side apply with force), by a
 * dry run: nothing is stored. Unknown fields are refused from 1.25 on. The result is owned. */
NODISCARD int remote_apply_dry(struct remote *remote, const json_t *object, json_t **ret_stored,
                               struct error *err);
/* Changes fields of an object (a JSON merge patch), deletes it (waits_for_owned: it goes
 * after what it owns), or creates one. dry: the server says what it would do, and stores nothing.
 */
NODISCARD int remote_merge(struct remote *remote, const struct rest_place *place,
                           const json_t *change, bool dry, struct error *err);
NODISCARD int remote_delete(struct remote *remote, const struct rest_place *place,
                            bool waits_for_owned, bool dry, struct error *err);
NODISCARD int remote_create(struct remote *remote, const json_t *object, bool dry,
                            struct error *err);
/* Waits, and keeps the connections. */
NODISCARD int remote_pause(struct remote *remote, int64_t pause_ms, struct error *err);
/* All items of a collection, read in pages: an array, owned. */
NODISCARD int remote_list(struct remote *remote, const struct rest_place *place, const char *query,
                          json_t **ret_items, struct error *err);

/* The first job of that name, of the kinds that the user may get. DENIED when none is found and the
 * user may not get all the kinds. */
NODISCARD int remote_job(struct remote *remote, const char *name, json_t **ret_job,
                         struct error *err);
/* True if only a person can remove the cause; other errors may be over at the next request. */
bool remote_is_final(const struct error *err);
/* The pods of a job, a coordinator's first, then by index and attempt. */
NODISCARD int remote_pods(struct remote *remote, const char *job, json_t **ret_pods,
                          struct error *err);
/* The objects of another kind that a job has made (a sweep's trials, for example), found by its
 * label: an array, owned. */
NODISCARD int remote_made(struct remote *remote, const struct rest_place *place, const char *job,
                          json_t **ret_items, struct error *err);
/* Text for a value of a query: other characters than letters, digits and -_.~ as %XX. Owned. */
char *remote_quote(const char *text);
/* "worker-0-2" of "style-transfer-worker-0-2": a pod's name without the job's. */
const char *remote_short_name(const char *pod, const char *job);
