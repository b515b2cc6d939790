// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/schedule.h"

#include <stdlib.h>

static void read_parts(const json_t *spec, struct batchscore_schedule *schedule) {
    struct error *err = &schedule->problem;
    if (cron_parse(tree_text(spec, "cron", ""), &schedule->cron, err) < 0) {
        error_context(err, "spec.schedule.cron");
    } else if (zone_open(tree_text(spec, "timeZone", ""), &schedule->zone, err) < 0) {
        error_context(err, "spec.schedule.timeZone");
    }
}

struct batchscore_schedule *batchscore_schedule_read(const json_t *object) {
    const json_t *spec = tree_get(object, "spec.schedule");
    if (!spec) {
        return NULL;
    }
    struct batchscore_schedule *schedule = x_calloc(1, sizeof *schedule);
    read_parts(spec, schedule);
    return schedule;
}

void batchscore_schedule_freep(struct batchscore_schedule **schedule) {
    if (*schedule) {
        zone_free((*schedule)->zone);
        free(TAKE(*schedule));
    }
}

int batchscore_schedule_check(const json_t *object, struct error *err) {
    AUTO(batchscore_schedule_freep)
    struct batchscore_schedule *schedule = batchscore_schedule_read(object);
    if (schedule && !schedule->zone) {
        *err = schedule->problem;
        return -1;
    }
    return 0;
}
