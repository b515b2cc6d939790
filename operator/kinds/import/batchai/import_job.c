// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/import/batchai/import_job.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS_MAX = 1000, GPUS_MAX = 16 };

/* ---- container ---- */

/* "16gb" -> "16Gi"; owned; NULL: not a size. */
static char *size_of(const char *docker) {
    char *unit;
    long number = strtol(docker, &unit, 10);
    char letter = (char)tolower((unsigned char)*unit);
    const char *ours = letter == 'g' ? "Gi" : letter == 'm' ? "Mi" : letter == 'k' ? "Ki" : "";
    return number > 0 && number < 1000000 ? x_printf("%ld%s", number, ours) : NULL;
}

static void take_container(struct import *import) {
    const json_t *settings = json_object_get(import->properties, "containerSettings");
    const json_t *registry = json_object_get(settings, "imageSourceRegistry");
    const char *image = tree_text(registry, "image", NULL);
    const char *server = tree_text(registry, "serverUrl", "");
    const char *host = strstr(server, "://") ? strstr(server, "://") + 3 : server;
    AUTO(text_freep) char *trimmed = x_strndup(host, strcspn(host, "/"));
    json_object_set_new(import->spec, "image",
                        !image     ? json_string("NAME-THE-IMAGE")
                        : *trimmed ? json_sprintf("%s/%s", trimmed, image)
                                   : json_string(image));
    if (!image) {
        import_note(import, "image",
                    "the job ran on the nodes themselves; name an image that has what it needs");
    }
    if (json_object_get(registry, "credentials")) {
        AUTO(text_freep) char *secret = x_printf("%s-registry", import->name);
        json_object_set_new(import->spec, "imagePullSecrets", json_pack("[{s:s}]", "name", secret));
        import_note(import, "imagePullSecrets",
                    "kubectl create secret docker-registry %s --docker-server=%s "
                    "--docker-username=%s --docker-password=PASSWORD",
                    secret, *trimmed ? trimmed : "docker.io",
                    tree_text(registry, "credentials.username", "NAME"));
    }
    AUTO(text_freep) char *shared = size_of(tree_text(settings, "shmSize", ""));
    if (shared) {
        json_object_set_new(import->spec, "sharedMemory", json_string(shared));
    }
}

/* ---- folders and variables ---- */

static json_t *list_of(struct import *import, const char *field) {
    json_t *list = tree_ensure_list(import->spec, field);
    return list;
}

static void set_variable(struct import *import, const char *name, const char *value) {
    json_t *environment = json_object_get(import->spec, "environment");
    if (!environment) {
        environment = json_object();
        json_object_set_new(import->spec, "environment", environment);
    }
    json_object_set_new(environment, name, json_string(value));
}

/* Adds a folder with an id; a path outside the volumes stays a variable. */
static void add_folder(struct import *import, const char *field, const char *id, const char *path) {
    AUTO(text_freep) char *place = import_path(import, path);
    bool is_input = strcmp(field, "inputs") == 0;
    if (place) {
        json_array_append_new(list_of(import, field),
                              json_pack("{s:s, s:s}", "id", id, "path", place));
        return;
    }
    AUTO(text_freep)
    char *name = x_printf("AZ_BATCHAI_%s_%s", is_input ? "INPUT" : "OUTPUT", id);
    set_variable(import, name, path);
    import_note(import, "environment", "%s is not in anything that was mounted; it stays as it was",
                name);
}

static void take_folders(struct import *import) {
    const json_t *inputs = json_object_get(import->properties, "inputDirectories");
    const json_t *outputs = json_object_get(import->properties, "outputDirectories");
    for (size_t i = 0; i < json_array_size(inputs); i++) {
        const json_t *input = json_array_get(inputs, i);
        add_folder(import, "inputs", tree_text(input, "id", ""), tree_text(input, "path", ""));
    }
    for (size_t i = 0; i < json_array_size(outputs); i++) {
        const json_t *output = json_array_get(outputs, i);
        const char *suffix = tree_text(output, "pathSuffix", "");
        AUTO(text_freep)
        char *path = x_printf("%s/%s", tree_text(output, "pathPrefix", ""), suffix);
        add_folder(import, "outputs", tree_text(output, "id", ""), path);
    }
    if (json_object_get(import->spec, "outputs")) {
        import_note(import, "outputs",
                    "Batch AI put a folder of each job's own between prefix and suffix; here each "
                    "run writes to the same place");
    }
}

static bool is_ours(const char *name) {
    return text_starts(name, "WINDLASS_") || strcmp(name, "POD_IP") == 0;
}

static void take_variables(struct import *import) {
    const json_t *list = json_object_get(import->properties, "environmentVariables");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = tree_text(json_array_get(list, i), "name", "");
        if (is_ours(name)) {
            import_leave_out(import, "environmentVariables: %s, a name of Windlass", name);
        } else {
            set_variable(import, name, tree_text(json_array_get(list, i), "value", ""));
        }
    }
}

