// SPDX-License-Identifier: Apache-2.0
/* A token for Google's Cloud Storage from the metadata service: of the pod's service account, where
 * GKE's Workload Identity is on, else of the node's. */
#include "agent/store/s3/s3_keys.h"

#include "agent/store/cloud/cloud_question.h"

#include <string.h>

enum { ANSWER_BYTES_MAX = 64 << 10, LASTS_S_MAX = 366 * 86400 };

static const char shown[] = "Google's metadata service";

/* {"access_token", "expires_in", "token_type"} */
static int read_token(const char *body, struct cloud_grant *grant, struct error *err) {
    AUTO(tree_freep) json_t *answer = NULL;
    struct error cause = {0};
    const char *token = "";
    int64_t lasts_s = 0;
    if (tree_parse(body, strlen(body), ANSWER_BYTES_MAX, &answer, &cause) == 0) {
        token = tree_text(answer, "access_token", "");
        lasts_s = tree_integer(answer, "expires_in", 0);
    }
    if (!s3_is_word(token) || lasts_s < 1 || lasts_s > LASTS_S_MAX) {
        return error_set(err, ERROR_UNAVAILABLE, "%s: the answer has no valid token", shown);
    }
    grant->bytes = x_strdup(token);
    grant->size = strlen(token);
    grant->lasts_ms = lasts_s * 1000;
    return 1;
}

static int refuse(int status, struct error *err) {
    return status == 404
               ? error_set(err, ERROR_DENIED, "%s: there is no service account", shown)
               : error_set(err, status == 429 || status >= 500 ? ERROR_UNAVAILABLE : ERROR_DENIED,
                           "%s answered %d", shown, status);
}

int s3_fetch_google(const struct s3_place *place UNUSED, struct resolver *resolver,
                    struct cloud_grant *grant, struct error *err) {
    static const char *const addresses[] = {"169.254.169.254", "fd20:ce::254", NULL};
    static const char *const headers[] = {"Metadata-Flavor: Google", NULL};
    static const char variable[] = "GCE_METADATA_HOST";
    const char *given = cloud_variable(variable);
    AUTO(text_freep)
    char *url = x_printf("http://%s/computeMetadata/v1/instance/service-accounts/default/token",
                         given ? given : "169.254.169.254");
    const struct cloud_question question = {.url = url,
                                            .headers = headers,
                                            .variable = variable,
                                            .addresses = addresses,
                                            .takes_names = true};
    int status = 0;
    char *body = NULL;
    if (cloud_question_ask(&question, resolver, &status, &body, err) < 0) {
        return error_context(err, "%s", shown);
    }
    int result = status == 200 ? read_token(body, grant, err) : refuse(status, err);
    cloud_wipe(&body, strlen(body));
    return result;
}
