/* prepare.h: everything that can be wrong with a job is found here, in 5 s or less, before any
 * worker starts: the input is listed, the network loaded, the output tried and claimed. */
#pragma once

#include "agent/data/media.h"
#include "agent/score/books.h"

struct prepared {
    const struct media *media;
    struct listing *listing;
    int64_t items;
    struct store *output;
    int lock_fd;        /* a courtesy (path_lock.h); -1: none */
    char *output_path;  /* on this machine */
    char *summary_spec; /* OUTPUT/summary.json as a spec path */
    struct books books;
};

/* Fails with one line that names the spec's field. BUSY: an equal job writes there; CONFLICT:
 * another RUN's results lie there. */
NODISCARD int prepare_job(const struct job *job, struct prepared *ret_prepared, struct error *err);
void prepared_release(struct prepared *prepared);
