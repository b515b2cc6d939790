// SPDX-License-Identifier: Apache-2.0
#include "operator/control/questions.h"

#include "lib/net/http.h"
#include "lib/time/clock.h"
#include "operator/control/queue.h"

#include <assert.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

enum {
    GAP_MS = 1000 / QUESTIONS_PER_SECOND,
    BURST_MS = 5 * GAP_MS, /* so many may start at once after a pause */
    OTHERS = QUESTIONS_PER_SECOND - QUESTIONS_FIRST,
    TURNS = QUESTIONS_FIRST / OTHERS, /* of those that come first, to one of the others */
};
static_assert(TURNS * OTHERS == QUESTIONS_FIRST, "turns are whole");

/* Those that come first, and the others. */
enum rank { RANK_FIRST, RANK_OTHER, RANK_COUNT };

struct question {
    struct questions *questions;
    char *key, *url, *certificate_pem;
    char *answer; /* NULL: none, or the last one failed */
    int failures;
    int64_t asked_ms;
    enum rank rank;
    struct http_call *call; /* NULL: none under way */
};

struct questions {
    struct http *http;
    struct queue *due[RANK_COUNT];
    size_t count[RANK_COUNT];
    int turns;             /* that RANK_FIRST had in a row while others waited */
    void *table;           /* tsearch tree of questions by key */
    int64_t paid_until_ms; /* up to when the rate is used up */
    questions_listener *listener;
    void *context;
};

static int by_key(const void *a, const void *b) {
    return strcmp(((const struct question *)a)->key, ((const struct question *)b)->key);
}

static struct question *find(const struct questions *questions, const char *key) {
    const struct question like = {.key = (char *)key};
    void *found = tfind(&like, &questions->table, by_key);
    return found ? *(struct question **)found : NULL;
}

static void question_free(void *opaque) {
    struct question *question = opaque;
    free(question->key);
    free(question->url);
    free(question->certificate_pem);
    free(question->answer);
    free(question);
}

int questions_open(questions_listener *listener, void *context, struct questions **ret_questions,
                   struct error *err) {
    struct http *http = NULL;
    if (http_open(&http, err) < 0) {
        return -1;
    }
    struct questions *questions = x_calloc(1, sizeof *questions);
    questions->http = http;
    for (int rank = 0; rank < RANK_COUNT; rank++) {
        questions->due[rank] = queue_new();
    }
    questions->listener = listener;
    questions->context = context;
    *ret_questions = questions;
    return 0;
}

void questions_free(struct questions *questions) {
    if (questions) {
        http_free(questions->http); /* drops the calls that know the questions */
        tdestroy(questions->table, question_free);
        for (int rank = 0; rank < RANK_COUNT; rank++) {
            queue_free(questions->due[rank]);
        }
        free(questions);
    }
}

void questions_forget(struct questions *questions, const char *key) {
    struct question *question = find(questions, key);
    if (question) {
        if (question->call) {
            http_cancel(questions->http, question->call);
        }
        tdelete(question, &questions->table, by_key);
        questions->count[question->rank]--;
        question_free(question);
    }
}

/* What stands in the other queue still is passed over there. */
static void set_rank(struct question *question, enum rank rank) {
    struct questions *questions = question->questions;
    if (question->rank != rank) {
        questions->count[question->rank]--;
        questions->count[rank]++;
        question->rank = rank;
        if (!question->call) {
            queue_add(questions->due[rank], question->key, clock_monotonic_ms());
        }
    }
}

const char *questions_ask(struct questions *questions, const char *key, const char *url,
                          const char *certificate_pem, bool is_first) {
    enum rank rank = is_first ? RANK_FIRST : RANK_OTHER;
    struct question *question = find(questions, key);
    if (question && (strcmp(question->url, url) != 0 ||
                     strcmp(question->certificate_pem, certificate_pem) != 0)) {
        questions_forget(questions, key);
        question = NULL;
    }
    if (!question) {
        question = x_calloc(1, sizeof *question);
        question->questions = questions;
        question->key = x_strdup(key);
        question->url = x_strdup(url);
        question->certificate_pem = x_strdup(certificate_pem);
        question->rank = rank;
        tsearch(question, &questions->table, by_key);
        questions->count[rank]++;
        queue_add(questions->due[rank], key, clock_monotonic_ms());
    }
    set_rank(question, rank);
    return question->answer;
}

