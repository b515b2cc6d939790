/* status_sweep.h: what `windlass status` shows of a Sweep: its trials. */
#pragma once

#include "operator/commands/remote.h"

bool status_is_sweep(const json_t *job);
/* A table of the trials with a bar for each, on standard output; nothing where there are none. */
NODISCARD int status_print_trials(struct remote *remote, const json_t *sweep, struct error *err);
/* -o html: sweep.html, on standard output. INVALID: it is no Sweep. */
NODISCARD int status_print_page(struct remote *remote, const json_t *job, struct error *err);
