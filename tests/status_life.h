/* status_life.h: what holds from one status of a job to the next, whatever happens to the job. With
 * LIVES=FILE every status that differs for a tool from the one before is appended to FILE, one JSON
 * line each: {"kind", "life": number, "generation", "status"}, for tests/e2e/cluster/test_lives.sh.
 */
#pragma once

#include "lib/tree.h"

/* Checks `status` after the object's own, and sets it; returns the number of failed checks. NULL:
 * nothing is done. */
int status_life_store(json_t *object, json_t *status);
