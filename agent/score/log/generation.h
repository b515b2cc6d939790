/* generation.h: what the results of an output are made of, over its whole life. An output has one
 * commit log (commit.h), in the folder that OUTPUT/.windlass/owner names. The log consists of
 * generations: the first begins with the log, each later one with a BEGIN record, which a
 * coordinator stores when it starts the job anew or scores again what has changed. Earlier records
 * are about earlier results. As all generations share the numbers of their commits, a coordinator
 * of an earlier one cannot commit any more, and no number of a lease is used twice.
 *
 * The text of a BEGIN record: {"run":"5f0c…","restart":"TEXT","keeps":0}
 *   restart: why it began: the text of --restart or of the annotation; absent: none
 *   keeps: the generation whose results of unchanged items are kept; absent: none are */
#pragma once

#include "agent/score/log/commit.h"

enum { GENERATION_RESTART_MAX = 253, GENERATION_FOLDER_MAX = 64 };

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
    int64_t keeps; /* -1: nothing is kept */
    int64_t whole; /* the last generation before it that ended with success; -1: none */
    bool is_ended, has_succeeded; /* the log ends with that */
    int64_t begun, epoch; /* the commit that began it, and that one's epoch; 0 and -1: the first */
};

/* Which folder this output's log is in: that of its owner, or `run` if there is none yet. INVALID:
 * the owner is none. Other errors are the store's. */
NODISCARD int generation_find_home(struct store *output, const char *run,
                                   struct generation *ret_generation, struct error *err);
/* The first generation of an output of which a later one may be known: before its records are
 * read (again). */
void generation_start(const struct generation *known, struct generation *ret_generation);
/* Reads the whole log, and claims nothing. */
NODISCARD int generation_scan(struct store *output, const char *run, const char *uid,
                              struct generation *ret_generation, struct error *err);
/* Takes the next record of the log into account. INVALID: a BEGIN record that does not follow. */
NODISCARD int generation_see(struct generation *generation, const struct commit_head *head,
                             const struct commit_record *record, struct error *err);
/* It has ended with success, and nothing was taken back since. */
bool generation_is_whole(const struct generation *generation);
/* The text of the BEGIN record; the caller frees. restart: may be ""; keeps: may be -1. */
char *generation_text(const char *run, const char *restart, int64_t keeps);

/* ".windlass/HOME/list" or ".windlass/HOME/list-3": the name of an object or a folder of this
 * generation, with suffix. Owned by the caller. */
char *generation_name(const char *home, int64_t number, const char *what, const char *suffix);
