/* status_show.h: what the list of jobs and the page of one job share. */
#pragma once

#include "operator/commands/remote.h"

struct kind_row;

struct status_request {
    bool all; /* namespaces */
    bool watch;
    const char *output; /* NULL: for people; otherwise "html" or a form of jobs/job_print.h */
    const char *name;   /* NULL: all jobs */
};

/* Names a kind that the user may not list, with the server's message, which has the verb; the rest
 * is shown. what: "shown". */
void status_denied(const char *kind, const char *what, const struct error *why);
/* True: a job of that kind can be shown as a page (-o html). */
bool status_has_page(const struct kind_row *row);
