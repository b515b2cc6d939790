/* progress_line.h: a job's status as one line that is redrawn on a terminal, or as occasional lines
 * elsewhere. It is written to standard error, so that standard output has only the results. The
 * cursor is never hidden and only this line is modified, so the terminal is intact however the
 * process dies. */
#pragma once

#include "lib/tree.h"

/* 0 to 100, rounded down. total > 0. */
int progress_line_percent(int64_t done, int64_t total);

/* The numbers of a status that are shown. All zero at first, except left_s. */
struct progress_numbers {
    long long total, done, failed, retried, restarts;
    long long left_s;         /* -1: not known */
    const char *retried_unit; /* of `retried`: "mini-batches" */
    const char *rate;         /* per second; NULL: not known. Borrowed from the status */
    char detail[256];         /* for a line, after the count: ": step 1200, loss 0.31" */
    char place[64];           /* for a bar, after the count: "step 1200" */
    const char *said;         /* what a program has printed last; NULL: nothing. Borrowed */
    char best[64];            /* for a bar, before the rate: "best 0.93" */
    bool has_failed;          /* detail says how many failed */
};

/* Reads the numbers of a kind's status. */
typedef void progress_reader(const json_t *status, struct progress_numbers *numbers);
/* status.items, itemsPerSecond and secondsLeft. */
progress_reader progress_line_read_items;

struct progress_line {
    const char *name, *unit; /* the job's name; what it counts: "frames", "files", "samples" */
    progress_reader *read;   /* NULL: progress_line_read_items */
    bool is_terminal;
    bool is_drawn;    /* the last line of the terminal shows a bar */
    int64_t start_ms; /* -1: not known */
    int64_t drawn_ms;
    int64_t printed_done; /* the count of items in the last plain line */
    char last[512];       /* the last line that was printed */
    char state[64];
};

void progress_line_init(struct progress_line *progress, const char *name, const char *unit,
                        progress_reader *read, int64_t now_ms);
/* Shows the status if it has news: at most 10 times a second on a terminal; elsewhere when the
 * state changes, or after 5 s or 10 %. */
void progress_line_show(struct progress_line *progress, const json_t *status, int64_t now_ms);
/* Erases the bar, so that other text can be written. */
void progress_line_clear(struct progress_line *progress);

/* The bar as a line of at most `columns` columns; parts that do not fit are left out. */
void progress_line_bar(const struct progress_line *progress, const json_t *status, int64_t now_ms,
                       int columns, char text[static 512]);
/* "job: Running: 24 of 280 frames (8 %), 12.5 frames/s, 0:02 elapsed, 0:20 left"; with
 * `detail`: "job: Gathering: 3 of 4 workers, 0:02 elapsed". */
void progress_line_format(const struct progress_line *progress, const json_t *status,
                          int64_t now_ms, char text[static 512]);
