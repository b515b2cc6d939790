// SPDX-License-Identifier: Apache-2.0
/* Scores with a model server: each item of a lease is a request. All slots of a worker share one
 * pool (pool.h); a slot waits for its request, so as many can be in flight as there are slots
 * (docs/operate/model-servers.md). */
#include "agent/score/endpoint/answer.h"
#include "agent/score/endpoint/answer_memory.h"
#include "agent/score/endpoint/form.h"
#include "agent/score/endpoint/pool.h"
#include "agent/score/endpoint/turn_room.h"
#include "agent/score/endpoint/unique.h"
#include "agent/score/scorer/code_files.h"
#include "agent/score/scorer/scorer.h"
#include "lib/net/tls_identity.h"
#include "lib/secret.h"
#include "lib/text/jsontext.h"
#include "lib/time/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROW_COPIES = 4, /* a row, and the body that is made of it; each may have room for twice its
                       size */
    MAKERS = 8,     /* slots that at a time read rows whose size is not known, or fill in the
                       template */
};

/* What the slots of a worker share. */
struct shared {
    atomic_int users;
    struct turn_room rows;   /* bytes of large rows and their requests, until they are answered */
    struct turn_room makers; /* MAKERS */
    int64_t began_ms;        /* monotonic clock */
    struct endpoint_setting setting;
    struct endpoint_form form;
    struct own_server *server; /* NULL: none of our own */
    struct pool *pool;         /* NULL: in a coordinator */
    json_t *files;             /* of endpoint_files; NULL: not listed yet */
};

struct scorer {
    struct scorer_options options;
    struct shared *shared;
    struct input_reader *reader;
    struct row_heads *heads;
    struct endpoint_request request;
    struct buffer line; /* scratch: a result */
    int64_t held;       /* memory for the answer that `line` was made of (answer_memory.h) */
    int64_t rows_held;  /* of shared.rows */
    bool makes;         /* has one of shared.makers */
    bool ended;         /* no request can succeed any more; `end` says why */
    struct error end;
};

static void shared_unref(struct shared *shared) {
    if (shared && atomic_fetch_sub(&shared->users, 1) == 1) {
        pool_close(shared->pool);
        own_server_close(shared->server);
        endpoint_setting_release(&shared->setting);
        turn_room_release(&shared->rows);
        turn_room_release(&shared->makers);
        json_decref(shared->files);
        free(shared);
    }
}

static void endpoint_free(struct scorer *scorer) {
    if (!scorer) {
        return;
    }
    if (scorer->reader) {
        scorer->options.media->lines->reader_free(scorer->reader);
    }
    row_heads_free(scorer->heads);
    endpoint_request_release(&scorer->request);
    buffer_release(&scorer->line);
    shared_unref(scorer->shared);
    free(scorer);
}

static void scorer_freep(struct scorer **scorer) {
    endpoint_free(*scorer);
}

/* libcurl would say only that it cannot use it, and only when it connects. */
static int take_certificate(struct endpoint_setting *setting, const struct scorer_options *options,
                            struct error *err) {
    setting->certificate_pem = options->certificate_pem;
    setting->certificate_key_pem = options->certificate_key_pem;
    return options->certificate_pem && options->certificate_key_pem &&
                   tls_identity_check(options->certificate_pem, options->certificate_key_pem, err) <
                       0
               ? error_context(err, "spec.scorer.endpoint.clientCertificate")
               : 0;
}

static int share(struct scorer *scorer, struct error *err) {
    const struct scorer_options *options = &scorer->options;
    if (options->first) {
        scorer->shared = options->first->shared;
        atomic_fetch_add(&scorer->shared->users, 1);
        return 0;
    }
    struct shared *shared = scorer->shared = x_calloc(1, sizeof *shared);
    shared->users = 1;
    shared->began_ms = clock_monotonic_ms();
    turn_room_init(&shared->rows, 0);
    turn_room_init(&shared->makers, MAKERS);
    if (endpoint_setting_read(options->spec, &shared->setting, err) < 0 ||
        endpoint_form_read(options->spec, &shared->form, err) < 0 ||
        endpoint_setting_take_key(&shared->setting, options->secret, err) < 0 ||
        take_certificate(&shared->setting, options, err) < 0) {
        return -1;
    }
    shared->rows.most = shared->setting.answer_bytes; /* as much as answers have */
    if (!options->worker) {
        return 0;
    }
    if (json_object_get(shared->setting.endpoint, "server")) {
        if (own_server_open(options->spec, &shared->server, err) < 0) {
            return -1;
        }
        endpoint_setting_take_server(&shared->setting, shared->server);
    }
    return pool_open(&shared->setting, &shared->pool, err);
}

