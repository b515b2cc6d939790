/* schema.h: the structural OpenAPI schema of a kind, read from its CustomResourceDefinition (the
 * same file that a cluster gets), so that types, bounds, enums and defaults have one source.
 *
 * Supported: type, properties, required, additionalProperties, items, enum, default, nullable,
 * minimum, maximum, minLength, maxLength, pattern, minItems, maxItems, maxProperties,
 * x-kubernetes-int-or-string, x-kubernetes-preserve-unknown-fields, x-kubernetes-list-type (set,
 * map). A field without type and with a pattern is a decimal: a number or its text (not: excludes
 * the rest on a server). Programs see the text alone, as filling in defaults makes it, of whole
 * numbers where the schema has a minimum. x-kubernetes-validations (CEL) are checked by the API
 * server; rules.c of the kind has the same rules in C. An unsupported keyword fails the load, so
 * that no rule is lost silently.
 */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

struct schema;

/* crd: the text of a CustomResourceDefinition with one served version. */
NODISCARD int schema_parse(const char *crd, size_t size, struct schema **ret_schema,
                           struct error *err);
struct schema *schema_share(struct schema *schema); /* one more owner; returns it */
void schema_free(struct schema *schema);            /* each owner does; the last one frees it */
void schema_freep(struct schema **schema);          /* for AUTO */

const char *schema_api_version(const struct schema *schema); /* "windlass.dev/v1beta1" */
/* Whether objects may have that apiVersion: all versions have the same schema. */
bool schema_serves(const struct schema *schema, const char *api_version);
const char *schema_kind(const struct schema *schema);
const json_t *schema_root(const struct schema *schema); /* the openAPIV3Schema, borrowed */
const json_t *schema_crd(const struct schema *schema);  /* the whole definition, borrowed */

/* Whether a field of that schema is a number or a text. */
bool schema_is_decimal(const json_t *schema);

/* Fills in the defaults of a whole resource in place, as the API server does, and makes decimals
 * texts: 0.05 is "0.05", the shortest text that reads back as the same number. */
void schema_fill_defaults(const struct schema *schema, json_t *object);
/* For an object of a server: a copy with the defaults that its spec lacks, because the definition
 * there is older, and with decimals as texts. The copy's member SCHEMA_FILLED lists the paths of
 * defaults, such as [["spec", "volumes", 0, "readOnly"]]. NULL: nothing is to be done. Owned by the
 * caller. */
#define SCHEMA_FILLED "filled"
json_t *schema_filled(const struct schema *schema, const json_t *object);
/* Removes these fields, in place: what that server knows of the object. */
void schema_unfill(json_t *object);

/* Checks a whole resource. ERROR_INVALID and "spec.workers.min: 0 is less than 1"; an unknown field
 * is refused with the most similar known name. */
NODISCARD int schema_check(const struct schema *schema, const json_t *object, struct error *err);
/* The same, and the texts of further errors, in their order, a few at most, are added to `others`
 * (an array; NULL: the first is enough). */
NODISCARD int schema_check_all(const struct schema *schema, const json_t *object, json_t *others,
                               struct error *err);
/* Always ERROR_INVALID: field (a path; "": the resource) has no member `key`; says the most similar
 * member of `properties`, or all of them. */
NODISCARD int schema_refuse_field(const json_t *properties, const char *key, const char *field,
                                  struct error *err);
