/* schedule.h: spec.schedule, read: the crontab's fields and the zone's file. Reads files; plan gets
 * the result. */
#pragma once

#include "lib/time/cron.h"
#include "lib/tree.h"

struct schedule {
    struct cron cron;
    struct zone *zone;    /* NULL: there is a problem */
    struct error problem; /* "spec.schedule.cron: minute "61": ..." */
};

/* NULL for a job without a schedule. Free with schedule_freep (for AUTO, too). */
struct schedule *schedule_read(const json_t *object);
void schedule_freep(struct schedule **schedule);

/* The problem alone. */
NODISCARD int schedule_check(const json_t *object, struct error *err);
