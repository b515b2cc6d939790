/* resource.h: reads a manifest file as one valid resource: YAML, then the defaults and bounds of
 * the kind's schema, then the kind's rules between fields. It accepts what an API server would
 * accept, and returns what it would store. */
#pragma once

#include "lib/options.h"
#include "operator/schema.h"

/* A resource of a file. */
struct resource_read {
    /* With defaults filled in; metadata.namespace is "default" where not given. NULL: it is
     * refused, and why says it: "job.yaml:12: spec.workers.min: ...". Owned by the callee. */
    json_t *object;
    /* As the file has it, with the values of --set; borrowed; NULL: the file is not YAML. */
    const json_t *written;
    const json_t *parameters; /* its spec.parameters before --set; borrowed; NULL: none */
    const struct error *why;
    const json_t *more; /* texts of further errors, in the form of why; borrowed; may be empty */
    /* The lines of the file that why and those of `more` are about, to be printed below them on a
     * terminal (manifest_excerpt.h); null where there is none. */
    const json_t *shown;
};

/* What is refused, besides what a cluster refuses. */
enum resource_use {
    RESOURCE_OF_CLUSTER,
    RESOURCE_SUPPORTED, /* what this version or machine does not support */
    RESOURCE_LOCAL      /* the same; but folders beside the file (local/volume_beside.h) are volumes
                          that need no declaration */
};

/* Which file, and how it is read. */
struct resource_source {
    const char *path; /* "-": standard input */
    enum resource_use use;
    const struct option_list *sets; /* NAME=VALUE of spec.parameters, as checked by
                                       parameters_split; NULL: none */
};

/* Each resource of the file, in its order. -1: the file cannot be read, or the callee has failed.
 */
typedef int resource_each(void *context, const struct resource_read *read, struct error *err);
NODISCARD int resource_load_each(const struct resource_source *source, resource_each *each,
                                 void *context, struct error *err);
/* The only resource of a text in memory; name replaces the file in messages. */
NODISCARD int resource_parse(const char *name, const char *text, size_t size, json_t **ret_object,
                             struct error *err);
