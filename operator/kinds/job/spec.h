/* spec.h: the part of the spec that all kinds of jobs share, read from JSON: names, images,
 * volumes, stores, deadlines; and the rules between these fields (rules.c), which crds/ has as CEL
 * with the same messages. Each kind's spec.h embeds a struct job_spec. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

enum {
    JOB_VOLUMES_MAX = 16,
    JOB_BYTES_MAX = 120 * 1024, /* of the JSON; the agent's part of it goes into one variable */
};

/* The time between SIGTERM and SIGKILL of a worker on this machine: it first ends the processes of
 * the user's programs. */
enum { JOB_STOP_GANG_MS = 10000 };

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

/* The controller's options. */
struct network_policy_options;
struct job_options {
    const struct network_policy_options *network_policy; /* NULL: jobs get none */
    const char *agent_image;                             /* for a spec without image */
    const char *trainer_image;                           /* the same, for a spec with a trainer */
    const char *trainer_gpu_image;                       /* the same, for a trainer with gpus */
    bool logs_json;      /* the agents log JSON, as the controller does (lib/log.h) */
    bool secret_files;   /* agents get tokens and keys as files (guard/pod_secrets.h) */
    const char *sandbox; /* WINDLASS_SANDBOX of the agents (docs/operate/decoding.md); NULL: auto */
    const json_t *policy;  /* what the administrator forbids (guard/job_policy.h); NULL: nothing */
    const json_t *folders; /* {volume: its folder} where jobs run on this machine; otherwise NULL */
};
struct schema;
/* The options of a kind that makes jobs of another kind. */
struct maker_options {
    const struct schema *made;      /* the other kind's definition */
    const struct job_options *jobs; /* NULL: the defaults */
};
#define JOB_AGENT_IMAGE "ghcr.io/windlass/windlass-agent:" WINDLASS_VERSION
#define JOB_TRAINER_IMAGE "ghcr.io/windlass/windlass-trainer:" WINDLASS_VERSION
#define JOB_TRAINER_GPU_IMAGE "ghcr.io/windlass/windlass-trainer-cuda:" WINDLASS_VERSION

/* Texts and trees are borrowed from the object. */
struct job_spec {
    const json_t *object; /* the object that it was read from */
    const char *name, *namespace;
    int64_t generation;
    const json_t *json;             /* the spec itself */
    const char *image;              /* the agent's; that of the options where not given */
    bool is_image_given;            /* image comes from the spec */
    bool is_image_older;            /* image is another controller's, which began the job */
    const json_t *stores, *buckets; /* arrays; buckets: NULL where not given */
    const char *service_account, *priority_class; /* NULL where not given */
    const json_t *image_pull_secrets, *template;  /* the same; template: for every pod */
    const char *sandbox;                          /* of the options */
    bool suspend, logs_json, secret_files;
    int64_t active_deadline_seconds;    /* 0: none */
    int64_t ttl_seconds_after_finished; /* -1: none, 0: at once */
    struct volume volumes[JOB_VOLUMES_MAX];
    size_t volume_count;
    char run[17];  /* set by the kind: the hash of the fields that decide the results */
    char hash[65]; /* of all fields but those that may change while the job runs: status.specHash */
};

/* Reads an object with defaults filled in that passed its kind's rules. The kind sets run and hash,
 * and also image where it has another meaning. options: NULL means JOB_AGENT_IMAGE. INVALID: too
 * large. Call job_spec_release in any case. */
NODISCARD int job_spec_read(const json_t *object, const struct job_options *options,
                            struct job_spec *ret_spec, struct error *err);
void job_spec_release(struct job_spec *spec);

/* The number at path, within 0..max: an object that bypassed the schema must not make us allocate
 * by its numbers. */
int job_bounded(const json_t *spec, const char *path, int fallback, int max);
/* The hash of {"template": ..., "a.b": ...} without the given fields (paths, NULL at the end). */
void job_hash(const json_t *spec, const char *const *mutable_fields, char ret_hash[static 65]);
/* RUN: 16 hexadecimal digits, the hash of the fields that decide the results. */
void job_run(const json_t *what, char ret_run[static 17]);
/* Whether `path` is the folder or is below it. */
bool job_lies_below(const char *path, const char *folder);
/* Whether a text of the tree contains "$(NAME)" or is a path NAME/... */
bool job_mentions(const json_t *tree, const char *name);
/* The same of a bucket's paths, s3://NAME/... and gs://NAME/... */
bool job_mentions_bucket(const json_t *tree, const char *name);
/* Adds to what RUN is made of the endpoints of the buckets that it mentions: the same bucket of
 * another server is another. Without an endpoint it has no new field. */
void job_add_endpoints(const json_t *buckets, json_t *what);

/* ---- a spec as JSON ---- */

/* The fields that define a volume, by enum volume_kind. */
extern const char *const job_volume_fields[];

/* The volume, store or bucket of a path (VOLUME/path/in/it, az://ACCOUNT/CONTAINER/path,
 * s3://BUCKET/path, gs://BUCKET/path), borrowed; NULL when it is not declared. */
const json_t *job_place(const json_t *spec, const char *path);
/* Whether a path is in a store or bucket, and so no folder of a pod. */
bool job_is_stored(const char *path);
/* The mount path of a volume in the pods; owned by the caller. */
char *job_mount_path(const json_t *volume);
/* The identity of that volume, different from every other volume's; owned by the caller.
 * folders: job_options'. */
json_t *job_volume_identity(const struct job_spec *spec, const struct volume *volume,
                            const json_t *folders);
/* WINDLASS_STORES or WINDLASS_BUCKETS, owned by the caller: spec.stores or spec.buckets without the
 * Secrets' names, which the agent does not need. */
char *job_stores(const json_t *list);

/* ---- rules.c: ERROR_INVALID and "spec.FIELD: a sentence" ---- */

/* Checks volumes, stores, and the service account that identities need. */
NODISCARD int job_check_volumes(const json_t *spec, struct error *err);
/* Checks a field that holds a path. */
NODISCARD int job_check_place(const json_t *spec, const char *field, const char *path,
                              struct error *err);
/* Checks that the spec has a place to write to; need says what must be there. */
NODISCARD int job_check_written(const json_t *spec, const char *field, const char *need,
                                struct error *err);
/* Checks the variables of a program. */
NODISCARD int job_check_environment(const json_t *spec, const char *field, struct error *err);
/* Whether a part of the path is "..". */
bool job_has_parent_part(const char *path);
/* The absolute path as the kernel reads it, without //, /./, /../ and a slash at its end; the
 * caller frees. */
char *job_plain_path(const char *path);
/* The secret that $(NAME) in the text of a variable or an argument stands for in our pods, which
 * Kubernetes would write out; NULL: none. $$(NAME) is not such a reference. */
const char *job_secret_in(const char *text);
/* Whether resources ask for GPUs, which have a separate field. */
bool job_asks_for_gpus(const json_t *resources);
/* The only one of the names that the object has; NULL when it has none or several. */
const char *job_only_one(const json_t *object, const char *const *names, size_t count);
NODISCARD int job_refuse(struct error *err, const char *field, const char *sentence);
