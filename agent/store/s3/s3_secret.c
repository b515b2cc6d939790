// SPDX-License-Identifier: Apache-2.0
/* The keys of a bucket: the files of its mounted Secret, else the first of the other ways that is
 * set up. */
#include "agent/store/s3/s3_keys.h"

#include "lib/file.h"

/* Reads a file that is one word. 1: read; 0: no such file; -1. */
static int read_word(const struct cloud_place *place, const char *file, char **ret_text,
                     size_t *ret_size, struct error *err) {
    int found = cloud_secret_file(place, file, ret_text, ret_size, err);
    if (found != 1 || s3_is_word(*ret_text)) {
        return found;
    }
    cloud_wipe(ret_text, *ret_size);
    return error_set(err, ERROR_DENIED, "%s/%s: one word is expected", place->secrets, file);
}

/* A Secret that is mounted without both is an error: its bucket must not get the rights of a
 * service account instead, because a name in it is misspelt. */
static int fetch_files(const struct s3_place *place, struct resolver *resolver UNUSED,
                       struct cloud_grant *grant, struct error *err) {
    const struct cloud_place *base = &place->base;
    size_t name_size = 0, session_size = 0;
    int has_name = read_word(base, "AWS_ACCESS_KEY_ID", &grant->name, &name_size, err);
    int has_secret =
        has_name < 0 ? -1
                     : read_word(base, "AWS_SECRET_ACCESS_KEY", &grant->bytes, &grant->size, err);
    if (has_secret < 0 ||
        read_word(base, "AWS_SESSION_TOKEN", &grant->session, &session_size, err) < 0) {
        return -1;
    }
    if (has_name && has_secret) {
        return 1;
    }
    cloud_grant_release(grant);
    return !file_is_folder(base->secrets)
               ? 0
               : error_set(err, ERROR_DENIED, "%s holds no %s", base->secrets,
                           has_name     ? "AWS_SECRET_ACCESS_KEY"
                           : has_secret ? "AWS_ACCESS_KEY_ID"
                                        : "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
}

static int refuse(const struct s3_place *place, struct error *err) {
    static const char others[] = "AWS_ROLE_ARN, AWS_CONTAINER_CREDENTIALS_FULL_URI and the file "
                                 "~/.aws/credentials";
    return place->identity == S3_IDENTITY_SERVICE_ACCOUNT
               ? error_set(err, ERROR_DENIED,
                           "the service account has no role in this pod: none of %s is there",
                           others)
               : error_set(err, ERROR_DENIED,
                           "%s holds no AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and none of "
                           "%s is there",
                           place->base.secrets, others);
}

/* gs:// has keys of a Secret, or a token of the metadata service: nothing of Amazon's. */
static int read_google(const struct s3_place *place, struct resolver *resolver,
                       struct cloud_grant *grant, struct error *err) {
    if (place->identity == S3_IDENTITY_NODE) {
        return s3_fetch_google(place, resolver, grant, err);
    }
    if (place->identity == S3_IDENTITY_SERVICE_ACCOUNT) {
        return error_set(err, ERROR_INVALID,
                         "identity ServiceAccount is not for gs://; with identity Node the "
                         "metadata service is asked, which on GKE gives the service account's "
                         "token (Workload Identity)");
    }
    int found = fetch_files(place, resolver, grant, err);
    return found ? found
                 : error_set(err, ERROR_DENIED,
                             "%s holds no AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (an HMAC "
                             "key of Google's)",
                             place->base.secrets);
}

static int read_amazon(const struct s3_place *place, struct resolver *resolver,
                       struct cloud_grant *grant, struct error *err) {
    static s3_fetch_keys *const ways[] = {fetch_files, s3_fetch_role, s3_fetch_pod,
                                          s3_fetch_shared};
    int found =
        place->identity == S3_IDENTITY_NODE ? s3_fetch_node(place, resolver, grant, err) : 0;
    for (size_t i = place->identity ? 1 : 0; i < ARRAY_LEN(ways) && !found; i++) {
        found = ways[i](place, resolver, grant, err);
    }
    return found ? found : refuse(place, err);
}

int s3_read_grant(const struct cloud_place *base, struct resolver *resolver,
                  struct cloud_grant *grant, struct error *err) {
    const struct s3_place *place = (const struct s3_place *)base;
    int found = place->is_google ? read_google(place, resolver, grant, err)
                                 : read_amazon(place, resolver, grant, err);
    if (found < 0) {
        cloud_grant_release(grant);
    }
    return found < 0 ? -1 : 0;
}
