// SPDX-License-Identifier: Apache-2.0
#include "operator/show/progress_line.h"

#include "lib/text/utf8.h"
#include "operator/object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { REDRAW_MS = 100, LINE_EVERY_MS = 5000, BAR_MIN = 10, BAR_MAX = 40, COLUMNS_MAX = 250 };

void progress_line_init(struct progress_line *progress, const char *name, const char *unit,
                        progress_reader *read, int64_t now_ms) {
    const char *terminal = getenv("TERM");
    *progress = (struct progress_line){
        .name = name,
        .unit = unit,
        .read = read,
        .is_terminal = isatty(STDERR_FILENO) && !(terminal && strcmp(terminal, "dumb") == 0),
        .start_ms = now_ms,
    };
}

/* Appends; text that does not fit is truncated. */
static void add(char text[static 512], const char *format, ...) PRINTF_LIKE(2, 3);
static void add(char text[static 512], const char *format, ...) {
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, 512 - used, format, arguments);
    va_end(arguments);
}

/* "0:07", "12:40", "3:05:00" */
static void format_time(int64_t seconds, char text[static 24]) {
    int clamped = (int)MAX(0, MIN(seconds, 3600000));
    int hours = clamped / 3600, minutes = clamped / 60 % 60;
    if (hours) {
        snprintf(text, 24, "%d:%02d:%02d", hours, minutes, clamped % 60);
    } else {
        snprintf(text, 24, "%d:%02d", minutes, clamped % 60);
    }
}

void progress_line_read_items(const json_t *status, struct progress_numbers *numbers) {
    numbers->total = tree_integer(status, "items.total", 0);
    numbers->done = tree_integer(status, "items.done", 0);
    numbers->failed = tree_integer(status, "items.failed", 0);
    if (numbers->total > 0 && numbers->done > 0) {
        numbers->rate = tree_text(status, "itemsPerSecond", NULL);
    }
    if (numbers->rate && numbers->done < numbers->total) {
        numbers->left_s = tree_integer(status, "secondsLeft", -1);
    }
}

static struct progress_numbers read_numbers(const struct progress_line *progress,
                                            const json_t *status) {
    struct progress_numbers numbers = {.left_s = -1};
    (progress->read ? progress->read : progress_line_read_items)(status, &numbers);
    return numbers;
}

int progress_line_percent(int64_t done, int64_t total) {
    return (int)(MIN(MAX(done, 0), total) * 100 / total);
}

void progress_line_format(const struct progress_line *progress, const json_t *status,
                          int64_t now_ms, char text[static 512]) {
    struct progress_numbers numbers = read_numbers(progress, status);
    text[0] = 0;
    add(text, "%s: %s", progress->name, object_state(status));
    if (numbers.total > 0) {
        add(text, ": %lld of %lld %s (%d %%)", numbers.done, numbers.total, progress->unit,
            progress_line_percent(numbers.done, numbers.total));
    }
    add(text, "%s", numbers.detail);
    if (numbers.rate) {
        add(text, ", %s %s/s", numbers.rate, progress->unit);
    }
    char time[24];
    if (progress->start_ms >= 0) {
        format_time((now_ms - progress->start_ms) / 1000, time);
        add(text, ", %s elapsed", time);
    }
    if (numbers.left_s >= 0) {
        format_time(numbers.left_s, time);
        add(text, ", %s left", time);
    }
    if (numbers.retried > 0) {
        add(text, ", %lld %s retried", numbers.retried, numbers.retried_unit);
    }
    if (numbers.failed > 0 && !numbers.has_failed) {
        add(text, ", %lld %s failed", numbers.failed, progress->unit);
    }
    if (numbers.restarts > 0) {
        add(text, ", %lld restart%s", numbers.restarts, numbers.restarts == 1 ? "" : "s");
    }
    if (numbers.said) {
        add(text, " | %s", numbers.said);
    }
    utf8_make_line(text); /* a pod has said what the figures are */
}

/* "[=====>     ]" with that many columns. */
static void draw_bar(int64_t done, int64_t total, int columns, char *text) {
    int inside = columns - 2;
    int full = total > 0 ? (int)(done * inside / total) : 0;
    text[0] = '[';
    for (int i = 0; i < inside; i++) {
        text[1 + i] = i < full ? '=' : i == full && done ? '>' : ' ';
    }
    text[columns - 1] = ']';
    text[columns] = 0;
}

enum part {
    PART_COUNT_DONE,
    PART_TIME,
    PART_FAILED,
    PART_RATE,
    PART_RETRIED,
    PART_ELAPSED,
    PART_COUNT
};

