// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/run_help.h"

#include "operator/kinds/kinds.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const char about_first[] =
    "Does the work of a manifest on this machine: cuts the input into mini-batches, runs the\n"
    "network on them in worker processes and writes the outputs. The same file does the same\n"
    "on a cluster (kubectl apply -f FILE).\n\n";

static const char about_last[] =
    "A path in a manifest is VOLUME/path/in/it. A volume's folder on this machine is what\n"
    "--volume says, else its hostPath, else the folder VOLUME/ beside the manifest; an "
    "emptyDir\n"
    "is a folder of the run. readOnly holds on a cluster only. Paths az://ACCOUNT/CONTAINER/"
    "path\n"
    "are read and written as on a cluster, with the keys in --stores.\n\n"
    "A job with trigger, schedule or rerun makes runs until Ctrl-C; --once makes one and "
    "ends.\n"
    "Ctrl-C ends all processes and says what was kept; a second Ctrl-C kills them at once.\n"
    "Exit codes: 0 succeeded, 1 the job failed, 2 manifest or usage, 3 this machine,\n"
    "130 interrupted.";

static bool has_secrets(const struct kind_row *row) {
    return row->local.has_secrets;
}

/* Appends a formatted text to *text. */
static void append(char **text, const char *format, ...) PRINTF_LIKE(2, 3);
static void append(char **text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    AUTO(text_freep) char *piece = NULL;
    int length = vasprintf(&piece, format, arguments);
    va_end(arguments);
    char *longer = x_printf("%s%s", *text, length < 0 ? "" : piece);
    free(*text);
    *text = longer;
}

void run_help_make(struct run_help *ret) {
    AUTO(text_freep) char *names = kinds_names(NULL, "%s", "or");
    AUTO(text_freep) char *secrets = kinds_names(has_secrets, "a %s's", "or");
    *ret = (struct run_help){
        .about = x_strdup(about_first),
        .file = x_printf("The manifest: one %s, YAML or JSON.", names),
        .secrets = x_printf("Values of %s secrets: the files DIR/SECRETNAME/KEY.", secrets),
        .workers = x_strdup("Worker processes ("),
    };
    for (const struct kind_row *const *row = kind_rows; *row; row++) {
        const struct kind_local *local = &(*row)->local;
        if (local->about) {
            append(&ret->about, "Of a %s: %s\n\n", (*row)->loop->name, local->about);
        }
        if (local->workers_about) {
            append(&ret->workers, "%sof a %s %s", row == kind_rows ? "" : "; ", (*row)->loop->name,
                   local->workers_about);
        }
    }
    append(&ret->about, "%s", about_last);
    append(&ret->workers, ").");
}

void run_help_release(struct run_help *texts) {
    free(texts->about);
    free(texts->file);
    free(texts->secrets);
    free(texts->workers);
}
