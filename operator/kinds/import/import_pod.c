// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/import/import_pod.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { GPUS_MAX = 16, WORDS_MAX = 64, AGAIN_MAX = 32 };

#define GPU "nvidia.com/gpu"

json_t *import_template(struct import *import, const char *part) {
    return tree_ensure_object(tree_ensure_object(import->spec, "template"), part);
}

/* A list of the template's pod, which is made when missing. */
static json_t *template_list(struct import *import, const char *name) {
    json_t *pod = import_template(import, "spec"), *list = tree_ensure_list(pod, name);
    return list;
}

json_t *import_agent(struct import *import) {
    json_t *list = template_list(import, "containers");
    if (json_array_size(list) == 0) {
        json_array_append_new(list, json_pack("{s:s}", "name", "agent"));
    }
    return json_array_get(list, 0);
}

/* Adds an entry to a list of the agent's container, unless it has one of that name. */
static void add_to_agent(struct import *import, const char *name, const char *key,
                         const json_t *entry) {
    json_t *agent = import_agent(import), *list = tree_ensure_list(agent, name);
    if (!key || !tree_find(list, key, tree_text(entry, key, ""))) {
        json_array_append_new(list, json_deep_copy(entry));
    }
}

/* ---- program ---- */

void import_image(struct import *import, const char *image) {
    json_object_set_new(import->spec, "image", json_string(image ? image : "NAME-THE-IMAGE"));
    import_note(import, "image", "%s",
                image ? "runs as user 65532, with a read-only root and /tmp to write to, unless "
                        "template says otherwise (docs/pods.md)"
                      : "the job names none: say which image has the program");
}

void import_program(struct import *import, const json_t *command, const json_t *arguments) {
    AUTO(tree_freep) json_t *words = import_words(command);
    AUTO(tree_freep) json_t *more = import_words(arguments);
    bool has_mpirun = text_starts(tree_text(more, "[0]", ""), "mpi");
    if (json_array_size(words) == 0 && has_mpirun) {
        import_note(import, "command", "the image's own entry point started this; it is left out");
    } else if (json_array_size(words) == 0) {
        json_array_append_new(words, json_string("NAME-THE-PROGRAM"));
        import_note(import, "command", "the image's own entry point: write it out here");
    }
    json_array_extend(words, more);
    if (json_array_size(words) > WORDS_MAX) {
        import_note(import, "command", "has at most %d words: put the rest into a script",
                    WORDS_MAX);
    }
    json_object_set(import->spec, "command", words);
}

static bool is_variable(const char *name) {
    bool is_name = isalpha((unsigned char)*name) || *name == '_';
    for (const char *at = name; *at; at++) {
        is_name &= isalnum((unsigned char)*at) || *at == '_';
    }
    return is_name && !text_starts(name, "WINDLASS_") && strcmp(name, "POD_IP") != 0;
}

void import_note_secret(struct import *import, const char *field, const char *variable) {
    static const char *const names[] = {"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strcasestr(variable, names[i])) {
            import_note(import, field,
                        "%.80s: its value is in this file, as it was in the other; a key or a "
                        "password belongs in a Secret",
                        variable);
            return;
        }
    }
}

static void add_variable(struct import *import, const json_t *variable) {
    const char *name = tree_text(variable, "name", "");
    const json_t *secret = tree_get(variable, "valueFrom.secretKeyRef");
    if (secret && !tree_bool(secret, "optional", false)) {
        json_t *list = tree_ensure_list(import->spec, "secrets");
        if (!tree_find(list, "name", name)) {
            json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "name", name, "secretName",
                                                  tree_text(secret, "name", ""), "key",
                                                  tree_text(secret, "key", "")));
        }
    } else if (json_object_get(variable, "valueFrom")) {
        add_to_agent(import, "env", "name", variable);
    } else {
        AUTO(text_freep) char *value = import_scalar(json_object_get(variable, "value"));
        json_object_set_new(tree_ensure_object(import->spec, "environment"), name,
                            json_string(value ? value : ""));
        import_note_secret(import, "environment", name);
    }
}

void import_environment(struct import *import, const json_t *list, const char *where) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = tree_text(json_array_get(list, i), "name", "");
        if (is_variable(name)) {
            add_variable(import, json_array_get(list, i));
        } else {
            import_leave_out(import, "%senv: %.80s: Windlass sets it, or no shell could", where,
                             name);
        }
    }
}

