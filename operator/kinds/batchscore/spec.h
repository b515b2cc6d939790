/* spec.h: a BatchScore's JSON -> struct, and the rules between its fields. The only parser of the
 * kind. Types, bounds and defaults are crds/batchscore.yaml's (schema.h); the rules here stand
 * there too as CEL, word for word: tests/data/bad-manifests holds the two together. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

enum {
    SPEC_VOLUMES_MAX = 16,
    SPEC_WORKERS_MAX = 1024, /* the schema's maximum is 1000; windlass run --workers may say more */
    SPEC_BYTES_MAX = 120 * 1024, /* of the JSON; what the agent reads goes into one variable */
};

enum volume_kind {
    VOLUME_PERSISTENT_VOLUME_CLAIM,
    VOLUME_BLOBFUSE,
    VOLUME_AZURE_FILE,
    VOLUME_NFS,
    VOLUME_HOST_PATH,
    VOLUME_EMPTY_DIR,
    VOLUME_KIND_COUNT
};

struct volume {
    const char *name;
    char *mount_path; /* default /mnt/NAME */
    bool read_only;
    enum volume_kind kind;
    const json_t *source; /* the fields of its kind: {"claimName": ...}, {"path": ...} */
};

/* What the pods of one role ask for. NULL where not given. */
struct batchscore_role {
    const json_t *resources, *node_selector, *tolerations, *template;
};

/* What the controller was started with. */
struct batchscore_options {
    const char *agent_image; /* for a spec without image */
};
#define BATCHSCORE_AGENT_IMAGE "ghcr.io/windlass/windlass-agent:" WINDLASS_VERSION

/* Texts and trees are borrowed from the object. */
struct batchscore_spec {
    const json_t *object; /* what it was read from */
    const char *name, *namespace;
    int64_t generation;
    const json_t *json; /* the spec itself */
    const char *output_path;
    const char *image;   /* the options' where not given */
    int mini_batch_size; /* items */
    int max_tries, timeout_seconds;
    int workers_min, workers_max, gpus;
    bool spot;
    struct batchscore_role workers, coordinator;
    const char *service_account, *priority_class; /* NULL where not given */
    const json_t *image_pull_secrets, *template;  /* the same; template: of every pod */
    bool suspend;
    int64_t active_deadline_seconds;    /* 0: none */
    int64_t ttl_seconds_after_finished; /* -1: none, 0: at once */
    struct volume volumes[SPEC_VOLUMES_MAX];
    size_t volume_count;
    char run[17];  /* hash of input, scorer, mini-batch size and output */
    char hash[65]; /* of all but what may change while the job runs: status.specHash */
};

/* Only the rules between fields, for an object that passed schema_check. ERROR_INVALID and
 * "spec.workers: min is more than max...". */
NODISCARD int batchscore_check(const json_t *object, struct error *err);

/* Reads an object with defaults filled in; checks the rules, too. options: NULL is
 * BATCHSCORE_AGENT_IMAGE. Release in any case. */
NODISCARD int batchscore_spec_read(const json_t *object, const struct batchscore_options *options,
                                   struct batchscore_spec *ret_spec, struct error *err);
void batchscore_spec_release(struct batchscore_spec *spec); /* for AUTO, too */

/* NULL when the spec declares no such volume. */
const struct volume *batchscore_spec_volume(const struct batchscore_spec *spec, const char *name);
