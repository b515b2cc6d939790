/* cloud_secret.h: the credentials of one account or bucket. They are only in memory, in mounted
 * files and in requests, never in a message. Any thread. */
#pragma once

#include "agent/store/cloud/cloud_place.h"
#include "lib/net/resolver.h"

/* The credentials of one request; what the fields mean is the service's. */
struct cloud_grant {
    int kind;           /* of the service's kinds */
    char *name;         /* belongs to the secret, such as a key's id; NULL: none */
    char *bytes;        /* the secret itself */
    size_t size;        /* of bytes */
    char *session;      /* a second secret, sent with each request; NULL: none */
    int64_t lasts_ms;   /* how long it is good, from when it was read; 0: until it is refused */
    int64_t generation; /* increases with every reading */
};
void cloud_grant_release(struct cloud_grant *grant); /* wipes it; for AUTO, too */

/* Reads or fetches credentials. DENIED: there are none, or the service that gives them refuses;
 * UNAVAILABLE, TIMEOUT: it does not respond. *grant is released after a failure. */
typedef int cloud_read_grant(const struct cloud_place *place, struct resolver *resolver,
                             struct cloud_grant *grant, struct error *err);

struct cloud_secret;
/* All are borrowed and must outlive it. Reads nothing yet. */
struct cloud_secret *cloud_secret_new(cloud_read_grant *read, const struct cloud_place *place,
                                      struct resolver *resolver);
void cloud_secret_free(struct cloud_secret *secret); /* accepts NULL */

/* Reads or fetches credentials if there are none yet or they expire within 5 minutes. DENIED,
 * UNAVAILABLE, TIMEOUT: as of the reading, which those who wait for it share. */
NODISCARD int cloud_secret_get(struct cloud_secret *secret, struct cloud_grant *ret_grant,
                               struct error *err);
/* Called when the service refused a grant of that generation. True if there is another one now. One
 * that ends is fetched at most once in 10 s because of refusals. */
bool cloud_secret_renew(struct cloud_secret *secret, int64_t generation);

/* Reads a file of place->secrets without white space at its ends. 1: read; 0: no such file; -1:
 * DENIED. The caller wipes and frees *ret_text. */
NODISCARD int cloud_secret_file(const struct cloud_place *place, const char *name, char **ret_text,
                                size_t *ret_size, struct error *err);
void cloud_wipe(char **bytes, size_t size); /* wipes and frees; accepts NULL in it */
