// SPDX-License-Identifier: Apache-2.0
/* As many trials, and as long a front, as a Sweep may have, each name, value, message and metric an
 * attack: what is drawn of them stays text, and the page stays small. SWEEP_PAGES=FOLDER: the page,
 * for other programs. */
#include "operator/kinds/sweep/show/sweep_html.h"

#include "lib/file.h"
#include "lib/text/page.h"
#include "tests/page_check.h"
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>

enum { TRIALS = 10000, FRONT = 64, POINTS = 48, PAGE_MAX = 8 << 20 };

static struct sweep_trial trials[TRIALS];
static const char *drawn[TRIALS][2];

static void make_trial(int i) {
    const char *text = page_attacks[i % PAGE_ATTACKS];
    drawn[i][0] = text;
    drawn[i][1] = page_attacks[(i + 1) % PAGE_ATTACKS];
    trials[i] = (struct sweep_trial){.index = i,
                                     .name = text,
                                     .message = text,
                                     .values = drawn[i],
                                     .state = (enum sweep_trial_state)(i % SWEEP_STATES),
                                     .best = i % 7 ? i : (double)NAN,
                                     .reports = INT64_MAX - i};
    trials[i].also[0] = i % 2 ? i : (double)INFINITY;
    for (int k = 1; k <= POINTS; k++) {
        curve_add(&trials[i].curve, &(struct curve_point){k, (double)i / k, 1e308, INT64_MAX});
    }
}

static json_t *make_front(void) {
    json_t *front = json_array();
    for (int i = 0; i < FRONT; i++) {
        json_t *one = json_pack("{s:i}", "index", i);
        json_object_set_new(one, "trial",
                            json_stringn_nocheck(trials[i].name, strlen(trials[i].name)));
        json_array_append_new(front, one);
    }
    return front;
}

static size_t count_of(const char *text, const char *what) {
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, what)); at++) {
        count++;
    }
    return count;
}

static void ten_thousand_hostile_trials(void) {
    for (int i = 0; i < TRIALS; i++) {
        make_trial(i);
    }
    struct error err = {0};
    const char *const names[] = {page_attacks[0], page_attacks[7]};
    AUTO(tree_freep) json_t *front = make_front();
    struct sweep_facts facts = {.name = page_attacks[1],
                                .state = page_attacks[2],
                                .message = page_attacks[10],
                                .metric = page_attacks[0],
                                .parameters = names,
                                .parameter_count = 2,
                                .also = {{page_attacks[1], true}},
                                .also_count = 1,
                                .front = front,
                                .trials = trials,
                                .trial_count = TRIALS};
    AUTO(text_freep) char *html = NULL;
    CHECK_OK(sweep_html(&facts, &html, &err), &err);
    const char *at = "", *fault = page_fault(html, &at);
    if (fault) {
        printf("# %s: %.80s\n", fault, at);
    }
    CHECK(!fault && strlen(html) < PAGE_MAX);
    CHECK(strstr(html, PAGE_POLICY) && !strstr(html, "<script") && !strstr(html, "<img"));
    CHECK(!strstr(html, "\xE2\x80\xAE") && !strchr(html, 0x1B) && !strchr(html, 0x7F));
    CHECK_INT(count_of(html, "<style>"), 1);
    CHECK(strstr(html, "Of 10000 trials the newest 500, the best and the front are shown"));
    if (getenv("SWEEP_PAGES")) {
        AUTO(text_freep) char *path = x_printf("%s/sweep-many.html", getenv("SWEEP_PAGES"));
        CHECK_OK(file_write(path, html, strlen(html), &err), &err);
    }
    for (int i = 0; i < TRIALS; i++) {
        curve_release(&trials[i].curve);
    }
}

int main(void) {
    TEST(ten_thousand_hostile_trials);
    return TEST_END();
}
