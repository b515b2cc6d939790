// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/run/run_stores.h"

#include "operator/kinds/job/spec.h"

#include <stdlib.h>
#include <unistd.h>

#define STORES_FOLDER "WINDLASS_STORES_FOLDER" /* agent/store/cloud/cloud_place.h */

/* The file that other programs read a user's keys of S3 from, too (agent/store/s3/s3_shared.c). */
static bool has_shared_keys(void) {
    const char *given = getenv("AWS_SHARED_CREDENTIALS_FILE"), *home = getenv("HOME");
    AUTO(text_freep)
    char *path = given && *given ? x_strdup(given) : x_printf("%s/.aws/credentials", home ?: "");
    return access(path, R_OK) == 0;
}

/* Which keys a Secret of a store or bucket stands for here; NULL: none are missing. Owned. */
static char *missing_keys(const json_t *spec, const json_t *place) {
    const char *account = tree_text(place, "account", NULL);
    const char *name = tree_text(place, "name", "");
    AUTO(text_freep) char *google = x_printf("gs://%s", name);
    bool is_google = job_mentions(spec, google); /* which has no use for Amazon's keys */
    if (!json_object_get(place, "secretName") || (!account && !is_google && has_shared_keys())) {
        return NULL;
    }
    return account ? x_printf("--stores DIR, with the file DIR/%s/azurestorageaccountkey or "
                              "azurestorageaccountsastoken",
                              account)
                   : x_printf("--stores DIR, with the files DIR/s3-%s/AWS_ACCESS_KEY_ID and "
                              "AWS_SECRET_ACCESS_KEY%s",
                              name, is_google ? "" : ", or the file ~/.aws/credentials");
}

int run_stores_find(const char *folder, const json_t *object, const char *within,
                    struct error *err) {
    static const char *const lists[] = {"stores", "buckets"};
    if (folder) {
        AUTO(text_freep) char *path = realpath(folder, NULL);
        return path && setenv(STORES_FOLDER, path, 1) == 0
                   ? 0
                   : error_set(err, ERROR_INVALID, "--stores %s: %m", folder);
    }
    const json_t *spec = tree_get(object, within);
    for (size_t k = 0; k < ARRAY_LEN(lists) && !getenv(STORES_FOLDER); k++) {
        const json_t *places = json_object_get(spec, lists[k]);
        for (size_t i = 0; i < json_array_size(places); i++) {
            AUTO(text_freep) char *missing = missing_keys(spec, json_array_get(places, i));
            if (missing) {
                return error_set(err, ERROR_INVALID,
                                 "%s.%s[%zu]: a Secret is not known on this machine; give %s",
                                 within, lists[k], i, missing);
            }
        }
    }
    return 0;
}
