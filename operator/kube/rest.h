/* rest.h: paths of objects on an API server, from their apiVersion and kind. */
#pragma once

#include "lib/error.h"

struct rest_place {
    const char *api_version; /* "v1", "windlass.dev/v1beta1" */
    const char *kind;        /* "Pod" */
    const char *namespace;   /* NULL or "": all of them. Ignored for kinds without namespaces */
    const char *name;        /* NULL: the collection */
    const char *part;        /* "status", "log"; NULL: the object itself */
};

/* "/api/v1/namespaces/a/pods/b/status". The caller frees it. Fails with INVALID when a part is not
 * valid in Kubernetes, because the result would be a different path. */
NODISCARD int rest_path(const struct rest_place *place, char **ret_path, struct error *err);

/* "pods", "networkpolicies": the plural in lower case. The caller frees it. */
char *rest_plural(const char *kind);

/* The name under which a server with an older definition knows the same objects; NULL: none. */
const char *rest_older_version(const char *api_version);

bool rest_is_namespaced(const char *kind);
