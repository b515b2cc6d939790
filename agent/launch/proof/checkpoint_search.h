/* checkpoint_search.h: finds the highest step of a training's stored checkpoints, as evidence of
 * progress. A thread reads the storage, which may hang; no one waits for that thread. */
#pragma once

#include "lib/base.h"

struct checkpoint_search;

/* path: the training's output, a path (store.h); run: 16 hexadecimal digits. */
struct checkpoint_search *checkpoint_search_start(const char *path, const char *run);
/* True when it is done. *ret_step: 0: there is none; -1: the storage failed. */
bool checkpoint_search_poll(struct checkpoint_search *look, int64_t *ret_step);
/* Frees; a thread that still runs is left alone, and frees what it uses. Accepts NULL. */
void checkpoint_search_free(struct checkpoint_search *look);
