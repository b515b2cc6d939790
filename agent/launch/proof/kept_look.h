/* kept_look.h: finds the highest step of a training's stored checkpoints, as evidence of progress.
 * A thread reads the storage, which may hang; no one waits for that thread. */
#pragma once

#include "lib/base.h"

struct kept_look;

/* path: the training's output, VOLUME/path or az://...; run: 16 hexadecimal digits. */
struct kept_look *kept_look_start(const char *path, const char *run);
/* True when it is done. *ret_step: 0: there is none; -1: the storage failed. */
bool kept_look_poll(struct kept_look *look, int64_t *ret_step);
/* Frees; a thread that still runs is left alone, and frees what it uses. Accepts NULL. */
void kept_look_free(struct kept_look *look);
