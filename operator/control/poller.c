// SPDX-License-Identifier: Apache-2.0
#include "operator/control/poller.h"

#include "lib/net/http.h"
#include "lib/net/server.h"
#include "lib/time/clock.h"
#include "operator/control/queue.h"

#include <assert.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

enum {
    GAP_MS = 1000 / POLLER_PER_SECOND,
    BURST_MS = 5 * GAP_MS, /* this many requests may start at once after a pause */
    OTHERS = POLLER_PER_SECOND - POLLER_PRIORITY_PER_SECOND,
    TURNS = POLLER_PRIORITY_PER_SECOND / OTHERS, /* requests with priority per other request */
};
static_assert(TURNS * OTHERS == POLLER_PRIORITY_PER_SECOND, "an integer");

/* With priority, and without. */
enum rank { RANK_FIRST, RANK_OTHER, RANK_COUNT };

struct question {
    struct poller *poller;
    char *key, *url, *certificate_pem;
    char *read_header; /* NULL: none */
    char *answer;      /* NULL: none, or the last request failed */
    int failures;
    int64_t asked_ms;
    enum rank rank;
    struct http_call *call; /* NULL: none under way */
};

struct poller {
    struct http *http;
    struct queue *due[RANK_COUNT];
    size_t count[RANK_COUNT];
    int turns;             /* requests of RANK_FIRST in a row while others waited */
    void *table;           /* tsearch tree of questions by key */
    int64_t paid_until_ms; /* the rate is used up to this time */
    poller_listener *listener;
    void *context;
};

static int by_key(const void *a, const void *b) {
    return strcmp(((const struct question *)a)->key, ((const struct question *)b)->key);
}

static struct question *find(const struct poller *poller, const char *key) {
    const struct question like = {.key = (char *)key};
    void *found = tfind(&like, &poller->table, by_key);
    return found ? *(struct question **)found : NULL;
}

static void question_free(void *opaque) {
    struct question *question = opaque;
    free(question->key);
    free(question->url);
    free(question->certificate_pem);
    free(question->read_header);
    free(question->answer);
    free(question);
}

int poller_open(poller_listener *listener, void *context, struct poller **ret_poller,
                struct error *err) {
    struct http *http = NULL;
    if (http_open(&http, err) < 0) {
        return -1;
    }
    struct poller *poller = x_calloc(1, sizeof *poller);
    poller->http = http;
    for (int rank = 0; rank < RANK_COUNT; rank++) {
        poller->due[rank] = queue_new();
    }
    poller->listener = listener;
    poller->context = context;
    *ret_poller = poller;
    return 0;
}

void poller_free(struct poller *poller) {
    if (poller) {
        http_free(poller->http); /* drops the calls, which refer to the questions */
        tdestroy(poller->table, question_free);
        for (int rank = 0; rank < RANK_COUNT; rank++) {
            queue_free(poller->due[rank]);
        }
        free(poller);
    }
}

void poller_stop(struct poller *poller, const char *key) {
    struct question *question = find(poller, key);
    if (question) {
        if (question->call) {
            http_cancel(poller->http, question->call);
        }
        tdelete(question, &poller->table, by_key);
        poller->count[question->rank]--;
        question_free(question);
    }
}

/* An old entry in the other queue is ignored there. */
static void set_rank(struct question *question, enum rank rank) {
    struct poller *poller = question->poller;
    if (question->rank != rank) {
        poller->count[question->rank]--;
        poller->count[rank]++;
        question->rank = rank;
        if (!question->call) {
            queue_add(poller->due[rank], question->key, clock_monotonic_ms());
        }
    }
}

/* "Windlass-Read-Token: TOKEN", owned by the caller. NULL: none. */
static char *read_header_of(const struct poller_target *place) {
    return place->read_token ? x_printf(SERVER_READ_HEADER ": %s", place->read_token) : NULL;
}

const char *poller_get(struct poller *poller, const char *key, const struct poller_target *place,
                       bool has_priority) {
    AUTO(text_freep) char *header = read_header_of(place);
    enum rank rank = has_priority ? RANK_FIRST : RANK_OTHER;
    struct question *question = find(poller, key);
    if (question && (strcmp(question->url, place->url) != 0 ||
                     strcmp(question->certificate_pem, place->certificate_pem) != 0 ||
                     strcmp(question->read_header ?: "", header ?: "") != 0)) {
        poller_stop(poller, key);
        question = NULL;
    }
    if (!question) {
        question = x_calloc(1, sizeof *question);
        question->poller = poller;
        question->key = x_strdup(key);
        question->url = x_strdup(place->url);
        question->certificate_pem = x_strdup(place->certificate_pem);
        question->read_header = TAKE(header);
        question->rank = rank;
        tsearch(question, &poller->table, by_key);
        poller->count[rank]++;
        queue_add(poller->due[rank], key, clock_monotonic_ms());
    }
    set_rank(question, rank);
    return question->answer;
}

