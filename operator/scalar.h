/* scalar.h: what a plain (unquoted) YAML scalar means: YAML 1.2's core schema. Where YAML 1.1,
 * which kubectl reads, means something else by the same characters (yes, on, 010, 1_000), neither
 * guess would be right everywhere: those are refused with the advice to use quotes. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

bool scalar_is_ambiguous(const char *text);

/* null, true/false, an integer, a number or text. */
NODISCARD int scalar_resolve(const char *text, json_t **ret_value, struct error *err);
