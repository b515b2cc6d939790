/* name_list.h: a list of names for a message: "a", "b" and 3 more. */
#pragma once

#include "lib/base.h"

struct name_list {
    char text[384]; /* the list */
    int count;      /* of the names, with those that are only counted */
    int left_out;
};

/* Starts with all zeros. */
void name_list_add(struct name_list *names, const char *name);
/* Ends the list; "none" if it has no name. Returns its text. */
const char *name_list_end(struct name_list *names);
