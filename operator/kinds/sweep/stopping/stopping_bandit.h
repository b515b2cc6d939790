/* stopping_bandit.h: HyperDrive's BanditPolicy: a trial must be within a slack of the best one
 * (learn.microsoft.com, "Bandit policy": with slack_factor 0.2 and a best of 0.8, a trial below 0.8
 * / (1 + 0.2) is stopped). With b the best score of the others after as many reports, a trial is
 * stopped when its best is worse than
 *
 *   slackFactor s:  b - |b| s / (1 + s)  (Maximize: b / (1 + s) where b is positive, as theirs)
 *                   b + |b| s            (Minimize, for which theirs has no formula)
 *   slackAmount a:  b - a,  b + a
 *
 * The |b| is our addition: with their formula a leader with negative values would be stopped by its
 * own bound. Pure. */
#pragma once

#include "operator/kinds/sweep/stopping/stopping.h"

enum { RULES_BANDIT_OTHERS_MIN = 1 };

/* The worst score that may go on. rows: those of the trial, which is `own`, and of at least
 * RULES_BANDIT_OTHERS_MIN others, sorted by best. */
double stopping_bandit_bound(const struct rule *rule, enum goal goal, const struct rule_row *rows,
                             size_t count, struct rule_row own);
