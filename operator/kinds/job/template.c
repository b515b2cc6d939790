// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/template.h"

#include "operator/cluster.h"
#include "operator/kinds/job/spec.h"

#include <string.h>

/* The lists of a pod's spec that have a key, with the key. NULL: entries are appended. */
static const struct {
    const char *list, *key;
} lists[] = {
    {"containers", "name"},        {"initContainers", "name"},      {"env", "name"},
    {"volumes", "name"},           {"imagePullSecrets", "name"},    {"schedulingGates", "name"},
    {"volumeMounts", "mountPath"}, {"volumeDevices", "devicePath"}, {"ports", "containerPort"},
    {"hostAliases", "ip"},         {"tolerations", NULL},
};

static const char *const templates[] = {"template", "workers.template", "coordinator.template"};

static const json_t *entry_of(const json_t *list, const char *key, const json_t *value) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        if (json_equal(json_object_get(entry, key), value)) {
            return entry;
        }
    }
    return NULL;
}

static const json_t *named(const json_t *list, const char *name) {
    AUTO(tree_freep) json_t *value = json_string(name);
    return entry_of(list, "name", value);
}

/* Entries without a key, or of another form, cannot be merged. */
static int check_list(const json_t *list, const char *key, const char *field, struct error *err) {
    if (!json_is_array(list)) {
        return error_set(err, ERROR_INVALID, "%s: must be a list", field);
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        if (!json_is_object(entry)) {
            return error_set(err, ERROR_INVALID, "%s[%zu]: must be fields", field, i);
        }
        const json_t *value = key ? json_object_get(entry, key) : NULL;
        if (key && !json_is_string(value) && !json_is_integer(value)) {
            return error_set(err, ERROR_INVALID, "%s[%zu].%s: is missing", field, i, key);
        }
    }
    return 0;
}

/* The lists in which each pod has entries of ours, which null would take out. */
static bool is_filled(const char *list) {
    static const char *const filled[] = {"containers", "initContainers", "env", "volumes",
                                         "volumeMounts"};
    for (size_t i = 0; i < ARRAY_LEN(filled); i++) {
        if (strcmp(filled[i], list) == 0) {
            return true;
        }
    }
    return false;
}

