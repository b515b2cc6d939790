/* run_secrets.h: the values of a DistTrain's secrets (its own, or a Sweep's trials') for `windlass
 * run`: this machine has no Secrets of a cluster, so each is a file DIR/SECRET/KEY, as a Secret is
 * where it is mounted. They are read once, before any process starts, and stand in no argument, log
 * or status. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

/* folder: --secrets; NULL: not given. within: "spec", of a Sweep "spec.trial". Secrets as a cluster
 * has them, with stringData, one a name; owned. One newline at the end of a file is none of the
 * value. INVALID: what is missing, or no text. */
NODISCARD int run_secrets_read(const char *folder, const json_t *object, const char *within,
                               json_t **ret_secrets, struct error *err);
