/* status_list.h: `windlass status`: the jobs of a namespace, or of all, and their changes. */
#pragma once

#include "operator/commands/status/status_show.h"

/* With `watch` it runs until a permanent refusal. */
NODISCARD int status_list_show(struct remote *remote, const struct status_request *request,
                               struct error *err);
