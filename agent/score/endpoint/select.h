/* select.h: spec.scorer.endpoint.response: what is kept of an answer, and whether it fits. Pure.
 * Sources: RFC 6901 (JSON pointers), JSON Schema 2020-12. */
#pragma once

#include "lib/tree.h"

/* Of the tree of an answer, and of one in a text of it. */
#define SELECT_MEMORY_MAX ((size_t)256 << 20)

/* The value at a JSON pointer. "#" in it: the text so far is JSON, and the rest points into it:
 * "/choices/0/message/content#/label". *ret_value is owned. INVALID: there is nothing. */
NODISCARD int select_value(const json_t *tree, const char *pointer, json_t **ret_value,
                           struct error *err);
/* An object with the value of each pointer under its name. */
NODISCARD int select_values(const json_t *tree, const json_t *pointers, json_t **ret_object,
                            struct error *err);

/* INVALID: a keyword that select_fits does not know, by its place. */
NODISCARD int select_check_schema(const json_t *schema, struct error *err);
/* INVALID says where the value does not fit: "/label: "spam" is none of enum". Knows type, enum,
 * const, properties, required, additionalProperties, items, minItems, maxItems, minLength,
 * maxLength, minimum, maximum, exclusiveMinimum, exclusiveMaximum, allOf, anyOf, oneOf, not. */
NODISCARD int select_fits(const json_t *schema, const json_t *value, struct error *err);
