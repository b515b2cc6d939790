/* ui_local_files.h: what a run of this machine has left in files: its logs, its pages, the items
 * that failed. Each is read up to a bound. */
#pragma once

#include "operator/commands/ui/ui_source.h"
#include "operator/local/runs/run_list.h"

/* The pages that are there, the folder of the logs and the manifest: ui_detail.files; owned. */
json_t *ui_local_files(const struct run_item *item, const json_t *status);
/* The first items of failed.jsonl: ui_detail.failures; owned; NULL: there are none. */
json_t *ui_local_failures(const struct run_item *item, const json_t *status);
/* ui_source_ops.logs and .page. */
NODISCARD int ui_local_logs(const struct run_item *item, json_t **ret_logs, struct error *err);
NODISCARD int ui_local_page(const struct run_item *item, enum ui_page which, char **ret_html,
                            struct error *err);
