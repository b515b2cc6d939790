/* spec.h: a BatchScore's JSON -> struct, and the rules between its fields (rules.c). The only
 * parser of the kind. Types, bounds and most defaults are crds/batchscore.yaml's (schema.h); the
 * rules stand there too as CEL, word for word: tests/data/bad-manifests holds the two together.
 * Defaults that depend on another field (output.mode, output.appendRowFileName, miniBatchSize) are
 * here. */
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

enum output_mode { OUTPUT_PER_FILE, OUTPUT_APPEND_ROW, OUTPUT_SUMMARY_ONLY, OUTPUT_MODE_COUNT };

/* What the pods of one role ask for. NULL where not given. */
struct batchscore_role {
    const json_t *resources, *node_selector, *tolerations, *template;
};

/* What the controller was started with. */
struct batchscore_options {
    const char *agent_image; /* for a spec without image */
    const json_t *folders;   /* {volume: its folder}, where jobs run on this machine; else NULL */
};
#define BATCHSCORE_AGENT_IMAGE "ghcr.io/windlass/windlass-agent:" WINDLASS_VERSION

/* Texts and trees are borrowed from the object. */
struct batchscore_spec {
    const json_t *object; /* what it was read from */
    const char *name, *namespace;
    int64_t generation;
    const json_t *json; /* the spec itself */
    const char *output_path;
    const char *image;     /* the agent's; the options' where not given */
    const json_t *command; /* scorer.command; NULL: the scorer is onnx */
    const json_t *stores;  /* array */
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
    json_t *work;  /* what of it the agent reads (work.h); owned */
    char run[17];  /* work_run */
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

/* ---- of a spec as JSON ---- */

/* Every field that holds a path VOLUME/path/in/it or az://ACCOUNT/CONTAINER/path; ends with NULL.
 */
extern const char *const batchscore_path_fields[];
/* The fields of a volume that say what it is, by enum volume_kind. */
extern const char *const batchscore_volume_fields[];

/* The volume or store that a path lies in, borrowed; NULL when it is declared nowhere. */
const json_t *batchscore_place(const json_t *spec, const char *path);
/* Where a volume appears in the pods; owned by the caller. */
char *batchscore_mount_path(const json_t *volume);
/* As given, else what the input's kind makes of it. */
enum output_mode batchscore_mode(const json_t *spec);
/* The output lies where only one can create an object: what is taken for so until the coordinator
 * has looked. False for blobfuse. */
bool batchscore_excludes(const json_t *spec);
/* What its items are called: "frames", "files", "rows", "slices". */
const char *batchscore_unit(const json_t *spec);
