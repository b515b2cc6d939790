/* owned.h: the objects that a job owns besides its pods: the Service of its hub and the Secret
 * owned by that Service; and the metadata that all objects of a job share. The hub is the pod that
 * knows the job's progress: a BatchScore's coordinator, the first of a DistTrain's pods. Pure. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

/* On pods: the number of the attempt at this place, from 1. */
#define LABEL_ATTEMPT "windlass.dev/attempt"
#define LABEL_INDEX "windlass.dev/index" /* of a worker, from 0 */
/* Of Kueue: on pods that go through a queue, its name; on those that are queued as one group
 * (kinds/disttrain/kueue.h), the group's; and the mark that Kueue has seen the pod. A finalizer
 * with the name of the mark keeps the pod. */
#define LABEL_KUEUE_QUEUE "kueue.x-k8s.io/queue-name"
#define LABEL_KUEUE_GROUP "kueue.x-k8s.io/pod-group-name"
#define LABEL_KUEUE_MANAGED "kueue.x-k8s.io/managed"
#define KUEUE_GATE "kueue.x-k8s.io/admission" /* of its scheduling gate */
/* An annotation of pods, too: how many earlier pods in its place died by their own failure. With it
 * the count does not restart when the old pods are deleted (by the cluster's garbage collection of
 * ended pods, for example). */
#define ANNOTATION_DEATHS "windlass.dev/deaths"
/* On a DistTrain's NAME-0 that may start nothing, only finish what an earlier pod left: how many
 * such pods in a row have died of themselves, this one included; from 1. */
#define ANNOTATION_FINISHES "windlass.dev/finishes"
/* On a job, by its owner: a text. An output that was begun under another one is discarded and made
 * again. */
#define ANNOTATION_RESTART "windlass.dev/restart"
/* On a pod that waits for the next run of a series: the spec that it was made from. */
#define ANNOTATION_WATCH "windlass.dev/watch"
/* On the Service. */
#define ANNOTATION_CERTIFICATE "windlass.dev/certificate" /* PEM */
#define ANNOTATION_CERTIFICATE_SHA256 "windlass.dev/certificate-sha256"
/* What GET /progress of the job's hub wants; hexadecimal digits. Who may read the Service or the
 * pod may read the progress, and nothing more: the job's own token is another one. */
#define ANNOTATION_READ_TOKEN "windlass.dev/read-token"
#define ANNOTATION_SPEC_SNAPSHOT                                                                   \
    "windlass.dev/begun" /* the spec that the job began with (spec_snapshot.h) */
/* On the Service and on pods: the name of the Secret that they use. */
#define ANNOTATION_SECRET "windlass.dev/secret"
/* On pods: the digest of what the job began with (spec_snapshot.h), 32 hexadecimal digits. */
#define ANNOTATION_BEGUN_DIGEST "windlass.dev/begun-digest"
/* Keys of the Secret. */
#define SECRET_TOKEN "token"
#define SECRET_CERTIFICATE "tls.crt"
#define SECRET_KEY "tls.key"

/* The Service's port. A cluster without an address per Service may store a different one; pods get
 * the port of the stored Service. */
enum { JOB_PORT = 8443 };

/* The pod that the Service selects. */
struct owned_hub {
    const char *suffix, *role; /* the Service is NAME-SUFFIX; the pod's role */
    const char *index;         /* LABEL_INDEX of the pod; NULL: any of that role */
    const char *others;        /* role of the pods that come to it; NULL: the same */
};

/* Created for a job by the leading controller, which keeps them only in memory until the Secret is
 * stored. All borrowed. */
