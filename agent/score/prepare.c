// SPDX-License-Identifier: Apache-2.0
#include "agent/score/prepare.h"

#include "agent/score/scorer.h"
#include "agent/store/path.h"

#include <stdlib.h>

/* Results among the inputs would be read as inputs the next time, or replace them. */
static int try_apart(const struct job *job, const char *output, struct error *err) {
    const char *input = tree_text(job->spec, "input.files.path", NULL);
    AUTO(text_freep) char *folder = NULL;
    if (!input) {
        return 0; /* a video's own file is guarded by its listing */
    }
    if (path_resolve(input, &folder, err) < 0) {
        return error_context(err, "spec.input.files.path");
    }
    if (path_is_inside(output, folder)) {
        return error_set(err, ERROR_INVALID,
                         "spec.output.path: %s lies in the input folder %s, where results would be "
                         "taken for inputs: choose a folder beside it",
                         job->output, input);
    }
    return 0;
}

static int try_output(const struct job *job, struct prepared *prepared, struct error *err) {
    AUTO(text_freep) char *path = NULL;
    if (path_resolve(job->output, &path, err) < 0) {
        return error_context(err, "spec.output.path");
    }
    if (try_apart(job, path, err) < 0) {
        return -1;
    }
    if (parts_claim(job->output, job->run, job->uid, &prepared->parts, err) < 0) {
        return -1;
    }
    prepared->output_path = TAKE(path);
    return 0;
}

static int try_scorer(const struct job *job, struct error *err) {
    AUTO(scorer_freep) struct scorer *scorer = NULL;
    return scorer_open(job->spec, &scorer, err) < 0 ? -1 : scorer_try(scorer, err);
}

int prepare_job(const struct job *job, struct prepared *ret_prepared, struct error *err) {
    struct prepared prepared = {.parts = {.lock_fd = -1},
                                .summary_spec = x_printf("%s/summary.json", job->output)};
    if (media_find(job->spec, &prepared.media, err) < 0 ||
        prepared.media->list(job->spec, &prepared.listing, err) < 0 || try_scorer(job, err) < 0 ||
        try_output(job, &prepared, err) < 0) {
        prepared_release(&prepared);
        return -1;
    }
    prepared.items = prepared.media->count(prepared.listing);
    if (prepared.items < 1) {
        prepared_release(&prepared);
        return error_set(err, ERROR_INVALID, "spec.input.%s: there is nothing in it",
                         prepared.media->name);
    }
    *ret_prepared = prepared;
    return 0;
}

void prepared_release(struct prepared *prepared) {
    if (prepared->listing) {
        prepared->media->listing_free(TAKE(prepared->listing));
    }
    free(TAKE(prepared->output_path));
    free(TAKE(prepared->summary_spec));
    parts_release(&prepared->parts);
}
