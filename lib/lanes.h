/* lanes.h: a bounded number of things under way, shared fairly between names. Each name may have a
 * third of what is still free: alone it gets a quarter of all, and beside a dozen that never end
 * there is room left for the next. Items that wait are in order within their name; names take
 * turns. Used by the controller for looks and by the Kubernetes client for requests, both with
 * namespaces as names. Used by one thread. */
#pragma once

#include "lib/base.h"

struct lanes;

struct lanes *lanes_new(int max);     /* things under way, of all names */
void lanes_free(struct lanes *lanes); /* items that wait are the caller's */

/* Something of that name begins, or has ended. */
void lanes_begin(struct lanes *lanes, const char *name);
void lanes_end(struct lanes *lanes, const char *name);
int lanes_under_way(const struct lanes *lanes, const char *name);
bool lanes_has_room(const struct lanes *lanes, const char *name);

/* Lets an item wait for room. Borrowed, until it is taken out. */
void lanes_push(struct lanes *lanes, const char *name, void *item);
/* Takes out the next item whose name has room; NULL when there is none. */
void *lanes_take(struct lanes *lanes);
/* Whether lanes_take would give one. */
bool lanes_is_ready(const struct lanes *lanes);
size_t lanes_waiting(const struct lanes *lanes); /* items */
