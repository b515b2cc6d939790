/* list.h: the lines of an input, listed once and stored: OUTPUT/.windlass/RUN/list/00000000, ...01,
 * each created exclusively, so that two coordinators of one run have the same lines even if the
 * input changes in between. Lines are numbered from 0. A separate thread lists and stores; all
 * functions are for one thread, the coordinator's. The list keeps four pages of at most 1 MiB in
 * memory, and some 100 bytes for each page.
 *
 * The first page has 1,000 lines, each later one twice as many until 1 MiB is full; a page is
 * stored after LIST_PAGE_MS at the latest. Pages that exist when the list is opened are kept, and
 * the listing continues after them; a page that another coordinator has stored meanwhile is used
 * like ours. */
#pragma once

#include "agent/data/input/input.h"
#include "agent/data/input/list_merge.h"

enum { LIST_PAGE_MS = 1000 };
#define LIST_FIRST_PAGE "00000000" /* there as soon as a list has begun */
#define LIST_KEPT_PREFIX "key-"    /* in the folder: begins the names of what the lines refer to */

struct list;

struct list_options {
    struct store *output;         /* must outlive the list */
    const char *run;              /* 16 hexadecimal digits */
    const char *folder;           /* of the pages; NULL: .windlass/RUN/list */
    const struct list_base *base; /* of a rerun: the list with which it is compared; or NULL */
    const char *scratch;          /* unique to this coordinator: its epoch */
    const json_t *spec;
    const struct input_query *query; /* input.h; NULL: none */
    const struct input_kind *kind;
    void (*wake)(void *context); /* called by the listing thread when list_turn will return
                                    something new; NULL: not called */
    void *context;
};

/* Reads the existing pages, and starts the thread if the list is incomplete. Blocks. INVALID,
 * naming the page: it is truncated, of another run, or missing although later ones exist. */
NODISCARD int list_open(const struct list_options *options, struct list **ret_list,
                        struct error *err);
/* Waits for a call of the store or the kind that is in progress. Accepts NULL. */
void list_free(struct list *list);

/* 1: *ret_lines lines are known and stored now, more than last time, or the list is complete; 0:
 * nothing new; -1: the listing has failed; earlier lines remain valid. */
NODISCARD int list_turn(struct list *list, int64_t *ret_lines, struct error *err);
/* True once list_turn has returned the last line. */
bool list_is_complete(const struct list *list);

/* What a rerun has found so far, in the lines that are listed; of each run what is left out. */
struct list_counts list_found(struct list *list);

/* Appends lines [first, first + count), which list_turn has returned, as one JSON array. Reads a
 * page that is not in memory (blocks). INVALID: a page has been damaged since. EXHAUSTED: the
 * buffer is full. */
NODISCARD int list_lines(struct list *list, int64_t first, int64_t count, struct buffer *buffer,
                         struct error *err);

/* The same for a lease: a line whose fingerprint has a core (fingerprint.h) is [line, core]. */
NODISCARD int list_work(struct list *list, int64_t first, int64_t count, struct buffer *buffer,
                        struct error *err);

/* SHA-256 of all lines of the complete list, kept ones included, each as the kind lists it, with a
 * newline. Reads the pages; blocks. INVALID as from list_lines. */
NODISCARD int list_digest(struct list *list, char ret_sha256[static 65], struct error *err);

/* Lists the input once more and compares it with the complete list, for a finished run that is
 * started again. Blocks. */
struct list_comparison {
    bool is_same;      /* the same lines, with the same, known fingerprints */
    bool has_all;      /* no result of them is gone from the output (is_there) */
    int64_t then, now; /* how many lines, kept ones included */
};
/* results: of the list's items, and where they are; its folder is not used. */
NODISCARD int list_compare(struct list *list, const struct list_base *results,
                           struct list_comparison *ret_comparison, struct error *err);
