// SPDX-License-Identifier: Apache-2.0
/* A program of the user's, one process a slot: what an item is to it, and what its answers are to a
 * mini-batch (docs/batchscore.md, "Scorers"). */
#include "agent/score/command.h"
#include "agent/score/scorer.h"
#include "lib/clock.h"
#include "lib/jsontext.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum {
    INITS_MAX = 3,      /* in a row, before the first lease: then it is hopeless */
    FAREWELL_MS = 2000, /* for the program to end when its stdin has */
    WAIT_STEP_MS = 50,
    WORDS_MAX = 64,
};

/* An item of the lease: asked about, or failed before. */
struct question {
    char *name;
    char *fault; /* NULL: asked */
};

struct scorer {
    struct scorer_options options;
    struct command *command; /* NULL: only tried */
    char *words[WORDS_MAX + 1];
    struct input_reader *reader;
    struct question *questions; /* of this lease */
    size_t count, room, asked;
    struct buffer items; /* what is asked: a JSON array */
};

/* ---- opening -------------------------------------------------------------------------------- */

/* $(NAME) is a variable of ours (a volume's folder), $$ is $, as in a container's arguments. */
static char *expand(const char *text) {
    AUTO(text_freep) char *out = x_strdup("");
    while (*text) {
        size_t plain = strcspn(text, "$");
        const char *value = "", *next = text + plain;
        const char *end = next[0] && next[1] == '(' ? strchr(next, ')') : NULL;
        if (next[0] && next[1] == '$') {
            value = "$";
            next += 2;
        } else if (end) {
            AUTO(text_freep) char *name = x_strndup(next + 2, (size_t)(end - next - 2));
            value = text_starts(name, "WINDLASS_") ? NULL : getenv(name);
            next = end + 1;
        } else if (next[0]) {
            value = "$";
            next++;
        }
        plain = value ? plain : (size_t)(next - text); /* one that is not there stays as it is */
        char *more = x_printf("%s%.*s%s", out, (int)plain, text, value ? value : "");
        free(out);
        out = more;
        text = next;
    }
    return TAKE(out);
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
            return error_set(err, ERROR_INVALID, "spec.scorer.command.command[%zu] is not a text",
                             i);
        }
        scorer->words[i] = expand(json_string_value(word));
    }
    return 0;
}

static void forget_questions(struct scorer *scorer) {
    for (size_t i = 0; i < scorer->count; i++) {
        free(scorer->questions[i].name);
        free(scorer->questions[i].fault);
    }
    scorer->count = scorer->asked = 0;
    buffer_clear(&scorer->items);
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
    forget_questions(scorer);
    free(scorer->questions);
    buffer_release(&scorer->items);
    for (size_t i = 0; i < ARRAY_LEN(scorer->words); i++) {
        free(scorer->words[i]);
    }
    free(scorer);
}

static void scorer_freep(struct scorer **scorer) {
    command_free_scorer(*scorer);
}

/* Of stdout only what is no answer is said. */
static void on_said(void *context, enum command_stream stream UNUSED, const char *text,
                    size_t size) {
    const struct scorer *scorer = context;
    scorer->options.say(scorer->options.context, text, size);
}

static int command_open(const struct scorer_options *options, struct scorer **ret_scorer,
                        struct error *err) {
    AUTO(scorer_freep) struct scorer *scorer = x_calloc(1, sizeof *scorer);
    scorer->options = *options;
    buffer_init(&scorer->items, COMMAND_LINE_MAX);
    if (!options->media->lines) {
        return error_set(err, ERROR_INVALID, "spec.scorer.command: scores files, not spec.input.%s",
                         options->media->name);
    }
    if (read_words(scorer, err) < 0) {
        return -1;
    }
    if (options->worker) {
        int64_t init_s = tree_integer(options->spec, "scorer.command.initTimeoutSeconds", 600);
        struct command_options program = {
            .words = (const char *const *)scorer->words,
            .arguments = tree_get(options->spec, "scorer.command.arguments"),
            .environment = {.job = options->job,
                            .worker = options->worker,
                            .slot = options->slot,
                            .gpus = options->gpus},
            .init_timeout_ms = init_s * 1000,
            .line_bytes_max = COMMAND_LINE_MAX,
            .ends = options->ends,
            .say = options->say ? on_said : NULL,
            .context = scorer,
        };
        scorer->command = command_new(&program);
    }
    *ret_scorer = TAKE(scorer);
    return 0;
}

/* Its image is the workers': what it needs is not here to be tried. */
static int command_try(struct scorer *scorer UNUSED, struct error *err UNUSED) {
    return 0;
}

/* ---- the program ---------------------------------------------------------------------------- */

/* What a program does or does not is nothing that a machine or its storage could be blamed for. */
static int blame(struct error *err) {
    err->kind = err->kind == ERROR_CANCELLED ? ERROR_CANCELLED : ERROR_FAILED;
    return -1;
}

/* Starts it, later and later if it does not live. */
static int revive(struct scorer *scorer, struct error *err) {
    while (command_back_off_ms(scorer->command, clock_monotonic_ms()) > 0) {
        if (atomic_load(scorer->options.ends)) {
            return error_set(err, ERROR_CANCELLED, "cancelled");
        }
        poll(NULL, 0, WAIT_STEP_MS);
    }
    return command_start(scorer->command, err) < 0 ? blame(err) : 0;
}

