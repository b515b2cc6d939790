/* command_line.h: what a user's program writes to its stdout: lines, of which a few are answers and
 * all others are noise (docs/scorers.md). Bytes in, answers out; pure. */
#pragma once

#include "lib/buffer.h"

enum {
    COMMAND_LINE_MAX = 64 << 20, /* bytes of a line either way */
    COMMAND_NOISE_MAX = 1000,    /* what is kept of a line that cannot be an answer */
};

enum command_line_kind {
    COMMAND_LINE_MORE,    /* all bytes are used, no line is whole */
    COMMAND_LINE_OBJECT,  /* begins with "{", behind less than COMMAND_NOISE_MAX bytes of space */
    COMMAND_LINE_NOISE,   /* does not; cut at COMMAND_NOISE_MAX */
    COMMAND_LINE_TOO_LONG /* begins with "{" and has no end; the rest is not looked at */
};

/* Bytes -> lines. Plain data: command_lines_init, command_lines_release. */
struct command_lines {
    struct buffer held; /* of a line that came in pieces */
    bool is_begun;
};
void command_lines_init(struct command_lines *lines, size_t line_bytes_max);
void command_lines_release(struct command_lines *lines);
/* Reads up to the end of one line; *ret_used bytes are done. The line (without its newline) is
 * borrowed until the next call, and data must live as long. */
enum command_line_kind command_lines_read(struct command_lines *lines, const char *data,
                                          size_t size, size_t *ret_used, const char **ret_line,
                                          size_t *ret_size);

struct command_slice {
    const char *at; /* NULL: not there */
    size_t size;
};

/* The known members of a line; slices are JSON texts in the line. */
struct command_message {
    bool has_id, is_ready;
    bool is_broken; /* has an id, and invalid JSON after it */
    int64_t id;
    struct command_slice results, failed, error;
};
/* False: noise. */
bool command_message_read(const char *line, size_t size, struct command_message *ret_message);
/* The text of a JSON string, or the JSON text itself, as one line of at most 500 bytes. The caller
 * frees. */
char *command_slice_text(const struct command_slice *slice);

struct command_result {
    const char *json; /* in the line */
    size_t size;
    char *cause; /* not NULL: this item has failed, whatever json says */
};
struct command_answer {
    char *error; /* not NULL: the whole mini-batch has failed */
    size_t count, failed;
    struct command_result *results; /* one for each item, in their order */
};
/* The answer in a message with an id, for this many items. An answer that breaks the rules is an
 * error that says which. The line must outlive it. */
void command_answer_read(const struct command_message *message, size_t items,
                         struct command_answer *ret_answer);
void command_answer_release(struct command_answer *answer);
