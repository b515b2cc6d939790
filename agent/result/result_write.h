/* result_write.h: stores OUTPUT/result.json and, with a key, its signature (envelope.h), in the
 * order in which a reader may find them: the signature first, result.json last. */
#pragma once

#include "agent/result/result_file.h"
#include "lib/signature.h"

/* The key that signs a job's results (spec.signingKey), for the process that writes them. pem: of
 * WINDLASS_SIGNING_KEY; NULL: none, and *ret_key stays NULL. INVALID: not an ed25519 key, or the
 * manifest wants one and there is none. */
NODISCARD int result_key_read(const json_t *manifest, const char *pem,
                              struct signature_key **ret_key, struct error *err);

/* Stores the result. key: NULL: not signed, and the signature of an earlier result is removed.
 * INVALID: its text exceeds RESULT_BYTES_MAX, so that no reader would take it. ret_sha256: of
 * result.json. */
NODISCARD int result_write(struct store *output, const json_t *result,
                           const struct signature_key *key, char ret_sha256[static 65],
                           struct error *err);
/* Removes both; one that is missing is not an error. */
NODISCARD int result_remove(struct store *output, struct error *err);
