// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/credentials.h"

#include "lib/digest.h"
#include "lib/net/tls.h"
#include "operator/kinds/job/after/after.h"

#include <stdlib.h>
#include <string.h>

enum {
    TOKEN_BYTES = 32,
    SUFFIX_BYTES = 4, /* of the Secret's name */
};

bool job_credentials_are_missing(const struct job_observed *observed) {
    const json_t *object = observed->object;
    return !observed->service && !tree_get(object, "status.credentials") &&
           !conditions_is_finished(object) && !after_is_open(object) &&
           !tree_bool(object, "spec.suspend", false);
}

int job_credentials_make(const json_t *object, struct credentials **ret_credentials,
                         struct error *err) {
    AUTO(text_freep) char *certificate = NULL;
    AUTO(text_freep) char *key = NULL;
    char sha256[65];
    if (tls_make_certificate(&certificate, &key, sha256, err) < 0) {
        return error_context(err, "credentials of the coordinator");
    }
    AUTO(text_freep) char *suffix = digest_random(SUFFIX_BYTES);
    AUTO(text_freep)
    char *prefix = owned_prefix(tree_text(object, "metadata.name", ""), OWNED_PREFIX_MAX);
    struct credentials *made = x_calloc(1, sizeof *made);
    *made = (struct credentials){
        .secret = x_printf("%s-%s", prefix, suffix),
        .token = digest_random(TOKEN_BYTES),
        .read_token = digest_random(TOKEN_BYTES),
        .certificate = TAKE(certificate),
        .certificate_sha256 = x_strdup(sha256),
        .key = TAKE(key),
    };
    *ret_credentials = made;
    return 0;
}

void job_credentials_free(struct credentials *credentials) {
    if (credentials) {
        free((char *)credentials->secret);
        free((char *)credentials->token);
        free((char *)credentials->read_token);
        free((char *)credentials->certificate);
        free((char *)credentials->certificate_sha256);
        free((char *)credentials->key);
        free((char *)credentials->policy_refused);
        free((char *)credentials->begun);
        free(credentials);
    }
}

static void empty(const char **text) {
    free((char *)*text);
    *text = x_strdup("");
}

/* Only a successful answer shows that the Secret is stored; the controller then forgets its
 * content. After a definite refusal the same Secret can be written again; after any other failure
 * it needs another name. */
void job_credentials_note(struct credentials **credentials, const struct written *written) {
    struct credentials *kept = *credentials;
    if (!kept || strcmp(kept->secret, tree_text(written->object, "metadata.name", "?")) != 0) {
        return;
    }
    if (!written->err) {
        kept->is_confirmed = true;
        empty(&kept->token);
        empty(&kept->key);
    } else if (written->err->kind != ERROR_DENIED && written->err->kind != ERROR_INVALID) {
        job_credentials_free(TAKE(*credentials));
    }
}
