/* ui_local.h: the runs of this machine (local/runs/run_list.h) as a source of `windlass ui`. A
 * record is read again only when its file has changed, or its run has ended. */
#pragma once

#include "operator/commands/ui/ui_source.h"
#include "operator/commands/ui/ui_table.h"

/* table is borrowed. */
struct ui_source *ui_local_new(struct ui_table *table);
void ui_local_free(struct ui_source *source); /* accepts NULL */
