/* model_manifest.h: the lines of a BatchScore's manifest that would feed a network and deliver its
 * outputs, as far as names, types and shapes show them. For `model check`. */
#pragma once

#include "agent/engine/session.h"

/* Prints them, after a run on zeros. What cannot be detected, such as the range of a picture's
 * values, is a comment behind a #. */
void model_manifest_print(struct session *session, const char *path);
