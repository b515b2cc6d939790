/* rules_truncation.h: HyperDrive's TruncationSelectionPolicy (learn.microsoft.com, "Truncation
 * selection policy"): at each evaluation the lowest so many percent are stopped. "Performance"
 * there is the best after as many reports here; stopped ones are ranked, too, so that each
 * evaluation does not take the same share of who is left once more. Pure. */
#pragma once

#include "operator/kinds/sweep/rules.h"

enum { RULES_TRUNCATION_OTHERS_MIN = 3 };

/* Whether own is among the floor((count + 1) percentage / 100) worst of all; who is as good as
 * others counts as better. others: count rows, at least RULES_TRUNCATION_OTHERS_MIN. */
bool rules_truncation_stops(const struct rule *rule, const struct rule_row *others, size_t count,
                            struct rule_row own);
