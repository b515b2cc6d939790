// SPDX-License-Identifier: Apache-2.0
#include "agent/store/azure/azure_place.h"

#include "lib/file.h"
#include "lib/net/address.h"
#include "lib/tree.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char lower_and_digits[] = "abcdefghijklmnopqrstuvwxyz0123456789";

void azure_place_release(struct azure_place *place) {
    char *texts[] = {place->account,          place->container,    place->folder,
                     place->endpoint,         place->host,         place->secrets,
                     place->authorities_file, place->name_servers, place->client_id,
                     place->tenant_id,        place->token_file,   place->authority};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        free(texts[i]);
    }
    *place = (struct azure_place){0};
}

bool azure_url_host(const char *url, char **ret_host, int *ret_port) {
    if (!text_starts(url, "https://")) {
        return false;
    }
    const char *host = url + strlen("https://");
    bool has_brackets = *host == '[';
    host += has_brackets;
    size_t length = strcspn(host, has_brackets ? "]" : ":/");
    const char *port = host + length + (has_brackets && host[length]);
    long number = 443;
    if (*port == ':') {
        char *end = NULL;
        number = strtol(port + 1, &end, 10);
        port = end;
    }
    if (!length || (*port && *port != '/') || number < 1 || number > 65535 || strpbrk(url, "?#@")) {
        return false;
    }
    *ret_host = x_strndup(host, length);
    *ret_port = (int)number;
    return true;
}

/* ---- the path ------------------------------------------------------------------------------- */

static int refuse_path(const char *spec_path, struct error *err) {
    return error_set(err, ERROR_INVALID,
                     "\"%.80s\": az://ACCOUNT/CONTAINER/path/in/it is expected, the account of 3 "
                     "to 24 lower-case letters and digits, no part \"..\"",
                     spec_path);
}

static bool is_folder(const char *path) {
    for (const char *at = path; *at;) {
        size_t part = strcspn(at, "/");
        if (!part || (part == 1 && at[0] == '.') || (part == 2 && at[0] == '.' && at[1] == '.')) {
            return false;
        }
        at += part + (at[part] == '/');
    }
    return true;
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
    size_t folder_size = strlen(folder);
    while (folder_size && folder[folder_size - 1] == '/') {
        folder_size--;
    }
    place->account = x_strndup(account, account_size);
    place->container = x_strndup(container, container_size);
    place->folder = x_strndup(folder, folder_size);
    return is_folder(place->folder) ? 0 : refuse_path(spec_path, err);
}

/* ---- the environment ------------------------------------------------------------------------ */

/* NULL if the variable is missing or empty. Borrowed. */
static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static char *without_slashes(const char *text) {
    size_t size = strlen(text);
    while (size && text[size - 1] == '/') {
        size--;
    }
    return x_strndup(text, size);
}

int azure_check_addresses(const char *host, const char *addresses, struct error *err) {
    AUTO(text_freep) char *list = x_strdup(addresses);
    char *rest = list;
    for (const char *each; (each = strsep(&rest, ","));) {
        if (address_is_link_local(each)) {
            return error_set(err, ERROR_DENIED,
                             "%.100s has the address %.60s, which is link-local or a metadata "
                             "service's; nothing is sent there",
                             host, each);
        }
    }
    return 0;
}

/* Takes the store's endpoint, else the environment's, else Azure's. */
static int read_endpoint(struct azure_place *place, const char *given, struct error *err) {
    const char *pattern = variable("WINDLASS_BLOB_ENDPOINT");
    pattern = given ? given : pattern ? pattern : "https://ACCOUNT.blob.core.windows.net";
    const char *word = given ? NULL : strstr(pattern, "ACCOUNT");
    AUTO(text_freep)
    char *address = word ? x_printf("%.*s%s%s", (int)(word - pattern), pattern, place->account,
                                    word + strlen("ACCOUNT"))
                         : x_strdup(pattern);
    place->endpoint = without_slashes(address);
    return (word || given) && azure_url_host(place->endpoint, &place->host, &place->port)
               ? 0
               : error_set(
                     err, ERROR_INVALID, "%s is \"%.100s\", an address such as %s is expected",
                     given ? "its endpoint in spec.stores" : "WINDLASS_BLOB_ENDPOINT", pattern,
                     given ? "https://films.blob.core.usgovcloudapi.net"
                           : "https://ACCOUNT.blob.core.windows.net");
}

/* Finds the account's entry in spec.stores[]; NULL: it has none. */
static int read_stores(const struct azure_place *place, json_t **ret_stores,
                       const json_t **ret_store, struct error *err) {
    const char *text = variable("WINDLASS_STORES");
    if (text && (tree_parse(text, strlen(text), 1 << 20, ret_stores, err) < 0 ||
                 !json_is_array(*ret_stores))) {
        error_set(err, ERROR_INVALID, "a list is expected");
        return error_context(err, "WINDLASS_STORES");
    }
    *ret_store = tree_find(*ret_stores, "account", place->account);
    return 0;
}

static void read_store(struct azure_place *place, const json_t *store) {
    const char *client_id = tree_text(store, "clientID", NULL);
    place->is_read_only = tree_bool(store, "readOnly", false);
    if (client_id) {
        place->client_id = x_strdup(client_id);
        place->has_client_id = true;
    }
}

static void read_identity(struct azure_place *place) {
    const char *authority = variable("AZURE_AUTHORITY_HOST");
    if (!place->client_id) {
        place->client_id = x_strdup(variable("AZURE_CLIENT_ID"));
    }
    place->tenant_id = x_strdup(variable("AZURE_TENANT_ID"));
    place->token_file = x_strdup(variable("AZURE_FEDERATED_TOKEN_FILE"));
    place->authority = x_strdup(authority ? authority : "https://login.microsoftonline.com");
}

int azure_place_read(const char *spec_path, struct azure_place *ret_place, struct error *err) {
    AUTO(azure_place_release) struct azure_place place = {0};
    AUTO(tree_freep) json_t *stores = NULL;
    const json_t *store = NULL;
    if (read_path(spec_path, &place, err) < 0 || read_stores(&place, &stores, &store, err) < 0 ||
        read_endpoint(&place, tree_text(store, "endpoint", NULL), err) < 0) {
        return -1;
    }
    read_store(&place, store);
    read_identity(&place);
    const char *folder = variable("WINDLASS_STORES_FOLDER");
    const char *authorities = variable("WINDLASS_AUTHORITIES");
    place.secrets = file_join(folder ? folder : "/windlass/stores", place.account);
    if (!authorities && access("/windlass/ca.crt", R_OK) == 0) {
        authorities = "/windlass/ca.crt";
    }
    place.authorities_file = x_strdup(authorities);
    place.name_servers = x_strdup(variable("WINDLASS_NAME_SERVERS"));
    *ret_place = place;
    place = (struct azure_place){0};
    return 0;
}
