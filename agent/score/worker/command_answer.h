/* command_answer.h: the answer of a user's program to one request (docs/scorers.md): lines of it
 * and arrays come one by one, and are kept, in memory while they are small, else in a file in
 * $TMPDIR without a name, until the answer is complete; then the results are read one by one. So an
 * answer may have any size, and of it one line or its arrays are in memory. One thread. */
#pragma once

#include "agent/score/worker/command_body.h"

#include <stdio.h>

enum { COMMAND_ANSWER_HELD = 4 << 20 /* bytes that are kept in memory */ };

struct command_result {
    const char *json; /* NULL if it has failed; valid */
    size_t size;
    const char *cause; /* not NULL: this item has failed */
};

/* Zeroed: none. */
struct command_answer {
    char *error; /* not NULL: the whole mini-batch has failed */
    bool is_whole;
    size_t items, count, failed; /* of the request; results that have come; of them failed */
    /* The rest is private. */
    char **causes; /* [items] */
    char *npy;     /* the member of the line whose arrays come next; or NULL */
    bool has_more; /* of that line */
    struct buffer held;
    FILE *file; /* NULL: all is held */
    size_t read_at, given;
    struct buffer piece, row; /* the piece that is read, and a row of its arrays */
    size_t piece_at, piece_rows;
    bool is_arrays;
    struct command_arrays *arrays;
};

/* Begins the answer to a request of this many items. */
void command_answer_start(struct command_answer *answer, size_t items);
void command_answer_release(struct command_answer *answer); /* of a zeroed one, too; zeroes it */
/* Adds a line with the answer's id to one that is not complete. What breaks the protocol makes it
 * whole, with an error that says how. Returns how many bytes of arrays follow, for
 * command_answer_body if it is not complete then; also for NULL, a line of no open request. */
int64_t command_answer_line(struct command_answer *answer, const struct command_message *message);
/* Adds the arrays that follow a line; bytes NULL: they were too many. */
void command_answer_body(struct command_answer *answer, const char *bytes, size_t size);
/* Reads the next item's result of an answer that is complete and without an error: answer->items
 * times. It is borrowed until the next call. FAILED: it cannot be read back, or has more than
 * COMMAND_LINE_MAX bytes. */
NODISCARD int command_answer_next(struct command_answer *answer, struct command_result *ret_result,
                                  struct error *err);
