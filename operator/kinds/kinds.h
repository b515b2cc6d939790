/* kinds.h: lookup of kinds for the rest of the program. */
#pragma once

#include "operator/kinds/kind.h"

/* NULL: the kind is not ours. */
const struct kind_row *kinds_find(const char *kind);
/* The row of a resource that is known to be of one of our kinds (it was checked, or read from a
 * cluster by its kind). */
const struct kind_row *kinds_of(const json_t *object);
/* The row's definition, parsed once for all; the caller is one of its owners (schema_free). */
NODISCARD int kinds_schema(const struct kind_row *row, struct schema **ret_schema,
                           struct error *err);
/* The definition of the kind that the row's jobs make; *ret_schema is NULL where there is none. */
NODISCARD int kinds_children_schema(const struct kind_row *row, struct schema **ret_schema,
                                    struct error *err);
/* The row's part of the texts at a job's end; empty where it has none. */
const struct ending_kind *kinds_ending(const struct kind_row *row);
/* The first kind, which every cluster with Windlass has. */
const char *kinds_first(void);

typedef bool kinds_filter(const struct kind_row *row);
/* The first kind for which `has` is true; NULL: none. */
const struct kind_row *kinds_having(kinds_filter *has);
/* For texts: "A, B and C" of the kinds for which `has` is true (NULL: all). format has one %s for
 * the kind's name: "a %s", "%ss". word: "and", "or". Owned. */
char *kinds_names(kinds_filter *has, const char *format, const char *word);

/* The kinds as arguments of a control loop, with their options. */
struct kind_set;

/* only: that kind and the kind that it makes, on this machine; NULL: all kinds, on a cluster. jobs
 * is borrowed and must outlive the set. */
NODISCARD int kind_set_new(const struct kind_row *only, const struct job_options *jobs,
                           struct kind_set **ret_set, struct error *err);
void kind_set_free(struct kind_set *set);
/* For controller_new: ends with NULL; borrowed. */
const struct kind *const *kind_set_kinds(const struct kind_set *set);
