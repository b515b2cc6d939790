/* schedule.h: spec.schedule, parsed: the crontab's fields and the time zone's file. It reads files;
 * plan gets the result. */
#pragma once

#include "lib/time/cron.h"
#include "lib/tree.h"

struct batchscore_schedule {
    struct cron cron;
    struct zone *zone;    /* NULL: there is a problem */
    struct error problem; /* "spec.schedule.cron: minute "61": ..." */
};

/* NULL for a job without a schedule. Free with batchscore_schedule_freep (for AUTO, too). */
struct batchscore_schedule *batchscore_schedule_read(const json_t *object);
void batchscore_schedule_freep(struct batchscore_schedule **schedule);

/* Only the check; fails with the problem. */
NODISCARD int batchscore_schedule_check(const json_t *object, struct error *err);
