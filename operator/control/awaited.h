/* awaited.h: which resources wait for which others, so that a change of one leads to a pass over
 * those that wait for it. Keys are text (resource_key.h). Used by controller.c and
 * reconcile_named. */
#pragma once

#include "lib/tree.h"

struct awaited;

struct awaited *awaited_new(void);
void awaited_free(struct awaited *awaited); /* NULL is allowed */
void awaited_add(struct awaited *awaited, const char *waiter, const char *other);
/* The resource waits for nothing any more. */
void awaited_forget(struct awaited *awaited, const char *waiter);
/* Who waits for it: their keys as members; borrowed until the next change; NULL: none. */
const json_t *awaited_by(const struct awaited *awaited, const char *other);
