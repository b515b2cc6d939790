/* azure_secret.h: the credentials of one account: its key, a SAS, or the token of a workload
 * identity. Any thread. */
#pragma once

#include "agent/store/azure/azure_place.h"
#include "agent/store/cloud/cloud_secret.h"

/* Of a grant: the key itself, "sv=...&sig=...", or the token. */
enum azure_secret_kind { AZURE_KEY, AZURE_SAS, AZURE_TOKEN };

cloud_read_grant azure_read_grant;

/* Exchanges the pod's token for one of the storage service (OAuth 2.0 client credentials with a JWT
 * for a secret). Blocks, tries once. The caller wipes and frees *ret_token. */
NODISCARD int azure_token_fetch(const struct azure_place *place, struct resolver *resolver,
                                char **ret_token, int64_t *ret_lasts_ms, struct error *err);