static int check_lists(const json_t *tree, const char *field, struct error *err) {
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        const json_t *list = json_object_get(tree, lists[i].list);
        AUTO(text_freep) char *inner = x_printf("%s.%s", field, lists[i].list);
        bool is_left_out = json_is_null(list) && !is_filled(lists[i].list);
        if (list && !is_left_out && check_list(list, lists[i].key, inner, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static bool is_our_variable(const json_t *spec, const char *name) {
    return text_starts(name, "WINDLASS_") || strcmp(name, "POD_IP") == 0 ||
           named(json_object_get(spec, "volumes"), name);
}

/* Whether the path is that of a volume of the spec, or is in our folder, however it is written. */
static bool is_our_mount(const json_t *spec, const char *given) {
    const json_t *volumes = json_object_get(spec, "volumes");
    AUTO(text_freep) char *path = job_plain_path(given);
    if (job_lies_below(path, "/windlass")) {
        return true;
    }
    for (size_t i = 0; i < json_array_size(volumes); i++) {
        const json_t *volume = json_array_get(volumes, i);
        AUTO(text_freep) char *standard = x_printf("/mnt/%s", tree_text(volume, "name", ""));
        AUTO(text_freep) char *place = job_plain_path(tree_text(volume, "mountPath", standard));
        if (strcmp(place, path) == 0) {
            return true;
        }
    }
    return false;
}

/* The agent's container, or a model server's. */
static int check_agent(const json_t *spec, const json_t *agent, const char *field,
                       struct error *err) {
    static const char *const ours[] = {"command", "args"};
    if (json_is_null(json_object_get(agent, "image"))) {
        return error_set(err, ERROR_INVALID, "%s.image: is null; name an image or take it out",
                         field);
    }
    for (size_t i = 0; i < ARRAY_LEN(ours); i++) {
        if (json_object_get(agent, ours[i])) {
            return error_set(err, ERROR_INVALID, "%s.%s: is set by Windlass; take it out", field,
                             ours[i]);
        }
    }
    const json_t *env = json_object_get(agent, "env");
    for (size_t i = 0; i < json_array_size(env); i++) {
        const char *name = tree_text(json_array_get(env, i), "name", "");
        const char *secret = job_secret_in(tree_text(json_array_get(env, i), "value", ""));
        if (secret) {
            return error_set(err, ERROR_INVALID,
                             "%s.env[%zu]: refers to $(%s), which no program gets; take it out, or "
                             "write $$(%s) for these characters",
                             field, i, secret, secret);
        }
        if (is_our_variable(spec, name)) {
            return error_set(err, ERROR_INVALID,
                             "%s.env[%zu]: the variable %.60s is set by Windlass; take it out",
                             field, i, name);
        }
    }
    const json_t *mounts = json_object_get(agent, "volumeMounts");
    for (size_t i = 0; i < json_array_size(mounts); i++) {
        const char *path = tree_text(json_array_get(mounts, i), "mountPath", "");
        if (is_our_mount(spec, path)) {
            return error_set(err, ERROR_INVALID,
                             "%s.volumeMounts[%zu]: a volume of spec.volumes, or one of ours, is "
                             "mounted at %.80s; mount this one elsewhere",
                             field, i, path);
        }
    }
    return 0;
}

/* Volumes of ours in which token, keys and the agent's files are. Scratch folders may be shared. */
static bool is_our_volume(const char *name) {
    return text_starts(name, "windlass-") && !text_ends(name, "-tmp") && !text_ends(name, "-shm");
}

/* Of any container: a program would read there what the agent takes away from its own folder. */
static int check_mounts(const json_t *container, const char *field, struct error *err) {
    const json_t *mounts = json_object_get(container, "volumeMounts");
    for (size_t i = 0; i < json_array_size(mounts); i++) {
        const char *name = tree_text(json_array_get(mounts, i), "name", "");
        if (is_our_volume(name)) {
            return error_set(err, ERROR_INVALID,
                             "%s.volumeMounts[%zu].name: the volume %.60s is Windlass's own; mount "
                             "one of yours",
                             field, i, name);
        }
    }
    return 0;
}

static int check_containers(const json_t *spec, const json_t *list, const char *field,
                            struct error *err) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *container = json_array_get(list, i);
        AUTO(text_freep) char *inner = x_printf("%s[%zu]", field, i);
        if (check_lists(container, inner, err) < 0 || check_mounts(container, inner, err) < 0) {
            return -1;
        }
        if (text_starts(tree_text(container, "name", ""), "windlass-")) {
            return error_set(
                err, ERROR_INVALID,
                "%s.name: names that begin with windlass- are reserved; choose another", inner);
        }
        const char *name = tree_text(container, "name", "");
        bool is_server =
            strcmp(name, "server") == 0 && tree_get(spec, "scorer.endpoint.server") != NULL;
        if ((is_server || strcmp(name, "agent") == 0) &&
            check_agent(spec, container, inner, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int check_pod_spec(const json_t *spec, const json_t *pod_spec, const char *field,
                          struct error *err) {
    if (check_lists(pod_spec, field, err) < 0) {
        return -1;
    }
    if (json_object_get(pod_spec, "restartPolicy")) {
        return error_set(err, ERROR_INVALID,
                         "%s.restartPolicy: is set by Windlass, which replaces pods itself; take "
                         "it out",
                         field);
    }
    const json_t *volumes = json_object_get(pod_spec, "volumes");
    for (size_t i = 0; i < json_array_size(volumes); i++) {
        const char *name = tree_text(json_array_get(volumes, i), "name", "");
        if (named(json_object_get(spec, "volumes"), name) || text_starts(name, "windlass-")) {
            return error_set(
                err, ERROR_INVALID,
                "%s.volumes[%zu]: the name %.60s is one of spec.volumes, or begins with "
                "windlass-; choose another name",
                field, i, name);
        }
    }
    static const char *const groups[] = {"containers", "initContainers"};
    for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
        AUTO(text_freep) char *inner = x_printf("%s.%s", field, groups[i]);
        if (check_containers(spec, json_object_get(pod_spec, groups[i]), inner, err) < 0) {
            return -1;
        }
    }
    return 0;
}

int template_check(const json_t *spec, struct error *err) {
    for (size_t i = 0; i < ARRAY_LEN(templates); i++) {
        const json_t *template = tree_get(spec, templates[i]);
        AUTO(text_freep) char *field = x_printf("spec.%s.spec", templates[i]);
        if (check_pod_spec(spec, json_object_get(template, "spec"), field, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static void merge_object(json_t *target, const json_t *patch);

/* The first entry with each key stays. A key is text or a whole number. */
static void index_entry(json_t *by_key, const char *key, json_t *entry) {
    AUTO(text_freep)
    char *name = json_dumps(json_object_get(entry, key), JSON_ENCODE_ANY | JSON_COMPACT);
    if (name && !json_object_get(by_key, name)) {
        json_object_set(by_key, name, entry);
    }
}

static json_t *indexed(const json_t *by_key, const char *key, const json_t *entry) {
    AUTO(text_freep)
    char *name = json_dumps(json_object_get(entry, key), JSON_ENCODE_ANY | JSON_COMPACT);
    return name ? json_object_get(by_key, name) : NULL;
}

/* With an index of the keys: a template may have thousands of entries. */
static void merge_list(json_t *target, const json_t *patch, const char *key) {
    AUTO(tree_freep) json_t *by_key = json_object();
    for (size_t i = 0; key && i < json_array_size(target); i++) {
        index_entry(by_key, key, json_array_get(target, i));
    }
    for (size_t i = 0; i < json_array_size(patch); i++) {
        const json_t *entry = json_array_get(patch, i);
        json_t *mine = key ? indexed(by_key, key, entry) : NULL;
        if (mine) {
            merge_object(mine, entry);
            continue;
        }
        json_t *added = json_deep_copy(entry);
        json_array_append_new(target, added);
        if (key) {
            index_entry(by_key, key, added);
        }
    }
}

static bool list_key(const char *name, const char **ret_key) {
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        if (strcmp(lists[i].list, name) == 0) {
            *ret_key = lists[i].key;
            return true;
        }
    }
    return false;
}

static void merge_object(json_t *target, const json_t *patch) {
    const char *name, *key;
    json_t *value;
    json_object_foreach((json_t *)patch, name, value) {
        json_t *mine = json_object_get(target, name);
        if (json_is_null(value)) {
            json_object_del(target, name);
        } else if (json_is_object(value) && json_is_object(mine)) {
            merge_object(mine, value);
        } else if (json_is_array(value) && json_is_array(mine) && list_key(name, &key)) {
            merge_list(mine, value, key);
        } else {
            json_object_set_new(target, name, json_deep_copy(value));
        }
    }
}

/* The controller finds and distinguishes its pods by these labels, and keeps notes in these
 * annotations. A domain below ours is as good as ours. */
static bool is_ours(const char *name) {
    size_t domain = strcspn(name, "/");
    static const char ours[] = "windlass.dev";
    size_t length = sizeof ours - 1;
    return name[domain] == '/' && domain >= length &&
           strncmp(name + domain - length, ours, length) == 0 &&
           (domain == length || name[domain - length - 1] == '.');
}

/* Without our own; null takes nothing out as a whole. */
static json_t *theirs(const json_t *pairs) {
    json_t *wanted = json_object(), *value;
    const char *name;
    json_object_foreach((json_t *)pairs, name, value) {
        if (!is_ours(name)) {
            json_object_set(wanted, name, value);
        }
    }
    return wanted;
}

static void merge_metadata(json_t *metadata, const json_t *patch) {
    AUTO(tree_freep)
    json_t *labels = json_pack("{s:o}", "labels", theirs(json_object_get(patch, "labels")));
    merge_object(metadata, labels);
    if (json_is_object(json_object_get(patch, "annotations"))) {
        AUTO(tree_freep)
        json_t *annotations =
            json_pack("{s:o}", "annotations", theirs(json_object_get(patch, "annotations")));
        merge_object(metadata, annotations);
    }
}

void template_apply(json_t *pod, const json_t *template) {
    merge_metadata(json_object_get(pod, "metadata"), json_object_get(template, "metadata"));
    const json_t *pod_spec = json_object_get(template, "spec");
    if (pod_spec) {
        merge_object(json_object_get(pod, "spec"), pod_spec);
    }
}
