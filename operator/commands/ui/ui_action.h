/* ui_action.h: what the page of `windlass ui` may do to a job: each action is the command of that
 * name in a process of its own, as if the user had typed it. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

extern const char *const ui_actions[]; /* "cancel", ...; ends with NULL */

/* The actions that were started, by the job's key. For one thread. */
struct ui_deeds;
struct ui_deeds *ui_deeds_new(void);
void ui_deeds_free(struct ui_deeds *deeds); /* what goes on goes on */
/* What the newest action on that job that could not be done printed: "rerun: ..."; owned. NULL: all
 * since the last start were done, or go on. That the job failed then does not count. */
char *ui_deeds_failure(struct ui_deeds *deeds, const char *key);

/* Runs `windlass ACTION --dry-run WORDS...`, and if that succeeds starts the same without
 * --dry-run, and does not wait for its end: a run that is continued lasts as long as its job.
 * INVALID: the command refuses; the text is what it printed. */
struct ui_order {
    const char *action, *key;
    const json_t *words;
};
NODISCARD int ui_action(struct ui_deeds *deeds, const struct ui_order *order, struct error *err);
/* Starts a program without output, and does not wait for its end: xdg-open with a page's address.
 * argv ends with NULL. */
NODISCARD int ui_action_start(const char *const *argv, struct error *err);