struct credentials {
    const char *secret; /* the Secret's name, random at its end */
    const char *token, *certificate, *certificate_sha256, *key; /* PEM; 64 hex digits */
    const char *read_token; /* of ANNOTATION_READ_TOKEN; not a secret of the job's */
    const char *begun; /* digest of the record on the Service that was made with them; NULL: none */
    bool is_confirmed; /* the Secret is known to be stored; token and key may be forgotten */
    /* The job's NetworkPolicy (network_policy.h), made beside the Secret. */
    bool has_policy;            /* it is stored */
    int policy_tries;           /* writes that were answered */
    const char *policy_refused; /* why there will be none; NULL: not refused */
};

/* The hub's address for the other pods, and the certificate that they trust. Texts are borrowed. */
struct endpoint {
    const char *address; /* the Service's clusterIP */
    int64_t port;
    const char *certificate_sha256;
    const char *secret;     /* name of the Secret */
    const char *read_token; /* NULL: of an older controller's Service, whose hub asks for none */
};

/* ---- names: PREFIX-PART; a name that a foreign object has leads to the next one ---- */

enum {
    OWNED_PREFIX_MAX = 45, /* with a part, an index and an attempt: at most 63 characters */
    OWNED_NAMES_MAX = 10,  /* how many names are tried for one object */
};

/* The job's name, or, when it is longer than `max`, its beginning and six digits of its hash. */
char *owned_prefix(const char *job, int max);
/* The names of an object that has no attempts: NAME, NAME-b, NAME-c, ... tried: from 0. */
char *owned_next_name(const char *name, int tried);

/* Of a pod: PREFIX-PART-INDEX, and of later attempts PREFIX-PART-INDEX-ATTEMPT. part: NULL: none.
 * index: NULL: it has none, and always its attempt. */
char *owned_pod_name(const char *job, const char *part, const char *index, int attempt);
/* Whether the labels of that pod of the job (role, index, attempt) are not those of its name: they
 * were changed. False where no attempt is known: what is kept of the pods of a job that has ended.
 * bare_role: of pods whose names have no part; NULL: all have their role there. */
bool owned_is_misplaced(const json_t *pod, const char *job, const char *bare_role);

/* Of a Service of ours, borrowed. NULL: it has none, or what is there is not one. */
const char *owned_read_token(const json_t *service);
/* Whether the Service names that Secret, and the certificate with that SHA-256 (NULL: any). */
bool owned_is_service_of(const json_t *service, const char *secret, const char *sha256);
/* False until the Service has an address and our annotations. */
bool owned_endpoint_read(const json_t *service, struct endpoint *ret_endpoint);

/* Name, namespace, labels and owner of an object of a job. The caller owns the results of all
 * functions here. */
json_t *owned_metadata(const json_t *object, const char *name, const char *role);
/* Of the Service: the hub's labels. */
json_t *owned_selector(const char *job, const struct owned_hub *hub);
json_t *owned_service_ports(void);
/* begun: the value of ANNOTATION_SPEC_SNAPSHOT. */
json_t *owned_service(const json_t *object, const struct owned_hub *hub,
                      const struct credentials *credentials, const char *begun);
/* Immutable, and owned by the stored Service: the cluster deletes it with the Service, so that the
 * controller needs no permission to delete Secrets. */
json_t *owned_secret(const json_t *object, const struct owned_hub *hub, const json_t *service,
                     const struct credentials *credentials);

/* ownerReferences for an object that is deleted with the stored Service. */
json_t *owned_by_service(const json_t *service);

/* NULL when there is none. Annotations and labels have dots in their names, which tree_get would
 * split into steps. Borrowed. */
const char *owned_annotation(const json_t *object, const char *name);
const char *owned_label(const json_t *object, const char *name);
/* Sends a new pod through a queue of Kueue's. It has the gate from creation, so that none starts
 * before Kueue's webhook is installed. */
void owned_queue_pod(json_t *pod, const char *queue);

/* A job that a resource of the kind `maker` (NULL: none) has made, without the label or the
 * annotation found_by (NULL: only the label) by which that would find it, and that has not begun.
 * It does not begin: its maker deletes it. */
bool owned_is_stripped(const json_t *object, const char *maker, const char *found_by);
