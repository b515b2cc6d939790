/* unique.h: looks through a batch file before anything is asked: two lines with one custom_id would
 * be two answers that cannot be distinguished. 8 bytes of memory a line. For the coordinator. */
#pragma once

#include "agent/data/input/input.h"

/* Reads the whole input. INVALID: a custom_id is there twice; names both lines. Invalid lines
 * are left to the workers, and the first is logged. */
NODISCARD int unique_check(const json_t *spec, const struct input_kind *kind, struct error *err);
