/* status_pods.h: the pods of a job in `windlass status NAME`: a table, and advice about those that
 * do not run. */
#pragma once

#include "lib/tree.h"

void status_pods_print(const json_t *pods, const char *job);
/* The age of an object; 0: not known. */
int64_t status_age_ms(const json_t *object, int64_t now_ms);
