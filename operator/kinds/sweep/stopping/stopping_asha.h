/* stopping_asha.h: successive halving without waiting (ASHA: Li et al., "A System for Massively
 * Parallel Hyperparameter Tuning", MLSys 2020), in the form that stops trials instead of pausing
 * them, as in Ray Tune and Optuna: a trial needs no checkpoint and is never started twice.
 *
 * A rung is a number of reports, minReports x reductionFactor^k, below maxReports (the reports of a
 * whole trial). A trial is judged at the highest rung that it has reached, whenever another reaches
 * it: it goes on if it is among the best n / reductionFactor (rounded down, at least one) of the n
 * trials of its bracket that have been there, stopped and ended ones too. Fewer than
 * reductionFactor trials are not judged. Ties do not stop.
 *
 * Brackets hedge against trials that begin slowly: those of bracket b begin at rung b. A trial's
 * bracket is drawn by its index, in the proportions of Hyperband (Li et al., JMLR 18, 2018): each
 * bracket gets about the same number of reports in total. Hyperband is this with as many brackets
 * as there are rungs, and one of whole trials. Pure. */
#pragma once

#include "operator/kinds/sweep/stopping/stopping.h"

enum { RULES_ASHA_BRACKETS_MAX = 32 };

/* How many brackets Hyperband has: floor(log(maxReports / minReports) / log(reductionFactor)) + 1.
 */
int stopping_asha_brackets(const struct rule *rule);
/* The bracket of a trial, from 0. */
int stopping_asha_bracket(const struct rule *rule, int64_t index);
/* The highest rung of the bracket that has been reached with that many reports; 0: none. */
int64_t stopping_asha_rung(const struct rule *rule, int bracket, int64_t reports);
/* The first point of the curve at the rung or after it (points are the same in all trials); NULL:
 * it has not got there. */
const struct curve_point *stopping_asha_point(const struct curve *curve, int64_t rung);
/* rows: what the trials of the bracket have at the rung, own among them, sorted by best. */
bool stopping_asha_stops(const struct rule *rule, const struct rule_row *rows, size_t count,
                         struct rule_row own);
