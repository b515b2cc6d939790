// SPDX-License-Identifier: Apache-2.0
#include "agent/score/worker/command.h"

#include "lib/text/usage_error.h"
#include "lib/time/clock.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    READ_BYTES = 64 << 10,
    LAST_READS = 64, /* reads from the pipes of a dead program */
};

/* A request without a consumed answer. */
struct pending_request {
    bool is_asked;
    int64_t id;
    struct command_answer answer;
};

struct command {
    struct command_options options;
    struct process process;
    bool is_alive, is_ready, has_answered;
    struct buffer out; /* bytes that the pipe has not taken yet, from out_at on */
    size_t out_at;
    struct command_lines lines;
    struct command_output output;
    struct pending_request asked[COMMAND_AHEAD];
    char *refusal;                /* an error without an id, received before it was ready */
    struct pending_request *body; /* whose arrays come next; NULL: of none that is open */
    struct command_answer answer;
    int64_t started_ms, asked_ms; /* asked_ms: since when an answer is outstanding */
    int64_t not_before_ms;
    int short_lives, failed_inits;
    int64_t lives;
    bool ended_well; /* of the last life */
    bool was_ready;  /* in any life */
    bool is_useless;
    char death[COMMAND_WORDS_MAX + 200];
};

struct command *command_new(const struct command_options *options) {
    struct command *command = x_calloc(1, sizeof *command);
    command->options = *options;
    command->process.fd = -1;
    buffer_init(&command->out, (COMMAND_AHEAD + 1) * (options->line_bytes_max + 1)); /* with room
                                                                                        for init */
    command_lines_init(&command->lines, options->line_bytes_max);
    command_output_init(&command->output, options->log_line, options->context);
    snprintf(command->death, sizeof command->death, "was never started");
    return command;
}

static void on_noise(struct command *command, const char *text, size_t size) {
    command_output_noise(&command->output, text, size, clock_monotonic_ms());
}

/* The request of that id whose answer is not complete. NULL: there is none. */
static struct pending_request *find_open(struct command *command, int64_t id) {
    for (size_t i = 0; i < COMMAND_AHEAD; i++) {
        struct pending_request *asked = &command->asked[i];
        if (asked->is_asked && !asked->answer.is_whole && asked->id == id) {
            return asked;
        }
    }
    return NULL;
}

static void note_answer(struct command *command, const struct pending_request *asked) {
    if (asked && asked->answer.is_whole) {
        command->asked_ms = clock_monotonic_ms();
        command->has_answered = true;
    }
}

/* A line that may be an answer. */
static void on_object(struct command *command, const char *line, size_t size) {
    struct command_message message;
    if (!command_message_read(line, size, &message)) {
        on_noise(command, line, size);
        return;
    }
    bool has_said = command->is_ready || command->refusal; /* only the first response to init
                                                              counts */
    if (!has_said && !message.has_id && (message.is_ready || message.error.at)) {
        command->is_ready = !message.error.at;
        command->was_ready |= command->is_ready;
        command->refusal = message.error.at ? command_slice_text(&message.error) : NULL;
        return;
    }
    struct pending_request *asked = message.has_id ? find_open(command, message.id) : NULL;
    if (!asked) {
        on_noise(command, line, size); /* a second answer, an unknown id */
    }
    int64_t bytes = command_answer_line(asked ? &asked->answer : NULL, &message);
    if (bytes > 0) {
        command_lines_expect(&command->lines, bytes);
    }
    command->body = asked && !asked->answer.is_whole ? asked : NULL;
    note_answer(command, asked);
}

static void on_body(struct command *command, const char *bytes, size_t size) {
    struct pending_request *asked = TAKE(command->body);
    if (asked) {
        command_answer_body(&asked->answer, bytes, size);
        note_answer(command, asked);
    }
}

/* Reads once. 1: bytes came; 0: none now; -1: the end, or (FAILED) a line that is too long. */
static int read_stdout(struct command *command, struct error *err) {
    NOT_ZEROED char data[READ_BYTES];
    ssize_t got = read(command->process.out, data, sizeof data);
    if (got <= 0) {
        return got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
    }
    for (size_t at = 0, used = 0; at < (size_t)got; at += used) {
        const char *line = NULL;
        size_t size = 0;
        switch (
            command_lines_read(&command->lines, data + at, (size_t)got - at, &used, &line, &size)) {
        case COMMAND_LINE_OBJECT:
            on_object(command, line, size);
            break;
        case COMMAND_LINE_NOISE:
            on_noise(command, line, size);
            break;
        case COMMAND_LINE_BODY:
            on_body(command, line, size);
            break;
        case COMMAND_LINE_TOO_LONG:
            return error_set(err, ERROR_FAILED,
                             "a line of more than %zu bytes on stdout; answer in several lines, "
                             "with \"more\": true",
                             command->lines.held.max);
        case COMMAND_LINE_MORE:
            break;
        }
    }
    return 1;
}

