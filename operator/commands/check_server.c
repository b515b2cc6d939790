// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/check_server.h"

#include "lib/text/shown.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_MAX_BYTES = 256 };

static void warn(const struct resource_file *file, const char *text) {
    AUTO(text_freep) char *shown = shown_text(text, strlen(text));
    fprintf(stderr, "windlass check: %s: %s %s: the API server warns: %s\n", file->path,
            tree_text(file->object, "kind", ""), tree_text(file->object, "metadata.name", ""),
            shown);
}

/* context: what is asked about. */
struct asked {
    const struct resource_file *file;
};

static void on_warning(void *context, const char *text) {
    const struct asked *asked = context;
    if (asked->file) {
        warn(asked->file, text);
    }
}

/* The first field that is given and not stored; items of lists are not looked at, which may have
 * another order. path: of the object, to which the field is added. */
static bool find_dropped(const json_t *given, const json_t *stored,
                         char path[static PATH_MAX_BYTES]) {
    size_t length = strlen(path);
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)given, name, value) {
        const json_t *kept = json_object_get(stored, name);
        snprintf(path + length, PATH_MAX_BYTES - length, ".%s", name);
        if ((!kept && !json_is_null(value)) || (kept && find_dropped(value, kept, path))) {
            return true;
        }
        path[length] = 0;
    }
    return false;
}

/* Servers before 1.25 drop a field silently that their definition does not have. */
static void warn_dropped(const struct resource_file *file, const json_t *stored) {
    char path[PATH_MAX_BYTES] = "spec";
    if (find_dropped(json_object_get(file->written, "spec"), json_object_get(stored, "spec"),
                     path)) {
        AUTO(text_freep)
        char *text = x_printf("its definition of this kind is older and drops %s: upgrade the "
                              "chart with crds.install=true, or leave the field out",
                              path);
        warn(file, text);
    }
}

/* The object without what only the server sets: the file may be the output of kubectl get -o yaml.
 * Owned. */
static json_t *as_written(const json_t *written) {
    static const char *const added[] = {"managedFields",     "resourceVersion", "uid",
                                        "creationTimestamp", "generation",      "selfLink"};
    json_t *copy = json_copy((json_t *)written);
    json_t *metadata = json_copy(json_object_get(written, "metadata"));
    for (size_t i = 0; i < ARRAY_LEN(added); i++) {
        json_object_del(metadata, added[i]);
    }
    if (metadata) {
        json_object_set_new(copy, "metadata", metadata);
    }
    json_object_del(copy, "status");
    return copy;
}

/* An answer to this manifest, and not a problem of the server or the way to it. */
static bool is_refusal(const struct error *err) {
    switch (err->kind) {
    case ERROR_INVALID:
    case ERROR_DENIED:
    case ERROR_NOT_FOUND:
    case ERROR_CONFLICT:
    case ERROR_UNSUPPORTED:
        return true;
    default:
        return false;
    }
}

static int ask(struct remote *remote, const struct remote_options *where,
               struct resource_file *file, struct error *err) {
    const char *namespace = tree_text(file->written, "metadata.namespace", NULL);
    AUTO(tree_freep) json_t *stored = NULL;
    struct error why = {0};
    if (where->namespace && namespace && strcmp(namespace, where->namespace) != 0) {
        error_set(&file->why, ERROR_INVALID,
                  "%s: metadata.namespace is %s, and -n %s: expected the same", file->path,
                  namespace, where->namespace);
        return 0;
    }
    AUTO(tree_freep) json_t *asked = as_written(file->written);
    if (remote_apply_dry(remote, asked, &stored, &why) == 0) {
        warn_dropped(file, stored);
        return 0;
    }
    AUTO(text_freep) char *shown = shown_text(why.text, strlen(why.text));
    if (!is_refusal(&why)) {
        return error_set(err, why.kind, "%s: the API server does not answer: %s", file->path,
                         shown);
    }
    error_set(&file->why, ERROR_INVALID, "%s: the API server refuses %s %s: %s", file->path,
              tree_text(file->object, "kind", ""), tree_text(file->object, "metadata.name", ""),
              shown);
    return 0;
}

int check_server_ask(const struct remote_options *where, struct resource_files *files,
                     struct error *err) {
    AUTO(remote_release) struct remote remote = {0};
    struct asked asked = {0};
    if (remote_open(where, &remote, err) < 0) {
        return -1;
    }
    client_on_warning(remote.client, on_warning, &asked);
    for (size_t i = 0; i < files->count; i++) {
        asked.file = &files->at[i];
        if (files->at[i].object && ask(&remote, where, &files->at[i], err) < 0) {
            return -1;
        }
    }
    return 0;
}
