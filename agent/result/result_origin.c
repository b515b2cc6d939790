// SPDX-License-Identifier: Apache-2.0
#include "agent/result/result_origin.h"

#include "agent/result/result_folder.h"
#include "lib/digest.h"
#include "lib/secret.h"
#include "lib/time/clock.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { TREE_BYTES_MAX = 128 << 10 };

void result_origin_add_manifest(json_t *result, json_t *manifest) {
    if (!manifest) {
        return;
    }
    AUTO(text_freep) char *text = tree_canonical(manifest);
    char hex[65];
    digest_sha256(text, strlen(text), hex);
    json_object_set(result, "apiVersion", json_object_get(manifest, "apiVersion"));
    json_object_set(result, "namespace", tree_get(manifest, "metadata.namespace"));
    json_object_set(result, "manifest", manifest);
    json_object_set_new(result, "manifestSHA256", json_string(hex));
}

void result_origin_add_program(json_t *result) {
    char hex[65];
    bool is_known = digest_program(hex);
    json_object_set_new(
        result, "program",
        json_pack("{s:s, s:s*}", "version", WINDLASS_VERSION, "sha256", is_known ? hex : NULL));
}

void result_origin_add_apart(json_t *result, const char *output, const char *path) {
    size_t length = strlen(output);
    json_t *list = tree_ensure_list(result, "excluded");
    if (text_starts(path, output) && path[length] == '/' && path[length + 1]) {
        json_array_append_new(list, json_string(path + length + 1));
    }
}

/* ---- DistTrains ----------------------------------------------------------------------------- */

struct result_origin {
    char *job, *uid, *run;
    json_t *manifest, *images;
    struct signature_key *key; /* NULL: results are not signed */
    atomic_int users;
};

static int read_tree(const char *name, json_t **ret_tree, struct error *err) {
    const char *text = getenv(name);
    return text && *text && tree_parse(text, strlen(text), TREE_BYTES_MAX, ret_tree, err) < 0
               ? error_context(err, "the environment variable %s", name)
               : 0;
}

static char *read_text(const char *name) {
    const char *text = getenv(name);
    return x_strdup(text ? text : "");
}

/* Programs of users run beside this process: the key leaves the environment at once. */
static int take_key(struct result_origin *origin, struct error *err) {
    AUTO(secret_forget) char *pem = NULL;
    return secret_take("WINDLASS_SIGNING_KEY", &pem, err) < 0
               ? -1
               : result_key_read(origin->manifest, pem, &origin->key, err);
}

int result_origin_new(struct result_origin **ret_origin, struct error *err) {
    struct result_origin *origin = x_calloc(1, sizeof *origin);
    atomic_store(&origin->users, 1);
    origin->job = read_text("WINDLASS_JOB");
    origin->uid = read_text("WINDLASS_UID");
    origin->run = read_text("WINDLASS_RUN");
    bool is_local = getenv("WINDLASS_FOLDER") != NULL; /* the pods' images are not used there */
    if (read_tree("WINDLASS_MANIFEST", &origin->manifest, err) < 0 || take_key(origin, err) < 0 ||
        (!is_local && read_tree("WINDLASS_IMAGES", &origin->images, err) < 0)) {
        result_origin_free(origin);
        return -1;
    }
    *ret_origin = origin;
    return 0;
}

struct result_origin *result_origin_hold(struct result_origin *origin) {
    if (origin) {
        atomic_fetch_add(&origin->users, 1);
    }
    return origin;
}

void result_origin_free(struct result_origin *origin) {
    if (origin && atomic_fetch_sub(&origin->users, 1) == 1) {
        free(origin->job);
        free(origin->uid);
        free(origin->run);
        json_decref(origin->manifest);
        json_decref(origin->images);
        signature_key_free(origin->key);
        free(origin);
    }
}

void result_origin_freep(struct result_origin **origin) {
    result_origin_free(TAKE(*origin));
}

static json_t *result_of(const struct result_origin *origin, const char *kind, const char *run) {
    json_t *result = json_pack("{s:i, s:s, s:s, s:s, s:s}", "windlass", RESULT_FORMAT, "kind", kind,
                               "name", origin->job, "uid", origin->uid, "run", run);
    result_origin_add_manifest(result, origin->manifest);
    result_origin_add_program(result);
    json_object_set(result, "images", origin->images);
    return result;
}

static void add_completed(json_t *result) {
    char completed[21];
    clock_format(clock_wall_ms(), completed);
    json_object_set_new(result, "completed", json_string(completed));
}

json_t *result_origin_end(json_t *proof_new) {
    json_t *end = json_pack("{s:o}", "proof", proof_new);
    add_completed(end);
    return end;
}

