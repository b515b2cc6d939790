/* stopping.h: early stopping of running trials (spec.earlyStopping). A rule compares one trial with
 * a table of the other trials after the same number of reports: stopping_bandit.h,
 * stopping_median.h, stopping_truncation.h, stopping_asha.h. This file chooses the table. Pure.
 *
 * The number of reports k is the largest at which the trial and as many others as the rule needs
 * have a point. Running trials count, so that a rule works in the first wave, where HyperDrive's
 * did not (MicrosoftDocs/azure-docs#29518), and a trial that is ahead of all others is judged, too,
 * once others reach that number. A tie does not stop a trial. A trial whose reports were all not
 * numbers is worse than every number. */
#pragma once

#include "lib/number/curve.h"
#include "operator/kinds/sweep/stopping/stopping_rows.h"

enum goal { GOAL_MAXIMIZE, GOAL_MINIMIZE, GOAL_COUNT };
extern const char *const goal_names[]; /* spec.objective.goal by enum goal */
/* A higher score is better, whatever the goal; NAN becomes -INFINITY. */
double sweep_score(enum goal goal, double value);

enum rule_kind { RULE_NONE, RULE_BANDIT, RULE_MEDIAN, RULE_TRUNCATION, RULE_ASHA, RULE_KIND_COUNT };
struct rule {
    enum rule_kind kind;
    double slack_factor, slack_amount; /* bandit: one of them; the other is 0 */
    int percentage;                    /* truncation: 1 to 99 */
    bool excludes_finished;            /* truncation: only running ones are ranked */
    int64_t min_reports, max_reports;  /* asha, from 1 */
    int factor, brackets;              /* asha: from 2, from 1 */
};

struct rule_trial {
    const struct curve *curve;
    bool is_running;
    int64_t index; /* of the trial in its Sweep */
};

enum { RULE_WHY_MAX = 192 };

/* All trials of one pass, with what is looked up for several of them. Filled by
 * stopping_judge_init; the caller keeps what it points to until stopping_judge_release. */
struct rule_table;
struct stopping_judge {
    const struct rule *rule;
    enum goal goal;
    const struct rule_trial *trials;
    size_t count;
    int *brackets;             /* asha: [count] */
    struct rule_table *tables; /* by bracket and number of reports, ascending */
    size_t table_count;
};

void stopping_judge_init(struct stopping_judge *judge, const struct rule *rule, enum goal goal,
                         const struct rule_trial *trials, size_t count);
void stopping_judge_release(struct stopping_judge *judge);

/* Whether trials[which] should be stopped, and why, in one line ("Median: after 12 reports ...").
 */
bool stopping_is_due(struct stopping_judge *judge, size_t which, char why[static RULE_WHY_MAX]);