/* The values of secrets are never copied. */
static void take_secrets(struct import *import) {
    const json_t *list = json_object_get(import->properties, "secrets");
    AUTO(text_freep) char *secret = x_printf("%s-secrets", import->name);
    AUTO(text_freep) char *line = x_printf("kubectl create secret generic %s", secret);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const char *name = tree_text(one, "name", "");
        const char *vault = tree_text(one, "valueSecretReference.secretUrl", NULL);
        json_array_append_new(
            list_of(import, "secrets"),
            json_pack("{s:s, s:s, s:s}", "name", name, "secretName", secret, "key", name));
        AUTO(text_freep) char *before = line;
        line = x_printf("%s --from-literal=%s=VALUE", before, name);
        if (vault) {
            import_note(import, "secrets", "%s was in the vault: %s", name, vault);
        }
    }
    if (json_array_size(list) > 0) {
        import_note(import, "secrets", "%s", line);
    }
}

/* ---- the rest ---- */

static void take_logs(struct import *import) {
    const char *path = tree_text(import->properties, "stdOutErrPathPrefix", NULL);
    AUTO(text_freep) char *place = path ? import_path(import, path) : NULL;
    if (place) {
        json_object_set_new(import->spec, "logs", json_pack("{s:s}", "path", place));
    } else if (path) {
        import_leave_out(import,
                         "stdOutErrPathPrefix: %s is not in anything that was mounted; the pods "
                         "have the logs",
                         path);
    }
}

/* "7.00:00:00", days before the dot; -1: invalid. */
static int64_t seconds_of(const char *text) {
    int days = 0, hours, minutes, seconds, used = 0;
    const char *time = strchr(text, '.') ? strchr(text, '.') + 1 : text;
    if ((time != text && sscanf(text, "%5d.", &days) != 1) ||
        sscanf(time, "%3d:%2d:%2d%n", &hours, &minutes, &seconds, &used) != 3 || days < 0 ||
        hours < 0 || minutes < 0 || seconds < 0 || time[used]) {
        return -1;
    }
    return ((days * 24LL + hours) * 60 + minutes) * 60 + seconds;
}

static void take_limits(struct import *import) {
    const char *limit = tree_text(import->properties, "constraints.maxWallClockTime", NULL);
    int64_t limit_s = limit ? seconds_of(limit) : -1;
    if (limit_s > 0 && limit_s <= INT32_MAX) {
        json_object_set_new(import->spec, "activeDeadlineSeconds", json_integer(limit_s));
    } else if (limit) {
        import_leave_out(import, "constraints.maxWallClockTime: %s", limit);
    }
    const char *line = tree_text(import->properties, "jobPreparation.commandLine", NULL);
    if (line) {
        AUTO(text_freep) char *here = import_line(import, line);
        json_object_set_new(import->spec, "prepare", json_pack("[s, s, s]", "bash", "-c", here));
    }
}

/* Batch AI knew the GPUs by the size of the cluster's nodes, which the job does not have. What it
 * has: a program that is started once per GPU, or an image of a GPU. */
static void take_gpus(struct import *import) {
    const char *image = tree_text(import->spec, "image", "");
    int64_t slots = MAX(tree_integer(import->spec, "slotsPerWorker", 0), 1);
    bool has_gpus = strstr(image, "gpu") || strstr(image, "cuda");
    if (has_gpus) {
        json_object_set_new(import->spec, "gpus", json_integer(MIN(slots, GPUS_MAX)));
    }
    import_note(import, "gpus", "%s",
                has_gpus ? "the image is one for GPUs: one for each process, if that is what a "
                           "node of the cluster had"
                         : "how many GPUs a node of the cluster had: the job does not say");
    if (!has_gpus) {
        json_object_set_new(import->spec, "gpus", json_integer(0));
    }
}

/* Reports the fields that the import does not know. */
static void report_unknown(struct import *import) {
    static const char *const known[] = {
        "nodeCount",        "mountVolumes",        "containerSettings",     "jobPreparation",
        "inputDirectories", "outputDirectories",   "environmentVariables",  "secrets",
        "constraints",      "stdOutErrPathPrefix", "customToolkitSettings", "customMpiSettings",
        "horovodSettings",  "chainerSettings",     "pyTorchSettings",       "tensorFlowSettings",
        "cntkSettings",     "caffeSettings",       "caffe2Settings",        "toolType"};
    static const char *const told[][2] = {
        {"cluster", "which nodes: nodeSelector, tolerations and gpus say so here"},
        {"schedulingPriority", "priorityClassName names a class of the cluster's"}};
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)import->properties, name, value) {
        bool is_known = json_is_null(value);
        for (size_t i = 0; i < ARRAY_LEN(known); i++) {
            is_known |= strcmp(name, known[i]) == 0;
        }
        const char *why = "it has no counterpart";
        for (size_t i = 0; i < ARRAY_LEN(told); i++) {
            why = strcmp(name, told[i][0]) == 0 ? told[i][1] : why;
        }
        if (!is_known) {
            import_leave_out(import, "%s: %s", name, why);
        }
    }
}

int import_job(struct import *import, const json_t *job, struct error *err) {
    import->properties = json_object_get(job, "properties");
    int64_t nodes = tree_integer(import->properties, "nodeCount", 0);
    if (nodes < 1 || nodes > WORKERS_MAX) {
        return error_set(err, ERROR_INVALID, "properties.nodeCount: 1 to %d are possible",
                         WORKERS_MAX);
    }
    json_object_set_new(import->spec, "workers", json_integer(nodes));
    import_mounts(import);
    take_container(import);
    if (import_toolkit(import, err) < 0) {
        return -1;
    }
    take_folders(import);
    take_variables(import);
    take_secrets(import);
    take_logs(import);
    take_limits(import);
    take_gpus(import);
    import_variables(import);
    report_unknown(import);
    return 0;
}