static int endpoint_open(const struct scorer_options *options, struct scorer **ret_scorer,
                         struct error *err) {
    AUTO(scorer_freep) struct scorer *scorer = x_calloc(1, sizeof *scorer);
    scorer->options = *options;
    endpoint_request_init(&scorer->request);
    buffer_init(&scorer->line, 2 * REQUEST_BODY_MAX);
    scorer->heads = row_heads_new(options->spec);
    if (!options->media->lines) {
        return error_set(err, ERROR_INVALID,
                         "spec.scorer.endpoint: scores files and tables, not spec.input.%s",
                         options->media->name);
    }
    if (share(scorer, err) < 0) {
        return -1;
    }
    *ret_scorer = TAKE(scorer);
    return 0;
}

/* The models of the worker's own server; those of others are not known by a hash. */
static int endpoint_files(struct scorer *scorer, const struct scorer *first, json_t *files,
                          struct error *err) {
    struct shared *shared = scorer->shared;
    char ignored[65];
    if (!first && !shared->files) {
        AUTO(tree_freep) json_t *listed = json_object();
        if (code_files_add(scorer->options.spec, listed, ignored, err) < 0) {
            return -1;
        }
        if (shared->server && own_server_check_files(shared->server, err) < 0) {
            return error_context(err, "spec.scorer");
        }
        shared->files = TAKE(listed);
    }
    json_object_update(files, shared->files);
    return 0;
}

static int endpoint_try(struct scorer *scorer, struct error *err) {
    const struct scorer_options *options = &scorer->options;
    return scorer->shared->form.template ? 0
                                         : unique_check(options->spec, options->media->lines, err);
}

/* Loaded is what was listed only if it is still there. The first slot looks for all. */
static int endpoint_start(struct scorer *scorer, struct error *err) {
    const struct own_server *server = scorer->options.first ? NULL : scorer->shared->server;
    if (pool_await(scorer->shared->pool, scorer->options.ends, err) < 0) {
        return -1;
    }
    return server ? own_server_check_files(server, err) : 0;
}

/* ---- memory: each of a thousand slots may have a large row ---------------------------------- */

/* Who waits here has no memory of rows yet. -1: CANCELLED. */
static int start_making(struct scorer *scorer, const struct scorer_task *task, struct error *err) {
    if (!scorer->makes &&
        !turn_room_take(&scorer->shared->makers, 1, task->dropped, scorer->options.ends)) {
        return error_set(err, ERROR_CANCELLED, "cancelled");
    }
    scorer->makes = true;
    return 0;
}

static void stop_making(struct scorer *scorer) {
    if (scorer->makes) {
        turn_room_give_back(&scorer->shared->makers, 1);
        scorer->makes = false;
    }
}

/* Memory for a row, or a body, of that size. One that is larger than expected goes on.
 * -1: CANCELLED. */
static int take_rows(struct scorer *scorer, const struct scorer_task *task, int64_t bytes,
                     struct error *err) {
    struct turn_room *rows = &scorer->shared->rows;
    int64_t wanted = bytes > ANSWER_MEMORY_SMALL ? ROW_COPIES * bytes : 0;
    int64_t more = wanted - scorer->rows_held;
    if (more <= 0) {
        return 0;
    }
    if (scorer->rows_held > 0) {
        turn_room_add(rows, more);
    } else if (!turn_room_take(rows, more, task->dropped, scorer->options.ends)) {
        return error_set(err, ERROR_CANCELLED, "cancelled");
    }
    scorer->rows_held = wanted;
    return 0;
}

static void drop_large(struct buffer *buffer) {
    if (buffer->capacity > 2 * ANSWER_MEMORY_SMALL) {
        buffer_release(buffer);
    }
}

/* What an answer took. */
static void let_go_answer(struct scorer *scorer) {
    drop_large(&scorer->line);
    pool_give_back(scorer->shared->pool, &scorer->held);
}

static void let_go_row(struct scorer *scorer) {
    drop_large(&scorer->request.body);
    turn_room_give_back(&scorer->shared->rows, scorer->rows_held);
    scorer->rows_held = 0;
}

/* A reader has the room of its largest row. */
static void endpoint_let_go(struct scorer *scorer) {
    if (scorer->reader && scorer->rows_held > 0) {
        scorer->options.media->lines->reader_free(TAKE(scorer->reader));
    }
    stop_making(scorer);
    let_go_answer(scorer);
    let_go_row(scorer);
}

/* ---- an item -------------------------------------------------------------------------------- */

/* What has become of an item. cause: NULL: its result is in scorer->line. */
struct outcome {
    char cause[COMMIT_ITEM_CAUSE_MAX + 1];
    bool has_failed;
};

PRINTF_LIKE(2, 3)
static void fail(struct outcome *outcome, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(outcome->cause, sizeof outcome->cause, format, arguments);
    va_end(arguments);
    outcome->has_failed = true;
}

