// SPDX-License-Identifier: Apache-2.0
#include "agent/serve/serve.h"

#include "agent/launch/pod/process_group.h"
#include "agent/serve/presence.h"
#include "agent/serve/serve_state.h"
#include "lib/log.h"
#include "lib/text/utf8.h"
#include "lib/time/clock.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEP_MS = 20,
    LOOK_MS = 100,         /* between two looks whether the worker is there */
    PAUSE_MS_MAX = 30000,  /* between an end and the next start */
    GOOD_LIFE_MS = 120000, /* after so long an end is the first one again */
    START_FAILED = 126,
};

struct serve {
    const struct serve_options *options;
    struct process_group *group;
    struct serve_state state;
    int64_t due_ms, started_ms, look_ms;
    int64_t in_a_row; /* ends without a good life between */
    enum presence worker;
    bool stops;
};

int64_t serve_pause_ms(int64_t ends) {
    return ends <= 0 ? 0 : MIN(INT64_C(500) << MIN(ends - 1, INT64_C(10)), (int64_t)PAUSE_MS_MAX);
}

/* The server may say anything; the words are a text of JSON. */
static void describe_end(struct serve *serve, const struct process_group_end *end) {
    char *words = serve->state.words;
    int size =
        snprintf(words, SERVE_WORDS_MAX, "exit code %d%s%s%s", end->code,
                 end->is_memory ? ", out of memory" : "", *end->detail ? ": " : "", end->detail);
    words[utf8_valid_size(words, MIN((size_t)size, (size_t)SERVE_WORDS_MAX - 1))] = 0;
}

static int note_end(struct serve *serve, const struct process_group_end *end, int64_t now_ms,
                    struct error *err) {
    bool was_good = now_ms - serve->started_ms >= GOOD_LIFE_MS;
    serve->in_a_row = was_good ? 1 : serve->in_a_row + 1;
    serve->due_ms = now_ms + serve_pause_ms(serve->in_a_row);
    serve->state.ends++;
    describe_end(serve, end);
    log_event(LOG_WARNING, "the model server has ended: %s", serve->state.words);
    return serve_state_write(serve->options->folder, &serve->state, err);
}

/* A program that is not there will not come; another failure may pass. */
static int start(struct serve *serve, int64_t now_ms, struct error *err) {
    const struct serve_options *options = serve->options;
    struct error why = {0};
    serve->started_ms = now_ms;
    serve->state.starts++;
    if (process_group_start(serve->group, 0, options->words, options->variables, &why) == 0) {
        return serve_state_write(options->folder, &serve->state, err);
    }
    struct process_group_end end = {.code = START_FAILED};
    snprintf(end.detail, sizeof end.detail, "%s", why.text);
    serve->state.is_final = why.kind == ERROR_INVALID;
    return note_end(serve, &end, now_ms, err);
}

/* The folder of a worker that ended without a word may be removed. */
static enum presence observe_worker(const struct serve *serve) {
    enum presence seen = presence_of(serve->options->folder, SERVE_AGENT);
    bool was_there = serve->worker != PRESENCE_NOT_YET;
    return seen == PRESENCE_NOT_YET && was_there ? PRESENCE_GONE : seen;
}

static void check_worker(struct serve *serve, int64_t now_ms) {
    if (now_ms - serve->look_ms < LOOK_MS) {
        return;
    }
    serve->look_ms = now_ms;
    serve->worker = observe_worker(serve);
    bool is_over = serve->worker == PRESENCE_GONE ||
                   (serve->worker == PRESENCE_NOT_YET && serve->options->is_interrupted());
    if (is_over && !serve->stops) {
        serve->stops = true;
        process_group_stop(serve->group, now_ms);
    }
}

static int step(struct serve *serve, struct error *err) {
    int64_t now_ms = clock_monotonic_ms();
    struct process_group_end end;
    check_worker(serve, now_ms);
    while (process_group_poll(serve->group, now_ms, &end)) {
        if (!serve->stops && note_end(serve, &end, now_ms, err) < 0) {
            return -1;
        }
    }
    bool may_start = !serve->stops && !serve->state.is_final && now_ms >= serve->due_ms;
    return may_start && process_group_count(serve->group) == 0 ? start(serve, now_ms, err) : 0;
}

int serve_run(const struct serve_options *options, struct error *err) {
    struct serve serve = {.options = options};
    AUTO(fd_closep) int fd = -1;
    if (presence_hold(options->folder, SERVE_SERVER, &fd, err) < 0) {
        return -1;
    }
    serve.group = process_group_new();
    int result = 0;
    while (result == 0 && !(serve.stops && process_group_count(serve.group) == 0)) {
        result = step(&serve, err);
        poll(NULL, 0, STEP_MS);
    }
    process_group_free(serve.group);
    return result;
}
