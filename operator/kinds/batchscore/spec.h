/* spec.h: a BatchScore's JSON -> struct, and the rules between its fields (rules.c). The only
 * parser of the kind. Types, bounds and most defaults are crds/batchscore.yaml's (schema.h); the
 * rules stand there too as CEL, word for word: tests/data/bad-manifests holds the two together.
 * Defaults that depend on another field (output.mode, output.appendRowFileName, miniBatchSize) are
 * here. */
#pragma once

#include "operator/kinds/job/spec.h"

enum {
    SPEC_WORKERS_MAX = 1024, /* the schema's maximum is 1000; windlass run --workers may say more */
};

enum output_mode { OUTPUT_PER_FILE, OUTPUT_APPEND_ROW, OUTPUT_SUMMARY_ONLY, OUTPUT_MODE_COUNT };

/* What the pods of one role ask for. NULL where not given. */
struct batchscore_role {
    const json_t *resources, *node_selector, *tolerations, *template;
};

/* Texts and trees are borrowed from the object. */
struct batchscore_spec {
    struct job_spec job;
    const char *output_path;
    const json_t *command; /* scorer.command; NULL: the scorer is onnx */
    int workers_min, workers_max, gpus;
    bool spot;
    struct batchscore_role workers, coordinator;
    json_t *work; /* what of it the agent reads (work.h); owned */
};

/* Only the rules between fields, for an object that passed schema_check. ERROR_INVALID and
 * "spec.workers: min is more than max...". */
NODISCARD int batchscore_check(const json_t *object, struct error *err);

/* Reads an object with defaults filled in; checks the rules, too. options: NULL is
 * JOB_AGENT_IMAGE. Release in any case. */
NODISCARD int batchscore_spec_read(const json_t *object, const struct job_options *options,
                                   struct batchscore_spec *ret_spec, struct error *err);
void batchscore_spec_release(struct batchscore_spec *spec); /* for AUTO, too */

/* NULL when the spec declares no such volume. */
const struct volume *batchscore_spec_volume(const struct batchscore_spec *spec, const char *name);

/* ---- of a spec as JSON ---- */

/* Every field that holds a path VOLUME/path/in/it or az://ACCOUNT/CONTAINER/path; ends with NULL.
 */
extern const char *const batchscore_path_fields[];
/* As given, else what the input's kind makes of it. */
enum output_mode batchscore_mode(const json_t *spec);
/* The output lies where only one can create an object: what is taken for so until the coordinator
 * has looked. False for blobfuse. */
bool batchscore_excludes(const json_t *spec);
/* What its items are called: "frames", "files", "rows", "slices". */
const char *batchscore_unit(const json_t *spec);
