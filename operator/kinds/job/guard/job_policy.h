/* job_policy.h: what an administrator forbids in jobs, beyond what their rules do: checked before
 * anything is created for a job. The chart's ValidatingAdmissionPolicy says the same in CEL, for
 * API servers that have it; this check holds on every server.
 *
 *     {"hostPath": false, "hostNamespaces": false, "privileged": false,
 *      "nodeIdentity": false, "images": ["registry.example/team*"], "serviceAccounts": [],
 *      "secrets": ["team-*"]}
 *
 * All are optional. false refuses; a list refuses what is not on it, and an entry that ends in *
 * allows all names that begin so. nodeIdentity is false by default where serviceAccounts or secrets
 * is given. Pure, but for reading a file. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

/* given: JSON, which begins with {, or a file with JSON or YAML. *ret_policy is owned. INVALID: an
 * unknown field, or a value of another form. */
NODISCARD int job_policy_read(const char *given, json_t **ret_policy, struct error *err);

/* Checks the spec of a job of any kind, with its templates; of a Sweep its trials' spec. policy:
 * NULL allows everything. INVALID: "spec.FIELD: ...", the first field that is refused. */
NODISCARD int job_policy_check(const json_t *policy, const json_t *object, struct error *err);
