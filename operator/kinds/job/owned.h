/* owned.h: what a job owns beside its pods: the Service of its hub (the pod that knows how far the
 * job is: a BatchScore's coordinator, the first of a DistTrain's pods), and the Secret that hangs
 * on it; and what the objects of a job have in common. Pure. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

/* On pods: which replacement this is, from 1. */
#define LABEL_ATTEMPT "windlass.dev/attempt"
#define LABEL_INDEX "windlass.dev/index" /* of a worker, from 0 */
/* Of Kueue, on pods that wait for their turn together (kinds/disttrain/gang_objects.h): which
 * group, and that it has seen them; a finalizer of this name keeps them. */
#define LABEL_KUEUE_GROUP "kueue.x-k8s.io/pod-group-name"
#define LABEL_KUEUE_MANAGED "kueue.x-k8s.io/managed"
/* An annotation, too: how many before it, in its place, died of their own doing. So a count does
 * not begin anew because somebody (the cluster's collection of ended pods, say) deletes the old
 * ones. */
#define ANNOTATION_DEATHS "windlass.dev/deaths"
/* On a pod that waits for the next run of a series: of which spec it was made. */
#define ANNOTATION_WATCH "windlass.dev/watch"
/* On the Service. */
#define ANNOTATION_CERTIFICATE "windlass.dev/certificate" /* PEM */
#define ANNOTATION_CERTIFICATE_SHA256 "windlass.dev/certificate-sha256"
#define ANNOTATION_SPEC_SNAPSHOT                                                                   \
    "windlass.dev/begun" /* what the job began with (spec_snapshot.h) */
/* On the Service and on pods: the name of the Secret they go with. */
#define ANNOTATION_SECRET "windlass.dev/secret"
/* Keys of the Secret. */
#define SECRET_TOKEN "token"
#define SECRET_CERTIFICATE "tls.crt"
#define SECRET_KEY "tls.key"

/* The Service's port. A cluster without an address per Service may store another one: pods are told
 * what stands in the stored Service. */
enum { JOB_PORT = 8443 };

/* Which pod the Service is for. */
struct owned_hub {
    const char *suffix, *role; /* the Service is NAME-SUFFIX; the pod's role */
    const char *index;         /* LABEL_INDEX of the pod; NULL: any of that role */
};

/* Made for a job by whoever leads, and known to nobody else. All borrowed. */
struct credentials {
    const char *secret; /* the Secret's name, random at its end */
    const char *token, *certificate, *certificate_sha256, *key; /* PEM; 64 hex digits */
    bool is_confirmed; /* the Secret is known to be stored; token and key may be forgotten */
};

/* Where the other pods find the hub, and whom they trust. Texts are borrowed. */
struct endpoint {
    const char *address; /* the Service's clusterIP */
    int64_t port;
    const char *certificate_sha256;
    const char *secret; /* name of the Secret */
};

/* False until the Service has an address and our annotations. */
bool endpoint_read(const json_t *service, struct endpoint *ret_endpoint);

/* Name, namespace, labels and owner of what a job owns. All results here are the caller's. */
json_t *owned_metadata(const json_t *object, const char *name, const char *role);
/* begun: the value of ANNOTATION_SPEC_SNAPSHOT. */
json_t *owned_service(const json_t *object, const struct owned_hub *hub,
                      const struct credentials *credentials, const char *begun);
/* Immutable, and owned by the stored Service: it goes with it, and nobody has to delete Secrets. */
json_t *owned_secret(const json_t *object, const struct owned_hub *hub, const json_t *service,
                     const struct credentials *credentials);

/* ownerReferences of what goes with the stored Service. */
json_t *owned_by_service(const json_t *service);

/* NULL when there is none. Annotations and labels have dots in their names, which tree_get takes
 * for steps. Borrowed. */
const char *owned_annotation(const json_t *object, const char *name);
const char *owned_label(const json_t *object, const char *name);