/* Like read_stdout. */
static int read_stderr(struct command *command) {
    NOT_ZEROED char data[READ_BYTES];
    ssize_t got = read(command->process.errors, data, sizeof data);
    if (got <= 0) {
        return got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
    }
    command_output_error(&command->output, data, (size_t)got);
    return 1;
}

/* A closed pipe means that the program is ending, which is detected elsewhere. */
static void write_out(struct command *command) {
    while (command->out_at < command->out.size) {
        ssize_t put = write(command->process.in, command->out.data + command->out_at,
                            command->out.size - command->out_at);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put < 0 && errno != EAGAIN) {
            fd_closep(&command->process.in);
            break;
        }
        if (put < 0) {
            return;
        }
        command->out_at += (size_t)put;
    }
    command->out_at = 0;
    if (command->out.capacity > READ_BYTES) {
        buffer_release(&command->out);
    } else {
        buffer_clear(&command->out);
    }
}

static void forget(struct command *command) {
    for (size_t i = 0; i < COMMAND_AHEAD; i++) {
        command_answer_release(&command->asked[i].answer);
        command->asked[i] = (struct pending_request){0};
    }
    command->body = NULL;
    buffer_release(&command->out);
    command->out_at = 0;
}

/* The program has ended, or is ended here: reads its last output and kills its children. Answers
 * that have come are kept. */
static void bury(struct command *command, const char *why) {
    if (!command->is_alive) {
        return;
    }
    command->is_alive = false;
    int status = process_end(&command->process);
    struct error ignored = {0};
    for (int i = 0; i < LAST_READS && read_stdout(command, &ignored) > 0; i++) {
    }
    for (int i = 0; i < LAST_READS && read_stderr(command) > 0; i++) {
    }
    command_output_end(&command->output);
    process_kill(&command->process);
    int64_t now_ms = clock_monotonic_ms();
    bool is_short = !command->has_answered && now_ms - command->started_ms < COMMAND_SHORT_LIFE_MS;
    command->short_lives = is_short ? command->short_lives + 1 : 0;
    int more = MIN(command->short_lives - COMMAND_SHORT_LIVES, 5);
    command->not_before_ms = more < 0 ? 0 : now_ms + MIN(1000 << more, COMMAND_BACK_OFF_MAX_MS);
    command->ended_well = !why && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!why && WIFEXITED(status) && !command->was_ready) {
        char end[OUTPUT_TAIL_LINE_MAX];
        output_tail_line(&command->output.errors, end);
        command->is_useless = usage_error_is(WEXITSTATUS(status), end);
    }
    char how[120];
    if (why) {
        snprintf(how, sizeof how, "%s", why);
    } else if (WIFSIGNALED(status)) {
        snprintf(how, sizeof how, "ended by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    } else {
        snprintf(how, sizeof how, "ended with exit code %d", WEXITSTATUS(status));
    }
    snprintf(command->death, sizeof command->death, "%s%s%s", how,
             command->output.last_error[0] ? "; its last line of stderr: " : "",
             command->output.last_error);
}

static int fail_dead(const struct command *command, struct error *err) {
    return error_set(err, ERROR_FAILED, "the program %s", command->death);
}

/* True when the awaited event has happened. */
typedef bool is_done(const struct command *command, int64_t id);

static bool is_answered(const struct command *command, int64_t id) {
    for (size_t i = 0; i < COMMAND_AHEAD; i++) {
        if (command->asked[i].is_asked && command->asked[i].id == id) {
            return command->asked[i].answer.is_whole;
        }
    }
    return false;
}

static bool is_initialised(const struct command *command, int64_t id UNUSED) {
    return command->is_ready || command->refusal;
}

static bool is_never(const struct command *command UNUSED, int64_t id UNUSED) {
    return false;
}