size_t poller_count(const struct poller *poller) {
    return poller->count[RANK_FIRST] + poller->count[RANK_OTHER];
}

/* The unused share of one rank is available to the other. */
int64_t poller_interval_ms(const struct poller *poller, bool has_priority) {
    enum rank rank = has_priority ? RANK_FIRST : RANK_OTHER;
    size_t first = poller->count[RANK_FIRST], others = poller->count[RANK_OTHER];
    size_t taken =
        rank == RANK_FIRST ? MIN(others, OTHERS) : MIN(first, POLLER_PRIORITY_PER_SECOND);
    size_t per_second = POLLER_PER_SECOND - taken;
    return MAX(POLLER_EVERY_MS, (int64_t)(poller->count[rank] * 1000 / per_second));
}

static void note(struct question *question, const char *body) {
    struct poller *poller = question->poller;
    bool is_new = body && (!question->answer || strcmp(question->answer, body) != 0);
    int64_t every_ms = poller_interval_ms(poller, question->rank == RANK_FIRST);
    int64_t now_ms = clock_monotonic_ms();
    int64_t due_ms = question->asked_ms + every_ms; /* independent of how long the answer took */
    if (body) {
        question->failures = 0;
    } else {
        due_ms = now_ms + MIN((int64_t)POLLER_RETRY_MS << MIN(question->failures, 10), every_ms);
        question->failures++;
    }
    free(question->answer);
    question->answer = x_strdup(body);
    queue_add(poller->due[question->rank], question->key, MAX(now_ms, due_ms));
    if (is_new) {
        poller->listener(poller->context, question->key);
    }
}

/* Called also for errors and invalid answers: the coordinator may be starting, gone or unreachable.
 */
static void on_answer(void *context, const struct http_answer *answer, bool is_sent,
                      const struct error *err) {
    struct question *question = context;
    (void)is_sent;
    question->call = NULL;
    note(question, !err && answer->status == 200 ? answer->body : NULL);
}

static void ask(struct poller *poller, struct question *question) {
    const char *headers[] = {question->read_header, NULL};
    struct http_request request = {.url = question->url,
                                   .headers = headers,
                                   .certificate_pem = question->certificate_pem,
                                   .reuse = HTTP_ONCE,
                                   .timeout_ms = POLLER_TIMEOUT_MS,
                                   .bytes_max = POLLER_MAX_BYTES,
                                   .done = on_answer,
                                   .context = question};
    struct error ignored = {0};
    question->asked_ms = clock_monotonic_ms();
    if (http_start(poller->http, &request, &question->call, &ignored) < 0) {
        note(question, NULL);
    }
}

/* The key to poll next, of the rank whose turn it is; owned by the caller; NULL: none is due. */
static char *take_due(struct poller *poller, int64_t now_ms, enum rank *ret_rank) {
    bool waits = queue_next_ms(poller->due[RANK_OTHER]) <= now_ms;
    enum rank rank = waits && poller->turns >= TURNS ? RANK_OTHER : RANK_FIRST;
    char *key = queue_take(poller->due[rank], now_ms);
    if (!key && rank == RANK_FIRST) {
        rank = RANK_OTHER;
        key = queue_take(poller->due[rank], now_ms);
    }
    poller->turns = rank == RANK_FIRST && waits ? poller->turns + 1 : 0;
    *ret_rank = rank;
    return key;
}

int poller_step(struct poller *poller, struct error *err) {
    if (http_wait(poller->http, 0, err) < 0) {
        return -1;
    }
    int64_t now_ms = clock_monotonic_ms();
    while (poller->paid_until_ms <= now_ms + BURST_MS - GAP_MS) {
        enum rank rank;
        AUTO(text_freep) char *key = take_due(poller, now_ms, &rank);
        if (!key) {
            break;
        }
        struct question *question = find(poller, key);
        /* It may have been removed, added again, or moved to the other queue meanwhile. */
        if (question && !question->call && question->rank == rank) {
            poller->paid_until_ms = MAX(poller->paid_until_ms, now_ms) + GAP_MS;
            ask(poller, question);
        }
    }
    return 0;
}

int64_t poller_next_ms(struct poller *poller) {
    int64_t first_ms = queue_next_ms(poller->due[RANK_FIRST]);
    int64_t other_ms = queue_next_ms(poller->due[RANK_OTHER]);
    int64_t next_ms = MIN(first_ms, other_ms);
    return MAX(next_ms, poller->paid_until_ms - BURST_MS + GAP_MS);
}

int poller_fd(const struct poller *poller) {
    return http_fd(poller->http);
}
