// SPDX-License-Identifier: Apache-2.0
/* Scores with a user's program, one process per slot: converts items to requests, and answers to
 * results of a mini-batch (docs/scorers.md). */
#include "agent/data/input/fingerprint.h"
#include "agent/score/log/run_file.h"
#include "agent/score/scorer/code_files.h"
#include "agent/score/scorer/scorer.h"
#include "agent/score/worker/command.h"
#include "agent/score/worker/python_module.h"
#include "lib/environment.h"
#include "lib/text/jsontext.h"
#include "lib/time/clock.h"

#include <assert.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum {
    INITS_MAX = 3,      /* failed inits in a row before the first lease; then the scorer gives up */
    FAREWELL_MS = 2000, /* time limit for the program to end after its stdin is closed */
    WAIT_STEP_MS = 50,
    WORDS_MAX = 64,
};
static_assert((int)COMMAND_BACK_OFF_MAX_MS <= (int)SCORER_START_DELAY_MAX_MS,
              "scorer_wait_ms covers it");

/* An item of the lease: sent to the program, or failed before that. */
struct question {
    char *name;    /* NULL: not sent */
    char *head;    /* of its row (media.h); or NULL */
    char *fault;   /* NULL: sent */
    bool is_final; /* of the fault */
    char *core;    /* as listed, of a file that the program has read itself; or NULL */
    struct local_file file;
};

/* The request for a lease. */
struct request {
    int64_t epoch, lease; /* -1: of none */
    int64_t id;           /* the id sent to the program */
    bool is_sent;         /* sent and not answered */
    struct question *questions;
    size_t count, room, asked;
    struct buffer items;     /* the request's items, a JSON array */
    struct row_heads *heads; /* of the lease; NULL: rows have none */
};

struct scorer {
    struct scorer_options options;
    struct command *command; /* NULL: only for try_out */
    char *python;            /* the folder of windlass.py; or NULL */
    char *words[WORDS_MAX + 1];
    struct input_reader *reader;
    struct request now, next;
    int64_t last_id;
    json_t *files; /* the program's code, as command_files has listed it; NULL: not listed */
    char seen[65]; /* of these files (code_files.h) */
    bool waits;    /* the current lease has not begun, and this was reported */
};

/* ---- opening -------------------------------------------------------------------------------- */

/* Our variables: a volume's folder. */
static const char *variable(void *context UNUSED, const char *name) {
    return text_starts(name, "WINDLASS_") ? NULL : getenv(name);
}

static int read_words(struct scorer *scorer, struct error *err) {
    const json_t *list = tree_get(scorer->options.spec, "scorer.command.command");
    size_t i, count = json_array_size(list);
    json_t *word;
    if (count == 0 || count > WORDS_MAX) {
        return error_set(err, ERROR_INVALID,
                         "spec.scorer.command.command: %zu words, expected 1 to %d", count,
                         WORDS_MAX);
    }
    json_array_foreach(list, i, word) {
        if (!json_is_string(word)) {
            return error_set(err, ERROR_INVALID, "spec.scorer.command.command[%zu] is not a string",
                             i);
        }
        scorer->words[i] = environment_expand(json_string_value(word), variable, NULL);
    }
    return 0;
}

/* Frees the local copies, which the program has read. */
static void release_files(struct request *request) {
    for (size_t i = 0; i < request->count; i++) {
        local_file_release(&request->questions[i].file);
    }
}

static void forget(struct request *request) {
    release_files(request);
    for (size_t i = 0; i < request->count; i++) {
        free(request->questions[i].name);
        free(request->questions[i].head);
        free(request->questions[i].fault);
        free(request->questions[i].core);
    }
    request->count = request->asked = 0;
    request->epoch = request->lease = -1;
    request->is_sent = false;
    buffer_clear(&request->items);
}

static void release(struct request *request) {
    forget(request);
    free(request->questions);
    row_heads_free(request->heads);
    buffer_release(&request->items);
}

