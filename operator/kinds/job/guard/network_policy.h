/* network_policy.h: the NetworkPolicy of a job: which pods may connect to its pods. What comes in
 * is limited, what goes out is not: the addresses of storage, DNS and downloads are not known. It
 * has the name of the job's Secret, which is random, and goes with the job's Service as that does:
 * the controller creates it once, before the pods, and needs no other verb. Pure. */
#pragma once

#include "operator/kinds/job/owned.h"

/* All borrowed. */
struct network_policy_options {
    const char
        *controller_namespace; /* of the controller, or its kubeconfig's context; NULL: none */
    const json_t *peers; /* array of NetworkPolicyPeer: may connect to every port, too; or NULL */
};

/* The label of the controller's own pods (LABEL_ROLE). */
#define ROLE_CONTROLLER "controller"

/* To the hub's port may connect the job's own pods, the controller and, since the API server's
 * proxy may be there, kube-system; a hub whose pods are one role (owned_hub.others NULL): the job's
 * own pods to every port. service: the stored one, which owns the policy. The caller owns the
 * result. */
json_t *network_policy_make(const json_t *object, const struct owned_hub *hub,
                            const json_t *service, const char *name,
                            const struct network_policy_options *options);

/* Records how the write of the policy ended. text: the cluster's words, of a refusal. */
void network_policy_note(struct credentials *credentials, const struct error *err);
/* Whether pods may be made: the policy is there, or the cluster refuses it. */
bool network_policy_is_settled(const struct credentials *credentials);
