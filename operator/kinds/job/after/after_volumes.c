// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/after/after_volumes.h"

#include "operator/kinds/job/spec.h"

#include <stdlib.h>
#include <string.h>

const json_t *after_volumes_find(const json_t *object, const char *path) {
    AUTO(text_freep) char *name = x_strndup(path, strcspn(path, "/"));
    const json_t *own = tree_find(tree_get(object, "spec.volumes"), "name", name);
    return own ? own : tree_find(tree_get(object, "spec.trial.volumes"), "name", name);
}

bool after_volumes_uses(const json_t *object, const json_t *job) {
    AUTO(text_freep) char *text = x_printf("$(after.%s.", tree_text(job, "metadata.name", ""));
    return tree_mentions(json_object_get(object, "spec"), text);
}

/* By what two volumes of the same kind differ. Not by Secrets: another one may have another key of
 * the same account. */
static const struct {
    const char *path;
    bool is_folder; /* "/data/" is "/data" */
} fields[] = {
    {"persistentVolumeClaim.claimName", false},
    {"hostPath.path", true},
    {"nfs.path", true},
    {"azureFile.shareName", false},
    {"blobfuse.account", false},
    {"blobfuse.container", false},
};

static bool is_same(const char *ours, const char *theirs, bool is_folder) {
    AUTO(text_freep) char *one = is_folder ? job_plain_path(ours) : x_strdup(ours);
    AUTO(text_freep) char *other = is_folder ? job_plain_path(theirs) : x_strdup(theirs);
    return strcmp(one, other) == 0;
}

static bool is_another(const json_t *volume, const json_t *other) {
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const char *ours = tree_text(volume, fields[i].path, NULL);
        const char *theirs = tree_text(other, fields[i].path, NULL);
        if (ours && theirs && !is_same(ours, theirs, fields[i].is_folder)) {
            return true;
        }
    }
    return false;
}

/* It goes with the pods of its job. */
static bool is_of_pods(const json_t *volume) {
    return json_object_get(volume, "emptyDir") || json_object_get(volume, "ephemeral");
}

int after_volumes_check(const json_t *object, const json_t *job, const char *output,
                        struct error *err) {
    const json_t *ours = output ? after_volumes_find(object, output) : NULL;
    const json_t *theirs = output ? after_volumes_find(job, output) : NULL;
    if (!ours || !theirs || !after_volumes_uses(object, job)) {
        return 0;
    }
    const char *kind = tree_text(job, "kind", "job"), *name = tree_text(job, "metadata.name", "");
    int length = (int)strcspn(output, "/");
    if (is_of_pods(ours) || is_of_pods(theirs)) {
        return error_set(err, ERROR_INVALID,
                         "spec.volumes: %.*s lasts as long as a pod, so what %s %.63s has written "
                         "to %.100s is not there: use a claim in both",
                         length, output, kind, name, output);
    }
    return is_another(ours, theirs)
               ? error_set(err, ERROR_INVALID,
                           "spec.volumes: %.*s is another volume than in %s %.63s, which has "
                           "written to %.100s: declare the same one in both",
                           length, output, kind, name, output)
               : 0;
}
