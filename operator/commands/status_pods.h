/* status_pods.h: the pods of a job as `windlass status NAME` shows them: a table, and what to do
 * about those that do not run. */
#pragma once

#include "lib/tree.h"

void status_pods_print(const json_t *pods, const char *job);
/* How long ago an object was made; 0: not known. */
int64_t status_age_ms(const json_t *object, int64_t now_ms);
