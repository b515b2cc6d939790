// SPDX-License-Identifier: Apache-2.0
/* The rules between the fields of a BatchScore: each stands in crds/batchscore.yaml as CEL, too, in
 * the same words. */
#include "operator/kinds/batchscore/spec.h"
#include "operator/kinds/batchscore/template.h"

#include <stdlib.h>
#include <string.h>

static bool has(const json_t *spec, const char *path) {
    return tree_get(spec, path) != NULL;
}

static int refuse(struct error *err, const char *field, const char *sentence) {
    return error_set(err, ERROR_INVALID, "spec.%s: %s", field, sentence);
}

static bool has_parent_part(const char *path) {
    for (const char *at = path; (at = strstr(at, "..")); at += 2) {
        bool starts = at == path || at[-1] == '/';
        if (starts && (at[2] == '/' || at[2] == 0)) {
            return true;
        }
    }
    return false;
}

/* The only one of them that is there; NULL when none or several are. */
static const char *only_one(const json_t *object, const char *const *names, size_t count) {
    const char *only = NULL;
    for (size_t i = 0; i < count; i++) {
        if (json_object_get(object, names[i])) {
            if (only) {
                return NULL;
            }
            only = names[i];
        }
    }
    return only;
}

/* ---- paths ---- */

static int check_place(const json_t *spec, const char *field, const char *path, struct error *err) {
    if (has_parent_part(path)) {
        return refuse(err, field, "a part .. is refused, a path stays in its volume");
    }
    const json_t *place = batchscore_place(spec, path);
    if (!place) {
        return refuse(
            err, field,
            "lies neither in a volume of spec.volumes nor in an account of spec.stores (a "
            "path is VOLUME/path/in/it or az://ACCOUNT/CONTAINER/path)");
    }
    if (json_object_get(place, "emptyDir")) {
        return refuse(err, field,
                      "lies in an emptyDir, of which every pod has its own; use a volume that all "
                      "pods see");
    }
    return 0;
}

