/* ui_action.h: what the page of `windlass ui` may do to a job: each action is the command of that
 * name in a process of its own, as if the user had typed it. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

extern const char *const ui_actions[]; /* "cancel", ...; ends with NULL */

/* Runs `windlass ACTION --dry-run WORDS...`, and if that succeeds starts the same without
 * --dry-run, and does not wait for its end: a run that is continued lasts as long as its job.
 * INVALID: the command refuses; the text is what it printed. */
NODISCARD int ui_action(const char *action, const json_t *words, struct error *err);
/* Starts a program without output, and does not wait for its end: xdg-open with a page's address.
 * argv ends with NULL. */
NODISCARD int ui_action_start(const char *const *argv, struct error *err);
