/* resource.h: a manifest file -> one valid resource: YAML, the kind's schema with its defaults, the
 * kind's cross-field rules. What an API server would accept and store, this accepts and returns. */
#pragma once

#include "operator/schema.h"

/* *ret_object (owned) is the resource with defaults filled in; metadata.namespace is "default"
 * where none was given. ERROR_INVALID reads "job.yaml:12: spec.workers.min: ..."; several resources
 * in one file are refused. */
NODISCARD int resource_load(const char *path, json_t **ret_object, struct error *err);
/* The same, and refuses what a cluster takes, and this machine does not carry out. */
NODISCARD int resource_load_today(const char *path, json_t **ret_object, struct error *err);
/* As resource_load, of text in memory; name stands for the file in messages. */
NODISCARD int resource_parse(const char *name, const char *text, size_t size, json_t **ret_object,
                             struct error *err);

/* The schema of a kind of ours; ERROR_INVALID names the kinds that there are. */
NODISCARD int resource_schema(const char *api_version, const char *kind, struct schema **ret_schema,
                              struct error *err);