/* ---- of a training -------------------------------------------------------------------------- */

/* What ranks go on writing: logs and TensorBoard's curves (train/record/events.h); and what a
 * registry adds to a copy (store/registered.h). */
static void add_training_apart(const struct result_origin *origin, const char *path,
                               json_t *result) {
    static const char *const fields[] = {"spec.logs.path", "spec.metrics.file"};
    static const char *const names[] = {"logs", "events.out.tfevents.0.windlass", "metadata.json"};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        result_origin_add_apart(result, path, tree_text(origin->manifest, fields[i], ""));
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        json_array_append_new(json_object_get(result, "excluded"), json_string(names[i]));
    }
}

static json_t *training_json(const struct result_origin *origin, const char *path,
                             const struct finished *finished, json_t *proof) {
    json_t *result = result_of(origin, RESULT_DISTTRAIN, finished->run);
    json_object_set(result, "proof", proof);
    json_object_set_new(result, "generation", json_integer(finished->generation));
    json_object_set_new(result, "input",
                        json_pack("{s:s, s:s*}", "settingsSHA256", finished->settings, "changed",
                                  *finished->changed ? finished->changed : NULL));
    json_t *counts = json_pack("{s:I, s:I}", "steps", (json_int_t)finished->step, "epochs",
                               (json_int_t)finished->epochs);
    if (finished->bad_samples > 0) {
        json_object_set_new(counts, "badSamples", json_integer(finished->bad_samples));
    }
    json_object_set_new(result, "counts", counts);
    json_object_set_new(result, "completed", json_string(finished->at));
    json_t *outputs = json_array();
    for (size_t i = 0; i < finished->count; i++) {
        const struct finished_object *object = &finished->objects[i];
        json_array_append_new(outputs,
                              result_file_entry(object->name, object->size_bytes, object->sha256));
    }
    json_object_set_new(result, "outputs", outputs);
    json_object_set_new(result, "reports", json_array());
    add_training_apart(origin, path, result);
    return result;
}

/* What the spec's paths led to (train/trainer_kept.h); a training of an earlier release, and one
 * with plain paths, has no such object. */
static int add_paths(struct store *output, const struct finished *finished, json_t *result,
                     struct error *err) {
    AUTO(text_freep) char *name = x_printf(".windlass/%s/paths.json", finished->run);
    AUTO(buffer_release) struct buffer text;
    AUTO(tree_freep) json_t *begun = NULL;
    struct error cause = {0};
    buffer_init(&text, TREE_BYTES_MAX);
    if (store_get(output, name, &text, NULL, &cause) < 0) {
        return cause.kind == ERROR_NOT_FOUND ? 0 : error_set(err, cause.kind, "%s", cause.text);
    }
    if (tree_parse(text.data ? text.data : "", text.size, TREE_BYTES_MAX, &begun, err) < 0) {
        return error_context(err, "%s/%s", store_path(output), name);
    }
    json_object_set(result, "paths", json_object_get(begun, "paths"));
    return 0;
}

int result_origin_write_training(const struct result_origin *origin, struct store *output,
                                 const struct finished *finished, json_t *proof,
                                 char ret_sha256[static 65], struct error *err) {
    AUTO(tree_freep)
    json_t *result = training_json(origin, store_path(output), finished, proof);
    return add_paths(output, finished, result, err) < 0
               ? -1
               : result_write(output, result, origin->key, ret_sha256, err);
}

/* ---- of a command --------------------------------------------------------------------------- */

int result_origin_write_command(const struct result_origin *origin, struct store *output,
                                const char *const *others, const json_t *end,
                                char ret_sha256[static 65], struct error *err) {
    AUTO(tree_freep) json_t *result = result_of(origin, RESULT_DISTTRAIN, origin->run);
    json_object_set(result, "proof", json_object_get(end, "proof"));
    json_object_set(result, "completed", json_object_get(end, "completed"));
    result_origin_add_apart(result, store_path(output),
                            tree_text(origin->manifest, "spec.logs.path", ""));
    for (; *others; others++) {
        result_origin_add_apart(result, store_path(output), *others);
    }
    return result_folder_write(output, result, origin->key, ret_sha256, err) < 0
               ? -1
               : tree_integer(result, "list.files", 0) == 0;
}

/* ---- of a Sweep ----------------------------------------------------------------------------- */

int result_origin_write_sweep(const struct result_origin *origin, struct store *version,
                              const char *name, json_t *sweep, char ret_sha256[static 65],
                              struct error *err) {
    AUTO(tree_freep) json_t *result = result_of(origin, RESULT_SWEEP, name);
    json_object_set(result, "sweep", sweep);
    add_completed(result);
    return result_folder_write(version, result, origin->key, ret_sha256, err);
}
