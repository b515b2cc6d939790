// SPDX-License-Identifier: Apache-2.0
#include "agent/store/cloud/cloud_place.h"

#include "lib/file.h"
#include "lib/net/address.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void cloud_place_release(struct cloud_place *place) {
    char *texts[] = {place->folder,  place->endpoint,         place->host,
                     place->secrets, place->authorities_file, place->name_servers};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        free(texts[i]);
    }
    *place = (struct cloud_place){0};
}

bool cloud_url_host(const char *url, char **ret_host, int *ret_port) {
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

int cloud_check_addresses(const char *host, const char *addresses, struct error *err) {
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

static char *without_slashes(const char *text) {
    size_t size = strlen(text);
    while (size && text[size - 1] == '/') {
        size--;
    }
    return x_strndup(text, size);
}

bool cloud_place_set_folder(struct cloud_place *place, const char *path) {
    place->folder = without_slashes(path);
    return is_folder(place->folder);
}

bool cloud_place_set_endpoint(struct cloud_place *place, const char *endpoint) {
    place->endpoint = without_slashes(endpoint);
    return cloud_url_host(place->endpoint, &place->host, &place->port);
}

const char *cloud_variable(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

void cloud_place_read(struct cloud_place *place, const char *name) {
    const char *folder = cloud_variable("WINDLASS_STORES_FOLDER");
    const char *authorities = cloud_variable("WINDLASS_AUTHORITIES");
    place->secrets = file_join(folder ? folder : "/windlass/stores", name);
    if (!authorities && access("/windlass/ca.crt", R_OK) == 0) {
        authorities = "/windlass/ca.crt";
    }
    place->authorities_file = x_strdup(authorities);
    place->name_servers = x_strdup(cloud_variable("WINDLASS_NAME_SERVERS"));
}

int cloud_find_listed(const char *variable, const char *key, const char *name, json_t **ret_list,
                      const json_t **ret_found, struct error *err) {
    const char *text = cloud_variable(variable);
    if (text &&
        (tree_parse(text, strlen(text), 1 << 20, ret_list, err) < 0 || !json_is_array(*ret_list))) {
        error_set(err, ERROR_INVALID, "a list is expected");
        return error_context(err, "%s", variable);
    }
    *ret_found = tree_find(*ret_list, key, name);
    return 0;
}
