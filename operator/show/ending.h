/* ending.h: the last lines of `windlass run`: where the results are, or why there are none and what
 * to do. Results go to standard output, everything else to standard error. */
#pragma once

#include "lib/tree.h"

#include <stdio.h>

struct ending {
    const char *file;        /* the manifest; NULL: unknown */
    const char *name, *unit; /* the job's name; what it counts: "frames", "files" */
    const json_t *spec, *status;
    const json_t *folders;    /* volume name -> its folder on this machine */
    const char *state_folder; /* the folder of the logs */
    /* The pods that failed last; NULL: none failed. Of a gang, the first is the one that made it
     * fail. */
    const char *failed_coordinator, *failed_worker;
    /* About the jobs that it made (a sweep's trials): a table as text, and the path and the label
     * of a page; NULL: none. */
    const char *table, *page, *page_label;
    /* Prints the end of a job of this kind that succeeded (kinds/kind.h); NULL: its message and its
     * logs are printed. */
    void (*print_success)(const struct ending *ending);
    int64_t elapsed_ms;
};

/* Prints the outcome of a job whose condition Succeeded is True or False; returns the exit code. */
int ending_print(const struct ending *ending);
/* Prints what is kept of a job that was interrupted. */
void ending_print_interrupted(const struct ending *ending);
/* Prints the program's output in the first mini-batch that failed, if the status has it. */
void ending_print_said(FILE *to, const json_t *status);
/* Prints a line for each slot of workers that was given up, if the status has any. */
void ending_print_retired(FILE *to, const json_t *status);
/* True when the condition Succeeded is True or False. */
bool ending_is_final(const json_t *status);

/* ---- for a kind's print_success ---- */

/* Prints "  what     PATH" with the path on this machine; nothing when spec_path is NULL. */
void ending_print_path(const struct ending *ending, const char *what, const char *spec_path);
/* Prints the table and page of the jobs that it made; the second function only the page. */
void ending_print_made(const struct ending *ending);
void ending_print_page(const struct ending *ending);
/* Whether the path is in a store and not in a volume, so that there is no file on this machine. */
bool ending_is_stored(const char *spec_path);
/* VOLUME/path -> the path on this machine; the caller frees it. */
char *ending_path(const struct ending *ending, const char *spec_path);
