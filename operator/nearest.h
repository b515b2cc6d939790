/* nearest.h: "did you mean ...?" */
#pragma once

#include "lib/tree.h"

/* The key of an object that a person who wrote `word` most likely meant; NULL when none is near. */
const char *nearest_key(const json_t *object, const char *word);
