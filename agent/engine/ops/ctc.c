// SPDX-License-Identifier: Apache-2.0
/* The states of a sample are its labels with a blank before, between and behind them. forward[t][s]
 * is the logarithm of the probability of all beginnings that are in state s at step t;
 * backward[t][s] that of all ends from there on, without step t itself. */
#include "agent/engine/loss.h"

#include "lib/base.h"

#include <math.h>
#include <stdlib.h>

struct lattice {
    const struct ctc_sample *sample;
    int64_t states;
    double *logarithms; /* of probabilities, [steps, classes] */
    double *forward;    /* [steps, states] */
    double *backward;   /* [states], of one step */
    double *next;       /* the same, of the step behind it */
};

static int64_t class_of(const struct lattice *of, int64_t state) {
    return state % 2 ? of->sample->labels[state / 2] : of->sample->blank;
}

/* A blank may be left out between two letters that differ. */
static bool may_skip(const struct lattice *of, int64_t state) {
    return state % 2 && state >= 2 && class_of(of, state) != class_of(of, state - 2);
}

static double add(double a, double b) {
    double most = fmax(a, b);
    return most == -INFINITY ? most : most + log1p(exp(fmin(a, b) - most));
}

static void normalize(struct lattice *of) {
    int64_t classes = of->sample->classes;
    for (int64_t t = 0; t < of->sample->steps; t++) {
        const float *scores = of->sample->scores + t * classes;
        double most = (double)scores[0], sum = 0;
        for (int64_t k = 1; k < classes; k++) {
            most = fmax(most, (double)scores[k]);
        }
        for (int64_t k = 0; k < classes; k++) {
            sum += exp((double)scores[k] - most);
        }
        for (int64_t k = 0; k < classes; k++) {
            of->logarithms[t * classes + k] = (double)scores[k] - most - log(sum);
        }
    }
}

static double log_of(const struct lattice *of, int64_t step, int64_t state) {
    return of->logarithms[step * of->sample->classes + class_of(of, state)];
}

/* Returns log P. */
static double go_forward(struct lattice *of) {
    int64_t states = of->states, last = of->sample->steps - 1;
    for (int64_t s = 0; s < states; s++) {
        of->forward[s] = s < 2 ? log_of(of, 0, s) : -INFINITY;
    }
    for (int64_t t = 1; t <= last; t++) {
        const double *before = of->forward + (t - 1) * states;
        for (int64_t s = 0; s < states; s++) {
            double sum = before[s];
            sum = s >= 1 ? add(sum, before[s - 1]) : sum;
            sum = may_skip(of, s) ? add(sum, before[s - 2]) : sum;
            of->forward[t * states + s] = sum + log_of(of, t, s);
        }
    }
    const double *end = of->forward + last * states + states - 1;
    return states > 1 ? add(end[0], end[-1]) : end[0];
}

static void step_back(struct lattice *of, int64_t step) {
    double *behind = of->backward;
    of->backward = of->next;
    of->next = behind;
    for (int64_t s = 0; s < of->states; s++) {
        double sum = behind[s] + log_of(of, step + 1, s);
        if (s + 1 < of->states) {
            sum = add(sum, behind[s + 1] + log_of(of, step + 1, s + 1));
        }
        if (s + 2 < of->states && may_skip(of, s + 2)) {
            sum = add(sum, behind[s + 2] + log_of(of, step + 1, s + 2));
        }
        of->backward[s] = sum;
    }
}

/* scale times (probability of the class - that of being in one of its states). */
static void write_gradient(struct lattice *of, double total, double scale, float *gradient) {
    int64_t classes = of->sample->classes, states = of->states, last = of->sample->steps - 1;
    double *shares = x_calloc((size_t)classes, sizeof *shares);
    for (int64_t s = 0; s < states; s++) {
        of->backward[s] = s + 2 >= states ? 0 : -INFINITY;
    }
    for (int64_t t = last; t >= 0; t--) {
        if (t < last) {
            step_back(of, t);
        }
        for (int64_t k = 0; k < classes; k++) {
            shares[k] = exp(of->logarithms[t * classes + k]);
        }
        for (int64_t s = 0; s < states; s++) {
            shares[class_of(of, s)] -= exp(of->forward[t * states + s] + of->backward[s] - total);
        }
        for (int64_t k = 0; k < classes; k++) {
            gradient[t * classes + k] = (float)(scale * shares[k]);
        }
    }
    free(shares);
}

