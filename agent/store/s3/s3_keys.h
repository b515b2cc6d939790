/* s3_keys.h: where keys of a bucket come from, shared by the files that fetch them: s3_secret.c
 * chooses, s3_role.c asks for a role, s3_metadata.c asks services of the pod's node, s3_google.c
 * Google's, s3_shared.c reads the user's file. Keys that end are fetched again before that
 * (cloud_secret.h). */
#pragma once

#include "agent/store/cloud/cloud_secret.h"
#include "agent/store/s3/s3_place.h"

/* Of a grant: `name` is the key's, `bytes` its secret, `session` the session's token. Of one
 * without a name, which only Google gives, `bytes` is a token that requests have as it is. */
cloud_read_grant s3_read_grant;

/* Whether it is one word, which a header can hold. */
bool s3_is_word(const char *text);

/* What was read of keys: the parser's, who wipes them. NULL: not there. */
struct s3_keys {
    const char *name, *secret, *session;
    const char *ends; /* a date, for cloud_date_ns; NULL: they do not end */
};
/* Copies them to a grant. 1; -1: UNAVAILABLE, one is missing or cannot be sent in a header, or they
 * have ended. shown: whose they are, in messages. */
NODISCARD int s3_keep_keys(const struct s3_keys *keys, const char *shown, struct cloud_grant *grant,
                           struct error *err);

/* An answer of the token service that has no keys: DENIED, or UNAVAILABLE for what passes. */
int s3_refuse_role(int status, const char *body, struct error *err);

/* Each: 1: fetched; 0: nothing is set up for that; -1: as cloud_read_grant. */
typedef int s3_fetch_keys(const struct s3_place *place, struct resolver *resolver,
                          struct cloud_grant *grant, struct error *err);
s3_fetch_keys s3_fetch_role;   /* AssumeRoleWithWebIdentity */
s3_fetch_keys s3_fetch_pod;    /* EKS Pod Identity */
s3_fetch_keys s3_fetch_node;   /* the instance metadata service, its version 2 */
s3_fetch_keys s3_fetch_shared; /* ~/.aws/credentials */
s3_fetch_keys s3_fetch_google; /* a token of Google's metadata service */
