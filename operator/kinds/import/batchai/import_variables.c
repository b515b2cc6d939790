// SPDX-License-Identifier: Apache-2.0
/* Variables of Batch AI that an imported job reads and nothing sets. */
#include "operator/kinds/import/batchai/import_job.h"

#include <ctype.h>
#include <string.h>

enum { PREFIX_LENGTH = sizeof "AZ_BATCHAI_" - 1 };

/* What the agent sets for every DistTrain, without AZ_BATCHAI_ (docs/launch.md). */
static const char *const set[] = {"WORKER_HOSTS",
                                  "MPI_HOST_FILE",
                                  "TASK_INDEX",
                                  "NUM_GPUS",
                                  "NUM_GPUS_PER_NODE",
                                  "GPU_COUNT_FOUND",
                                  "MOUNT_ROOT",
                                  "JOB_MOUNT_ROOT",
                                  "JOB_TEMP",
                                  "JOB_TEMP_DIR",
                                  "STDOUTERR_DIR",
                                  "SHARED_JOB_TEMP",
                                  "PYTORCH_INIT_METHOD",
                                  "PYTORCH_BACKEND"};

static bool has_id(const struct import *import, const char *field, const char *id) {
    return tree_find(json_object_get(import->spec, field), "id", id) != NULL;
}

static bool is_set(const struct import *import, const char *name) {
    const char *rest = name + PREFIX_LENGTH;
    bool found = tree_get(import->spec, "environment") &&
                 json_object_get(json_object_get(import->spec, "environment"), name);
    for (size_t i = 0; i < ARRAY_LEN(set); i++) {
        found |= strcmp(rest, set[i]) == 0;
    }
    return found || tree_find(json_object_get(import->spec, "secrets"), "name", name) ||
           (text_starts(rest, "INPUT_") && has_id(import, "inputs", rest + strlen("INPUT_"))) ||
           (text_starts(rest, "OUTPUT_") && has_id(import, "outputs", rest + strlen("OUTPUT_")));
}

static void look(struct import *import, const char *field, const char *text) {
    for (const char *at = text; (at = strstr(at, "AZ_BATCHAI_")); at += PREFIX_LENGTH) {
        size_t length = 0;
        while (isalnum((unsigned char)at[length]) || at[length] == '_') {
            length++;
        }
        AUTO(text_freep) char *name = x_strndup(at, length);
        bool is_read = at > text && (at[-1] == '$' || at[-1] == '{' || at[-1] == '(');
        if (is_read && !is_set(import, name)) {
            import_note(import, field, "nothing sets $%.80s here: put in its place what it was",
                        name);
        }
    }
}

void import_variables(struct import *import) {
    static const char *const lines[] = {"command", "prepare"};
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        const json_t *words = json_object_get(import->spec, lines[i]);
        for (size_t k = 0; k < json_array_size(words); k++) {
            look(import, lines[i], json_string_value(json_array_get(words, k)));
        }
    }
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(import->spec, "environment"), name, value) {
        look(import, "environment", json_string_value(value));
    }
}
