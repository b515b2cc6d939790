/* job.h: the contract with the operator, as docs/pod-contract.md has it: what a pod gets in its
 * environment, how it is stopped, and what it leaves behind. For the coordinator and the workers of
 * a BatchScore. */
#pragma once

#include "lib/contract.h"
#include "lib/error.h"
#include "lib/tree.h"

enum job_role { JOB_COORDINATOR, JOB_WORKER };

/* Texts are borrowed from the environment or from spec, except the secrets: these are owned, and
 * job_read removes them from the environment (getenv, /proc/PID/environ). */
struct job {
    const char *name, *run; /* WINDLASS_JOB, WINDLASS_RUN (16 hexadecimal digits) */
    const char *worker;     /* WINDLASS_WORKER: this pod's name */
    char *token;            /* WINDLASS_TOKEN: never logged */
    char *read_token; /* coordinator only: WINDLASS_READ_TOKEN, which GET /progress wants; NULL: the
                         controller is older, and it wants none */
    const char *uid, *bind, *certificate_pem; /* coordinator only; uid: the resource's */
    const char *restart; /* coordinator only: WINDLASS_RESTART: the restart text; an output begun
                            under another one is discarded and made again; "": keep */
    char *key_pem;       /* coordinator only: WINDLASS_TLS_KEY */
    char
        *signing_key_pem; /* coordinator only: WINDLASS_SIGNING_KEY; NULL: results are not signed */
    char *query_connection; /* coordinator only: WINDLASS_QUERY_CONNECTION, of
                               input.table.query; NULL: none */
    /* Coordinator only, for result.json; owned; NULL: not given. WINDLASS_MANIFEST: the resource
     * as it was accepted, without values of variables; WINDLASS_IMAGES: role -> image, of pods. */
    json_t *manifest, *images;
    const char *coordinator, *sha256; /* worker only */
    const char *events; /* worker only, of spot machines: WINDLASS_EVENTS; NULL: no notices */
    /* Worker only: how many before it have died in a row, and how many are too many: "9/10"
     * (WINDLASS_DEATHS), and how the last one ended (WINDLASS_BEFORE); NULL: none has. Coordinator
     * only, owned: the slots that are retired (WINDLASS_RETIRED; retired.h); NULL: none. */
    const char *deaths, *before;
    json_t *retired;
    char *endpoint_key; /* worker only: WINDLASS_ENDPOINT_KEY; NULL: none */
    /* Worker only, PEM: WINDLASS_ENDPOINT_TLS_CERTIFICATE, _TLS_KEY; NULL: none. */
    char *endpoint_certificate_pem, *endpoint_certificate_key_pem;
    int gpus;     /* worker only: WINDLASS_GPUS; 0: none */
    json_t *spec; /* owned; WINDLASS_SPEC with defaults filled in */
    /* read from spec */
    const char *output; /* VOLUME/path */
    /* Items of a cell (ledger.h): miniBatchSize; with is_auto 1; of a table 1, too, since each of
     * its lines is a mini-batch (input.h). */
    int64_t batch_items;
    bool is_auto; /* spec.miniBatchSize is auto: a lease has as many cells as fit */
    int max_tries;
    int64_t timeout_ms;
    int slots; /* leases that a worker scores at the same time: processesPerWorker; of a network,
                  its GPUs */
    /* The job fails if more items, or more mini-batches with failed items, have failed; -1: never.
     */
    int64_t errors_max, cell_errors_max;
    double cell_errors_percent; /* as cell_errors_max, in % of all mini-batches; < 0: never */
};

/* Fails with INVALID and a line that names the variable or the field. */
NODISCARD int job_read(enum job_role role, struct job *ret_job, struct error *err);
void job_release(struct job *job);
/* How many requests a worker may have in flight: spec.scorer.endpoint. 1 or more. */
int64_t job_in_flight(const json_t *spec);
/* Replaces the mini-batch size by that of another spec: {"miniBatchSize"} or {"miniBatchBytes"}.
 * INVALID: it has none. */
NODISCARD int job_set_size(struct job *job, const json_t *size, struct error *err);
/* WINDLASS_SPEC alone; the caller owns *ret_spec. INVALID: not JSON, or a field is missing that has
 * a default in crds/batchscore.yaml (the operator fills in all defaults). */
NODISCARD int job_read_spec(json_t **ret_spec, struct error *err);

/* From here on SIGTERM and SIGINT only set a flag. */
void job_catch_signals(void);
bool job_is_interrupted(void);

/* Leaves the termination message: WINDLASS_TERMINATION_LOG, else /dev/termination-log if it exists.
 * Kubernetes keeps CONTRACT_TERMINATION_MESSAGE_MAX bytes of it. A failure is logged and otherwise
 * ignored. A later call replaces the message, so a process may leave one while it runs, for the
 * case that it is killed: with "progress", the number of things that it has made durable, its death
 * starts the count of deaths anew (operator/kinds/job/pod_phase.h). At most every JOB_LEAVE_MS, it
 * is a file of the node's disk. */
enum { JOB_LEAVE_MS = 1000 };
void job_write_termination_message(const char *text);
