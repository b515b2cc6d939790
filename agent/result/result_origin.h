/* result_origin.h: the part of result.json that says where a result comes from: the job, its
 * manifest, images and program. What the operator has told this pod (docs/pod-contract.md), and the
 * result of a training, whose files its record names (store/finished.h). */
#pragma once

#include "agent/result/result_file.h"
#include "agent/store/finished.h"

/* Adds "apiVersion", "namespace", "manifest" and "manifestSHA256". manifest: NULL: not given. */
void result_origin_add_manifest(json_t *result, json_t *manifest);
/* Adds "program": the version and SHA-256 of this process's file; the latter is left out where
 * /proc/self/exe cannot be read. */
void result_origin_add_program(json_t *result);
/* Appends a file or folder of the job to "apart" if it is below the output. */
void result_origin_add_apart(json_t *result, const char *output, const char *path);

/* ---- trainings ---- */

/* What NAME-0 has in its environment: WINDLASS_JOB, _UID, _MANIFEST and _IMAGES. Owned by its users
 * together: a thread that checks a result may outlive all else. */
struct result_origin;
/* INVALID: a variable is not JSON. */
NODISCARD int result_origin_new(struct result_origin **ret_origin, struct error *err);
struct result_origin *result_origin_hold(struct result_origin *origin); /* one user more */
void result_origin_free(struct result_origin *origin); /* one user less; NULL is fine */

/* Writes OUTPUT/result.json of a training that has come to its end, after its record was checked.
 * path: the output. */
NODISCARD int result_origin_write_training(const struct result_origin *origin, struct store *output,
                                           const char *path, const struct finished *finished,
                                           struct error *err);
