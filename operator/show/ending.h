/* ending.h: the last lines of `windlass run`: where the results are, or why there are none
 * and what to do. Results go to standard output, everything else to standard error. */
#pragma once

#include "lib/tree.h"

#include <stdio.h>

struct ending {
    const char *file, *name, *unit; /* the manifest (NULL: not told); the job; "frames", "files" */
    const json_t *spec, *status;
    const json_t *folders;    /* volume name -> its folder on this machine */
    const char *state_folder; /* where the logs are */
    /* Pods that failed last; NULL: none did. Of a gang the one that it failed by is the first. */
    const char *failed_coordinator, *failed_worker;
    /* Of the jobs that it made: a table, and the path of a page with what that is called; NULL:
     * none. */
    const char *table, *page, *page_label;
    /* The kind's (kinds/kind.h); NULL: the message and the logs. */
    void (*print_success)(const struct ending *ending);
    int64_t elapsed_ms;
};

/* Prints the outcome of a job whose condition Succeeded is True or False; returns the exit code. */
int ending_print(const struct ending *ending);
/* Prints what was kept of a job that was interrupted. */
void ending_print_interrupted(const struct ending *ending);
/* What the program said in the first mini-batch that failed, where the status has that. */
void ending_print_said(FILE *to, const json_t *status);
/* True when the condition Succeeded is True or False. */
bool ending_is_final(const json_t *status);

/* ---- for a kind's print_success ---- */

/* "  what     PATH", PATH on this machine; nothing where spec_path is NULL. */
void ending_print_path(const struct ending *ending, const char *what, const char *spec_path);
/* Table and page of what it made; the page alone. */
void ending_print_made(const struct ending *ending);
void ending_print_page(const struct ending *ending);
/* In a store, and in no volume, so that it has no file here. */
bool ending_is_stored(const char *spec_path);
/* VOLUME/path -> the path on this machine; the caller frees. */
char *ending_path(const struct ending *ending, const char *spec_path);
