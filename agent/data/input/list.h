/* list.h: the lines of an input, listed once and stored: OUTPUT/.windlass/RUN/list/00000000, ...01,
 * each created exclusively, so that two coordinators of one run have the same lines whatever
 * becomes of the input meanwhile. Lines are numbered from 0. A thread of its own lists and stores;
 * all else is called by one thread, the coordinator's. Holds four pages of at most 1 MiB, and some
 * 100 bytes for each page.
 *
 * The first page has 1,000 lines, the next ones twice as many until 1 MiB is full; a page is stored
 * after LIST_PAGE_MS in any case. What is there when the list is opened is kept, and the listing
 * goes on behind it; a page that another coordinator has stored meanwhile counts as ours. */
#pragma once

#include "agent/data/input/input.h"

enum { LIST_PAGE_MS = 1000 };

struct list;

struct list_options {
    struct store *output; /* must outlive the list */
    const char *run;      /* 16 hexadecimal digits */
    const char *scratch;  /* tells this coordinator from others: its epoch */
    const json_t *spec;
    const struct input_kind *kind;
    void (*wake)(void *context); /* from the thread: list_turn has something to say. May be NULL */
    void *context;
};

/* Reads the pages there are, and starts the thread if they are not all. Blocks. INVALID: a page is
 * torn, or of another run, or missing before others; it is named. */
NODISCARD int list_open(const struct list_options *options, struct list **ret_list,
                        struct error *err);
/* Waits for a call of the store or the kind that is under way. NULL is fine. */
void list_free(struct list *list);

/* 1: *ret_lines are known and stored by now, more than last time, or the last has come; 0: nothing
 * new; -1: the listing has failed; earlier lines stay valid. */
NODISCARD int list_turn(struct list *list, int64_t *ret_lines, struct error *err);
/* list_turn has returned the last line. */
bool list_is_complete(const struct list *list);

/* Appends lines [first, first + count), which list_turn has told, as one JSON array. Reads a page
 * where it is none of the four (blocks). INVALID: a page is torn by now. EXHAUSTED: the buffer is
 * full. */
NODISCARD int list_lines(struct list *list, int64_t first, int64_t count, struct buffer *buffer,
                         struct error *err);

/* Lists the input once more and holds it against the complete list: is it the same? A finished run
 * that is run again asks this. ret_lines: what the input has now. Blocks. */
NODISCARD int list_compare(struct list *list, bool *ret_is_same, int64_t *ret_lines,
                           struct error *err);
