/* spec.h: a BatchScore's JSON -> struct, and the rules between its fields (rules.c). The only
 * parser of the kind. Types, bounds and most defaults come from crds/batchscore.yaml (schema.h).
 * That file has the same rules as CEL with the same messages; tests/data/bad-manifests compares the
 * two. Defaults that depend on another field (output.mode, output.appendRowFileName, miniBatchSize)
 * are here. */
#pragma once

#include "operator/kinds/job/spec.h"

enum {
    SPEC_WORKERS_MAX = 1024, /* the schema's maximum is 1000; windlass run --workers allows more */
};

enum output_mode { OUTPUT_PER_FILE, OUTPUT_APPEND_ROW, OUTPUT_SUMMARY_ONLY, OUTPUT_MODE_COUNT };

/* The pods' settings of one role. NULL where not given. */
struct batchscore_role {
    const json_t *resources, *node_selector, *tolerations, *template;
};

/* Texts and trees are borrowed from the object. */
struct batchscore_spec {
    struct job_spec job;
    const char *output_path;
    const json_t *command; /* scorer.command; NULL: the scorer is onnx */
    const char *queue;     /* of Kueue; NULL: none */
    int workers_min, workers_max, gpus;
    bool spot;
    struct batchscore_role workers, coordinator;
    json_t *work; /* the agent's part of the spec (work.h); owned */
};

/* Checks only the rules between fields, for an object that passed schema_check. ERROR_INVALID and
 * "spec.workers: min is more than max...". */
NODISCARD int batchscore_check(const json_t *object, struct error *err);

/* Reads an object with defaults filled in, and checks the rules. options: NULL means
 * JOB_AGENT_IMAGE. Call batchscore_spec_release in any case. */
NODISCARD int batchscore_spec_read(const json_t *object, const struct job_options *options,
                                   struct batchscore_spec *ret_spec, struct error *err);
void batchscore_spec_release(struct batchscore_spec *spec); /* for AUTO, too */

/* ---- a spec as JSON ---- */

/* Every field that holds a path VOLUME/path/in/it, az://ACCOUNT/CONTAINER/path, s3://BUCKET/path or
 * gs://BUCKET/path; ends with NULL. */
extern const char *const batchscore_path_fields[];
/* The mode as given, or the default for the input's kind. */
enum output_mode batchscore_mode(const json_t *spec);
/* Whether the output's storage is known to create objects exclusively before the coordinator has
 * tried it: az:// is, and s3:// and gs://, which are refused where it does not. What a volume can
 * do depends on what a claim is bound to (blobfuse, SMB). */
bool batchscore_excludes(const json_t *spec);
/* The unit of its items: "frames", "files", "rows", "slices". */
const char *batchscore_unit(const json_t *spec);

/* The fields that may change while a job runs; ends with NULL. */
extern const char *const batchscore_mutable_fields[];
/* Those that may change in addition while it is suspended; ends with NULL. */
extern const char *const batchscore_suspended_fields[];
/* Refuses a change of those. before: the accepted spec; after: the object with another one. Where
 * there were no GPUs there are none then: results and images are others. */
NODISCARD int batchscore_check_change(const json_t *before, const json_t *after, struct error *err);
