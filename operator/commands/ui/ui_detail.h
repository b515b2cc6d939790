/* ui_detail.h: one job as the page of `windlass ui` shows it: from its object and its pods, which
 * are the same on this machine and on a cluster. Nothing of the spec but its names is in it, so no
 * variable that may hold a secret. Pure. */
#pragma once

#include "operator/commands/ui/ui_row.h"

/* All borrowed; NULL: none. */
struct ui_detail_facts {
    struct ui_job job;
    const json_t *pods;
    const json_t *made;     /* the jobs that it has made: kind_children.tree */
    const json_t *failures; /* [{"item", "cause"}] */
    const json_t *pictures; /* [{"name", "before": token, "after": token}] */
    const json_t *files;    /* [{"label", "page": "report"}], or with "path" instead */
    const char *not_live;   /* why the figures are those of the last write of the status */
};

/* {"row": ui_row, "unit", "message", "figures": [[label, value]], "curve": {"metric", "points":
 * [[reports, best, mean]]}, "made", "pods": [{"name", "state", "node", "start", "why"}],
 * "failures", "pictures", "conditions": [{"type", "status", "reason", "message", "time"}], "runs":
 * [[name, state, time, message]], "outputs": [text], "files", "notLive", "actions": [words]};
 * owned. */
json_t *ui_detail(const struct ui_detail_facts *detail);