double ctc_loss(const struct ctc_sample *sample, double scale, float *gradient) {
    struct lattice of = {.sample = sample, .states = 2 * sample->count + 1};
    size_t states = (size_t)of.states, steps = (size_t)sample->steps;
    double share = 1 / (double)MAX(sample->count, 1);
    of.logarithms = x_calloc(steps * (size_t)sample->classes, sizeof(double));
    of.forward = x_calloc(steps * states, sizeof(double));
    of.backward = x_calloc(states, sizeof(double));
    of.next = x_calloc(states, sizeof(double));
    normalize(&of);
    double total = go_forward(&of);
    if (gradient) {
        write_gradient(&of, total, scale * share, gradient);
    }
    free(of.logarithms);
    free(of.forward);
    free(of.backward);
    free(of.next);
    return -total * share;
}

int64_t ctc_steps(const struct ctc_sample *sample) {
    int64_t steps = sample->count;
    for (int64_t i = 1; i < sample->count; i++) {
        steps += sample->labels[i] == sample->labels[i - 1];
    }
    return steps;
}

bool ctc_is_correct(const struct ctc_sample *sample) {
    int64_t before = sample->blank, found = 0;
    for (int64_t t = 0; t < sample->steps; t++) {
        const float *scores = sample->scores + t * sample->classes;
        int64_t best = 0;
        for (int64_t k = 1; k < sample->classes; k++) {
            best = scores[k] > scores[best] ? k : best;
        }
        if (best != before && best != sample->blank) {
            if (found == sample->count || sample->labels[found] != best) {
                return false;
            }
            found++;
        }
        before = best;
    }
    return found == sample->count;
}

/* ---- shapes and labels ---------------------------------------------------------------------- */

int ctc_shape_of(const struct shape *scores, const struct shape *labels, int64_t blank,
                 struct ctc_shape *ret_shape, struct error *err) {
    char text[128], other[128];
    if (scores->rank != 3 || labels->rank != 2 || scores->dims[0] != labels->dims[0] ||
        scores->dims[1] < 1) {
        shape_format(scores, text);
        shape_format(labels, other);
        return error_set(err, ERROR_INVALID,
                         "CTC needs scores [samples, steps, classes] and labels [samples, labels], "
                         "not %s and %s",
                         text, other);
    }
    if (blank < 0 || blank >= scores->dims[2]) {
        return error_set(err, ERROR_INVALID, "blankLabel %lld: 0 to %lld are the network's classes",
                         (long long)blank, (long long)scores->dims[2] - 1);
    }
    *ret_shape = (struct ctc_shape){.samples = scores->dims[0],
                                    .steps = scores->dims[1],
                                    .classes = scores->dims[2],
                                    .labels = labels->dims[1],
                                    .blank = blank};
    return 0;
}

int64_t ctc_labels(const struct ctc_shape *shape, const int64_t *from, int64_t index,
                   int64_t *labels, struct error *err) {
    struct ctc_sample sample = {.labels = labels};
    for (int64_t i = 0; i < shape->labels; i++) {
        if (from[i] == shape->ignored) {
            continue;
        }
        if (from[i] < 0 || from[i] >= shape->classes || from[i] == shape->blank) {
            return error_set(err, ERROR_INVALID,
                             "label %lld of sample %lld: 0 to %lld are classes, and %lld is the "
                             "blank",
                             (long long)from[i], (long long)index, (long long)shape->classes - 1,
                             (long long)shape->blank);
        }
        labels[sample.count++] = from[i];
    }
    if (ctc_steps(&sample) > shape->steps) {
        return error_set(err, ERROR_INVALID,
                         "the %lld labels of sample %lld need %lld steps, as a blank is between "
                         "two equal ones, and the network's scores have %lld",
                         (long long)sample.count, (long long)index, (long long)ctc_steps(&sample),
                         (long long)shape->steps);
    }
    return sample.count;
}
