/* fields.h: reads the members of a JSON object by name, for the trainer's part of the spec.
 *
 * A member that is missing is an error, as one of the wrong type is: the agent has no defaults.
 * windlass and the API server fill them in and check the bounds (crds/disttrain.yaml). The ranges
 * here are wider; they only protect memory and arithmetic. A caller for which a member is optional
 * looks for it first. Errors: INVALID, and they name the member and what is expected. Results are
 * untouched on failure. */
#pragma once

#include "lib/error.h"

#include <jansson.h>

/* A string of at least one byte. *ret_text is borrowed from the object. */
NODISCARD int fields_text(const json_t *object, const char *name, const char **ret_text,
                          struct error *err);
/* An integer from range[0] to range[1]. */
NODISCARD int fields_integer(const json_t *object, const char *name, const int64_t range[2],
                             int64_t *ret_value, struct error *err);
/* A finite number, or a string that contains one, as in manifests: "0.05". */
NODISCARD int fields_number(const json_t *object, const char *name, double *ret_value,
                            struct error *err);
/* A boolean. */
NODISCARD int fields_flag(const json_t *object, const char *name, bool *ret_value,
                          struct error *err);
/* An array of 1 to `max` items. *ret_array is borrowed from the object. */
NODISCARD int fields_array(const json_t *object, const char *name, size_t max,
                           const json_t **ret_array, struct error *err);
/* One of `names`, which end with NULL. *ret_index is its index there. */
NODISCARD int fields_choice(const json_t *object, const char *name, const char *const *names,
                            int *ret_index, struct error *err);
