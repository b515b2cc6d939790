/* answers.h: for tests in which a controller dies and the cluster lives on: a cluster's answers
 * reach the controller that asked only while it lives. (controller_free forbids any further answer,
 * so in a process of its own the cluster would go with it.) */
#pragma once

#include "operator/cluster.h"

#include <stdlib.h>

struct answer;

struct answers {
    struct answer *first;
    int life; /* of the controller that asks now */
};

/* What `done` wants to know of one write or list. */
struct answer {
    struct answer *next;
    struct answers *answers;
    int life; /* of the controller that asked */
    cluster_done *done;
    void *context;
};

/* Give the cluster answers_pass and the result instead of done and context. */
static struct answer *answers_add(struct answers *answers, cluster_done *done, void *context) {
    struct answer *answer = x_malloc(sizeof *answer);
    *answer = (struct answer){answers->first, answers, answers->life, done, context};
    answers->first = answer;
    return answer;
}

static void answers_pass(void *context, const json_t *stored, const struct error *err) {
    const struct answer *answer = context;
    if (answer->done && answer->life == answer->answers->life) {
        answer->done(answer->context, stored, err);
    }
}

/* The controller is dead. */
static void answers_forget(struct answers *answers) {
    answers->life++;
}

/* After the cluster is freed. */
static void answers_release(struct answers *answers) {
    for (struct answer *answer = answers->first, *next; answer; answer = next) {
        next = answer->next;
        free(answer);
    }
    *answers = (struct answers){0};
}