static void command_free_scorer(struct scorer *scorer) {
    if (!scorer) {
        return;
    }
    if (scorer->command) {
        command_stop(scorer->command, clock_monotonic_ms() + FAREWELL_MS);
        command_free(scorer->command);
    }
    if (scorer->reader) {
        scorer->options.media->lines->reader_free(scorer->reader);
    }
    release(&scorer->now);
    release(&scorer->next);
    json_decref(scorer->files);
    free(scorer->python);
    for (size_t i = 0; i < ARRAY_LEN(scorer->words); i++) {
        free(scorer->words[i]);
    }
    free(scorer);
}

static void scorer_freep(struct scorer **scorer) {
    command_free_scorer(*scorer);
}

/* Receives stderr, and the lines of stdout that are not answers. */
static void on_output_line(void *context, enum command_stream stream UNUSED, const char *text,
                           size_t size) {
    const struct scorer *scorer = context;
    scorer->options.log_line(scorer->options.context, text, size);
}

static int command_open(const struct scorer_options *options, struct scorer **ret_scorer,
                        struct error *err) {
    AUTO(scorer_freep) struct scorer *scorer = x_calloc(1, sizeof *scorer);
    scorer->options = *options;
    buffer_init(&scorer->now.items, COMMAND_LINE_MAX);
    buffer_init(&scorer->next.items, COMMAND_LINE_MAX);
    scorer->now.heads = row_heads_new(options->spec);
    scorer->next.heads = row_heads_new(options->spec);
    forget(&scorer->now);
    forget(&scorer->next);
    if (!options->media->lines) {
        return error_set(err, ERROR_INVALID,
                         "spec.scorer.command: scores files and tables, not spec.input.%s",
                         options->media->name);
    }
    if (read_words(scorer, err) < 0) {
        return -1;
    }
    if (options->worker) {
        scorer->python = python_module_find();
        struct command_options program = {
            .words = (const char *const *)scorer->words,
            .arguments = tree_get(options->spec, "scorer.command.arguments"),
            .environment = {.job = options->job,
                            .worker = options->worker,
                            .python = scorer->python,
                            .slot = options->slot,
                            .gpus = options->gpus},
            .init_timeout_ms = scorer_init_ms(options->spec),
            .line_bytes_max = COMMAND_LINE_MAX,
            .ends = options->ends,
            .log_line = options->log_line ? on_output_line : NULL,
            .context = scorer,
        };
        scorer->command = command_new(&program);
    }
    *ret_scorer = TAKE(scorer);
    return 0;
}

/* The program is in the workers' image, so the coordinator cannot try it. */
static int command_try(struct scorer *scorer UNUSED, struct error *err UNUSED) {
    return 0;
}

/* ---- the program's code --------------------------------------------------------------------- */

/* Lists the code once in a worker, before the first program starts. */
static int command_files(struct scorer *scorer, const struct scorer *first, json_t *files,
                         struct error *err) {
    if (first && first->files) {
        scorer->files = json_deep_copy(first->files); /* for another thread */
        memcpy(scorer->seen, first->seen, sizeof scorer->seen);
    } else {
        AUTO(tree_freep) json_t *listed = json_object();
        if (code_files_add(scorer->options.spec, listed, scorer->seen, err) < 0) {
            return -1;
        }
        scorer->files = TAKE(listed);
    }
    json_object_update(files, scorer->files);
    return 0;
}

/* A program that starts now reads the code as it is now, which must be what this worker has
 * reported. INVALID: it is not. */
