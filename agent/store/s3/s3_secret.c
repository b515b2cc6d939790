// SPDX-License-Identifier: Apache-2.0
/* The keys of a bucket, in the files of its mounted Secret. */
#include "agent/store/s3/s3_store.h"

#include <string.h>

/* Reads a file that is one word. 1: read; 0: no such file; -1. */
static int read_word(const struct cloud_place *place, const char *file, char **ret_text,
                     size_t *ret_size, struct error *err) {
    int found = cloud_secret_file(place, file, ret_text, ret_size, err);
    for (size_t i = 0; found == 1 && i < *ret_size; i++) {
        if ((*ret_text)[i] <= ' ' || (*ret_text)[i] >= 127) {
            found = 0;
        }
    }
    if (found == 1 && *ret_size) {
        return 1;
    }
    bool is_missing = !*ret_text;
    cloud_wipe(ret_text, *ret_size);
    return found < 0 || is_missing
               ? found
               : error_set(err, ERROR_DENIED, "%s/%s: one word is expected", place->secrets, file);
}

static int read_files(const struct cloud_place *place, struct cloud_grant *grant,
                      struct error *err) {
    size_t name_size = 0, session_size = 0;
    int has_name = read_word(place, "AWS_ACCESS_KEY_ID", &grant->name, &name_size, err);
    int has_secret =
        has_name < 0 ? -1
                     : read_word(place, "AWS_SECRET_ACCESS_KEY", &grant->bytes, &grant->size, err);
    if (has_secret < 0 ||
        read_word(place, "AWS_SESSION_TOKEN", &grant->session, &session_size, err) < 0) {
        return -1;
    }
    return has_name && has_secret
               ? 0
               : error_set(err, ERROR_DENIED,
                           "%s holds no AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
                           place->secrets);
}

int s3_read_grant(const struct cloud_place *place, struct resolver *resolver UNUSED,
                  struct cloud_grant *grant, struct error *err) {
    if (read_files(place, grant, err) < 0) {
        cloud_grant_release(grant);
        return -1;
    }
    return 0;
}
