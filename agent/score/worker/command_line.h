/* command_line.h: parses the stdout of a user's program: some lines are answers, which arrays may
 * follow (command_body.h), and all others are noise (docs/scorers.md). Pure. */
#pragma once

#include "lib/buffer.h"

enum {
    COMMAND_LINE_MAX = 64 << 20, /* bytes of a line, in both directions, or of arrays behind it */
    COMMAND_NOISE_MAX = 1000,    /* bytes that are kept of a line that is not an answer */
};

enum command_line_kind {
    COMMAND_LINE_MORE,     /* all bytes are consumed, and the line is not complete */
    COMMAND_LINE_OBJECT,   /* begins with "{" after less than COMMAND_NOISE_MAX bytes of space */
    COMMAND_LINE_NOISE,    /* does not begin so; cut at COMMAND_NOISE_MAX */
    COMMAND_LINE_TOO_LONG, /* begins with "{" and exceeds the limit; the rest is ignored */
    COMMAND_LINE_BODY      /* the bytes that were expected */
};

/* Splits bytes into lines. Embedded: command_lines_init, command_lines_release. */
struct command_lines {
    struct buffer held; /* the beginning of a line, or of expected bytes, that came in pieces */
    bool is_begun;
    int64_t body_bytes, body_left;
};
void command_lines_init(struct command_lines *lines, size_t line_bytes_max);
void command_lines_release(struct command_lines *lines);
/* Reads up to the end of one line; *ret_used bytes are consumed. The line (without its newline) is
 * borrowed until the next call, and data must live that long. */
enum command_line_kind command_lines_read(struct command_lines *lines, const char *data,
                                          size_t size, size_t *ret_used, const char **ret_line,
                                          size_t *ret_size);
/* After a line: this many bytes, at least 1, come before the next one. They are borrowed like a
 * line; more than a line may have are skipped, and then *ret_line is NULL. */
void command_lines_expect(struct command_lines *lines, int64_t bytes);

struct command_slice {
    const char *at; /* NULL: absent */
    size_t size;
};

/* The known members of a line; the slices point to JSON text in the line. */
struct command_message {
    bool has_id, is_ready, has_more;
    bool is_broken; /* has an id, but invalid JSON after it */
    int64_t id;
    struct command_slice results, failed, error, npy;
};
/* False: noise. */
bool command_message_read(const char *line, size_t size, struct command_message *ret_message);
/* The text of a JSON string, or the JSON text itself, as one line of at most 500 bytes. The caller
 * frees. */
char *command_slice_text(const struct command_slice *slice);
/* A whole number of at most 18 digits; -1: it is not one. */
int64_t command_slice_count(const struct command_slice *slice);
bool command_slice_is(const struct command_slice *slice, const char *json);
/* Reads the value at *at, and white space around it, into the slice. */
bool command_slice_take(const char **at, const char *end, struct command_slice *ret_slice);