static int check_code(struct scorer *scorer, struct error *err) {
    AUTO(tree_freep) json_t *now = json_object();
    char seen[65];
    if (!scorer->files || (code_files_look(scorer->options.spec, seen, err) == 0 &&
                           strcmp(seen, scorer->seen) == 0)) {
        return 0;
    }
    if (err->kind || code_files_add(scorer->options.spec, now, seen, err) < 0) {
        return -1;
    }
    const char *field = run_file_find_change(scorer->files, now);
    if (field) {
        char change[RUN_FILE_CHANGE_BYTES];
        run_file_describe_change(scorer->files, now, field, change);
        return error_set(err, ERROR_INVALID,
                         "spec.%s changed while the job ran: a program that starts now would read "
                         "a file with %s; restore the file, or run the job with another "
                         "output",
                         field, change);
    }
    memcpy(scorer->seen, seen, sizeof seen);
    return 0;
}

/* ---- the program ---------------------------------------------------------------------------- */

/* A program's errors are never the fault of the machine or its storage. */
static int blame(struct error *err) {
    err->kind = err->kind == ERROR_CANCELLED ? ERROR_CANCELLED : ERROR_FAILED;
    return -1;
}

/* Starts the program, with growing delays if it keeps dying. */
static int revive(struct scorer *scorer, struct error *err) {
    while (command_back_off_ms(scorer->command, clock_monotonic_ms()) > 0) {
        if (atomic_load(scorer->options.ends)) {
            return error_set(err, ERROR_CANCELLED, "cancelled");
        }
        poll(NULL, 0, WAIT_STEP_MS);
    }
    if (check_code(scorer, err) < 0) {
        return -1;
    }
    return command_start(scorer->command, err) < 0 ? blame(err) : 0;
}

static int command_ready(struct scorer *scorer, struct error *err) {
    while (!command_is_alive(scorer->command)) {
        struct error cause = {0};
        if (revive(scorer, &cause) == 0) {
            continue;
        }
        bool is_useless = command_is_useless(scorer->command);
        if (cause.kind != ERROR_FAILED || is_useless ||
            command_failed_inits(scorer->command) >= INITS_MAX) {
            *err = cause;
            err->kind = is_useless ? ERROR_INVALID : cause.kind;
            return -1;
        }
    }
    return 0;
}

/* ---- a lease -------------------------------------------------------------------------------- */

static int add_question(struct request *request, struct item *item, struct error *err) {
    struct buffer *items = &request->items;
    struct error why = {0};
    AUTO(text_freep) char *head = NULL;
    sink_count_item(request->heads, item);
    if (!item->fault && sink_row_prefix(request->heads, item, &head, &why) < 0) {
        (void)!error_context(&why, "%.200s", item->name);
        local_file_release(&item->file);
        item->fault = why.text;
        item->is_final = true;
    }
    if (request->count == request->room) {
        request->room = MAX(request->room * 2, (size_t)64);
        request->questions =
            x_realloc_array(request->questions, request->room, sizeof *request->questions);
    }
    request->questions[request->count++] = (struct question){
        .name = item->fault ? NULL : x_strdup(item->name), /* half a million items may fail */
        .head = TAKE(head),
        .fault = x_strdup(item->fault),
        .is_final = item->is_final,
        .core = x_strdup(item->core),
        .file = item->file};
    if (item->fault) {
        return 0;
    }
    bool is_json = item->type == ITEM_JSON;
    const char *before = request->asked++ ? "," : "", *quote = is_json ? "" : "\"";
    if (buffer_printf(items, err, "%s%s", before, quote) < 0 ||
        (is_json ? buffer_append(items, item->text, item->text_size, err)
                 : jsontext_escape(items, item->text, item->text_size, err)) < 0) {
        return -1;
    }
    return buffer_append(items, quote, strlen(quote), err);
}

static int too_large(const struct scorer *scorer, struct error *err) {
    error_clear(err);
    return error_set(err, ERROR_FAILED, "its items are more than %d MiB of JSON: %s",
                     COMMAND_LINE_MAX >> 20, scorer_size_hint(scorer->options.spec));
}

