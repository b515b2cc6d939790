// SPDX-License-Identifier: Apache-2.0
/* A resumed training reads the rows of the CSV and makes the event file from them. */
#include "agent/train/record/metrics_log.h"

#include "agent/train/record/events.h"
#include "lib/time/clock.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
    [METRIC_LOSS] = "loss",           [METRIC_ACCURACY] = "accuracy",
    [METRIC_TEST_LOSS] = "test_loss", [METRIC_TEST_ACCURACY] = "test_accuracy",
    [METRIC_RATE] = "learning_rate",  [METRIC_SPEED] = "samples_per_second",
    [METRIC_WAITED] = "waited",
};
static_assert(ARRAY_LEN(names) == METRIC_COUNT, "one name per metric");

struct metrics_log {
    struct store *store;
    size_t count, room, written; /* rows */
    struct metrics_row *rows;
};

void metrics_log_free(struct metrics_log *metrics) {
    if (metrics) {
        free(metrics->rows);
        free(metrics);
    }
}

void metrics_log_freep(struct metrics_log **metrics) {
    metrics_log_free(TAKE(*metrics));
}

void metrics_log_add(struct metrics_log *metrics, const struct metrics_row *row) {
    if (metrics->count == METRICS_ROWS_MAX) {
        return;
    }
    if (metrics->count == metrics->room) {
        metrics->room = 2 * metrics->room + 64;
        metrics->rows = x_realloc_array(metrics->rows, metrics->room, sizeof *metrics->rows);
    }
    metrics->rows[metrics->count++] = *row;
}

/* ---- the CSV -------------------------------------------------------------------------------- */

static int render_head(struct buffer *buffer, struct error *err) {
    int result = buffer_printf(buffer, err, "step,epoch,time");
    for (int i = 0; result == 0 && i < METRIC_COUNT; i++) {
        result = buffer_printf(buffer, err, ",%s", names[i]);
    }
    return result < 0 ? -1 : buffer_printf(buffer, err, "\n");
}

static int render_row(struct buffer *buffer, const struct metrics_row *row, struct error *err) {
    int result = buffer_printf(buffer, err, "%lld,%.6g,%.3f", (long long)row->step, row->epoch,
                               (double)row->wall_ms / 1000);
    for (int i = 0; result == 0 && i < METRIC_COUNT; i++) {
        double value = row->values[i];
        result = isnan(value) ? buffer_printf(buffer, err, ",")
                              : buffer_printf(buffer, err, ",%.9g", value);
    }
    return result < 0 ? -1 : buffer_printf(buffer, err, "\n");
}

/* Reads a cell and the character after it; NAN if the cell is empty. */
static bool read_cell(const char **at, char end, double *ret_value) {
    char *behind;
    if (**at == end) {
        *ret_value = NAN;
        ++*at;
        return true;
    }
    *ret_value = strtod(*at, &behind);
    bool is_fine = behind != *at && *behind == end;
    *at = behind + is_fine;
    return is_fine;
}

/* Reads a row as render_row writes it. */
static bool read_row(const char **at, struct metrics_row *row) {
    double step, seconds;
    if (!read_cell(at, ',', &step) || !read_cell(at, ',', &row->epoch) ||
        !read_cell(at, ',', &seconds) || !(step >= 0 && step < 0x1p53) ||
        !(seconds >= 0 && seconds < 0x1p43)) {
        return false;
    }
    row->step = (int64_t)step;
    row->wall_ms = llround(seconds * 1000);
    for (int i = 0; i < METRIC_COUNT; i++) {
        if (!read_cell(at, i + 1 < METRIC_COUNT ? ',' : '\n', &row->values[i])) {
            return false;
        }
    }
    return true;
}

static int read_rows(struct metrics_log *metrics, const char *text, int64_t step,
                     struct error *err) {
    AUTO(buffer_release) struct buffer head;
    struct metrics_row row;
    buffer_init(&head, 4096);
    if (render_head(&head, err) < 0) {
        return -1;
    }
    if (!text_starts(text, head.data)) {
        return 0; /* a file of another program */
    }
    const char *at = text + head.size;
    int64_t last = -1;
    while (read_row(&at, &row) && row.step <= step && row.step > last) {
        metrics_log_add(metrics, &row);
        last = row.step;
    }
    return 0;
}

int metrics_log_open(struct store *store, int64_t step, struct metrics_log **ret_metrics,
                     struct error *err) {
    AUTO(metrics_log_freep) struct metrics_log *metrics = x_calloc(1, sizeof *metrics);
    AUTO(buffer_release) struct buffer text;
    struct error cause = {0};
    buffer_init(&text, STORE_PUT_MAX);
    metrics->store = store;
    if (step > 0 && store_get(store, METRICS_CSV, &text, NULL, &cause) < 0) {
        if (cause.kind != ERROR_NOT_FOUND) {
            *err = cause;
            return -1;
        }
    } else if (text.size && read_rows(metrics, text.data, step, err) < 0) {
        return -1;
    }
    *ret_metrics = TAKE(metrics);
    return 0;
}

/* ---- writing -------------------------------------------------------------------------------- */

static int render_events(const struct metrics_log *metrics, struct buffer *buffer,
                         struct error *err) {
    int64_t began_ms = metrics->count ? metrics->rows[0].wall_ms : clock_wall_ms();
    int result = events_begin(buffer, began_ms, err);
    for (size_t i = 0; result == 0 && i < metrics->count; i++) {
        const struct metrics_row *row = &metrics->rows[i];
        struct events_value values[METRIC_COUNT];
        size_t count = 0;
        for (int k = 0; k < METRIC_COUNT; k++) {
            if (!isnan(row->values[k])) {
                values[count++] = (struct events_value){names[k], (float)row->values[k]};
            }
        }
        result = count ? events_add(buffer, row->wall_ms, row->step, values, count, err) : 0;
    }
    return result;
}

int metrics_log_write(struct metrics_log *metrics, struct error *err) {
    AUTO(buffer_release) struct buffer text;
    AUTO(buffer_release) struct buffer events;
    buffer_init(&text, STORE_PUT_MAX);
    buffer_init(&events, STORE_PUT_MAX);
    if (metrics->written && metrics->written == metrics->count) {
        return 0;
    }
    int result = render_head(&text, err);
    for (size_t i = 0; result == 0 && i < metrics->count; i++) {
        result = render_row(&text, &metrics->rows[i], err);
    }
    if (result < 0 || render_events(metrics, &events, err) < 0 ||
        store_put(metrics->store, METRICS_CSV, text.data, text.size, STORE_REPLACE, err) < 0 ||
        store_put(metrics->store, METRICS_EVENTS, events.data, events.size, STORE_REPLACE, err) <
            0) {
        return -1;
    }
    metrics->written = metrics->count;
    return 0;
}