/* Why an answer is refused, without the key, which it may repeat. */
static void explain_unfit(struct scorer *scorer, const struct pool_ask *ask, struct error *err) {
    const char *secret = scorer->shared->setting.secret;
    const struct endpoint_reply reply = {ask->status, ask->answer, ask->answer_size};
    struct error masked = {0};
    if (secret && memmem(ask->answer, ask->answer_size, secret, strlen(secret))) {
        secret_mask(ask->answer, ask->answer_size, secret);
        *err = endpoint_form_result(&scorer->shared->form, &scorer->request, &reply, &scorer->line,
                                    &masked) < 0
                   ? masked
                   : (struct error){ERROR_INVALID, "the answer is not what is expected"};
    }
    secret_mask(err->text, strlen(err->text), secret);
}

/* Half of an answer, or none that fits, is asked for again. */
static int take_answer(struct scorer *scorer, const struct pool_ask *ask, struct error *err) {
    struct request_metrics *metrics = pool_metrics(scorer->shared->pool);
    const struct endpoint_reply reply = {ask->status, ask->answer, ask->answer_size};
    if (endpoint_form_result(&scorer->shared->form, &scorer->request, &reply, &scorer->line, err) <
            0 &&
        !jsontext_is_value(reply.body, reply.size)) {
        return -1;
    }
    struct answer_usage usage = answer_usage_of(reply.body, reply.size);
    request_metrics_add(metrics, REQUESTS_TOKENS_IN, usage.in);
    request_metrics_add(metrics, REQUESTS_TOKENS_CACHED, usage.cached);
    request_metrics_add(metrics, REQUESTS_TOKENS_OUT, usage.out);
    request_metrics_add(metrics, REQUESTS_CUT, usage.is_cut && !err->kind);
    return err->kind ? -1 : 0;
}

/* -1: the lease cannot be finished. */
static int ask(struct scorer *scorer, const struct scorer_task *task, struct outcome *outcome,
               struct error *err) {
    struct pool *pool = scorer->shared->pool;
    const struct endpoint_request *request = &scorer->request;
    struct pool_ask ask = {.method = request->method,
                           .path = request->path,
                           .key = request->key,
                           .body = request->body.data,
                           .body_size = request->body.size,
                           .tokens = request->tokens,
                           .dropped = task->dropped,
                           .ends = scorer->options.ends};
    for (;;) {
        struct error unfit = {0};
        pool_send(pool, &ask);
        switch (ask.end) {
        case POOL_DROPPED:
            return error_set(err, ERROR_CANCELLED, "cancelled");
        case POOL_AWAY:
            scorer->ended = pool_has_failed(pool, &scorer->end);
            return error_set(err, ERROR_CANCELLED, "%s", scorer->end.text);
        case POOL_REFUSED:
            fail(outcome, "%s", ask.cause);
            return 0;
        case POOL_ANSWERED:
        default:
            break;
        }
        int fits = take_answer(scorer, &ask, &unfit);
        if (fits < 0) {
            explain_unfit(scorer, &ask, &unfit);
        }
        free(TAKE(ask.answer));
        if (fits == 0) {
            scorer->held = ask.held;
            return 0;
        }
        pool_give_back(pool, &ask.held);
        request_metrics_add(pool_metrics(pool), REQUESTS_UNFIT, 1);
        if (++ask.tries >= scorer->shared->setting.tries) {
            fail(outcome, "%s", unfit.text);
            return 0;
        }
        request_metrics_add(pool_metrics(pool), REQUESTS_RETRIES, 1);
    }
}

static int make_request(struct scorer *scorer, const struct scorer_task *task,
                        const struct item *item, struct outcome *outcome, struct error *err) {
    const struct endpoint_form *form = &scorer->shared->form;
    struct error why = {0};
    /* Makers wait for memory of rows: who has some must not wait for them. */
    if (form->template && scorer->rows_held == 0 && start_making(scorer, task, err) < 0) {
        return -1;
    }
    if (endpoint_form_request(form, item, &scorer->request, &why) < 0) {
        fail(outcome, "%s", why.text);
        return 0;
    }
    size_t row_size = item->type == ITEM_JSON ? item->text_size : 0;
    return take_rows(scorer, task, (int64_t)MAX(row_size, scorer->request.body.size), err);
}

static int score_item(struct scorer *scorer, const struct scorer_task *task,
                      const struct item *item, struct outcome *outcome, struct error *err) {
    *outcome = (struct outcome){0};
    if (item->fault) {
        fail(outcome, "%s", item->fault);
        return 0;
    }
    if (make_request(scorer, task, item, outcome, err) < 0) {
        return -1;
    }
    stop_making(scorer);
    return outcome->has_failed ? 0 : ask(scorer, task, outcome, err);
}

