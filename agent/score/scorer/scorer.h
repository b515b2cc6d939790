/* scorer.h: turns the items of a lease into results: from the lease's lines to the bytes of its
 * staged output. A kind (onnx, command, endpoint) is one file and one row of agent/registry.c. A
 * scorer belongs to one slot of a worker and is kept between leases. */
#pragma once

#include "agent/data/input/sink.h"
#include "agent/score/log/failures.h"

#include <stdatomic.h>

struct scorer; /* defined by each kind */

/* The longest delay before a program of the user that ended soon is started again. */
enum { SCORER_START_DELAY_MAX_MS = 30000 };

/* Receives a line of a program's output, without its newline; any bytes, not NUL-terminated. */
typedef void scorer_log_line(void *context, const char *line, size_t size);

/* Called in the scorer's thread for the current lease. waits: it cannot begin yet, and this does
 * not count against it; otherwise it begins now, with its full time limit. */
typedef void scorer_waits(void *context, bool waits);

/* All pointers are borrowed and must outlive the scorer. */
struct scorer_options {
    const json_t *spec;
    const struct media *media;
    const struct local_file *network; /* for onnx: the file on this machine; NULL: it is fetched */
    /* The following are for workers; the coordinator, which only calls try_out, does not set
     * them. */
    const char *secret; /* of the job, for the scorer alone; NULL: none */
    /* The job's client certificate and its key, for servers that ask for one; NULL: none. */
    const char *certificate_pem, *certificate_key_pem;
    struct scorer *first; /* of the same worker, opened before, which lives as long; NULL: none */
    const char *job, *worker;
    int slot, gpus; /* gpus: of the whole worker */
    int64_t timeout_ms;
    const atomic_bool *ends; /* set from another thread: this worker is leaving now */
    scorer_log_line *log_line;
    scorer_waits *waits;
    void *context;
};

struct scorer_lease {
    int64_t epoch, lease, first; /* first: number of the lease's first cell */
    int try;
    json_t *work; /* what the input's kind leases: an object, or an array of lines (media.h) */
};

struct scorer_task {
    struct scorer_lease lease; /* its work is borrowed */
    /* The slot's likely next lease, also borrowed; the scorer may begin it. NULL: unknown. */
    const struct scorer_lease *ahead;
    struct staged_output *staged; /* receives the results' bytes; the caller closes it */
    struct failures *failures;    /* receives the failed items; the caller frees it */
    atomic_bool *dropped;         /* set from another thread: the lease is no longer wanted */
};

struct scorer_count {
    int64_t items, failed; /* items includes the failed ones */
    int64_t final;         /* of the failed ones: another try would fail, too (item.is_final) */
};

struct scorer_kind {
    const char *name; /* the field of spec.scorer */
    /* The scorer itself ends a lease after timeout_ms, even a dropped one. The coordinator's time
     * limit is later, and the worker need not watch the lease. */
    bool has_clock;
    /* It has more slots than it works for at a time: some leases wait in it for their turn. */
    bool has_spare_slots;
    /* The scorer passes the programs' output to `log_line`. */
    bool says;
    /* Reads the fields, loads the model if there is one, and checks that everything fits together.
     * Every message names the field. */
    int (*open)(const struct scorer_options *options, struct scorer **ret_scorer,
                struct error *err);
    /* Adds the files that the results depend on, as they were loaded: the spec's field, such as
     * "scorer.onnx.path", and the file's SHA-256 in hex. Called once. first: a scorer of the same
     * worker that has listed its files already; NULL: this is the first. */
    int (*files)(struct scorer *scorer, const struct scorer *first, json_t *files,
                 struct error *err);
    /* try_out looks only at the input: a run that goes on needs it no more. */
    bool tries_input;
    /* Checks without scoring, in the coordinator before any worker starts; errors as open. */
    int (*try_out)(struct scorer *scorer, struct error *err);
    /* Blocks until the scorer is ready for a lease. Must be called in the thread that will run the
     * scorer; this thread must live until the scorer is freed. CANCELLED if `ends` is set. */
    int (*start)(struct scorer *scorer, struct error *err);
    /* CANCELLED if the task was dropped or the worker leaves. On failure *ret_count is untouched,
     * except for `items`: the number of the lease's items, if known. */
    int (*run)(struct scorer *scorer, const struct scorer_task *task,
               struct scorer_count *ret_count, struct error *err);
    /* After each run, when its results are stored or given up: lets go of memory that was kept for
     * them. NULL: none was. */
    void (*let_go)(struct scorer *scorer);
    /* After a run that failed: true if no run of this worker can succeed any more; *err says why:
     * DENIED: nor one of another worker. NULL: never. */
    bool (*has_ended)(const struct scorer *scorer, struct error *err);
    /* What the scorers of this worker have cost so far (request_metrics.h); owned by the caller.
     * Any thread, of the first scorer. NULL: nothing that is counted. */
    json_t *(*metrics)(const struct scorer *scorer);
    /* The number of workers that share the job's limits. Any thread, of the first scorer. NULL:
     * there are no limits. */
    void (*share)(const struct scorer *scorer, int workers);
    void (*free)(struct scorer *scorer); /* in the scorer's thread, if it was started;
                                            accepts NULL */
};

extern const struct scorer_kind scorer_onnx;    /* reader -> preprocess -> network -> postprocess */
extern const struct scorer_kind scorer_command; /* a user's program (worker/command.h) */
extern const struct scorer_kind scorer_endpoint;       /* a model server (endpoint/pool.h) */
extern const struct scorer_kind *const scorer_kinds[]; /* agent/registry.c; ends with NULL */

/* The row whose field spec.scorer has. INVALID: none of the kinds that this program has. */
NODISCARD int scorer_find(const json_t *spec, const struct scorer_kind **ret_kind,
                          struct error *err);
/* How long a try may take by the scorer's own clocks; timeout_ms: spec.retry.timeoutSeconds. */
int64_t scorer_lease_ms(const json_t *spec, int64_t timeout_ms);
/* Whether an idle slot may run a slow lease a second time: false for scorers that cost money per
 * run. */
bool scorer_may_repeat(const json_t *spec);
/* At most one second run of a slow lease for each number of mini-batches that this returns, where
 * requests to a model server cost money; 0: no limit. */
int64_t scorer_cells_for_second_run(const json_t *spec);
/* The longest time in ms that a scorer may let a lease wait before it begins. */
int64_t scorer_wait_ms(const json_t *spec, int64_t timeout_ms);
int64_t scorer_init_ms(const json_t *spec); /* time limit for a program to report that it is
                                               ready */
/* The next item has failed: counts it, and adds its cause to the task's failures. */
NODISCARD int scorer_count_failure(const struct scorer_task *task, struct scorer_count *count,
                                   const char *cause, struct error *err);
/* Advice for an error about a mini-batch that is too large: "make spec.miniBatchSize smaller", or
 * the field that this input has instead. */
const char *scorer_size_hint(const json_t *spec);
