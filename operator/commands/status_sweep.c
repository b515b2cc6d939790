// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/status_sweep.h"

#include "operator/commands/sweep_facts.h"
#include "operator/commands/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool status_is_sweep(const json_t *job) {
    return strcmp(tree_text(job, "kind", ""), "Sweep") == 0;
}

static int view_of(struct remote *remote, const json_t *sweep, struct sweep_view **ret_view,
                   struct error *err) {
    const struct rest_place place = {.api_version = REMOTE_API, .kind = "DistTrain"};
    AUTO(tree_freep) json_t *trials = NULL;
    return remote_made(remote, &place, tree_text(sweep, "metadata.name", ""), &trials, err) < 0
               ? -1
               : sweep_view_new(sweep, trials, ret_view, err);
}

int status_print_trials(struct remote *remote, const json_t *sweep, struct error *err) {
    AUTO(sweep_view_freep) struct sweep_view *view = NULL;
    if (view_of(remote, sweep, &view, err) < 0) {
        return -1;
    }
    if (sweep_view_facts(view)->trial_count > 0) {
        AUTO(text_freep) char *text = sweep_table(sweep_view_facts(view), table_width());
        printf("\n%s", text);
    }
    return 0;
}

int status_print_page(struct remote *remote, const json_t *job, struct error *err) {
    AUTO(sweep_view_freep) struct sweep_view *view = NULL;
    AUTO(text_freep) char *html = NULL;
    if (!status_is_sweep(job)) {
        return error_set(err, ERROR_INVALID, "-o html is for a Sweep; %s is a %s",
                         tree_text(job, "metadata.name", ""), tree_text(job, "kind", ""));
    }
    if (view_of(remote, job, &view, err) < 0 ||
        sweep_html(sweep_view_facts(view), &html, err) < 0) {
        return -1;
    }
    if (fputs(html, stdout) < 0 || fflush(stdout) != 0) {
        return error_from_errno(err, errno, "cannot write the page");
    }
    return 0;
}
