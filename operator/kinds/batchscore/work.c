// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/work.h"

#include "lib/digest.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_NAME "rows.txt"
enum { MINI_BATCH_ITEMS = 10, MINI_BATCH_BYTES = 1 << 20 };

const char *const work_modes[] = {"PerFile", "AppendRow", "SummaryOnly"};
static_assert(ARRAY_LEN(work_modes) == OUTPUT_MODE_COUNT, "one name per mode");

/* "10MB" -> 10485760; the schema has bounded the digits. */
static int64_t bytes_of(const char *text) {
    static const char units[] = "KMG";
    char *end;
    int64_t number = strtol(text, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    return unit ? number << (10 * (unit - units + 1)) : number;
}

static void put_size(json_t *work, const json_t *spec) {
    const json_t *size = json_object_get(spec, "miniBatchSize");
    const char *text = json_string_value(size);
    if (tree_get(spec, "input.table.partitionKeys")) {
        return;
    }
    if (text && strcmp(text, "auto") == 0) {
        json_object_set_new(work, "miniBatchSize", json_string("auto"));
    } else if (tree_get(spec, "input.table")) {
        json_object_set_new(work, "miniBatchBytes",
                            json_integer(text ? bytes_of(text) : MINI_BATCH_BYTES));
    } else { /* "8" and 8 are the same */
        int64_t items = text   ? strtol(text, NULL, 10)
                        : size ? json_integer_value(size)
                               : MINI_BATCH_ITEMS;
        json_object_set_new(work, "miniBatchSize", json_integer(MAX(MIN(items, 100000), 1)));
    }
}

static json_t *output_of(const json_t *spec) {
    json_t *output = json_deep_copy(json_object_get(spec, "output"));
    enum output_mode mode = batchscore_mode(spec);
    json_object_set_new(output, "mode", json_string(work_modes[mode]));
    if (mode == OUTPUT_APPEND_ROW && !json_object_get(output, "appendRowFileName")) {
        json_object_set_new(output, "appendRowFileName", json_string(ROWS_NAME));
    }
    return output;
}

char *work_stores(const json_t *spec) {
    AUTO(tree_freep) json_t *stores = json_deep_copy(json_object_get(spec, "stores"));
    for (size_t i = 0; i < json_array_size(stores); i++) {
        json_object_del(json_array_get(stores, i), "secretName");
    }
    return tree_canonical(stores);
}

json_t *work_of(const json_t *spec) {
    static const char *const copied[] = {
        "input", "scorer", "retry", "errorThreshold", "miniBatchErrorThreshold", "logs", "trigger"};
    json_t *work = json_object();
    for (size_t i = 0; i < ARRAY_LEN(copied); i++) {
        json_object_set(work, copied[i], json_object_get(spec, copied[i]));
    }
    json_object_set_new(work, "output", output_of(spec));
    put_size(work, spec);
    return work;
}

/* ---- RUN ---- */

/* By which fields a volume of that kind is told from another. Names of claims and Secrets mean
 * something in their namespace alone. */
static const struct {
    const char *fields[3];
    bool in_namespace;
} identities[] = {
    [VOLUME_PERSISTENT_VOLUME_CLAIM] = {{"claimName"}, true},
    [VOLUME_BLOBFUSE] = {{"account", "container", "secretName"}, true},
    [VOLUME_AZURE_FILE] = {{"shareName", "secretName"}, true},
    [VOLUME_NFS] = {{"server", "path"}, false},
    [VOLUME_HOST_PATH] = {{"path"}, false},
    [VOLUME_EMPTY_DIR] = {{NULL}, false},
};
static_assert(ARRAY_LEN(identities) == VOLUME_KIND_COUNT, "one row per kind of volume");

static json_t *identity_of(const struct batchscore_spec *spec, const struct volume *volume,
                           const json_t *folders) {
    json_t *folder = json_object_get(folders, volume->name);
    if (folder) {
        return json_pack("{s:O}", "folder", folder);
    }
    json_t *identity = json_pack("{s:s}", "kind", batchscore_volume_fields[volume->kind]);
    for (size_t i = 0; i < ARRAY_LEN(identities[0].fields); i++) {
        const char *field = identities[volume->kind].fields[i];
        json_t *value = field ? json_object_get(volume->source, field) : NULL;
        if (value) {
            json_object_set(identity, field, value);
        }
    }
    if (identities[volume->kind].in_namespace && !json_object_get(volume->source, "clientID")) {
        json_object_set_new(identity, "namespace", json_string(spec->namespace));
    }
    return identity;
}

/* "$(NAME)" stands in a text of the tree. */
static bool mentions(const json_t *tree, const char *reference) {
    const char *key;
    json_t *child;
    json_object_foreach((json_t *)tree, key, child) {
        if (mentions(child, reference)) {
            return true;
        }
    }
    for (size_t i = 0; i < json_array_size(tree); i++) {
        if (mentions(json_array_get(tree, i), reference)) {
            return true;
        }
    }
    return json_is_string(tree) && strstr(json_string_value(tree), reference);
}

/* The volume holds something that the results come from, or the results. */
static bool is_named(const struct batchscore_spec *spec, const struct volume *volume) {
    static const char *const parts[] = {"input.", "scorer.", "output."};
    for (const char *const *field = batchscore_path_fields; *field; field++) {
        const char *path = tree_text(spec->json, *field, NULL);
        for (size_t i = 0; path && i < ARRAY_LEN(parts); i++) {
            const json_t *place =
                text_starts(*field, parts[i]) ? batchscore_place(spec->json, path) : NULL;
            if (place && strcmp(tree_text(place, "name", ""), volume->name) == 0) {
                return true;
            }
        }
    }
    AUTO(text_freep) char *reference = x_printf("$(%s)", volume->name);
    return mentions(spec->command, reference);
}

void work_run(const struct batchscore_spec *spec, const json_t *folders, char ret_run[static 17]) {
    static const char *const copied[] = {"input", "output", "miniBatchSize", "miniBatchBytes"};
    AUTO(tree_freep) json_t *scorer = json_deep_copy(json_object_get(spec->work, "scorer"));
    json_t *command = json_object_get(scorer, "command");
    json_object_del(command, "processesPerWorker");
    json_object_del(command, "initTimeoutSeconds");
    AUTO(tree_freep) json_t *what = json_pack("{s:O?, s:{}}", "scorer", scorer, "volumes");
    for (size_t i = 0; i < ARRAY_LEN(copied); i++) {
        json_object_set(what, copied[i], json_object_get(spec->work, copied[i]));
    }
    for (size_t i = 0; i < spec->volume_count; i++) {
        const struct volume *volume = &spec->volumes[i];
        if (is_named(spec, volume)) {
            json_object_set_new(json_object_get(what, "volumes"), volume->name,
                                identity_of(spec, volume, folders));
        }
    }
    AUTO(text_freep) char *text = tree_canonical(what);
    char hex[65];
    digest_sha256(text, strlen(text), hex);
    memcpy(ret_run, hex, 16);
    ret_run[16] = 0;
}
