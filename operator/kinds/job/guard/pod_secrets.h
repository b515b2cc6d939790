/* pod_secrets.h: how the agent of a pod gets its job's token and keys. On a cluster they are files
 * in a folder that only the agent reads (WINDLASS_SECRETS), so that no variable, `kubectl exec` or
 * `$(NAME)` has them. A pod that runs a user's program gets them once: our init container copies
 * them into memory, and the agent removes them as it reads, before that program starts. They are
 * variables where jobs run on this machine, and in pods of a job that an older controller began
 * with its own image, whose agent may know nothing of files. Pure. */
#pragma once

#include "operator/kinds/job/spec.h"

struct pod_secrets {
    const char *secret;         /* the job's Secret; NULL: the pod gets nothing of it */
    bool is_hub;                /* the key of its certificate, too */
    const json_t *signing_key;  /* {"secretName", "key"}; NULL: none */
    const json_t *connection;   /* of a query, the same */
    const json_t *endpoint_key; /* of a model server, the same */
    /* For model servers, {"secretName", "certificate", "key"}; NULL: none. */
    const json_t *client_certificate;
};

/* Where they are variables: adds them to an environment. */
void pod_secrets_add_variables(const struct job_spec *spec, const struct pod_secrets *secrets,
                               json_t *environment);
/* Where they are files: adds volumes and mounts. Call it when all containers are there, before the
 * templates are applied. */
void pod_secrets_add_files(const struct job_spec *spec, const struct pod_secrets *secrets,
                           json_t *pod);