/* Handles every event of the process once. 0: continue. -1: it is dead. */
static int poll_once(struct command *command, int64_t timeout_ms, struct error *err) {
    struct process *process = &command->process;
    struct pollfd polls[] = {
        {process->out, POLLIN, 0},
        {process->errors, POLLIN, 0},
        {process->fd, POLLIN, 0},
        {command->out_at < command->out.size ? process->in : -1, POLLOUT, 0},
    };
    if (poll(polls, ARRAY_LEN(polls), (int)MIN(MAX(timeout_ms, 0), 1000000)) <= 0) {
        return 0;
    }
    if (polls[1].revents && read_stderr(command) < 0) {
        fd_closep(&process->errors); /* a program may close its stderr and continue */
    }
    int result = polls[0].revents ? read_stdout(command, err) : 0;
    if (result < 0 && err->kind == ERROR_NONE && !polls[2].revents) {
        /* Most programs end shortly after they close their pipes, and their exit status says more
         * than that. */
        struct pollfd end = {process->fd, POLLIN, 0};
        if (poll(&end, 1, 500) == 0) {
            bury(command, "closed its stdout");
            return fail_dead(command, err);
        }
        polls[2].revents = POLLIN;
    }
    if (err->kind != ERROR_NONE) {
        bury(command, "wrote a line that is too long");
        return -1;
    }
    if (polls[3].revents) {
        write_out(command);
    }
    if (polls[2].revents) {
        bury(command, NULL); /* this also reads its earlier answers */
        return fail_dead(command, err);
    }
    return 0;
}

static int poll_until(struct command *command, is_done *done, int64_t id, int64_t until_ms,
                      struct error *err) {
    while (!done(command, id)) {
        int64_t now_ms = clock_monotonic_ms();
        if (!command->is_alive) {
            return fail_dead(command, err);
        }
        if (command->options.ends && atomic_load(command->options.ends)) {
            bury(command, "was killed");
            return error_set(err, ERROR_CANCELLED, "cancelled");
        }
        struct error problem = {0};
        int64_t left_ms = until_ms - now_ms;
        left_ms = command->options.ends ? MIN(left_ms, COMMAND_ENDS_MS) : left_ms;
        if (poll_once(command, left_ms, &problem) < 0) {
            if (done(command, id)) {
                return 0; /* it answered before it ended */
            }
            *err = problem;
            return -1;
        }
        if (now_ms >= until_ms && !done(command, id)) {
            return error_set(err, ERROR_TIMEOUT, "nothing came");
        }
    }
    return 0;
}

static void time_out(struct command *command, const char *what, int64_t since_ms,
                     struct error *err) {
    int64_t ms = clock_monotonic_ms() - since_ms;
    char noise[COMMAND_WORDS_MAX];
    memcpy(noise, command->output.last_noise, sizeof noise);
    bury(command, "was killed");
    error_clear(err);
    error_set(err, ERROR_TIMEOUT, "%s within %.*f s%s%s%s%s", what, ms < 10000, (double)ms / 1000,
              noise[0] ? "; the last line on stdout was: " : "", noise,
              !noise[0] && command->output.last_error[0] ? "; the last line on stderr was: " : "",
              noise[0] ? "" : command->output.last_error);
}

static int queue_line(struct command *command, const char *text, size_t size, struct error *err) {
    if (size + 1 > command->options.line_bytes_max) {
        return error_set(err, ERROR_INVALID,
                         "a line of %zu bytes for the program, at most %zu are sent", size + 1,
                         command->options.line_bytes_max);
    }
    if (buffer_append(&command->out, text, size, err) < 0 ||
        buffer_append(&command->out, "\n", 1, err) < 0) {
        return -1;
    }
    write_out(command);
    return 0;
}

static int send_init(struct command *command, struct error *err) {
    const struct command_environment *environment = &command->options.environment;
    AUTO(tree_freep)
    json_t *tree = json_pack(
        "{s:{s:s,s:i,s:O?}}", "init", "worker", environment->worker, "slot", environment->slot,
        "arguments", command->options.arguments ? (json_t *)command->options.arguments : NULL);
    if (!command->options.arguments) {
        json_object_set_new(json_object_get(tree, "init"), "arguments", json_object());
    }
    AUTO(text_freep) char *text = json_dumps(tree, JSON_COMPACT);
    return text ? queue_line(command, text, strlen(text), err)
                : error_set(err, ERROR_INVALID,
                            "the worker's name, which init passes to the program, is not UTF-8");
}

static int initialise(struct command *command, struct error *err) {
    if (send_init(command, err) < 0) {
        bury(command, "was killed");
        return -1;
    }
    int64_t until_ms = command->started_ms + command->options.init_timeout_ms;
    if (poll_until(command, is_initialised, -1, until_ms, err) < 0) {
        if (err->kind == ERROR_TIMEOUT) {
            time_out(command, "did not report that it is ready", command->started_ms, err);
        }
        return -1;
    }
    if (command->refusal) {
        bury(command, "was killed");
        return error_set(err, ERROR_FAILED, "%s", command->refusal);
    }
    return 0;
}

