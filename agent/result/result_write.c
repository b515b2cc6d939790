// SPDX-License-Identifier: Apache-2.0
#include "agent/result/result_write.h"

#include "agent/result/envelope.h"
#include "lib/digest.h"

#include <stdlib.h>
#include <string.h>

int result_key_read(const json_t *manifest, const char *pem, struct signature_key **ret_key,
                    struct error *err) {
    if (!pem) {
        return tree_get(manifest, "spec.signingKey")
                   ? error_set(err, ERROR_INVALID,
                               "spec.signingKey: this pod got no key (neither the file signing.key "
                               "in WINDLASS_SECRETS nor WINDLASS_SIGNING_KEY)")
                   : 0;
    }
    return signature_key_read_private(pem, ret_key, err) < 0 ? error_context(err, "spec.signingKey")
                                                             : 0;
}

static int write_envelope(struct store *output, const json_t *result, const char *text,
                          const struct signature_key *key, struct error *err) {
    if (!key) {
        return store_remove(output, RESULT_ENVELOPE_NAME, err);
    }
    AUTO(text_freep) char *line = envelope_make(text, strlen(text), result, key);
    return store_put(output, RESULT_ENVELOPE_NAME, line, strlen(line), STORE_REPLACE, err);
}

int result_write(struct store *output, const json_t *result, const struct signature_key *key,
                 char ret_sha256[static 65], struct error *err) {
    AUTO(text_freep) char *dumped = json_dumps(result, JSON_INDENT(2));
    AUTO(text_freep) char *text = x_printf("%s\n", dumped ? dumped : "");
    if (!dumped || strlen(text) > RESULT_BYTES_MAX) {
        return error_set(err, ERROR_INVALID, "%s/%s: more than %d bytes, or not JSON",
                         store_path(output), RESULT_NAME, RESULT_BYTES_MAX);
    }
    if (write_envelope(output, result, text, key, err) < 0 ||
        store_put(output, RESULT_NAME, text, strlen(text), STORE_REPLACE, err) < 0) {
        return -1;
    }
    digest_sha256(text, strlen(text), ret_sha256);
    return 0;
}

int result_remove(struct store *output, struct error *err) {
    return store_remove(output, RESULT_NAME, err) < 0
               ? -1
               : store_remove(output, RESULT_ENVELOPE_NAME, err);
}