/* ---- a lease -------------------------------------------------------------------------------- */

static int take_item(struct scorer *scorer, const struct scorer_task *task, struct item *item,
                     struct sink *sink, struct scorer_count *count, struct error *err) {
    struct outcome outcome;
    AUTO(text_freep) char *head = NULL;
    struct error why = {0};
    sink_count_item(scorer->heads, item);
    bool has_head = item->fault || sink_row_prefix(scorer->heads, item, &head, &why) == 0;
    if (!has_head) {
        fail(&outcome, "%.200s: %s", item->name, why.text);
    } else if (score_item(scorer, task, item, &outcome, err) < 0) {
        return -1;
    }
    if (outcome.has_failed) {
        count->final++;
        sink_skip(sink);
        return scorer_count_failure(task, count, outcome.cause, err);
    }
    struct result result = {.name = item->name,
                            .head = head,
                            .json = scorer->line.data,
                            .json_size = scorer->line.size};
    count->items++;
    return sink_add(sink, &result, err);
}

/* Bytes of the largest row of a lease; -1: not known. */
static int64_t row_bytes(const struct scorer *scorer, const json_t *work) {
    const struct input_kind *lines = scorer->options.media->lines;
    int64_t most = 0;
    size_t i;
    json_t *line;
    json_array_foreach(work, i, line) {
        int64_t bytes = lines->line_bytes ? lines->line_bytes(scorer->options.spec, line) : 0;
        if (bytes < 0) {
            return -1;
        }
        most = MAX(most, bytes);
    }
    return most;
}

/* A row whose size is known waits for its memory before it is read, others afterwards, but few of
 * them at a time. */
static int run_items(struct scorer *scorer, const struct scorer_task *task, struct sink *sink,
                     struct scorer_count *count, struct error *err) {
    const struct input_kind *lines = scorer->options.media->lines;
    int64_t known = row_bytes(scorer, task->lease.work);
    if (take_rows(scorer, task, known, err) < 0) {
        return -1;
    }
    bool is_taken = scorer->rows_held > 0;
    if (scorer->heads) {
        row_heads_start(scorer->heads);
    }
    if (lines->reader_open(scorer->options.spec, task->lease.work, &scorer->reader, err) < 0) {
        return -1;
    }
    for (;;) {
        struct item item = {0};
        if (known < 0) {
            let_go_answer(scorer);
        }
        if (known < 0 && start_making(scorer, task, err) < 0) {
            return -1;
        }
        int got = lines->reader_next(scorer->reader, &item, err);
        if (got <= 0) {
            return got < 0 ? -1 : sink_end_rows(sink, scorer->heads, err);
        }
        let_go_answer(scorer); /* of the row before; of the last one when it is stored */
        int taken = take_item(scorer, task, &item, sink, count, err);
        local_file_release(&item.file);
        if (taken < 0) {
            return -1;
        }
        stop_making(scorer);
        if (!is_taken) {
            let_go_row(scorer);
        }
    }
}

static int endpoint_run(struct scorer *scorer, const struct scorer_task *task,
                        struct scorer_count *ret_count, struct error *err) {
    struct scorer_count count = {0};
    struct sink *sink = NULL;
    if (sink_open(scorer->options.spec, scorer->options.media, task->lease.work, task->staged,
                  &sink, err) < 0) {
        return -1;
    }
    int result = run_items(scorer, task, sink, &count, err);
    if (result == 0) {
        result = sink_finish(sink, err);
    }
    sink_free(sink);
    if (result == 0) {
        *ret_count = count;
    }
    return result;
}

static bool endpoint_has_ended(const struct scorer *scorer, struct error *err) {
    *err = scorer->end;
    return scorer->ended;
}

/* The GPUs are the worker's from its start to its end, busy or not. */
static json_t *endpoint_metrics(const struct scorer *scorer) {
    struct request_metrics *metrics = pool_metrics(scorer->shared->pool);
    int64_t age_s = (clock_monotonic_ms() - scorer->shared->began_ms) / 1000;
    atomic_store(&metrics->counts[REQUESTS_GPU_SECONDS], scorer->options.gpus * age_s);
    return request_metrics_json(metrics);
}

static void endpoint_share(const struct scorer *scorer, int workers) {
    pool_share(scorer->shared->pool, workers);
}

const struct scorer_kind scorer_endpoint = {
    .name = "endpoint",
    .has_clock = true,
    .has_spare_slots = true,
    .tries_input = true,
    .open = endpoint_open,
    .files = endpoint_files,
    .try_out = endpoint_try,
    .start = endpoint_start,
    .run = endpoint_run,
    .let_go = endpoint_let_go,
    .has_ended = endpoint_has_ended,
    .metrics = endpoint_metrics,
    .share = endpoint_share,
    .free = endpoint_free,
};
