/* result_origin.h: the part of result.json that says where a result comes from: the job, its
 * manifest, images and program, as the operator has passed them to this pod (docs/pod-contract.md);
 * and the whole result of a DistTrain: of a training, whose files its record names
 * (store/finished.h), and of a command, whose files are all that its outputs have. */
#pragma once

#include "agent/result/result_file.h"
#include "agent/store/finished.h"

/* Adds "apiVersion", "namespace", "manifest" and "manifestSHA256". manifest: NULL: not given. */
void result_origin_add_manifest(json_t *result, json_t *manifest);
/* Adds "program": the version and SHA-256 of this process's file; the latter is left out where
 * /proc/self/exe cannot be read. */
void result_origin_add_program(json_t *result);
/* Appends a file or folder of the job to "excluded" if it is below the output. */
void result_origin_add_apart(json_t *result, const char *output, const char *path);

/* ---- DistTrains and Sweeps ---- */

/* What NAME-0 has in its environment: WINDLASS_JOB, _RUN, _UID, _MANIFEST, _IMAGES, and
 * _SIGNING_KEY, which is removed. Owned by its users together: a thread that checks a result may
 * outlive all else. */
struct result_origin;
/* INVALID: a variable is not JSON, or there is no key where the manifest wants one. */
NODISCARD int result_origin_new(struct result_origin **ret_origin, struct error *err);
struct result_origin *result_origin_hold(struct result_origin *origin); /* one user more */
void result_origin_free(struct result_origin *origin);   /* one user less; accepts NULL */
void result_origin_freep(struct result_origin **origin); /* for AUTO */

/* {"completed": now, "proof"}: the end of a gang; proof is taken over. */
json_t *result_origin_end(json_t *proof_new);

/* They write OUTPUT/result.json; proof: the exits of the ranks (docs/results.md), borrowed;
 * ret_sha256: of result.json. */

/* Of a training that has come to its end, after its record was checked. */
NODISCARD int result_origin_write_training(const struct result_origin *origin, struct store *output,
                                           const struct finished *finished, json_t *proof,
                                           char ret_sha256[static 65], struct error *err);
/* Of a command, for one of its outputs: see result_folder_write. others: the spec paths of all
 * outputs, NULL-ended: those below this one are not part of it. end: of
 * result_origin_end, borrowed. 1: written, and there is no file in the output. */
NODISCARD int result_origin_write_command(const struct result_origin *origin, struct store *output,
                                          const char *const *others, const json_t *end,
                                          char ret_sha256[static 65], struct error *err);
/* Of a registered version of a Sweep (store/registered.h), of all its files. sweep: which trials
 * there were, and the best; borrowed. */
NODISCARD int result_origin_write_sweep(const struct result_origin *origin, struct store *version,
                                        const char *name, json_t *sweep, char ret_sha256[static 65],
                                        struct error *err);
