// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/credentials.h"

#include "lib/digest.h"
#include "lib/net/tls.h"

#include <string.h>

enum {
    TOKEN_BYTES = 32,
    SUFFIX_BYTES = 4, /* of the Secret's name */
};

int job_credentials_make(json_t *kept, const json_t *object, struct error *err) {
    AUTO(text_freep) char *certificate = NULL;
    AUTO(text_freep) char *key = NULL;
    char sha256[65];
    if (tls_make_certificate(&certificate, &key, sha256, err) < 0) {
        return error_context(err, "credentials of the coordinator");
    }
    AUTO(text_freep) char *token = digest_random(TOKEN_BYTES);
    AUTO(text_freep) char *suffix = digest_random(SUFFIX_BYTES);
    json_object_set_new(
        kept, "credentials",
        json_pack("{s:o, s:s, s:s, s:s, s:s}", "secret",
                  json_sprintf("%s-%s", tree_text(object, "metadata.name", ""), suffix), "token",
                  token, "certificate", certificate, "sha256", sha256, "key", key));
    return 0;
}

bool job_credentials_read(const json_t *kept, struct credentials *ret_credentials) {
    const json_t *from = json_object_get(kept, "credentials");
    *ret_credentials = (struct credentials){
        .secret = tree_text(from, "secret", ""),
        .token = tree_text(from, "token", ""),
        .certificate = tree_text(from, "certificate", ""),
        .certificate_sha256 = tree_text(from, "sha256", ""),
        .key = tree_text(from, "key", ""),
        .is_confirmed = tree_bool(from, "confirmed", false),
    };
    return from != NULL;
}

/* Only a successful answer shows that the Secret is stored; the controller then forgets its
 * content. After a definite refusal the same Secret can be written again; after any other failure
 * it needs another name. */
void job_credentials_note(json_t *kept, const struct written *written) {
    json_t *credentials = json_object_get(kept, "credentials");
    if (strcmp(tree_text(credentials, "secret", ""),
               tree_text(written->object, "metadata.name", "?")) != 0) {
        return;
    }
    if (!written->err) {
        json_object_set_new(credentials, "confirmed", json_true());
        json_object_del(credentials, "token");
        json_object_del(credentials, "key");
    } else if (written->err->kind != ERROR_DENIED && written->err->kind != ERROR_INVALID) {
        json_object_del(kept, "credentials");
    }
}
