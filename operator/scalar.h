/* scalar.h: the value of a plain (unquoted) YAML scalar, by YAML 1.2's core schema. Scalars that
 * mean something else in YAML 1.1, which kubectl reads (yes, on, 010, 1_000), are refused with the
 * advice to use quotes. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

bool scalar_is_ambiguous(const char *text);

/* null, true/false, an integer, a number or text. */
NODISCARD int scalar_resolve(const char *text, json_t **ret_value, struct error *err);
