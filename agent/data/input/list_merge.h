/* list_merge.h: compares the input of a rerun with that of the run before, line by line, to find
 * which lines are new, changed, unchanged or removed. The lines come from a listing; the earlier
 * ones are read from the stored list. Both are in byte order of names, so memory is one page and
 * one bit per item. */
#pragma once

#include "agent/data/input/list_reader.h"

/* Which items of a list have a result. Bit i belongs to the i-th item that was to be scored. */
struct list_results {
    const uint8_t *bits;
    int64_t count; /* bits; items beyond them have no result */
};
bool list_results_has(const struct list_results *results, int64_t scored);

/* Whether the result of this item is still in the output. */
typedef int list_is_there(void *context, const char *name, bool *ret_is_there, struct error *err);

/* The list of the earlier run. Borrowed. */
struct list_base {
    const char *folder; /* ".windlass/RUN/list" */
    struct list_results results;
    list_is_there *is_there; /* NULL: results are assumed to be there */
    void *context;
};

/* Whether the current line has a result that is still there. */
NODISCARD int list_base_has(const struct list_base *base, const struct list_reader *line,
                            bool *ret_has, struct error *err);

struct list_merge {
    struct list_reader reader;
    const struct list_base *base;
    bool has_line; /* the earlier list has a current line */
    bool is_over;  /* the earlier list is at its end */
    char *last;    /* names up to this one were compared before, by another coordinator; or NULL */
    int64_t removed;
};

/* last: the last name that is listed already, so that names up to it do not count as removed again;
 * NULL: none. */
void list_merge_init(struct list_merge *merge, struct store *store, const char *run,
                     const struct list_base *base, const char *last);
void list_merge_release(struct list_merge *merge);
/* line: as an input kind lists it (input.h). */
NODISCARD int list_merge_line(struct list_merge *merge, const char *line, size_t size,
                              enum list_flag *ret_flag, struct error *err);
/* After the last line: counts what is left of the earlier list. */
NODISCARD int list_merge_finish(struct list_merge *merge, struct error *err);