/* Builds the request from all items of the lease. */
static int read_items(struct scorer *scorer, const struct scorer_lease *lease,
                      struct request *request, struct error *err) {
    const struct input_kind *lines = scorer->options.media->lines;
    struct error full = {0};
    int result = buffer_append(&request->items, "[", 1, &full);
    if (request->heads) {
        row_heads_start(request->heads);
    }
    if (lines->reader_open(scorer->options.spec, lease->work, &scorer->reader, err) < 0) {
        return -1;
    }
    for (int got = 1; got > 0 && result == 0;) {
        struct item item = {0};
        got = lines->reader_next(scorer->reader, &item, err);
        if (got < 0) {
            return -1;
        }
        result = got > 0 ? add_question(request, &item, &full) : 0;
    }
    if (result < 0 || buffer_append(&request->items, "]", 1, &full) < 0) {
        return too_large(scorer, err);
    }
    request->epoch = lease->epoch;
    request->lease = lease->lease;
    return 0;
}

static int send_request(struct scorer *scorer, const struct scorer_lease *lease,
                        struct request *request, struct error *err) {
    if (request->is_sent) {
        return 0;
    }
    struct command_request asked = {.id = ++scorer->last_id,
                                    .items = request->items.data,
                                    .size = request->items.size,
                                    .count = request->asked,
                                    .mini_batch = lease->first,
                                    .try = lease->try};
    if (command_send(scorer->command, &asked, err) < 0) {
        return err->kind == ERROR_INVALID ? too_large(scorer, err) : -1;
    }
    request->id = asked.id;
    request->is_sent = true;
    return 0;
}

/* -1: the program is dead, and all requests are lost. */
static int await_answer(struct scorer *scorer, struct request *request,
                        struct command_answer **ret_answer, struct error *err) {
    int64_t until_ms = clock_monotonic_ms() + scorer->options.timeout_ms;
    int result = command_wait(scorer->command, request->id, until_ms, ret_answer, err);
    request->is_sent = false;
    if (result < 0) {
        scorer->now.is_sent = scorer->next.is_sent = false;
    }
    return result;
}

static void set_waits(struct scorer *scorer, bool waits) {
    if (scorer->waits != waits) {
        scorer->waits = waits;
        scorer->options.waits(scorer->options.context, waits);
    }
}

/* The request read ahead is for this lease, or for another one whose answer must still be read and
 * dropped: that time does not count against the lease. */
static int take_request(struct scorer *scorer, const struct scorer_lease *lease,
                        struct error *err) {
    struct request *next = &scorer->next;
    if (next->epoch != lease->epoch || next->lease != lease->lease) {
        struct command_answer *ignored = NULL;
        struct error late = {0};
        if (next->is_sent) {
            set_waits(scorer, true);
            (void)!await_answer(scorer, next, &ignored, &late);
        }
        forget(next);
        if (read_items(scorer, lease, next, err) < 0) {
            return -1;
        }
    }
    struct request swapped = scorer->now;
    scorer->now = scorer->next;
    scorer->next = swapped;
    forget(&scorer->next);
    return 0;
}

/* Sends the next request while the program works, so that it need not wait. Errors are reported
 * when the lease's turn comes. */
static void send_ahead(struct scorer *scorer, const struct scorer_lease *ahead) {
    struct error ignored = {0};
    if (!ahead) {
        return;
    }
    if (read_items(scorer, ahead, &scorer->next, &ignored) < 0) {
        forget(&scorer->next);
    } else if (scorer->next.asked > 0) {
        (void)!send_request(scorer, ahead, &scorer->next, &ignored);
    }
}

/* Sends the request, unless it was sent ahead, and waits for the answer. */
static int ask_once(struct scorer *scorer, const struct scorer_task *task,
                    const struct scorer_lease *ahead, struct command_answer **ret_answer,
                    struct error *err) {
    if (!scorer->now.is_sent) { /* a program that has ended since its last answer gets no request */
        struct error ended = {0};
        (void)!command_listen(scorer->command, clock_monotonic_ms(), &ended);
    }
    if (!command_is_alive(scorer->command)) {
        scorer->now.is_sent = false;
        set_waits(scorer, true);
        if (revive(scorer, err) < 0) {
            return -1;
        }
    }
    set_waits(scorer, false);
    if (send_request(scorer, &task->lease, &scorer->now, err) < 0) {
        return -1;
    }
    send_ahead(scorer, ahead);
    return await_answer(scorer, &scorer->now, ret_answer, err);
}