/* ---- resources ---- */

static int64_t take_gpus(struct import *import, json_t *resources) {
    AUTO(text_freep) char *count = import_scalar(json_object_get(resources, GPU));
    int64_t gpus = 0;
    const char *at = count ? count : "";
    for (; isdigit((unsigned char)*at) && gpus <= GPUS_MAX; at++) {
        gpus = gpus * 10 + *at - '0';
    }
    if (count && !isdigit((unsigned char)*count)) {
        import_leave_out(import, "resources.%s: %.100s is not a whole number", GPU, count);
    }
    json_object_del(resources, GPU);
    return gpus;
}

void import_resources(struct import *import, const json_t *resources) {
    static const char *const parts[] = {"limits", "requests"};
    AUTO(tree_freep) json_t *made = json_object();
    int64_t gpus = 0;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        AUTO(tree_freep) json_t *part = json_object();
        const char *name;
        json_t *value;
        json_object_foreach(json_object_get(resources, parts[i]), name, value) {
            AUTO(text_freep) char *text = import_scalar(value);
            json_object_set_new(part, name, json_string(text ? text : ""));
        }
        int64_t here = take_gpus(import, part);
        gpus = MAX(gpus, here);
        if (json_object_size(part) > 0) {
            json_object_set(made, parts[i], part);
        }
    }
    if (gpus > GPUS_MAX) {
        import_note(import, "gpus", "the job has more: %d are possible", GPUS_MAX);
    }
    if (gpus > 0) {
        json_object_set_new(import->spec, "gpus", json_integer(MIN(gpus, GPUS_MAX)));
    }
    if (json_object_size(made) > 0) {
        json_object_set(import->spec, "resources", made);
    }
}

/* ---- volumes ---- */

/* Whether spec.volumes can say it: a claim or an NFS folder, mounted whole. */
static bool is_plain(const json_t *volume, const json_t *mount) {
    return (json_object_get(volume, "persistentVolumeClaim") || json_object_get(volume, "nfs")) &&
           !json_object_get(mount, "subPath") && !json_object_get(mount, "subPathExpr") &&
           !json_object_get(mount, "mountPropagation") &&
           islower((unsigned char)*tree_text(volume, "name", "")) &&
           strlen(tree_text(volume, "name", "")) <= 40 &&
           !strchr(tree_text(volume, "name", ""), '.');
}

/* The name of another volume of the same claim or folder; owned; NULL: there are too many. */
static char *name_again(const json_t *list, const char *name) {
    AUTO(text_freep) char *own = x_strdup(name);
    for (int i = 2; tree_find(list, "name", own); i++) {
        free(TAKE(own));
        if (i > AGAIN_MAX) {
            return NULL;
        }
        own = x_printf("%.36s-%d", name, i);
    }
    return TAKE(own);
}

/* {persistentVolumeClaim} or {nfs}; owned. */
static json_t *source_of(const json_t *volume) {
    const json_t *claim = json_object_get(volume, "persistentVolumeClaim");
    const json_t *nfs = json_object_get(volume, "nfs");
    return claim ? json_pack("{s:{s:s}}", "persistentVolumeClaim", "claimName",
                             tree_text(claim, "claimName", ""))
                 : json_pack("{s:{s:s, s:s}}", "nfs", "server", tree_text(nfs, "server", ""),
                             "path", tree_text(nfs, "path", ""));
}

static void add_plain(struct import *import, const json_t *volume, const json_t *mount,
                      const char *where) {
    const char *name = tree_text(volume, "name", ""), *path = tree_text(mount, "mountPath", "");
    AUTO(tree_freep) json_t *source = source_of(volume);
    bool is_read = tree_bool(mount, "readOnly", false) ||
                   tree_bool(volume, "persistentVolumeClaim.readOnly", false) ||
                   tree_bool(volume, "nfs.readOnly", false);
    json_t *list = tree_ensure_list(import->spec, "volumes");
    const json_t *there = tree_find(list, "mountPath", path);
    AUTO(tree_freep) json_t *other = there ? source_of(there) : NULL;
    AUTO(text_freep) char *own = there ? NULL : name_again(list, name);
    if (own) {
        json_t *made = json_pack("{s:s, s:s}", "name", own, "mountPath", path);
        if (is_read) {
            json_object_set_new(made, "readOnly", json_true());
        }
        json_object_update(made, source);
        json_array_append_new(list, made);
    } else if (!there || !json_equal(source, other)) {
        import_leave_out(import, "%svolumeMounts: %.80s at %.200s: %s", where, name, path,
                         there ? "another is there" : "it is mounted too often");
    }
}

