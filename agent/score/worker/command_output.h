/* command_output.h: what a user's program prints besides its answers: lines on stderr, and lines on
 * stdout that are not an answer ("noise"). Each line is passed to the callback `log_line`, and the
 * last ones are kept, to be quoted in errors. Reads no clock. */
#pragma once

#include "agent/launch/pod/output_tail.h"
#include "agent/score/worker/command_line.h"

enum {
    COMMAND_NOISE_PER_SECOND = 100, /* lines of stdout; further ones are only counted */
    COMMAND_WORDS_MAX = 300,        /* bytes of a line that an error quotes */
};

enum command_stream { COMMAND_STDERR, COMMAND_STDOUT };

/* Receives a line of the program's output (without newline; any bytes; cut at
 * COMMAND_NOISE_MAX). */
typedef void command_log_line(void *context, enum command_stream stream, const char *text,
                              size_t size);

struct command_output {
    command_log_line *log_line; /* may be NULL */
    void *context;
    char last_noise[COMMAND_WORDS_MAX], last_error[COMMAND_WORDS_MAX]; /* "": none */
    int64_t noise_from_ms, noise_lines;                                /* of this second */
    struct buffer error_line;
    struct output_tail errors; /* the end of stderr */
};

void command_output_init(struct command_output *output, command_log_line *log_line, void *context);
void command_output_release(struct command_output *output);
/* Adds a line of stdout that is not an answer. now_ms: monotonic time. */
void command_output_noise(struct command_output *output, const char *text, size_t size,
                          int64_t now_ms);
/* Adds bytes of stderr. */
void command_output_error(struct command_output *output, const char *data, size_t size);
/* The program has ended: passes on the last unfinished line. */
void command_output_end(struct command_output *output);
/* The program is started again: clears all. */
void command_output_clear(struct command_output *output);
