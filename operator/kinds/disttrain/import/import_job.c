// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/disttrain/import/import_job.h"

#include "lib/buffer.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 1 << 20, WORKERS_MAX = 1000 };

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
    json_t *list = json_object_get(import->spec, field);
    if (!list) {
        list = json_array();
        json_object_set_new(import->spec, field, list);
    }
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
    import_note(import, "environment", "%s is in nothing that was mounted; it stays as it was",
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
                         "stdOutErrPathPrefix: %s is in nothing that was mounted; the pods "
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
        json_object_set_new(import->spec, "prepare", json_pack("[s, s, s]", "bash", "-c", line));
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

/* ---- text ---- */

static int put_lines(struct buffer *text, const json_t *lines, const char *indent,
                     struct error *err) {
    for (size_t i = 0; i < json_array_size(lines); i++) {
        if (buffer_printf(text, err, "%s# %s\n", indent,
                          json_string_value(json_array_get(lines, i))) < 0) {
            return -1;
        }
    }
    return 0;
}

/* JSON is valid YAML; a list of objects gets a line for each. */
static int put_field(struct buffer *text, const char *name, const json_t *value,
                     struct error *err) {
    bool is_list = json_is_array(value) && json_is_object(json_array_get(value, 0));
    if (!is_list) {
        AUTO(text_freep) char *flow = json_dumps(value, JSON_ENCODE_ANY);
        return buffer_printf(text, err, "  %s: %s\n", name, flow);
    }
    if (buffer_printf(text, err, "  %s:\n", name) < 0) {
        return -1;
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        AUTO(text_freep) char *flow = json_dumps(json_array_get(value, i), 0);
        if (buffer_printf(text, err, "    - %s\n", flow) < 0) {
            return -1;
        }
    }
    return 0;
}

static int put_manifest(const struct import *import, struct buffer *text, struct error *err) {
    static const char *const order[] = {"workers",  "slotsPerWorker",
                                        "image",    "imagePullSecrets",
                                        "launcher", "command",
                                        "prepare",  "inputs",
                                        "outputs",  "environment",
                                        "secrets",  "sharedMemory",
                                        "logs",     "activeDeadlineSeconds",
                                        "volumes"};
    if (buffer_printf(
            text, err,
            "# Made by `windlass import` of a job.json of Batch AI. Look at each comment: "
            "it says what is still\n# to be done, or what has no counterpart.\n") < 0) {
        return -1;
    }
    if (json_array_size(import->left_out) > 0 &&
        (buffer_printf(text, err, "#\n# Left out:\n") < 0 ||
         put_lines(text, import->left_out, "", err) < 0)) {
        return -1;
    }
    if (buffer_printf(text, err,
                      "apiVersion: windlass.dev/v1beta1\nkind: DistTrain\nmetadata: {name: %s}\n"
                      "spec:\n",
                      import->name) < 0) {
        return -1;
    }
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        const json_t *value = json_object_get(import->spec, order[i]);
        if (value && (put_lines(text, json_object_get(import->notes, order[i]), "  ", err) < 0 ||
                      put_field(text, order[i], value, err) < 0)) {
            return -1;
        }
    }
    return 0;
}

/* YAML allows some characters neither in its strings nor in comments, which JSON does (YAML 1.2,
 * 5.1): DEL, U+0080 to U+009F, U+FEFF, U+FFFE, U+FFFF. The number of the one at `at`; 0: none. */
static unsigned find_unprintable(const char *at, size_t *ret_size) {
    const unsigned char *bytes = (const unsigned char *)at;
    *ret_size = bytes[0] == 0x7f ? 1 : bytes[0] == 0xc2 ? 2 : 3;
    if (bytes[0] == 0x7f) {
        return 0x7f;
    }
    if (bytes[0] == 0xc2) {
        return bytes[1] < 0xa0 ? bytes[1] : 0;
    }
    bool is_mark = bytes[0] == 0xef && bytes[1] == 0xbb && bytes[2] == 0xbf;
    bool is_none = bytes[0] == 0xef && bytes[1] == 0xbf && bytes[2] >= 0xbe;
    return is_mark ? 0xfeff : is_none ? 0xff00u | (bytes[2] + 0x40u) : 0;
}

/* Writes these characters as \uXXXX, which YAML's double quotes read as JSON's do. */
static int escape_unprintable(const char *text, struct buffer *out, struct error *err) {
    for (const char *at = text; *at;) {
        size_t size = strcspn(at, "\x7f\xc2\xef");
        if (buffer_append(out, at, size, err) < 0) {
            return -1;
        }
        at += size;
        unsigned number = *at ? find_unprintable(at, &size) : 0;
        if (*at && (number ? buffer_printf(out, err, "\\u%04x", number)
                           : buffer_append(out, at, size = 1, err)) < 0) {
            return -1;
        }
        at += *at ? size : 0;
    }
    return 0;
}

static void release(struct import *import) {
    json_decref(import->spec);
    json_decref(import->notes);
    json_decref(import->left_out);
    json_decref(import->mounts);
}

int import_job(const json_t *job, const char *name, char **ret_text, struct error *err) {
    AUTO(release)
    struct import import = {.properties = json_object_get(job, "properties"),
                            .name = name,
                            .spec = json_object(),
                            .notes = json_object(),
                            .left_out = json_array(),
                            .mounts = json_object()};
    if (!json_is_object(import.properties)) {
        return error_set(err, ERROR_INVALID,
                         "properties: missing, this is not a job.json of Batch AI");
    }
    int64_t nodes = tree_integer(import.properties, "nodeCount", 0);
    if (nodes < 1 || nodes > WORKERS_MAX) {
        return error_set(err, ERROR_INVALID, "properties.nodeCount: 1 to %d are possible",
                         WORKERS_MAX);
    }
    json_object_set_new(import.spec, "workers", json_integer(nodes));
    import_note(&import, "workers",
                "gpus: how many a node of the cluster had, if it had any (Batch AI knew by its "
                "size)");
    import_mounts(&import);
    take_container(&import);
    if (import_toolkit(&import, err) < 0) {
        return -1;
    }
    take_folders(&import);
    take_variables(&import);
    take_secrets(&import);
    take_logs(&import);
    take_limits(&import);
    report_unknown(&import);
    AUTO(buffer_release) struct buffer text, escaped;
    buffer_init(&text, TEXT_MAX);
    buffer_init(&escaped, 6 * TEXT_MAX);
    if (put_manifest(&import, &text, err) < 0 || escape_unprintable(text.data, &escaped, err) < 0) {
        return -1;
    }
    *ret_text = buffer_take(&escaped, NULL);
    return 0;
}
