/* chain_group.h: groups of steps that become chains, and what chain_again.c does for them: a value
 * of an earlier chain is computed again where it is read, if the reader has what it is made of in
 * any case. So it needs no memory until then, and no pass over it. The same instructions make the
 * same bits. GELU's and SiLU's parts in a training are such values. An input of the graph must be
 * the same until then: no graph may update one in place (training_bind_input) before a later step
 * that reads it. */
#pragma once

#include "agent/engine/device/cpu/chain/chain_state.h"

enum { GROUP_AGAIN_MAX = 16 };

struct group {
    struct chain *chain;
    struct step *steps[CHAIN_STEPS_MAX];
    int step_count;
    int again[GROUP_AGAIN_MAX]; /* slots of other groups that this one computes, too */
    int again_count;
    struct group *next;
};

/* What is known about a slot while groups are formed. */
struct group_slot {
    struct group *maker;   /* the open group that makes it, or NULL */
    struct step *producer; /* NULL: it is an input or a constant */
    int readers;           /* how many steps read it from memory */
    size_t last_reader;    /* the index of the last step that reads it, also through a view */
    bool has_others;       /* a reader cannot be part of a chain */
};

struct grouping {
    struct schedule *schedule;
    struct group_slot *slots;
    bool allows_blocks;
};

/* Appends the step's instructions to the group's chain, and before them those of inputs that are
 * computed again. False: it cannot be part of this chain, which is unchanged then. */
bool chain_again_lower(struct grouping *grouping, struct group *group, const struct step *step);
/* Whether the group computes this slot of another one. */
bool chain_is_again(const struct group *group, int slot);
