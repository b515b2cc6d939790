/* prepare.h: everything that can be wrong with a job is found here, in 5 s or less, before any
 * worker starts: the input is listed, the network loaded, the output folder tried. */
#pragma once

#include "agent/data/media.h"
#include "agent/data/parts.h"
#include "agent/job.h"

struct prepared {
    const struct media *media;
    struct listing *listing;
    int64_t items;
    char *output_path;  /* on this machine */
    char *summary_spec; /* OUTPUT/summary.json as a spec path */
    struct parts parts;
};

/* Fails with one line that names the spec's field. Makes OUTPUT/.windlass/RUN/NUMBER. */
NODISCARD int prepare_job(const struct job *job, struct prepared *ret_prepared, struct error *err);
void prepared_release(struct prepared *prepared);
