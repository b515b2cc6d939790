// SPDX-License-Identifier: Apache-2.0
#include "agent/store/stored_file.h"

#include "agent/store/registered.h"
#include "agent/store/store_ops.h"

#include <stdlib.h>
#include <string.h>

const char *stored_file_skip_scheme(const char *spec_path) {
    const struct store_ops *ops = store_ops_of(spec_path);
    return ops ? spec_path + strlen(ops->prefix) : spec_path;
}

const char *stored_file_below_container(const char *spec_path) {
    const struct store_ops *ops = store_ops_of(spec_path);
    if (!ops || ops->place_parts == 0) {
        return NULL;
    }
    const char *end = stored_file_skip_scheme(spec_path);
    end += strcspn(end, "/");
    for (int i = 1; i < ops->place_parts && *end; i++) {
        end += 1 + strcspn(end + 1, "/");
    }
    return end;
}

/* A container or a bucket may have this name, too, but is not a folder. */
const char *stored_file_find_latest(const char *spec_path) {
    const char *below = stored_file_below_container(spec_path);
    return strstr(below ? below : spec_path, "/" REGISTERED_LATEST "/");
}

int stored_file_path(const char *spec_path, char **ret_path, struct error *err) {
    const char *latest = stored_file_find_latest(spec_path);
    AUTO(store_freep) struct store *store = NULL;
    char version[REGISTERED_VERSION_MAX + 1] = "";
    if (latest) {
        AUTO(text_freep) char *folder = x_strndup(spec_path, (size_t)(latest - spec_path));
        if (store_open(folder, /* writes= */ false, &store, err) < 0 ||
            registered_latest(store, REGISTERED_LATEST, version, err) < 0) {
            return -1;
        }
    }
    if (!*version) {
        *ret_path = x_strdup(spec_path);
        return 0;
    }
    *ret_path = x_printf("%.*s/%s%s", (int)(latest - spec_path), spec_path, version,
                         latest + strlen("/" REGISTERED_LATEST));
    return 0;
}

int stored_file_open(const char *given, struct stored_file *ret_file, struct error *err) {
    AUTO(text_freep) char *spec_path = NULL;
    struct store *store = NULL;
    if (stored_file_path(given, &spec_path, err) < 0) {
        return -1;
    }
    const char *slash = strrchr(spec_path, '/');
    if (!slash || !slash[1]) {
        return error_set(err, ERROR_INVALID, "%s is not a file, expected VOLUME/path/in/it",
                         spec_path);
    }
    AUTO(text_freep) char *folder = x_strndup(spec_path, (size_t)(slash - spec_path));
    if (store_open(folder, /* writes= */ false, &store, err) < 0) {
        return -1;
    }
    *ret_file = (struct stored_file){.store = store, .name = x_strdup(slash + 1)};
    return 0;
}

void stored_file_release(struct stored_file *file) {
    store_free(file->store);
    free(file->name);
    *file = (struct stored_file){0};
}