/* A program that ended normally after its last answer may never have read this request, so a new
 * one is started for it. If that one ends, too, it has refused the request. */
static int ask(struct scorer *scorer, const struct scorer_task *task,
               struct command_answer **ret_answer, struct error *err) {
    int64_t life = command_lives(scorer->command);
    int result = ask_once(scorer, task, task->ahead, ret_answer, err);
    if (result < 0 && life == command_lives(scorer->command) &&
        command_ended_well(scorer->command)) {
        error_clear(err);
        result = ask_once(scorer, task, /* ahead= */ NULL, ret_answer, err);
    }
    if (result < 0) {
        return blame(err);
    }
    return (*ret_answer)->error ? error_set(err, ERROR_FAILED, "%s", (*ret_answer)->error) : 0;
}

/* Writes the results in the order of the items: answers and failed items. */
static int take_answer(const struct request *request, struct command_answer *answer,
                       const struct scorer_task *task, struct sink *sink,
                       struct scorer_count *count, struct error *err) {
    for (size_t i = 0; i < request->count; i++) {
        const struct question *question = &request->questions[i];
        struct command_result answered = {0};
        const struct command_result *told = question->fault ? NULL : &answered;
        if (told && command_answer_next(answer, &answered, err) < 0) {
            return -1;
        }
        const char *cause = told ? told->cause : question->fault;
        bool is_final = !told && question->is_final;
        char changed[STORE_NAME_MAX + 64];
        if (told && !fingerprint_holds_file(&question->file, question->core)) {
            snprintf(changed, sizeof changed, "%s: " FINGERPRINT_CHANGED, question->name);
            cause = changed;
            is_final = true;
        }
        struct result result = {.name = question->name,
                                .head = question->head,
                                .json = told ? told->json : NULL,
                                .json_size = told ? told->size : 0};
        struct error why = {0};
        if (!cause && sink_check(sink, &result, &why) < 0) {
            cause = why.text;
        }
        if (cause) {
            count->final += is_final;
            if (scorer_count_failure(task, count, cause, err) < 0) {
                return -1;
            }
            continue;
        }
        if (sink_add(sink, &result, err) < 0) {
            return -1;
        }
        count->items++;
    }
    return sink_end_rows(sink, request->heads, err) < 0 ? -1 : sink_finish(sink, err);
}

static int command_score(struct scorer *scorer, const struct scorer_task *task,
                         struct scorer_count *ret_count, struct error *err) {
    struct command_answer *answer = NULL;
    struct scorer_count count = {0};
    struct sink *sink = NULL;
    int result = -1;
    if (take_request(scorer, &task->lease, err) == 0 &&
        (scorer->now.asked == 0 || ask(scorer, task, &answer, err) == 0) &&
        sink_open(scorer->options.spec, scorer->options.media, task->lease.work, task->staged,
                  &sink, err) == 0) {
        result = take_answer(&scorer->now, answer, task, sink, &count, err);
    }
    set_waits(scorer, false); /* the next wait is reported again */
    release_files(&scorer->now);
    sink_free(sink);
    if (result < 0) {
        bool is_known =
            scorer->now.epoch == task->lease.epoch && scorer->now.lease == task->lease.lease;
        ret_count->items = is_known ? (int64_t)scorer->now.count : 0;
        return -1;
    }
    *ret_count = count;
    return 0;
}

const struct scorer_kind scorer_command = {
    .name = "command",
    .has_clock = true,
    .says = true,
    .open = command_open,
    .files = command_files,
    .try_out = command_try,
    .start = command_ready,
    .run = command_score,
    .free = command_free_scorer,
};
