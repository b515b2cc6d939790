/* after_reference.h: $(after.NAME.output) and $(after.NAME.model) in the texts of a spec: what a
 * job of spec.after has written. In a path it is VOLUME/path, and in what a program gets (command,
 * arguments, environment) $(VOLUME)/path, which becomes the folder. $$(after.NAME.output) is not a
 * reference. Pure. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

/* Whether the path begins with one, so that its volume is not known yet. */
bool after_reference_begins(const char *path);
/* Refuses references to jobs that spec.after does not have, references in paths that the job writes
 * to, spec.after of a series, and names of the job itself. */
NODISCARD int after_reference_check(const json_t *object, struct error *err);
/* Refuses references to what the jobs do not have. values: status.after. */
NODISCARD int after_reference_check_values(const json_t *object, const json_t *values,
                                           struct error *err);
/* The object with the values of its status.after in place of the references; owned by the caller.
 * NULL: it has none. */
json_t *after_reference_fill(const json_t *object);
/* The same with the given values, in the object's own spec. */
void after_reference_fill_in(json_t *object, const json_t *values);
