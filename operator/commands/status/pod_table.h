/* pod_table.h: the pods of a job, as `windlass status NAME` prints them: a table, and advice for
 * pods that do not run. */
#pragma once

#include "lib/tree.h"

/* Prints to standard output. pods: an array of Pods, in the order of the table; empty or NULL:
 * prints nothing. job: the job's name, for commands in the advice. */
void pod_table_print(const json_t *pods, const char *job);
