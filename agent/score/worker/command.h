/* command.h: a user's program as a long-lived process: requests and answers are lines of JSON
 * (docs/scorers.md). Independent of leases: usable for any program with this protocol. One thread,
 * which must live as long as the program runs. SIGPIPE must be ignored (agent/main.c does). Blocks
 * until the given time, never longer. */
#pragma once

#include "agent/launch/pod/process.h"
#include "agent/score/worker/command_environment.h"
#include "agent/score/worker/command_line.h"
#include "agent/score/worker/command_said.h"
#include "lib/tree.h"

#include <stdatomic.h>

enum {
    COMMAND_AHEAD = 2,             /* requests that may be under way */
    COMMAND_SHORT_LIFE_MS = 10000, /* a program that dies younger without an answer is restarted */
    COMMAND_SHORT_LIVES = 3,       /* with growing delays, from this many on */
    COMMAND_BACK_OFF_MAX_MS = 30000,
    COMMAND_ENDS_MS = 100, /* how soon `ends` is noticed */
};

/* All is borrowed and must outlive the command. */
struct command_options {
    const char *const *words; /* NULL-ended; the first is looked for in PATH */
    const json_t *arguments;  /* handed over with init; NULL: {} */
    struct command_environment environment;
    int64_t init_timeout_ms;
    size_t line_bytes_max; /* COMMAND_LINE_MAX, of both directions */
    /* Set from another thread: a call that waits for the program returns CANCELLED, and the program
     * is killed. NULL: never. */
    const atomic_bool *ends;
    command_say *say; /* may be NULL */
    void *context;
};

struct command;

struct command *command_new(const struct command_options *options);
void command_free(struct command *command); /* kills what runs */
void command_freep(struct command **command);

/* Starts the program (the one that runs is killed) and says init. FAILED: it ended, or answered
 * with an error; TIMEOUT: no answer; INVALID: program not found. It is dead then. */
NODISCARD int command_start(struct command *command, struct error *err);
/* Milliseconds that the next start should wait for: 0, or 1 s doubling to 30 s after three short
 * lives. command_start itself does not wait. */
int64_t command_back_off_ms(const struct command *command, int64_t now_ms);
int command_failed_inits(const struct command *command); /* in a row */
bool command_is_alive(const struct command *command);
int64_t command_lives(const struct command *command); /* how often it was started */
/* Ended by itself with exit code 0. */
bool command_ended_well(const struct command *command);

struct command_request {
    int64_t id;        /* >= 0, not under way */
    const char *items; /* a JSON array without a newline in it */
    size_t size, count;
    int64_t mini_batch; /* -1: not told, nor try */
    int try;
};
/* Does not block: what the pipe does not take is written by the calls that wait. INVALID: the line
 * is too long (nothing is sent, the program still runs); FAILED: it is dead. At most COMMAND_AHEAD.
 */
NODISCARD int command_send(struct command *command, const struct command_request *request,
                           struct error *err);
/* The answer to a request, borrowed until the next call; an answer that breaks the rules is an
 * error in it. -1 TIMEOUT, FAILED or CANCELLED: the program is dead now, and all requests are lost.
 * until_ms: clock_monotonic_ms. */
NODISCARD int command_wait(struct command *command, int64_t id, int64_t until_ms,
                           const struct command_answer **ret_answer, struct error *err);
/* Only reads its output, until then: an idle program must not block on a full pipe. */
NODISCARD int command_listen(struct command *command, int64_t until_ms, struct error *err);
/* Closes its stdin, reads until it ends or until then, and kills what is left. */
void command_stop(struct command *command, int64_t until_ms);
