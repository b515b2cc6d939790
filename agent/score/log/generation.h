/* generation.h: the runs and reruns that have written into one output, in order. An output has one
 * commit log (commit.h), in the folder that OUTPUT/.windlass/owner names. The log consists of
 * generations: the first begins with the log, each later one with a BEGIN record, which a
 * coordinator stores when it starts the job again (--restart) or scores what has changed (rerun).
 * Records before it belong to earlier generations. Commits are numbered through all generations, so
 * a coordinator of an earlier one can no longer commit, and no lease number is used twice.
 *
 * The text of a BEGIN record: {"run":"5f0c…","restart":"TEXT","keeps":0}
 *   restart: why it began: the text of --restart or of the annotation; absent: none
 *   keeps: the generation whose results of unchanged items are kept; absent: none are */
#pragma once

#include "agent/score/log/commit.h"

enum { GENERATION_RESTART_MAX = 253 };

struct generation {
    char home[17];                            /* the folder of the log, below .windlass */
    bool is_there;                            /* the output has an owner */
    int64_t number;                           /* 0: the first */
    char run[17];                             /* of its spec; of the first: home */
    char restart[GENERATION_RESTART_MAX + 1]; /* "": none */
    char owner[256]; /* uid of the job that the output belonged to first; "": not known */
    /* Of the job that began it, so that another one knows that the list of the input is not its
     * own; "": not known yet. */
    char uid[256], job[256];
    int64_t keeps;                /* -1: nothing is kept */
    bool is_ended, has_succeeded; /* by the last record of the log */
    bool is_joined;               /* of generation_scan: the job that asks has written into it */
    int64_t begun, epoch; /* the commit that began it, and that one's epoch; 0 and -1: the first */
};

/* Which folder this output's log is in: that of its owner, or `run` if there is none yet. INVALID:
 * the object `owner` is corrupt. Other errors are the store's. */
NODISCARD int generation_find_home(struct store *output, const char *run,
                                   struct generation *ret_generation, struct error *err);
/* Sets *ret_generation to the first generation of the same output, for reading the log from its
 * start. known: any generation of it. */
void generation_start(const struct generation *known, struct generation *ret_generation);
/* Reads the whole log, and claims nothing. identity: of the job that asks; its `run` counts only
 * where the output has no owner yet. */
NODISCARD int generation_scan(struct store *output, const struct commit_identity *identity,
                              struct generation *ret_generation, struct error *err);
/* Takes the next record of the log into account. INVALID: a BEGIN record that does not follow. */
NODISCARD int generation_see(struct generation *generation, const struct commit_head *head,
                             const struct commit_record *record, struct error *err);
/* It has ended with success, and none of its results was voided since. */
bool generation_is_whole(const struct generation *generation);
/* The text of the BEGIN record; the caller frees. restart: may be ""; keeps: may be -1. */
char *generation_text(const char *run, const char *restart, int64_t keeps);

/* ".windlass/HOME/list" or ".windlass/HOME/list-3": the name of an object or a folder of this
 * generation, with suffix. Owned by the caller. */
char *generation_name(const char *home, int64_t number, const char *what, const char *suffix);