static bool is_shared_memory(const json_t *volume, const json_t *mount) {
    return strcmp(tree_text(mount, "mountPath", ""), "/dev/shm") == 0 &&
           tree_text(volume, "emptyDir.sizeLimit", NULL);
}

static void add_mount(struct import *import, const json_t *volumes, const json_t *mount,
                      const char *where) {
    const json_t *volume = tree_find(volumes, "name", tree_text(mount, "name", ""));
    if (!volume) {
        import_leave_out(import, "%svolumeMounts: %.80s: the pod has no such volume", where,
                         tree_text(mount, "name", ""));
    } else if (is_shared_memory(volume, mount)) {
        import_set(import, "sharedMemory", tree_get(volume, "emptyDir.sizeLimit"));
    } else if (is_plain(volume, mount)) {
        add_plain(import, volume, mount, where);
    } else {
        json_t *list = template_list(import, "volumes");
        if (!tree_find(list, "name", tree_text(volume, "name", ""))) {
            json_array_append_new(list, json_deep_copy(volume));
        }
        add_to_agent(import, "volumeMounts", "mountPath", mount);
    }
}

/* ---- the pod ---- */

static const char own_end[] = "restart and retry say what follows when a program ends";
static const char batch_program[] = "the program of a job ends; nothing asks it";

static const struct import_field of_pod[] = {
    {"containers", NULL},
    {"volumes", NULL},
    {"nodeSelector", NULL},
    {"tolerations", NULL},
    {"serviceAccountName", NULL},
    {"serviceAccount", NULL},
    {"priorityClassName", NULL},
    {"imagePullSecrets", NULL},
    {"affinity", NULL},
    {"topologySpreadConstraints", NULL},
    {"runtimeClassName", NULL},
    {"schedulerName", NULL},
    {"hostAliases", NULL},
    {"dnsConfig", NULL},
    {"dnsPolicy", NULL},
    {"securityContext", NULL},
    {"initContainers", NULL},
    {"terminationGracePeriodSeconds", NULL},
    {"hostNetwork", NULL},
    {"resourceClaims", NULL},
    {"automountServiceAccountToken", "no token is mounted"},
    {"restartPolicy", own_end},
    {0},
};
static const struct import_field of_container[] = {
    {"name", NULL},
    {"image", NULL},
    {"command", NULL},
    {"args", NULL},
    {"env", NULL},
    {"envFrom", NULL},
    {"resources", NULL},
    {"volumeMounts", NULL},
    {"volumeDevices", NULL},
    {"workingDir", NULL},
    {"imagePullPolicy", NULL},
    {"securityContext", NULL},
    {"tty", "programs have no terminal"},
    {"stdin", "programs have no input"},
    {"ports", "the pods of a job reach each other on any port"},
    {"livenessProbe", batch_program},
    {"readinessProbe", batch_program},
    {"startupProbe", batch_program},
    {"lifecycle", "spec.prepare runs before the program"},
    {0},
};

static void take_place(struct import *import, const struct import_pod *pod, const json_t *spec,
                       const json_t *container) {
    static const char *const fields[] = {"nodeSelector", "tolerations", "serviceAccountName",
                                         "priorityClassName", "imagePullSecrets"};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        import_set(import, fields[i], json_object_get(spec, fields[i]));
    }
    if (!json_object_get(spec, "serviceAccountName")) {
        import_set(import, "serviceAccountName", json_object_get(spec, "serviceAccount"));
    }
    for (const struct import_field *field = of_pod; field->name; field++) {
        const json_t *value = json_object_get(spec, field->name);
        bool is_ours = field - of_pod < 8 || field->why;
        if (value && !is_ours) {
            json_object_set_new(import_template(import, "spec"), field->name,
                                json_deep_copy(value));
        }
    }
    if (json_object_get(container, "image") ||
        (!pod->is_change && !json_object_get(import->spec, "image"))) {
        import_image(import, tree_text(container, "image", NULL));
    }
    import_resources(import, json_object_get(container, "resources"));
}

