/* status_list.h: `windlass status`: the jobs of a namespace, or of all, and their changes. */
#pragma once

#include "operator/commands/status/status_show.h"

/* The jobs of all kinds that the user may list are appended to an array. */
NODISCARD int status_list_read(struct remote *remote, json_t *jobs, struct error *err);
/* A table of jobs; all: with their namespaces. */
void status_list_print(const json_t *jobs, bool all);
/* With `watch` it runs until a permanent refusal. */
NODISCARD int status_list_show(struct remote *remote, const struct status_request *request,
                               struct error *err);
