/* model_manifest.h: the lines of a BatchScore's manifest that would feed a network and deliver its
 * outputs, as far as names, types and shapes tell. For `model check`. */
#pragma once

#include "agent/engine/session.h"

/* Prints them, after a run on zeros. What nothing tells, such as the range of a picture's values,
 * is said behind a #. */
void model_manifest_print(struct session *session, const char *path);
