/* azure_secret.h: the credentials of one account: its key, a SAS, or the token of a workload
 * identity. They are only in memory, in mounted files and in requests, never in a message. Any
 * thread. */
#pragma once

#include "agent/store/azure/azure_place.h"
#include "lib/net/resolver.h"

enum azure_secret_kind { AZURE_KEY, AZURE_SAS, AZURE_TOKEN };

/* The credentials of one request. */
struct azure_grant {
    enum azure_secret_kind kind;
    char *bytes; /* the key itself, "sv=...&sig=...", or the token */
    size_t size;
    int64_t generation; /* increases with every reading */
};
void azure_grant_release(struct azure_grant *grant); /* wipes it; for AUTO, too */

struct azure_secret;
/* Both are borrowed and must outlive it. Reads nothing yet. */
struct azure_secret *azure_secret_new(const struct azure_place *place, struct resolver *resolver);
void azure_secret_free(struct azure_secret *secret); /* accepts NULL */

/* Reads or fetches credentials if there are none yet or they expire within 5 minutes. DENIED: there
 * are none, or the token service refuses; UNAVAILABLE, TIMEOUT: the token service does not
 * respond. */
NODISCARD int azure_secret_get(struct azure_secret *secret, struct azure_grant *ret_grant,
                               struct error *err);
/* Called when the service refused a grant of that generation. True if there is another one now. */
bool azure_secret_renew(struct azure_secret *secret, int64_t generation);

/* Exchanges the pod's token for one of the storage service (OAuth 2.0 client credentials with a JWT
 * for a secret). Blocks, tries once. The caller wipes and frees *ret_token. */
NODISCARD int azure_token_fetch(const struct azure_place *place, struct resolver *resolver,
                                char **ret_token, int64_t *ret_lasts_ms, struct error *err);
