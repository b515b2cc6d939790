/* resource.h: a manifest file -> one valid resource: YAML, the kind's schema with its defaults, the
 * kind's cross-field rules. It accepts and returns what an API server would accept and store. */
#pragma once

#include "operator/schema.h"

/* *ret_object (owned) is the resource with defaults filled in; metadata.namespace is "default"
 * where not given. ERROR_INVALID reads "job.yaml:12: spec.workers.min: ..."; several resources in
 * one file are refused. */
NODISCARD int resource_load(const char *path, json_t **ret_object, struct error *err);
/* The same, and refuses what a cluster accepts and this machine does not support. */
NODISCARD int resource_load_today(const char *path, json_t **ret_object, struct error *err);
/* Like resource_load, for text in memory; name replaces the file in messages. */
NODISCARD int resource_parse(const char *name, const char *text, size_t size, json_t **ret_object,
                             struct error *err);

/* The schema of one of our kinds; ERROR_INVALID lists the valid kinds. */
NODISCARD int resource_schema(const char *api_version, const char *kind, struct schema **ret_schema,
                              struct error *err);
