/* stopping_truncation.h: HyperDrive's TruncationSelectionPolicy (learn.microsoft.com, "Truncation
 * selection policy"): at each evaluation the lowest percentage of trials is stopped. Their
 * "performance" is here the best score after as many reports. Stopped trials are ranked, too;
 * otherwise each evaluation would remove the same share of the remaining trials again. Pure. */
#pragma once

#include "operator/kinds/sweep/stopping/stopping.h"

enum { RULES_TRUNCATION_OTHERS_MIN = 3 };

/* Whether own is among the floor(count percentage / 100) worst of all; in a tie own counts as
 * better. rows: own and at least RULES_TRUNCATION_OTHERS_MIN others, sorted by best. */
bool stopping_truncation_stops(const struct rule *rule, const struct rule_row *rows, size_t count,
                               struct rule_row own);
