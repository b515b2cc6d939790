/* import_katib.h: the search space of a Katib Experiment. */
#pragma once

#include "operator/kinds/import/import_notes.h"

/* The name in the form of a variable's, "--lr" -> "lr"; owned. */
char *katib_parameter_name(const char *name);
/* Sets spec.parameters. INVALID: a parameter has no counterpart. */
NODISCARD int katib_parameters(struct import *import, const json_t *spec, struct error *err);
