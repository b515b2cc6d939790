// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/run/run_help.h"

#include "operator/kinds/kinds.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const char about_first[] = "Runs a job on this machine: its pods are processes here. The "
                                  "same manifest works on a cluster\n"
                                  "(kubectl apply -f FILE).\n\n";

static const char about_last[] =
    "A path in a manifest is VOLUME/path/in/it. The folder of a volume on this machine is the one\n"
    "given with --volume, else its hostPath, else VOLUME/ next to the manifest; an emptyDir is a\n"
    "folder of the run. readOnly is not enforced here. Paths az://ACCOUNT/CONTAINER/path,\n"
    "s3://BUCKET/path and gs://BUCKET/path work as on a cluster, with the keys from --stores; "
    "those\n"
    "of s3:// can be in ~/.aws/credentials.\n\n"
    "A job with trigger, schedule or rerun makes one run after the other until Ctrl-C; with\n"
    "--once it makes one. Ctrl-C ends all processes and prints what was kept; a second Ctrl-C\n"
    "kills them at once.\n\n"
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
        .file = x_printf("Manifests (%s), YAML or JSON: files, folders, - for standard input; may "
                         "be repeated. They run one after the other.",
                         names),
        .secrets = x_printf("Values of %s secrets, in the files DIR/SECRETNAME/KEY.", secrets),
        .workers = x_strdup("Worker processes (default: "),
    };
    for (const struct kind_row *const *row = kind_rows; *row; row++) {
        const struct kind_local *local = &(*row)->local;
        if (local->about) {
            append(&ret->about, "%s: %s\n\n", (*row)->loop->name, local->about);
        }
        if (local->workers_about) {
            append(&ret->workers, "%s%s: %s", row == kind_rows ? "" : "; ", (*row)->loop->name,
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