size_t questions_count(const struct questions *questions) {
    return questions->count[RANK_FIRST] + questions->count[RANK_OTHER];
}

/* What the other rank does not want of its share is this one's. */
int64_t questions_interval_ms(const struct questions *questions, bool is_first) {
    enum rank rank = is_first ? RANK_FIRST : RANK_OTHER;
    size_t first = questions->count[RANK_FIRST], others = questions->count[RANK_OTHER];
    size_t taken = rank == RANK_FIRST ? MIN(others, OTHERS) : MIN(first, QUESTIONS_FIRST);
    size_t per_second = QUESTIONS_PER_SECOND - taken;
    return MAX(QUESTIONS_EVERY_MS, (int64_t)(questions->count[rank] * 1000 / per_second));
}

static void note(struct question *question, const char *body) {
    struct questions *questions = question->questions;
    bool is_new = body && (!question->answer || strcmp(question->answer, body) != 0);
    int64_t every_ms = questions_interval_ms(questions, question->rank == RANK_FIRST);
    int64_t now_ms = clock_monotonic_ms();
    int64_t due_ms = question->asked_ms + every_ms; /* however long the answer took */
    if (body) {
        question->failures = 0;
    } else {
        due_ms = now_ms + MIN((int64_t)QUESTIONS_RETRY_MS << MIN(question->failures, 10), every_ms);
        question->failures++;
    }
    free(question->answer);
    question->answer = x_strdup(body);
    queue_add(questions->due[question->rank], question->key, MAX(now_ms, due_ms));
    if (is_new) {
        questions->listener(questions->context, question->key);
    }
}

/* Whatever is no sound answer: the coordinator may be starting, gone or cut off. */
static void on_answer(void *context, const struct http_answer *answer, bool is_sent,
                      const struct error *err) {
    struct question *question = context;
    (void)is_sent;
    question->call = NULL;
    note(question, !err && answer->status == 200 ? answer->body : NULL);
}

static void ask(struct questions *questions, struct question *question) {
    struct http_request request = {.url = question->url,
                                   .certificate_pem = question->certificate_pem,
                                   .reuse = HTTP_ONCE,
                                   .timeout_ms = QUESTIONS_TIMEOUT_MS,
                                   .max_bytes = QUESTIONS_MAX_BYTES,
                                   .done = on_answer,
                                   .context = question};
    struct error ignored = {0};
    question->asked_ms = clock_monotonic_ms();
    if (http_start(questions->http, &request, &question->call, &ignored) < 0) {
        note(question, NULL);
    }
}

/* Whose turn it is; the key is the caller's, NULL: none is due. */
static char *take_due(struct questions *questions, int64_t now_ms, enum rank *ret_rank) {
    bool waits = queue_next_ms(questions->due[RANK_OTHER]) <= now_ms;
    enum rank rank = waits && questions->turns >= TURNS ? RANK_OTHER : RANK_FIRST;
    char *key = queue_take(questions->due[rank], now_ms);
    if (!key && rank == RANK_FIRST) {
        rank = RANK_OTHER;
        key = queue_take(questions->due[rank], now_ms);
    }
    questions->turns = rank == RANK_FIRST && waits ? questions->turns + 1 : 0;
    *ret_rank = rank;
    return key;
}

int questions_step(struct questions *questions, struct error *err) {
    if (http_wait(questions->http, 0, err) < 0) {
        return -1;
    }
    int64_t now_ms = clock_monotonic_ms();
    while (questions->paid_until_ms <= now_ms + BURST_MS - GAP_MS) {
        enum rank rank;
        AUTO(text_freep) char *key = take_due(questions, now_ms, &rank);
        if (!key) {
            break;
        }
        struct question *question = find(questions, key);
        /* It may have been forgotten, asked anew since, or be in the other queue now. */
        if (question && !question->call && question->rank == rank) {
            questions->paid_until_ms = MAX(questions->paid_until_ms, now_ms) + GAP_MS;
            ask(questions, question);
        }
    }
    return 0;
}

int64_t questions_next_ms(struct questions *questions) {
    int64_t first_ms = queue_next_ms(questions->due[RANK_FIRST]);
    int64_t other_ms = queue_next_ms(questions->due[RANK_OTHER]);
    int64_t next_ms = MIN(first_ms, other_ms);
    return MAX(next_ms, questions->paid_until_ms - BURST_MS + GAP_MS);
}

int questions_fd(const struct questions *questions) {
    return http_fd(questions->http);
}
