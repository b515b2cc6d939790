// SPDX-License-Identifier: Apache-2.0
#include "agent/store/azure/azure_place.h"

#include <stdlib.h>
#include <string.h>

static const char lower_and_digits[] = "abcdefghijklmnopqrstuvwxyz0123456789";

void azure_place_release(struct azure_place *place) {
    char *texts[] = {place->account,   place->container,  place->client_id,
                     place->tenant_id, place->token_file, place->authority};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        free(texts[i]);
    }
    cloud_place_release(&place->base);
    *place = (struct azure_place){0};
}

/* ---- the path ------------------------------------------------------------------------------- */

static int refuse_path(const char *spec_path, struct error *err) {
    return error_set(err, ERROR_INVALID,
                     "\"%.80s\": az://ACCOUNT/CONTAINER/path/in/it is expected, the account of 3 "
                     "to 24 lower-case letters and digits, no part \"..\"",
                     spec_path);
}

static int read_path(const char *spec_path, struct azure_place *place, struct error *err) {
    const char *account = spec_path + strlen("az://");
    size_t account_size = strspn(account, lower_and_digits);
    if (account_size < 3 || account_size > 24 || account[account_size] != '/') {
        return refuse_path(spec_path, err);
    }
    const char *container = account + account_size + 1;
    size_t container_size = strcspn(container, "/");
    size_t fitting = strspn(container, "-$abcdefghijklmnopqrstuvwxyz0123456789");
    if (container_size < 3 || container_size > 63 || fitting != container_size) {
        return refuse_path(spec_path, err);
    }
    const char *folder = container + container_size + (container[container_size] == '/');
    place->account = x_strndup(account, account_size);
    place->container = x_strndup(container, container_size);
    return cloud_place_set_folder(&place->base, folder) ? 0 : refuse_path(spec_path, err);
}

/* ---- the environment ------------------------------------------------------------------------ */

/* Takes the store's endpoint, else the environment's, else Azure's. */
static int read_endpoint(struct azure_place *place, const char *given, struct error *err) {
    const char *pattern = cloud_variable("WINDLASS_BLOB_ENDPOINT");
    pattern = given ? given : pattern ? pattern : "https://ACCOUNT.blob.core.windows.net";
    const char *word = given ? NULL : strstr(pattern, "ACCOUNT");
    AUTO(text_freep)
    char *address = word ? x_printf("%.*s%s%s", (int)(word - pattern), pattern, place->account,
                                    word + strlen("ACCOUNT"))
                         : x_strdup(pattern);
    bool is_good = cloud_place_set_endpoint(&place->base, address);
    return (word || given) && is_good
               ? 0
               : error_set(
                     err, ERROR_INVALID, "%s is \"%.100s\", an address such as %s is expected",
                     given ? "its endpoint in spec.stores" : "WINDLASS_BLOB_ENDPOINT", pattern,
                     given ? "https://films.blob.core.usgovcloudapi.net"
                           : "https://ACCOUNT.blob.core.windows.net");
}

static void read_store(struct azure_place *place, const json_t *store) {
    const char *client_id = tree_text(store, "clientID", NULL);
    place->base.is_read_only = tree_bool(store, "readOnly", false);
    if (client_id) {
        place->client_id = x_strdup(client_id);
        place->has_client_id = true;
    }
}

static void read_identity(struct azure_place *place) {
    const char *authority = cloud_variable("AZURE_AUTHORITY_HOST");
    if (!place->client_id) {
        place->client_id = x_strdup(cloud_variable("AZURE_CLIENT_ID"));
    }
    place->tenant_id = x_strdup(cloud_variable("AZURE_TENANT_ID"));
    place->token_file = x_strdup(cloud_variable("AZURE_FEDERATED_TOKEN_FILE"));
    place->authority = x_strdup(authority ? authority : "https://login.microsoftonline.com");
}

int azure_place_read(const char *spec_path, struct azure_place *ret_place, struct error *err) {
    AUTO(azure_place_release) struct azure_place place = {0};
    AUTO(tree_freep) json_t *stores = NULL;
    const json_t *store = NULL;
    if (read_path(spec_path, &place, err) < 0 ||
        cloud_find_listed("WINDLASS_STORES", "account", place.account, &stores, &store, err) < 0 ||
        read_endpoint(&place, tree_text(store, "endpoint", NULL), err) < 0) {
        return -1;
    }
    read_store(&place, store);
    read_identity(&place);
    cloud_place_read(&place.base, place.account);
    *ret_place = place;
    place = (struct azure_place){0};
    return 0;
}
