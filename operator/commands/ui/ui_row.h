/* ui_row.h: a job as a row of the list of `windlass ui`: a JSON array, in an order that page/ui.js
 * knows. Pure. */
#pragma once

#include "lib/tree.h"

struct ui_job {
    const char *key;   /* unique among all jobs of the page: ui_source.h */
    const char *place; /* the namespace; "": this machine */
    const json_t *job; /* the object; its kind is one of ours */
    const char *start; /* times as in a status; NULL: the status's */
    const char *end;
    const json_t *earlier; /* {NAME: ID} of the runs whose output a run uses; NULL: those that its
                              spec.after names */
};

/* "good", "bad", "busy" (it works), "wait" (it waits for something) or "stopped" (by a user). */
const char *ui_row_tone(const json_t *status);
/* [key, place, name, kind, state, tone, done, total, said, rate, secondsLeft, start, end, retries,
 * cost, message, after]: owned. Times are in seconds since 1970; -1: unknown. after: the jobs that
 * it waited for, by their key, or by KIND/NAME or /NAME in its place; null: none. */
json_t *ui_row(const struct ui_job *job);
