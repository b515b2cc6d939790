/* query_input.h: the rows of spec.input.table.query, for the listing of the input (input.h): the
 * query runs once in a generation of a run, and its rows stay with the list of the input. */
#pragma once

#include "agent/data/input/input.h"
#include "agent/data/sql/query_file.h"

struct query_input {
    struct input_query query;
    struct query_file file;
};

/* The query of a job's spec, which borrows from all three; NULL: it has none. connection: of its
 * Secret; NULL: the pod has none. */
const struct input_query *query_input_of(const json_t *spec, const char *connection,
                                         struct query_input *query);
