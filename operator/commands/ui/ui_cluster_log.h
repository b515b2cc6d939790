/* ui_cluster_log.h: the last lines of the logs of a job's pods on a cluster. */
#pragma once

#include "operator/commands/remote.h"

/* Those of the newest attempt of each place, up to UI_LOG_PODS_MAX: ui_source_ops.logs. A log that
 * cannot be read has the reason as its only line. */
NODISCARD int ui_cluster_log(struct remote *remote, const char *job, json_t **ret_logs,
                             struct error *err);