int command_start(struct command *command, struct error *err) {
    bury(command, "was killed");
    forget(command);
    command_lines_release(&command->lines);
    command_lines_init(&command->lines, command->options.line_bytes_max);
    command_output_clear(&command->output);
    free(TAKE(command->refusal));
    command->is_ready = command->has_answered = false;
    command->lives++;
    command->started_ms = command->asked_ms = clock_monotonic_ms();
    char **variables = command_environment_new(&command->options.environment);
    int result = process_start(command->options.words, variables, &command->process, err);
    command_environment_free(variables);
    command->is_useless = result < 0 && !command->was_ready && err->kind == ERROR_INVALID;
    if (result == 0) {
        command->is_alive = true;
        result = initialise(command, err);
    }
    command->failed_inits = result < 0 ? command->failed_inits + 1 : 0;
    return result < 0 ? error_context(err, "init") : 0;
}

int64_t command_back_off_ms(const struct command *command, int64_t now_ms) {
    return MAX(0, command->not_before_ms - now_ms);
}

int command_failed_inits(const struct command *command) {
    return command->failed_inits;
}

bool command_is_useless(const struct command *command) {
    return command->is_useless;
}

bool command_is_alive(const struct command *command) {
    return command->is_alive;
}

int64_t command_lives(const struct command *command) {
    return command->lives;
}

bool command_ended_well(const struct command *command) {
    return !command->is_alive && command->ended_well;
}

int command_send(struct command *command, const struct command_request *request,
                 struct error *err) {
    struct pending_request *asked = NULL, *other = NULL;
    for (size_t i = 0; i < COMMAND_AHEAD; i++) {
        asked = command->asked[i].is_asked ? asked : &command->asked[i];
        other = command->asked[i].is_asked ? &command->asked[i] : other;
    }
    assert(asked && (!other || other->id != request->id));
    if (!command->is_alive) {
        return fail_dead(command, err);
    }
    if (memchr(request->items, '\n', request->size)) {
        return error_set(err, ERROR_BUG, "items with a newline");
    }
    char tail[96] = "}";
    if (request->mini_batch >= 0) {
        snprintf(tail, sizeof tail, ",\"miniBatch\":%lld,\"try\":%d}",
                 (long long)request->mini_batch, request->try);
    }
    struct buffer line;
    buffer_init(&line, request->size + 256);
    int result = buffer_printf(&line, err, "{\"id\":%lld,\"items\":", (long long)request->id);
    if (result < 0 || buffer_append(&line, request->items, request->size, err) < 0 ||
        buffer_append(&line, tail, strlen(tail), err) < 0 ||
        queue_line(command, line.data, line.size, err) < 0) {
        result = -1;
    }
    buffer_release(&line);
    if (result == 0) {
        *asked = (struct pending_request){.is_asked = true, .id = request->id};
        command_answer_start(&asked->answer, request->count);
        command->asked_ms =
            other && !other->answer.is_whole ? command->asked_ms : clock_monotonic_ms();
    }
    return result;
}

int command_wait(struct command *command, int64_t id, int64_t until_ms,
                 struct command_answer **ret_answer, struct error *err) {
    command_answer_release(&command->answer);
    if (poll_until(command, is_answered, id, until_ms, err) < 0) {
        if (err->kind == ERROR_TIMEOUT) {
            time_out(command, "no answer", command->asked_ms, err);
        }
        forget(command);
        return -1;
    }
    for (size_t i = 0; i < COMMAND_AHEAD; i++) {
        struct pending_request *asked = &command->asked[i];
        if (asked->is_asked && asked->id == id) {
            command->answer = asked->answer;
            *asked = (struct pending_request){0};
        }
    }
    *ret_answer = &command->answer;
    return 0;
}

int command_listen(struct command *command, int64_t until_ms, struct error *err) {
    struct error problem = {0};
    poll_until(command, is_never, -1, until_ms, &problem);
    if (problem.kind != ERROR_TIMEOUT) {
        *err = problem;
        return -1;
    }
    return 0;
}

void command_stop(struct command *command, int64_t until_ms) {
    if (command->is_alive) {
        struct error ignored = {0};
        buffer_release(&command->out);
        command->out_at = 0;
        fd_closep(&command->process.in);
        poll_until(command, is_never, -1, until_ms, &ignored);
    }
    bury(command, "was killed");
    forget(command);
}

void command_free(struct command *command) {
    if (command) {
        bury(command, "was killed");
        forget(command);
        command_lines_release(&command->lines);
        command_output_release(&command->output);
        command_answer_release(&command->answer);
        free(command->refusal);
        free(command);
    }
}

void command_freep(struct command **command) {
    command_free(TAKE(*command));
}
