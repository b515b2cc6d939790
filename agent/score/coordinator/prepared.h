/* prepared.h: a job that is ready for workers. prepared_open checks all that can be checked within
 * 5 s, so that a mistake in the manifest shows before any worker starts: it lists the input (or
 * begins to), loads the network, and tests and claims the output. For the coordinator.
 */
#pragma once

#include "agent/data/input/kept_bits.h"
#include "agent/data/input/list.h"
#include "agent/data/input/sink.h"
#include "agent/data/sql/query_input.h"
#include "agent/score/coordinator/journal.h"
#include "agent/score/log/item_name.h"
#include "lib/signature.h"

#include <stdatomic.h>

struct prepared_job {
    const struct media *media;
    enum sink_form form;     /* what workers make of their results (sink.h) */
    struct listing *listing; /* the input, for kinds without lines (media.h); else NULL */
    /* Of input.table.query. The list's thread has its address: it stays where it is when this
     * struct is copied. Owned; NULL: no list was opened. */
    struct query_input *query;
    struct list *list;        /* the input, for kinds with lines (input.h); it may still grow */
    struct item_names *names; /* NULL until the first prepared_name */
    int64_t items;      /* frames, files or lines that are known so far; with a listing: all */
    int64_t cell_items; /* of them in each cell (ledger.h) except the last */
    json_t *paths;      /* of the spec, that lead elsewhere (run_paths.h); applied to job->spec */
    json_t *given;      /* the spec as it was given, before `paths` was applied */
    json_t *files;      /* what the results depend on, see scorer.h: the spec's field -> SHA-256 */
    struct store *output;
    int lock_fd;        /* advisory (path_lock.h); -1: none */
    char *summary_spec; /* OUTPUT/summary.json as a spec path */
    struct journal journal;
    /* Set by assemble (assemble.h), for result.json; owned. */
    json_t *made_files; /* [{"name", "bytes", "sha256"}]; NULL: not made */
    json_t *made_list;  /* of outputs.jsonl; NULL: the mode has no such list */
    json_t *made_rows;  /* of the kept rows (row_files.h); NULL: there are none */
    char input_sha256[65];
    struct signature_key *key; /* of spec.signingKey; NULL: results are not signed */
    /* For rerun.c: the output's history before the claim, whether a generation begins, and of the
     * generation whose results are kept: which items have one, its list, and where they are. */
    struct generation known;
    struct commit_seen *seen;       /* the commits that were read for that; NULL after the claim */
    struct commit_trouble *trouble; /* says what the log waits for; NULL: it is not shown */
    bool begins;
    bool has_strangers; /* files were there, and nothing said what made them (stale.h) */
    bool has_outputs;   /* the generation's outputs were complete when it was claimed */
    /* Items with a committed result that does not count: its file may have been published. bits
     * NULL: there are none. */
    struct kept_bits dropped;
    bool is_foreign; /* another job has begun the generation, and listed its input */
    struct kept_bits base_bits;
    char *base_folder;
    struct list_base base;
    const char *added; /* what a result's file adds to its item's name (output_name.h) */
    /* The output's files; knows_made: all of them (otherwise each one is looked up by a request).
     */
    struct name_set *made;
    bool knows_made;
    struct name_set *sizes; /* of files that earlier generations have made */
    bool knows_sizes;
};

/* While the scorer is tried, *trial_ends_ms (of clock_monotonic_ms) is when the caller should stop
 * waiting: the trial cannot be stopped, only the process; else it is 0. prepared_trial_error is
 * what the job then fails with. trouble: outlives what is opened. */
void prepared_trial_error(const struct job *job, struct error *err);
/* Fails with one line that names the spec's field. BUSY: another job is writing to the output;
 * INVALID: also if the output holds results of another spec, or of an input that has changed. The
 * job's mini-batch size may become that of the run that it continues. */
NODISCARD int prepared_open(struct job *job, atomic_llong *trial_ends_ms,
                            struct commit_trouble *trouble, struct prepared_job *ret_prepared,
                            struct error *err);
void prepared_release(struct prepared_job *prepared);
/* The second half of prepared_open, when the output is open and the input is known to be there
 * (media, form, items): reads the output's history, claims the run, and opens the list. has_clock:
 * scorer_kind's; run: what the job begins with (run_file.h). */
NODISCARD int prepared_claim(struct job *job, struct prepared_job *prepared, bool has_clock,
                             const json_t *run, struct error *err);

/* Adds the cells to the ledger that were listed since the last call. */
NODISCARD int prepared_extend(struct prepared_job *prepared, struct error *err);
/* What a worker needs to score cells [first, first + cells): the `work` of a lease (message.h), as
 * JSON text; the caller frees. EXHAUSTED: larger than a message can be; INVALID: a page of the list
 * is truncated. */
NODISCARD int prepared_work(struct prepared_job *prepared, int64_t first, int64_t cells,
                            char **ret_work, struct error *err);
/* Appends the display name of an item, by its index in a cell: a file's path, "frame 17",
 * "a.csv:1041". */
NODISCARD int prepared_name(struct prepared_job *prepared, const struct job *job, int64_t first,
                            int64_t index, struct buffer *name, struct error *err);
/* Appends the item itself, if its input is a table and it can be read. */
NODISCARD int prepared_json(struct prepared_job *prepared, const struct job *job, int64_t first,
                            int64_t index, struct buffer *json, struct error *err);
/* SHA-256 of what the run has listed: the lines of all pages (input.h), kept ones included, which
 * have the items' names and, where the kind knows them, fingerprints; of a film its description.
 * Blocks. */
NODISCARD int prepared_fingerprint(struct prepared_job *prepared, char ret_sha256[static 65],
                                   struct error *err);
