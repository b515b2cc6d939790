/* rest.h: where an object of a kind lives on an API server: apiVersion and kind -> path. */
#pragma once

#include "lib/error.h"

struct rest_place {
    const char *api_version; /* "v1", "windlass.dev/v1alpha1" */
    const char *kind;        /* "Pod" */
    const char *namespace;   /* NULL or "": all of them. Not looked at for kinds that have none */
    const char *name;        /* NULL: the collection */
    const char *part;        /* "status", "log"; NULL: the object itself */
};

/* "/api/v1/namespaces/a/pods/b/status". The caller frees. Fails with INVALID when a piece is
 * nothing that Kubernetes could have made: it would be another path. */
NODISCARD int rest_path(const struct rest_place *place, char **ret_path, struct error *err);

/* "pods", "networkpolicies": lower case, in the plural. The caller frees. */
char *rest_plural(const char *kind);

bool rest_is_namespaced(const char *kind);