static int check_paths(const json_t *spec, struct error *err) {
    for (const char *const *field = batchscore_path_fields; *field; field++) {
        const char *path = tree_text(spec, *field, NULL);
        if (path && check_place(spec, *field, path, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static bool lies_below(const char *path, const char *folder) {
    size_t length = strlen(folder);
    return text_starts(path, folder) && (path[length] == '/' || path[length] == 0);
}

/* Where something is written. */
static int check_written(const json_t *spec, const char *field, const char *what, const char *need,
                         struct error *err) {
    static const char *const inputs[] = {"input.files.path", "input.table.path", "input.npy.path"};
    const char *path = tree_text(spec, field, NULL);
    if (path && tree_bool(batchscore_place(spec, path), "readOnly", false)) {
        return error_set(err, ERROR_INVALID,
                         "spec.%s: lies in a %s with readOnly: true; %s that can be written", field,
                         text_starts(path, "az://") ? "store" : "volume", need);
    }
    for (size_t i = 0; i < ARRAY_LEN(inputs); i++) {
        const char *input = tree_text(spec, inputs[i], NULL);
        if (path && input && lies_below(path, input)) {
            return error_set(err, ERROR_INVALID,
                             "spec.%s: lies in the input folder, where %s would be taken for "
                             "inputs; choose a folder beside it",
                             field, what);
        }
    }
    return 0;
}

/* ---- input, scorer, output ---- */

static int check_input(const json_t *spec, struct error *err) {
    static const char *const kinds[] = {"video", "files", "table", "npy"};
    if (!only_one(json_object_get(spec, "input"), kinds, ARRAY_LEN(kinds))) {
        return refuse(err, "input", "exactly one of video, files, table and npy must be given");
    }
    const json_t *files = tree_get(spec, "input.files"), *table = tree_get(spec, "input.table");
    if (json_object_get(files, "manifest")) {
        if (strcmp(tree_text(files, "order", "Name"), "Name") != 0) {
            return refuse(err, "input.files.order",
                          "the order is that of the manifest's lines; take order out");
        }
        if (strcmp(tree_text(files, "pattern", "*"), "*") != 0) {
            return refuse(err, "input.files.pattern",
                          "the manifest names the files; take pattern out");
        }
    }
    if (json_object_get(table, "partitionKeys") && !tree_bool(table, "header", true) &&
        strcmp(tree_text(table, "format", "CSV"), "JSONLines") != 0) {
        return refuse(err, "input.table.partitionKeys",
                      "names columns, which need header: true or format: JSONLines");
    }
    return 0;
}

static bool is_variable(const char *name) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    return *name && strchr(letters, *name) &&
           name[strspn(name,
                       "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789-.")] == 0;
}

static int check_command(const json_t *spec, struct error *err) {
    if (!has(spec, "input.files") && !has(spec, "input.table")) {
        return refuse(err, "scorer.command",
                      "scores files and tables; for video and npy use scorer.onnx");
    }
    const char *name;
    json_t *ignored;
    json_object_foreach(tree_get(spec, "scorer.command.environment"), name, ignored) {
        if (!is_variable(name) || text_starts(name, "WINDLASS_") || strcmp(name, "POD_IP") == 0) {
            return refuse(err, "scorer.command.environment",
                          "has a name that is none for a variable (letters, digits, _ . -) or is "
                          "ours (POD_IP, WINDLASS_...)");
        }
        if (tree_find(json_object_get(spec, "volumes"), "name", name)) {
            return refuse(err, "scorer.command.environment",
                          "has a variable named as a volume, which holds that volume's folder; "
                          "give it another name");
        }
    }
    return 0;
}

/* What is for pictures. A spec with its defaults has preprocess, which then asks for nothing. */
static int check_npy(const json_t *onnx, struct error *err) {
    const json_t *given = json_object_get(onnx, "preprocess");
    if (json_object_get(given, "width") || json_object_get(given, "height") ||
        tree_integer(given, "multipleOf", 1) != 1 ||
        strcmp(tree_text(given, "color", "RGB"), "RGB") != 0 ||
        strcmp(tree_text(given, "range", "Byte"), "Byte") != 0) {
        return refuse(err, "scorer.onnx.preprocess",
                      "is for pictures, and slices of npy go to the network as they are; take it "
                      "out");
    }
    return strcmp(tree_text(onnx, "postprocess.type", "Image"), "Classes") == 0
               ? 0
               : refuse(err, "scorer.onnx.postprocess.type",
                        "Image makes pictures, and slices of npy are none; take type: Classes");
}

static int check_scorer(const json_t *spec, struct error *err) {
    static const char *const kinds[] = {"onnx", "command"};
    const json_t *scorer = json_object_get(spec, "scorer");
    const char *kind = only_one(scorer, kinds, ARRAY_LEN(kinds));
    if (!kind) {
        return refuse(err, "scorer", "exactly one of onnx and command must be given");
    }
    if (strcmp(kind, "command") == 0) {
        return check_command(spec, err);
    }
    const json_t *postprocess = tree_get(spec, "scorer.onnx.postprocess");
    if (has(spec, "input.npy") && check_npy(json_object_get(scorer, "onnx"), err) < 0) {
        return -1;
    }
    if (json_object_get(postprocess, "labels") &&
        strcmp(tree_text(postprocess, "type", ""), "Classes") != 0) {
        return refuse(err, "scorer.onnx.postprocess.labels", "labels belong to type: Classes");
    }
    return has(spec, "input.table")
               ? refuse(err, "scorer.onnx",
                        "scores video, files and npy; for a table use scorer.command")
               : 0;
}

static int check_mode(const json_t *spec, struct error *err) {
    enum output_mode mode = batchscore_mode(spec);
    if (mode == OUTPUT_PER_FILE && (has(spec, "input.table") || has(spec, "input.npy"))) {
        return refuse(err, "output.mode",
                      "PerFile is for video and files; for a table or npy take AppendRow or "
                      "SummaryOnly");
    }
    if (mode == OUTPUT_APPEND_ROW && has(spec, "scorer.onnx") &&
        strcmp(tree_text(spec, "scorer.onnx.postprocess.type", "Image"), "Classes") != 0) {
        return refuse(err, "output.mode",
                      "AppendRow joins rows of text, and type: Image makes pictures; take type: "
                      "Classes");
    }
    static const char *const taken[] = {"summary.json", "failed.jsonl", "mini_batches.csv",
                                        "workers.csv", "report.html"};
    const char *name = tree_text(spec, "output.appendRowFileName", NULL);
    if (name && mode != OUTPUT_APPEND_ROW) {
        return refuse(err, "output.appendRowFileName", "belongs to mode: AppendRow");
    }
    for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
        if (name && strcmp(name, taken[i]) == 0) {
            return refuse(err, "output.appendRowFileName",
                          "is the name of another output; choose another name");
        }
    }
    return 0;
}

static int check_mini_batch(const json_t *spec, struct error *err) {
    const json_t *size = json_object_get(spec, "miniBatchSize");
    const char *text = json_string_value(size);
    bool is_auto = text && strcmp(text, "auto") == 0;
    bool is_bytes = text && text_ends(text, "B");
    if (size && !is_auto && is_bytes != has(spec, "input.table")) {
        return refuse(err, "miniBatchSize",
                      "is bytes for a table (10MB), items for all else (10), or auto");
    }
    if (size && has(spec, "input.table.partitionKeys")) {
        return refuse(err, "miniBatchSize",
                      "is not for a table with partitionKeys, of which each key is a mini-batch; "
                      "take it out");
    }
    return 0;
}

static int check_start(const json_t *spec, struct error *err) {
    int ways = has(spec, "trigger") + has(spec, "schedule") +
               (strcmp(tree_text(spec, "rerun", "Never"), "OnChange") == 0);
    return ways > 1 ? error_set(err, ERROR_INVALID,
                                "spec: at most one of trigger, schedule and rerun: OnChange says "
                                "when runs start")
                    : 0;
}

/* ---- volumes and stores ---- */

static int check_blobfuse(const json_t *blobfuse, size_t index, struct error *err) {
    bool secret = json_object_get(blobfuse, "secretName") != NULL;
    bool identity = json_object_get(blobfuse, "clientID") != NULL;
    bool account = json_object_get(blobfuse, "account") != NULL;
    if (secret == identity) {
        return error_set(err, ERROR_INVALID,
                         "spec.volumes[%zu].blobfuse: exactly one of secretName and clientID must "
                         "be given",
                         index);
    }
    if (identity && !account) {
        return error_set(err, ERROR_INVALID,
                         "spec.volumes[%zu].blobfuse: account must be given with clientID", index);
    }
    if (secret && account) {
        return error_set(err, ERROR_INVALID,
                         "spec.volumes[%zu].blobfuse.account: is not read with secretName: the "
                         "Secret's azurestorageaccountname names it",
                         index);
    }
    if (secret && json_object_get(blobfuse, "resourceGroup")) {
        return error_set(err, ERROR_INVALID,
                         "spec.volumes[%zu].blobfuse.resourceGroup: belongs to clientID; with "
                         "secretName nobody asks for it",
                         index);
    }
    return 0;
}

static bool asks_for_gpus(const json_t *workers, const char *list) {
    return json_object_get(tree_get(workers, list), "nvidia.com/gpu") != NULL;
}

static int check_coordinator(const json_t *coordinator, struct error *err) {
    if (asks_for_gpus(coordinator, "resources.limits") ||
        asks_for_gpus(coordinator, "resources.requests")) {
        return error_set(err, ERROR_INVALID,
                         "spec.coordinator.resources: the coordinator uses no GPU; take "
                         "nvidia.com/gpu out");
    }
    return 0;
}

static int check_volume(const json_t *volume, size_t index, struct error *err) {
    if (!only_one(volume, batchscore_volume_fields, VOLUME_KIND_COUNT)) {
        return error_set(err, ERROR_INVALID,
                         "spec.volumes[%zu]: exactly one of persistentVolumeClaim, blobfuse, "
                         "azureFile, nfs, hostPath and emptyDir must be given",
                         index);
    }
    static const char *const paths[] = {"mountPath", "hostPath.path", "nfs.path"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        if (has_parent_part(tree_text(volume, paths[i], ""))) {
            return error_set(err, ERROR_INVALID, "spec.volumes[%zu].%s: a part .. is refused",
                             index, paths[i]);
        }
    }
    if (text_starts(tree_text(volume, "name", ""), "windlass-")) {
        return error_set(err, ERROR_INVALID,
                         "spec.volumes[%zu].name: names that begin with windlass- are ours; choose "
                         "another",
                         index);
    }
    if (lies_below(tree_text(volume, "mountPath", ""), "/windlass")) {
        return error_set(err, ERROR_INVALID,
                         "spec.volumes[%zu].mountPath: lies in /windlass, where our own files are; "
                         "choose another",
                         index);
    }
    const json_t *blobfuse = json_object_get(volume, "blobfuse");
    return blobfuse ? check_blobfuse(blobfuse, index, err) : 0;
}

static int check_volumes(const json_t *volumes, struct error *err) {
    for (size_t i = 0; i < json_array_size(volumes); i++) {
        const json_t *volume = json_array_get(volumes, i);
        if (check_volume(volume, i, err) < 0) {
            return -1;
        }
        AUTO(text_freep) char *mount = batchscore_mount_path(volume);
        for (size_t k = 0; k < i; k++) {
            AUTO(text_freep) char *other = batchscore_mount_path(json_array_get(volumes, k));
            if (strcmp(mount, other) == 0) {
                return error_set(err, ERROR_INVALID,
                                 "spec.volumes: two volumes have the same mountPath");
            }
        }
    }
    return 0;
}

static int check_stores(const json_t *stores, struct error *err) {
    for (size_t i = 0; i < json_array_size(stores); i++) {
        const json_t *store = json_array_get(stores, i);
        if (!json_object_get(store, "secretName") == !json_object_get(store, "clientID")) {
            return error_set(err, ERROR_INVALID,
                             "spec.stores[%zu]: exactly one of secretName and clientID must be "
                             "given",
                             i);
        }
    }
    return 0;
}

static int check_identity(const json_t *spec, struct error *err) {
    static const char *const places[][2] = {{"volumes", "blobfuse.clientID"},
                                            {"stores", "clientID"}};
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        const json_t *list = json_object_get(spec, places[i][0]);
        for (size_t k = 0; k < json_array_size(list); k++) {
            if (tree_get(json_array_get(list, k), places[i][1]) &&
                !json_object_get(spec, "serviceAccountName")) {
                return refuse(err, "serviceAccountName",
                              "must be given for a volume or store with clientID, the service "
                              "account that the identity is federated with");
            }
        }
    }
    return 0;
}

static int check_workers(const json_t *workers, struct error *err) {
    if (tree_integer(workers, "min", 0) > tree_integer(workers, "max", 0)) {
        return error_set(err, ERROR_INVALID,
                         "spec.workers.min: is more than workers.max; raise max or lower min");
    }
    if (asks_for_gpus(workers, "resources.limits") ||
        asks_for_gpus(workers, "resources.requests")) {
        return error_set(err, ERROR_INVALID,
                         "spec.workers.resources: nvidia.com/gpu is set by workers.gpus; take it "
                         "out of resources");
    }
    return 0;
}

int batchscore_check(const json_t *object, struct error *err) {
    static int (*const rules[])(const json_t *spec, struct error *err) = {
        check_input,      check_scorer, check_paths,   check_mode,
        check_mini_batch, check_start,  check_identity};
    const json_t *spec = json_object_get(object, "spec");
    if (check_workers(json_object_get(spec, "workers"), err) < 0 ||
        check_coordinator(json_object_get(spec, "coordinator"), err) < 0 ||
        check_volumes(json_object_get(spec, "volumes"), err) < 0 ||
        check_stores(json_object_get(spec, "stores"), err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        if (rules[i](spec, err) < 0) {
            return -1;
        }
    }
    if (check_written(spec, "output.path", "results", "outputs need one", err) < 0 ||
        check_written(spec, "logs.path", "logs", "logs need one", err) < 0) {
        return -1;
    }
    return template_check(spec, err);
}
