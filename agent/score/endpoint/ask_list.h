/* ask_list.h: lists of requests (pool.h), linked by what is in them. For pool.c. */
#pragma once

#include "agent/score/endpoint/pool.h"

struct ask_list {
    struct pool_ask *first, **end; /* end: where the next one is put */
};

void ask_list_append(struct ask_list *list, struct pool_ask *ask);
struct pool_ask *ask_list_take(struct ask_list *list);          /* the first; there must be one */
void ask_list_move(struct ask_list *from, struct ask_list *to); /* all, behind what is there */
void ask_list_mend(struct ask_list *list); /* finds the end again; also of a new list */

/* Into a list that is sorted by due_ms. */
void ask_list_insert(struct pool_ask **first, struct pool_ask *ask);
/* Of a list without order, from which any one can be taken. */
void ask_list_link(struct pool_ask **first, struct pool_ask *ask);
void ask_list_unlink(struct pool_ask *ask);
