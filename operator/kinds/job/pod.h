/* pod.h: the parts that the pods of all kinds are made of. Pure. All results are the caller's. */
#pragma once

#include "operator/kinds/job/spec.h"

/* ---- a container's environment (an array) ---- */

/* The same for a text that Kubernetes must not expand: $(X) arrives as it is. */
void pod_add_text(json_t *environment, const char *name, const char *text);
void pod_add_value(json_t *environment, const char *name, const char *value);
void pod_add_secret(json_t *environment, const char *name, const char *secret, const char *key);
/* The value is JSON, in which $(X) stays as it is. */
void pod_add_tree(json_t *environment, const char *name, const json_t *tree);
/* WINDLASS_READ_TOKEN of a job's hub, unless it is NULL. */
void pod_add_read_token(json_t *environment, const char *token);
/* What a job's hub gets for result.json: WINDLASS_MANIFEST, the resource as it was accepted, and
 * WINDLASS_IMAGES (role -> image; taken over). Values of variables ("environment": {NAME: VALUE},
 * "env": [{"name", "value"}]) are left out, since people put secrets there; Secrets themselves are
 * only named in a manifest. */
void pod_add_origin(json_t *environment, const struct job_spec *spec, json_t *images_new);
/* The value is a field of the pod: "status.podIP". */
void pod_add_field(json_t *environment, const char *name, const char *path);
/* The environment of every pod (docs/pod-contract.md): a variable for each volume, WINDLASS_JOB,
 * _RUN, _SPEC (work), _WORKER and _STORES. */
/* WINDLASS_RESTART, if the job has the annotation. */
void pod_add_restart(json_t *environment, const struct job_spec *spec);
json_t *pod_environment(const struct job_spec *spec, const json_t *work, const char *pod_name);
/* "10.96.3.4:8443", "[fd00::4]:8443". */
char *pod_authority(const char *address, int64_t port);

/* ---- a container ---- */

/* What the restricted Pod Security Standard requires, and a read-only root file system. */
json_t *pod_secure(void);
/* Adds a mount unless something is mounted at that path. */
void pod_add_mount(json_t *mounts, const char *name, const char *path);
/* resources with the GPUs among its limits; resources may be NULL. */
json_t *pod_resources(const json_t *resources, int gpus);

/* ---- a pod ---- */

/* Everything that roles share: the caller adds the role's parts, then applies the templates. */
json_t *pod_make(const struct job_spec *spec, const char *name, const char *role, int attempt,
                 json_t *container_new);
/* Where the pod has an identity of Azure or a role of Amazon's, that container gets no token for
 * it. */
void pod_withhold_identity(const struct job_spec *spec, json_t *pod, const char *container);
/* Makes POD_FOLDER and /tmp of the first container writable: emptyDir folders that are deleted with
 * the pod. */
void pod_add_folders(json_t *pod);
/* Adds these folders, and an init container of ours that copies the shim into the pod: to
 * POD_FOLDER/windlass-shim. */
void pod_install_shim(const struct job_spec *spec, json_t *pod);
/* An init container of ours that copies the shim into a volume: to FOLDER/windlass-shim. */
json_t *pod_installer(const struct job_spec *spec, const char *volume, const char *folder);
/* An affinity that prefers nodes that match all of the expressions. */
json_t *pod_prefer(json_t *expressions_new);
/* Adds tolerations and preferences. A node with GPUs is often tainted to keep other pods away, a
 * spot node of AKS always: a pod that asks for them tolerates the taint. Spot nodes are cheaper, so
 * they are preferred. */
void pod_place(json_t *pod, const json_t *tolerations, int gpus, bool spot);
/* Sets the value unless it is empty. */
void pod_set_if(json_t *object, const char *name, json_t *value_new);

/* The address where Azure announces that a machine will be taken away; agent/launch/pod/notice.h
 * polls it. */
#define POD_EVENTS_URL "http://169.254.169.254/metadata/scheduledevents?api-version=2020-07-01"
