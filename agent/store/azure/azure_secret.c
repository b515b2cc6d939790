// SPDX-License-Identifier: Apache-2.0
#include "agent/store/azure/azure_secret.h"

#include "lib/text/base64.h"

#include <stdlib.h>
#include <string.h>

/* 1: read; 0: no such file; -1. */
static int read_key(const struct cloud_place *place, struct cloud_grant *grant, struct error *err) {
    char *text = NULL;
    size_t size = 0;
    int found = cloud_secret_file(place, "azurestorageaccountkey", &text, &size, err);
    if (found <= 0) {
        return found;
    }
    struct error cause = {0};
    int result = base64_decode(text, &grant->bytes, &grant->size, &cause);
    cloud_wipe(&text, size);
    if (result < 0 || !grant->size) {
        return error_set(err, ERROR_DENIED, "%s/azurestorageaccountkey: not an account key",
                         place->secrets);
    }
    grant->kind = AZURE_KEY;
    return 1;
}

static int read_sas(const struct cloud_place *place, struct cloud_grant *grant, struct error *err) {
    int found =
        cloud_secret_file(place, "azurestorageaccountsastoken", &grant->bytes, &grant->size, err);
    if (found <= 0) {
        return found;
    }
    size_t marks = strspn(grant->bytes, "?"); /* as in an address */
    grant->size -= marks;
    memmove(grant->bytes, grant->bytes + marks, grant->size + 1);
    bool is_good = strstr(grant->bytes, "sig=") != NULL;
    for (size_t i = 0; i < grant->size; i++) {
        is_good =
            is_good && grant->bytes[i] > ' ' && grant->bytes[i] < 127 && grant->bytes[i] != '#';
    }
    if (!is_good) {
        return error_set(err, ERROR_DENIED,
                         "%s/azurestorageaccountsastoken: not a shared access signature",
                         place->secrets);
    }
    grant->kind = AZURE_SAS;
    return 1;
}

static int read_token(const struct azure_place *place, struct resolver *resolver,
                      struct cloud_grant *grant, struct error *err) {
    if (!place->client_id || !place->tenant_id || !place->token_file) {
        return error_set(err, ERROR_DENIED,
                         place->has_client_id
                             ? "no workload identity in this pod: AZURE_FEDERATED_TOKEN_FILE and "
                               "AZURE_TENANT_ID are not set"
                             : "%s holds neither azurestorageaccountkey nor "
                               "azurestorageaccountsastoken, and the pod has no workload identity",
                         place->base.secrets);
    }
    if (azure_token_fetch(place, resolver, &grant->bytes, &grant->lasts_ms, err) < 0) {
        return -1;
    }
    grant->kind = AZURE_TOKEN;
    grant->size = strlen(grant->bytes);
    return 0;
}

int azure_read_grant(const struct cloud_place *base, struct resolver *resolver,
                     struct cloud_grant *grant, struct error *err) {
    const struct azure_place *place = (const struct azure_place *)base;
    int found = 0;
    if (!place->has_client_id) {
        found = read_key(base, grant, err);
        found = found ? found : read_sas(base, grant, err);
    }
    if (found < 0 || (!found && read_token(place, resolver, grant, err) < 0)) {
        cloud_grant_release(grant);
        return -1;
    }
    return 0;
}