/* All pods of a job are alike, so another's place is left out where it differs. */
static void leave_out_place(struct import *import, const struct import_pod *pod,
                            const json_t *spec) {
    const json_t *taken = tree_get(import->spec, "template.spec");
    for (const struct import_field *field = of_pod; field->name; field++) {
        const json_t *value = json_object_get(spec, field->name);
        const json_t *own = json_object_get(import->spec, field->name);
        bool is_lists =
            strcmp(field->name, "containers") == 0 || strcmp(field->name, "volumes") == 0;
        own = own ? own : json_object_get(taken, field->name);
        if (value && !field->why && !is_lists && !(own && json_equal(value, own))) {
            import_leave_out(import, "%s%s: all pods are alike, and have the others'", pod->where,
                             field->name);
        }
    }
}

/* Volumes that the containers before the program mount, for which the program's mounts made none.
 */
static void add_first_volumes(struct import *import, const json_t *spec) {
    const json_t *containers = json_object_get(spec, "initContainers"), *container, *mount;
    size_t i, k;
    json_array_foreach(containers, i, container) {
        json_array_foreach(json_object_get(container, "volumeMounts"), k, mount) {
            const char *name = tree_text(mount, "name", "");
            const json_t *volume = tree_find(json_object_get(spec, "volumes"), "name", name);
            const json_t *plain = json_object_get(import->spec, "volumes");
            const json_t *others = tree_get(import->spec, "template.spec.volumes");
            if (volume && !tree_find(others, "name", name) && !tree_find(plain, "name", name)) {
                json_array_append_new(template_list(import, "volumes"), json_deep_copy(volume));
            }
        }
    }
}

static void take_container(struct import *import, const struct import_pod *pod,
                           const json_t *container) {
    static const char *const settings[] = {"workingDir", "imagePullPolicy", "securityContext",
                                           "envFrom", "volumeDevices"};
    const json_t *mounts = json_object_get(container, "volumeMounts");
    if (pod->has_program) {
        import_program(import, json_object_get(container, "command"),
                       json_object_get(container, "args"));
    }
    import_environment(import, json_object_get(container, "env"), pod->where);
    for (size_t i = 0; i < json_array_size(mounts); i++) {
        add_mount(import, tree_get(pod->template, "spec.volumes"), json_array_get(mounts, i),
                  pod->where);
    }
    for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
        const json_t *value = json_object_get(container, settings[i]);
        if (value) {
            json_object_set_new(import_agent(import), settings[i], json_deep_copy(value));
        }
    }
}

/* Labels and annotations of the pods. */
static void take_metadata(struct import *import, const json_t *metadata) {
    static const char *const parts[] = {"labels", "annotations"};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        const json_t *part = json_object_get(metadata, parts[i]);
        if (json_object_size(part) > 0) {
            json_t *all = tree_ensure_object(import_template(import, "metadata"), parts[i]);
            json_object_update(all, (json_t *)part);
        }
    }
}

void import_take_pod(struct import *import, const struct import_pod *pod) {
    const json_t *spec = json_object_get(pod->template, "spec");
    const json_t *containers = json_object_get(spec, "containers");
    const json_t *container = pod->container ? tree_find(containers, "name", pod->container) : NULL;
    container = container ? container : json_array_get(containers, 0);
    AUTO(text_freep) char *within = x_printf("%scontainers.", pod->where);
    for (size_t i = 0; i < json_array_size(containers); i++) {
        if (json_array_get(containers, i) != container) {
            import_leave_out(import, "%s%.80s: a second container goes into spec.template", within,
                             tree_text(json_array_get(containers, i), "name", ""));
        }
    }
    import_report(import, spec, pod->where, of_pod);
    import_report(import, container, within, of_container);
    take_metadata(import, json_object_get(pod->template, "metadata"));
    if (pod->has_place) {
        take_place(import, pod, spec, container);
    } else {
        leave_out_place(import, pod, spec);
    }
    take_container(import, pod, container);
    if (pod->has_place) {
        add_first_volumes(import, spec);
    }
}
