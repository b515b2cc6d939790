// SPDX-License-Identifier: Apache-2.0
#include "agent/score/report/report_requests.h"

enum { MONEY_BYTES = 32 };

/* A member of summary.json's "requests", and how it is shown. */
struct figure {
    const char *name, *label;
    enum { COUNT, MILLISECONDS, SECONDS, MONEY } form;
    bool is_trouble; /* shown only if it is not 0 */
};

static const struct figure asked[] = {
    {"requests", "requests sent", COUNT, false},
    {"answers", "answers", COUNT, false},
    {"medianMilliseconds", "half of the answers within", MILLISECONDS, false},
    {"p99Milliseconds", "99 % of the answers within", MILLISECONDS, false},
    {"retries", "sent again", COUNT, true},
    {"busy", "refused because the server was busy", COUNT, true},
    {"refused", "rejected (4xx)", COUNT, true},
    {"broken", "errors of the server, broken connections", COUNT, true},
    {"timeouts", "without an answer in time", COUNT, true},
    {"unfit", "answers that did not fit", COUNT, true},
    {"cut", "answers cut at a limit of tokens", COUNT, true},
};
static const struct figure spent[] = {
    {"tokensIn", "tokens in", COUNT, false},
    {"tokensCached", "of them from the server's cache", COUNT, false},
    {"tokensOut", "tokens out", COUNT, false},
    {"tokensPerSecond", "tokens a second", COUNT, false},
    {"gpuSeconds", "time of GPUs", SECONDS, true},
    {"cost", "cost", MONEY, false},
    {"costPer1000", "cost of 1,000 rows", MONEY, false},
};

static void add_value(struct page *page, const struct figure *figure, const json_t *value) {
    int64_t number = json_integer_value(value);
    switch (figure->form) {
    case MILLISECONDS:
        page_time(page, number);
        break;
    case SECONDS:
        page_time(page, MIN(number, INT64_MAX / 2000) * 1000);
        break;
    case MONEY:
        page_text(page, json_string_value(value), MONEY_BYTES);
        break;
    case COUNT:
    default:
        page_count(page, number);
        break;
    }
}

static void add_table(struct page *page, const json_t *requests, const struct figure *figures,
                      size_t count) {
    page_add(page, "<table><tbody>");
    for (size_t i = 0; i < count; i++) {
        const struct figure *figure = &figures[i];
        const json_t *value = json_object_get(requests, figure->name);
        bool is_there = figure->form == MONEY ? json_is_string(value) : json_is_integer(value);
        if (!is_there || (figure->is_trouble && json_integer_value(value) == 0)) {
            continue;
        }
        page_add(page, "<tr><td>%s</td><td class=\"n\">", figure->label);
        add_value(page, figure, value);
        page_add(page, "</td></tr>");
    }
    page_add(page, "</tbody></table>");
}

void report_requests_add(struct page *page, const json_t *requests) {
    if (!json_is_object(requests)) {
        return;
    }
    page_add(page, "<section><h2>Requests to model servers</h2><div class=\"two\"><div>");
    add_table(page, requests, asked, ARRAY_LEN(asked));
    page_add(page, "</div><div>");
    add_table(page, requests, spent, ARRAY_LEN(spent));
    page_add(page, "</div></div></section>\n");
}