/* In order of importance. */
static void fill_parts(const struct progress_line *progress, const struct progress_numbers *numbers,
                       int64_t now_ms, char parts[static PART_COUNT][512]) {
    if (numbers->total > 0) {
        add(parts[PART_COUNT_DONE], "  %lld/%lld %s", numbers->done, numbers->total,
            progress->unit);
    }
    if (*numbers->place) {
        add(parts[PART_COUNT_DONE], "  %s", numbers->place);
    }
    char elapsed[24], left[24];
    format_time((now_ms - progress->start_ms) / 1000, elapsed);
    format_time(numbers->left_s, left);
    if (numbers->left_s >= 0) {
        add(parts[PART_ELAPSED], "  %s", elapsed);
        add(parts[PART_TIME], "  %s left", left);
    } else {
        add(parts[PART_TIME], "  %s", elapsed);
    }
    if (numbers->failed > 0) {
        add(parts[PART_FAILED], "  %lld failed", numbers->failed);
    }
    if (*numbers->best) {
        add(parts[PART_RATE], "  %s", numbers->best);
    }
    if (numbers->rate) {
        add(parts[PART_RATE], "  %s/s", numbers->rate);
    }
    if (numbers->retried > 0) {
        add(parts[PART_RETRIED], "  %lld retried", numbers->retried);
    }
    if (numbers->restarts > 0) {
        add(parts[PART_RETRIED], "  %lld restart%s", numbers->restarts,
            numbers->restarts == 1 ? "" : "s");
    }
}

void progress_line_bar(const struct progress_line *progress, const json_t *status, int64_t now_ms,
                       int columns, char text[static 512]) {
    struct progress_numbers numbers = read_numbers(progress, status);
    char parts[PART_COUNT][512] = {{0}};
    fill_parts(progress, &numbers, now_ms, parts);
    text[0] = 0;
    add(text, "%-8s", object_state(status));
    /* The last columns stay empty: some terminals wrap when they are written, and ^C is printed
     * there. */
    int room = MAX(0, MIN(columns, COLUMNS_MAX) - 3);
    int used = (int)strlen(text);
    for (size_t i = 0; i < PART_COUNT; i++) {
        int length = (int)strlen(parts[i]);
        if (used + length > room) {
            parts[i][0] = 0;
        } else {
            used += length;
        }
    }
    int bar_columns = MIN(room - used - 2, BAR_MAX);
    if (bar_columns >= BAR_MIN && numbers.total > 0) {
        char bar[BAR_MAX + 1];
        draw_bar(numbers.done, numbers.total, bar_columns, bar);
        add(text, "  %s", bar);
    }
    static const enum part shown[] = {PART_COUNT_DONE, PART_RATE,    PART_ELAPSED,
                                      PART_TIME,       PART_RETRIED, PART_FAILED};
    for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
        add(text, "%s", parts[shown[i]]);
    }
    if (numbers.said) {
        add(text, "  | %s", numbers.said);
    }
    text[room] = 0;
    utf8_make_line(text);
}

static int terminal_columns(void) {
    struct winsize size = {0};
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
}

/* One write per line, to avoid flicker. */
static void put(const char *text) {
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
    (void)ignored; /* an error of standard error cannot be reported */
}

static void show_on_terminal(struct progress_line *progress, const json_t *status, int64_t now_ms) {
    char text[512], line[sizeof text + 16];
    progress_line_bar(progress, status, now_ms, terminal_columns(), text);
    if (now_ms - progress->drawn_ms < REDRAW_MS ||
        (progress->is_drawn && strcmp(text, progress->last) == 0)) {
        return;
    }
    snprintf(line, sizeof line, "\r%s\033[K", text);
    put(line);
    snprintf(progress->last, sizeof progress->last, "%s", text);
    progress->is_drawn = true;
    progress->drawn_ms = now_ms;
}

static void show_as_lines(struct progress_line *progress, const json_t *status, int64_t now_ms) {
    char text[512], news[512], line[sizeof text + 1];
    struct progress_line timeless = *progress; /* elapsed time alone is not news */
    timeless.start_ms = -1;
    const char *state = object_state(status);
    struct progress_numbers numbers = read_numbers(progress, status);
    int64_t total = numbers.total, done = numbers.done;
    progress_line_format(&timeless, status, now_ms, news);
    bool is_new_state = strcmp(state, progress->state) != 0;
    bool is_due = now_ms - progress->drawn_ms >= LINE_EVERY_MS ||
                  (total > 0 && done - progress->printed_done >= (total + 9) / 10);
    if (strcmp(news, progress->last) == 0 || (!is_new_state && !is_due)) {
        return;
    }
    progress_line_format(progress, status, now_ms, text);
    snprintf(line, sizeof line, "%s\n", text);
    put(line);
    snprintf(progress->last, sizeof progress->last, "%s", news);
    snprintf(progress->state, sizeof progress->state, "%s", state);
    progress->printed_done = done;
    progress->drawn_ms = now_ms;
}

void progress_line_show(struct progress_line *progress, const json_t *status, int64_t now_ms) {
    if (progress->is_terminal) {
        show_on_terminal(progress, status, now_ms);
    } else {
        show_as_lines(progress, status, now_ms);
    }
}

void progress_line_clear(struct progress_line *progress) {
    if (progress->is_drawn) {
        put("\r\033[K");
        progress->is_drawn = false;
    }
}