static int command_ready(struct scorer *scorer, struct error *err) {
    while (!command_is_alive(scorer->command)) {
        struct error cause = {0};
        if (revive(scorer, &cause) < 0 &&
            (cause.kind == ERROR_CANCELLED || command_failed_inits(scorer->command) >= INITS_MAX)) {
            *err = cause;
            return -1;
        }
    }
    return 0;
}

/* ---- a lease -------------------------------------------------------------------------------- */

static int add_question(struct scorer *scorer, const struct item *item, struct error *err) {
    struct buffer *items = &scorer->items;
    if (scorer->count == scorer->room) {
        scorer->room = MAX(scorer->room * 2, (size_t)64);
        scorer->questions =
            x_realloc_array(scorer->questions, scorer->room, sizeof *scorer->questions);
    }
    scorer->questions[scorer->count++] =
        (struct question){.name = x_strdup(item->name), .fault = x_strdup(item->fault)};
    if (item->fault) {
        return 0;
    }
    bool is_json = item->type == ITEM_JSON;
    const char *before = scorer->asked++ ? "," : "", *quote = is_json ? "" : "\"";
    if (buffer_printf(items, err, "%s%s", before, quote) < 0 ||
        (is_json ? buffer_append(items, item->text, item->text_size, err)
                 : jsontext_escape(items, item->text, item->text_size, err)) < 0) {
        return -1;
    }
    return buffer_append(items, quote, strlen(quote), err);
}

/* What is asked, of all items of the lease. */
static int read_items(struct scorer *scorer, const struct scorer_task *task, struct error *err) {
    const struct input_kind *lines = scorer->options.media->lines;
    struct error full = {0};
    int result = buffer_append(&scorer->items, "[", 1, &full);
    if (lines->reader_open(scorer->options.spec, task->lease.work, &scorer->reader, err) < 0) {
        return -1;
    }
    for (int got = 1; got > 0 && result == 0;) {
        struct item item = {0};
        got = lines->reader_next(scorer->reader, &item, err);
        if (got < 0) {
            return -1;
        }
        result = got > 0 ? add_question(scorer, &item, &full) : 0;
    }
    if (result < 0 || buffer_append(&scorer->items, "]", 1, &full) < 0) {
        return error_set(err, ERROR_FAILED,
                         "its items are more than %d MiB of JSON: make spec.miniBatchSize smaller",
                         COMMAND_LINE_MAX >> 20);
    }
    return 0;
}

static int ask(struct scorer *scorer, const struct scorer_task *task,
               const struct command_answer **ret_answer, struct error *err) {
    struct command_request request = {.id = task->lease.lease,
                                      .items = scorer->items.data,
                                      .size = scorer->items.size,
                                      .count = scorer->asked,
                                      .mini_batch = task->lease.first,
                                      .try = task->lease.try};
    struct error ended = {0};
    /* Who has ended since the last answer has done this lease no wrong. */
    (void)!command_listen(scorer->command, clock_monotonic_ms(), &ended);
    if (!command_is_alive(scorer->command) && revive(scorer, err) < 0) {
        return -1;
    }
    int64_t until_ms = clock_monotonic_ms() + scorer->options.timeout_ms;
    if (command_send(scorer->command, &request, err) < 0 ||
        command_wait(scorer->command, task->lease.lease, until_ms, ret_answer, err) < 0) {
        return blame(err);
    }
    return (*ret_answer)->error ? error_set(err, ERROR_FAILED, "%s", (*ret_answer)->error) : 0;
}

/* Item by item, in their order: answers, and what has failed. */
static int take_answer(struct scorer *scorer, const struct command_answer *answer,
                       struct sink *sink, struct scorer_count *count, struct error *err) {
    size_t next = 0;
    for (size_t i = 0; i < scorer->count; i++) {
        const struct question *question = &scorer->questions[i];
        const struct command_result *told = question->fault ? NULL : &answer->results[next++];
        const char *cause = told ? told->cause : question->fault;
        if (cause) {
            scorer_count_failure(count, cause);
            continue;
        }
        struct result result = {
            .name = question->name, .json = told->json, .json_size = told->size};
        if (sink_add(sink, &result, err) < 0) {
            return -1;
        }
        count->items++;
    }
    return sink_finish(sink, err);
}

static int command_score(struct scorer *scorer, const struct scorer_task *task,
                         struct scorer_count *ret_count, struct error *err) {
    const struct command_answer *answer = NULL;
    struct scorer_count count = {0};
    struct sink *sink = NULL;
    int result = -1;
    forget_questions(scorer);
    if (read_items(scorer, task, err) == 0 &&
        (scorer->asked == 0 || ask(scorer, task, &answer, err) == 0) &&
        sink_open(scorer->options.spec, scorer->options.media, task->lease.work, task->outcome,
                  &sink, err) == 0) {
        result = take_answer(scorer, answer, sink, &count, err);
    }
    sink_free(sink);
    if (result < 0) {
        json_decref(count.failures);
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
    .try_out = command_try,
    .start = command_ready,
    .run = command_score,
    .free = command_free_scorer,
};
