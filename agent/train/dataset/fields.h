/* fields.h: the members of a JSON object, by name, for readers of the trainer's part of the spec.
 * The manifest has been checked; these errors are for other callers of the agent. INVALID names the
 * member. */
#pragma once

#include "lib/error.h"

#include <jansson.h>

/* *ret_text is borrowed. */
NODISCARD int fields_text(const json_t *object, const char *name, const char **ret_text,
                          struct error *err);
/* low..high; a missing member is `fallback`, if that is in the range. */
NODISCARD int fields_integer(const json_t *object, const char *name, const int64_t range[2],
                             int64_t fallback, int64_t *ret_value, struct error *err);
/* A number, or a string that contains one ("0.05"), as in manifests; finite and in range. */
NODISCARD int fields_number(const json_t *object, const char *name, const double range[2],
                            double fallback, double *ret_value, struct error *err);
/* A boolean; false if missing. */
NODISCARD int fields_flag(const json_t *object, const char *name, bool *ret_value,
                          struct error *err);
/* An array of 1 to max items, borrowed. */
NODISCARD int fields_array(const json_t *object, const char *name, size_t max,
                           const json_t **ret_array, struct error *err);
/* The index of the string in `names` (which end with NULL); `fallback` if missing. */
NODISCARD int fields_choice(const json_t *object, const char *name, const char *const *names,
                            int fallback, int *ret_index, struct error *err);
