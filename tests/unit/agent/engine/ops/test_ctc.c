// SPDX-License-Identifier: Apache-2.0
/* CTC against a sum over all paths, and its gradient against differences. */
#include "agent/engine/loss.h"

#include "tests/seed.h"
#include "tests/test.h"

#include <math.h>

enum { STEPS = 5, CLASSES = 3, LABELS_MAX = 3, BLANK = 1 };

/* Whether a path of classes makes the labels. */
static bool makes(const int *path, const struct ctc_sample *sample) {
    int64_t found = 0;
    for (int t = 0; t < STEPS; t++) {
        if (path[t] == BLANK || (t > 0 && path[t] == path[t - 1])) {
            continue;
        }
        if (found == sample->count || sample->labels[found] != path[t]) {
            return false;
        }
        found++;
    }
    return found == sample->count;
}

static double plain_loss(const struct ctc_sample *sample) {
    double sum = 0;
    for (int number = 0; number < 243; number++) { /* CLASSES ^ STEPS */
        int path[STEPS];
        double probability = 1;
        for (int t = 0, rest = number; t < STEPS; t++, rest /= CLASSES) {
            const float *scores = sample->scores + t * CLASSES;
            double all = exp(scores[0]) + exp(scores[1]) + exp(scores[2]);
            path[t] = rest % CLASSES;
            probability *= exp(scores[path[t]]) / all;
        }
        sum += makes(path, sample) ? probability : 0;
    }
    return -log(sum) / (double)MAX(sample->count, 1);
}

static void test_paths(void) {
    uint64_t random = test_seed(1);
    for (int round = 0; round < 200; round++) {
        float scores[STEPS * CLASSES], gradient[STEPS * CLASSES];
        int64_t labels[LABELS_MAX];
        struct ctc_sample sample = {STEPS, CLASSES, scores, 0, labels, BLANK};
        for (int i = 0; i < STEPS * CLASSES; i++) {
            scores[i] = (float)test_below(&random, 2000) / 500 - 2;
        }
        sample.count = (int64_t)test_below(&random, LABELS_MAX + 1);
        for (int64_t i = 0; i < sample.count; i++) {
            labels[i] = test_below(&random, 2) ? 0 : 2;
        }
        if (ctc_steps(&sample) > STEPS) {
            continue;
        }
        double loss = ctc_loss(&sample, 0.5, gradient);
        CHECK(fabs(loss - plain_loss(&sample)) < 1e-9 * (1 + loss));
        for (int i = 0; i < STEPS * CLASSES; i++) {
            float was = scores[i];
            scores[i] = was + 0.0078125f;
            double above = plain_loss(&sample);
            scores[i] = was - 0.0078125f;
            double slope = 0.5 * (above - plain_loss(&sample)) / 0.015625;
            scores[i] = was;
            CHECK(fabs(slope - (double)gradient[i]) < 1e-4);
        }
    }
}

static void test_best_classes(void) {
    static const float scores[STEPS * CLASSES] = {1, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1};
    static const int64_t right[] = {0, 0, 2}, wrong[] = {0, 2, 2}, more[] = {0, 0, 2, 0};
    struct ctc_sample sample = {STEPS, CLASSES, scores, 3, right, BLANK};
    CHECK(ctc_is_correct(&sample));
    sample.labels = wrong;
    CHECK(!ctc_is_correct(&sample));
    sample.count = 2;
    sample.labels = right;
    CHECK(!ctc_is_correct(&sample));
    sample.count = 4;
    sample.labels = more;
    CHECK(!ctc_is_correct(&sample));
}

static void test_labels(void) {
    const struct ctc_shape shape = {2, 3, CLASSES, 4, BLANK, -1};
    static const int64_t rows[][4] = {{0, -1, 2, -1}, {0, 0, 2, -1}, {0, 1, -1, -1}, {3, 2, 0, -1}};
    int64_t labels[4];
    struct error err = {0};
    CHECK_INT(ctc_labels(&shape, rows[0], 0, labels, &err), 2);
    CHECK(labels[0] == 0 && labels[1] == 2);
    CHECK_INT(ctc_labels(&shape, rows[1], 7, labels, &err), -1);
    CHECK(strstr(err.text, "the 3 labels of sample 7 need 4 steps") != NULL);
    CHECK(strstr(err.text, "the network's scores have 3") != NULL);
    err = (struct error){0};
    CHECK_INT(ctc_labels(&shape, rows[2], 0, labels, &err), -1);
    CHECK(strstr(err.text, "label 1 of sample 0: 0 to 2 are classes, and 1 is the blank") != NULL);
    CHECK_INT(ctc_labels(&shape, rows[3], 0, labels, &err), -1);
}

int main(void) {
    TEST(test_paths);
    TEST(test_best_classes);
    TEST(test_labels);
    return TEST_END();
}
