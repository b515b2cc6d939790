/* command.h: a user's program as a long-lived process: requests and answers are lines of JSON,
 * which arrays may follow (docs/scorers.md). Independent of leases: usable for any program with
 * this protocol. One thread, which must live as long as the program runs. SIGPIPE must be ignored
 * (agent/main.c does that). Functions block until the given time at most. */
#pragma once

#include "agent/launch/pod/process.h"
#include "agent/score/worker/command_answer.h"
#include "agent/score/worker/command_environment.h"
#include "agent/score/worker/command_output.h"
#include "lib/tree.h"

#include <stdatomic.h>

enum {
    COMMAND_AHEAD = 2,             /* maximum of requests without an answer */
    COMMAND_SHORT_LIFE_MS = 10000, /* a program that ends before this age without an answer is
                                      restarted */
    COMMAND_SHORT_LIVES = 3,       /* with growing delays after this many short lives */
    COMMAND_BACK_OFF_MAX_MS = 30000,
    COMMAND_ENDS_MS = 100, /* interval at which `ends` is checked */
};

/* All pointers are borrowed and must outlive the command. */
struct command_options {
    const char *const *words; /* NULL-terminated; the first is searched for in PATH */
    const json_t *arguments;  /* sent with init; NULL: {} */
    struct command_environment environment;
    int64_t init_timeout_ms;
    size_t line_bytes_max; /* COMMAND_LINE_MAX, for both directions */
    /* Set from another thread: a call that waits for the program returns CANCELLED, and the program
     * is killed. NULL: never. */
    const atomic_bool *ends;
    command_log_line *log_line; /* may be NULL */
    void *context;
};

struct command;

struct command *command_new(const struct command_options *options);
void command_free(struct command *command); /* kills a running program */
void command_freep(struct command **command);

/* Kills a running program, starts it again and sends init. FAILED: it ended, or answered with an
 * error; TIMEOUT: no answer; INVALID: program not found. After an error it is dead. */
NODISCARD int command_start(struct command *command, struct error *err);
/* Milliseconds to wait before the next start: 0, or after three short lives 1 s doubling to 30 s.
 * command_start itself does not wait. */
int64_t command_back_off_ms(const struct command *command, int64_t now_ms);
int command_failed_inits(const struct command *command); /* in a row */
/* The program cannot be run, or ended because its command line is wrong (usage_error.h), and no
 * life of it has been ready: another start would fail alike. */
bool command_is_useless(const struct command *command);
bool command_is_alive(const struct command *command);
int64_t command_lives(const struct command *command); /* how often it was started */
/* True if the program ended by itself with exit code 0. */
bool command_ended_well(const struct command *command);

struct command_request {
    int64_t id;        /* >= 0, and not that of an unanswered request */
    const char *items; /* a JSON array without newlines */
    size_t size, count;
    int64_t mini_batch; /* -1: neither it nor `try` is sent */
    int try;
};
/* Sends a request; at most COMMAND_AHEAD may be unanswered. Does not block: bytes that the pipe
 * does not take now are written by the calls that wait. INVALID: the line is too long (nothing is
 * sent, the program still runs); FAILED: the program is dead. */
NODISCARD int command_send(struct command *command, const struct command_request *request,
                           struct error *err);
/* Waits for the whole answer to a request, which is borrowed until the next call; an answer that
 * breaks the protocol becomes an answer with an error. -1 with TIMEOUT, FAILED or CANCELLED: the
 * program is dead now, and all requests are lost. until_ms: by clock_monotonic_ms. */
NODISCARD int command_wait(struct command *command, int64_t id, int64_t until_ms,
                           struct command_answer **ret_answer, struct error *err);
/* Only reads the program's output until until_ms, so that an idle program does not block on a full
 * pipe. */
NODISCARD int command_listen(struct command *command, int64_t until_ms, struct error *err);
/* Closes the program's stdin, reads until it ends or until until_ms, and then kills the whole
 * process group. */
void command_stop(struct command *command, int64_t until_ms);
