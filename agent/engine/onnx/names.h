/* names.h: a hash table from the names of a graph's values to their indices. The hash has a random
 * seed, so that a hostile file cannot choose names that collide. */
#pragma once

#include "lib/base.h"

struct names {
    struct name {
        const char *text; /* borrowed; NULL: a free entry */
        int index;
    } * places;
    size_t room, count; /* room: a power of two, at least twice count */
    uint64_t seed;
};

/* It grows beyond `count`. */
void names_init(struct names *names, size_t count);
void names_release(struct names *names);
/* False if the text is already in the table. */
bool names_add(struct names *names, const char *text, int index);
int names_find(const struct names *names, const char *text); /* -1: not found */
