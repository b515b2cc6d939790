/* rules.h: which running trials are hopeless (spec.earlyStopping). A rule judges one trial by a
 * table of what it and others had after the same number of reports: rules_bandit.h, rules_median.h,
 * rules_truncation.h. Here is which table. Pure.
 *
 * A trial is judged where it and enough others have been: after the largest number of reports k
 * that it and so many others have a point at. Running ones count, so that a rule works in the first
 * wave, where HyperDrive's did not (MicrosoftDocs/azure-docs#29518), and who runs ahead of all is
 * judged, too, as soon as others come there. A tie stops nobody; a trial none of whose reports was
 * a number is worse than every number. */
#pragma once

#include "lib/curve.h"

enum goal { GOAL_MAXIMIZE, GOAL_MINIMIZE, GOAL_COUNT };
extern const char *const goal_names[]; /* spec.objective.goal by enum goal */
/* More is better, whatever the goal; NAN becomes -INFINITY. */
double goal_score(enum goal goal, double value);

enum rule_kind { RULE_NONE, RULE_BANDIT, RULE_MEDIAN, RULE_TRUNCATION };
struct rule {
    enum rule_kind kind;
    double slack_factor, slack_amount; /* bandit: one of them, the other is 0 */
    int percentage;                    /* truncation: 1 to 99 */
    bool excludes_finished;            /* truncation: only running ones are ranked */
};

struct rule_trial {
    const struct curve *curve;
    bool is_running;
};

/* A row of a table: what a trial had after its first k reports, as scores (goal_score). */
struct rule_row {
    double best, mean;
};

enum { RULE_WHY_MAX = 192 };

/* Whether trials[which] is to be stopped, and one line that says why ("Median: after 12 reports
 * ..."). */
bool rule_stops(const struct rule *rule, enum goal goal, const struct rule_trial *trials,
                size_t count, size_t which, char why[static RULE_WHY_MAX]);
