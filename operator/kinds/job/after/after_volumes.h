/* after_volumes.h: whether a job finds what another one has written where $(after.NAME.output)
 * says: VOLUME/path is the same place only if the volume of that name is the same. Pure. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

/* INVALID: the object uses the output of that job of its spec.after, and its volume of that name is
 * another one. What cannot be seen (an alias of a server, the account in a Secret) counts as the
 * same. output: of after_output; NULL: it has none. */
NODISCARD int after_volumes_check(const json_t *object, const json_t *job, const char *output,
                                  struct error *err);

/* The object's volume of that name, of its own or its trials', borrowed; NULL: none. path:
 * VOLUME/path. */
const json_t *after_volumes_find(const json_t *object, const char *path);
/* Whether a text of the object has what that job has written. */
bool after_volumes_uses(const json_t *object, const json_t *job);
