/* ending.h: the last lines of `windlass run`: where the results are, or why there are none and what
 * to do. Results go to standard output, everything else to standard error. */
#pragma once

#include "lib/tree.h"

#include <stdio.h>

/* What to do when a job failed with this reason of its condition. */
struct ending_advice {
    const char *reason, *text;
    int exit_code;
    bool is_workers; /* the worker's log is the relevant one; else the hub's */
    bool shows_log;  /* the message may lack the cause */
};

struct ending;

/* A kind's part. Each may be NULL. */
struct ending_kind {
    /* The reasons that only this kind has; ends with a reason that is NULL. */
    const struct ending_advice *advices;
    /* Prints the end of a job that succeeded, to standard output. NULL: its message and its logs.
     */
    void (*print_success)(const struct ending *ending);
    /* Prints what a status says about failures, besides conditions and counters. */
    void (*print_failures)(FILE *to, const json_t *status);
    /* The folder of what an interrupted job has finished, on this machine; owned. NULL: such a job
     * keeps nothing there. */
    char *(*kept_folder)(const struct ending *ending);
};

struct ending {
    const struct ending_kind *kind;
    const char *file;            /* the manifest; NULL: unknown */
    const char *name, *unit;     /* the job's name; what it counts: "frames", "files" */
    const json_t *spec, *status; /* for the functions of struct ending_kind: shown_tree.h */
    const json_t *raw_status;    /* the same status for ending_print_lines; ending_print sets it */
    const json_t *folders;       /* volume name -> its folder on this machine */
    const char *state_folder;    /* the folder of the logs */
    /* The pods that failed last: the hub, or the one that made the job fail if its kind finds it;
     * and a worker. NULL: none failed. */
    const char *failed_hub, *failed_worker;
    /* About the jobs that it made: a table as text, and the path and the label of a page; NULL:
     * none. */
    const char *table, *page, *page_label;
    int64_t elapsed_ms;
};

/* Prints the outcome of a job whose condition Succeeded is True or False; returns the exit code. */
int ending_print(const struct ending *ending);
/* Prints what is kept of a job that was interrupted. */
void ending_print_interrupted(const struct ending *ending);
/* True when the condition Succeeded is True or False. */
bool ending_is_final(const json_t *status);

/* ---- for the functions of struct ending_kind ---- */

/* Prints each line of the text, indented. */
void ending_print_lines(FILE *to, const char *text);

/* Prints "  what     PATH" with the path on this machine; nothing when spec_path is NULL. */
void ending_print_path(const struct ending *ending, const char *what, const char *spec_path);
/* Prints the table and page of the jobs that it made; the second function only the page. */
void ending_print_made(const struct ending *ending);
void ending_print_page(const struct ending *ending);
/* VOLUME/path -> the path on this machine; the caller frees it. */
char *ending_path(const struct ending *ending, const char *spec_path);
