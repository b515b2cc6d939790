/* run_secrets.h: the values of a DistTrain's secrets (or of the trials of a Sweep) for `windlass
 * run`. This machine has no Secrets of a cluster, so each value is a file DIR/SECRET/KEY, the
 * layout of a mounted Secret. The files are read once, before any process starts. The values do not
 * appear in arguments, logs or the status. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

/* folder: the DIR of --secrets; NULL: not given, an error if the job has secrets. object: the whole
 * resource. within: "spec", or "spec.trial" for a Sweep. *ret_secrets: an array of Secret objects
 * with stringData, one per SECRET, empty if the job has none; the caller releases it. One newline
 * at the end of a file is not part of the value. INVALID: --secrets or a file is missing, or a file
 * is not UTF-8 text. */
NODISCARD int run_secrets_read(const char *folder, const json_t *object, const char *within,
                               json_t **ret_secrets, struct error *err);
