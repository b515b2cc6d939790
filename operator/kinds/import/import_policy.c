// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/import/import_policy.h"

#include "lib/text/text_list.h"

#include <string.h>

enum { WORKERS_MAX = 1000, RESTARTS_MAX = 1000 };

#define KUEUE_LABEL "kueue.x-k8s.io/queue-name"

void import_metadata(struct import *import, const json_t *object) {
    const json_t *metadata = json_object_get(object, "metadata");
    const char *space = tree_text(metadata, "namespace", NULL), *name;
    AUTO(tree_freep) json_t *labels = json_object();
    json_t *value;
    if (space) {
        json_object_set_new(import->metadata, "namespace", json_string(space));
    }
    json_object_update(labels, json_object_get(metadata, "labels"));
    const char *queue = json_string_value(json_object_get(labels, KUEUE_LABEL));
    if (queue) {
        json_object_set_new(import->spec, "gang", json_string("Kueue"));
        json_object_set_new(import->spec, "queue", json_string(queue));
        json_object_del(labels, KUEUE_LABEL);
    }
    if (json_object_size(labels) > 0) {
        json_object_set(import->metadata, "labels", labels);
    }
    json_object_foreach(json_object_get(metadata, "annotations"), name, value) {
        import_leave_out(import, "metadata.annotations: %.120s", name);
    }
}

static void take_scheduling(struct import *import, const json_t *policy, const char *where) {
    static const struct import_field fields[] = {
        {"queue", NULL},
        {"priorityClass", NULL},
        {"minAvailable", "a gang starts whole; minWorkers says with how many it may"},
        {"scheduleTimeoutSeconds", "see startDeadlineSeconds"},
        {0},
    };
    AUTO(text_freep) char *within = x_printf("%sschedulingPolicy.", where);
    const char *queue = tree_text(policy, "queue", NULL);
    import_set(import, "priorityClassName", json_object_get(policy, "priorityClass"));
    if (queue && !json_object_get(import->spec, "queue")) {
        json_object_set_new(import->spec, "gang", json_string("Volcano"));
        json_object_set_new(import->spec, "queue", json_string(queue));
    }
    import_report(import, policy, within, fields);
}

static const struct import_field of_policy[] = {
    {"activeDeadlineSeconds", NULL},
    {"backoffLimit", NULL},
    {"ttlSecondsAfterFinished", NULL},
    {"suspend", NULL},
    {"schedulingPolicy", NULL},
    {"cleanPodPolicy", "pods end with the job; ttlSecondsAfterFinished says how long they stay"},
    {"managedBy", NULL},
    {0},
};

/* Another cluster's controller stays; the other system's own gives way to ours. */
static void take_manager(struct import *import, const json_t *policy, const char *where) {
    static const char *const theirs[] = {"kubernetes.io/job-controller",
                                         "kubeflow.org/training-operator",
                                         "kubeflow.org/mpi-operator",
                                         "trainer.kubeflow.org/trainjob-controller",
                                         "jobset.sigs.k8s.io/jobset-controller",
                                         NULL};
    const char *manager = tree_text(policy, "managedBy", NULL);
    if (manager && text_list_has(theirs, manager)) {
        import_leave_out(import, "%smanagedBy: Windlass manages it", where);
    } else if (manager) {
        json_object_set_new(import->spec, "managedBy", json_string(manager));
    }
}

static bool is_in(const struct import_field *table, const char *name) {
    while (table && table->name && strcmp(table->name, name) != 0) {
        table++;
    }
    return table && table->name;
}

void import_policy(struct import *import, const json_t *policy, const char *where,
                   const struct import_field *others) {
    AUTO(tree_freep) json_t *own = json_object();
    AUTO(tree_freep) json_t *rest = json_object();
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)policy, name, value) {
        json_object_set(is_in(of_policy, name) ? own : rest, name, value);
    }
    import_set(import, "activeDeadlineSeconds", json_object_get(policy, "activeDeadlineSeconds"));
    import_set(import, "ttlSecondsAfterFinished",
               json_object_get(policy, "ttlSecondsAfterFinished"));
    if (json_object_get(policy, "backoffLimit")) {
        int64_t limit = import_integer(import, policy, "backoffLimit", 0);
        json_object_set_new(tree_ensure_object(import->spec, "restart"), "maxRestarts",
                            json_integer(MAX(0, MIN(limit, RESTARTS_MAX))));
    }
    if (tree_bool(policy, "suspend", false) && !json_object_get(import->spec, "queue")) {
        json_object_set_new(import->spec, "suspend", json_true());
    }
    take_manager(import, policy, where);
    take_scheduling(import, json_object_get(policy, "schedulingPolicy"), where);
    import_report(import, own, where, of_policy);
    static const struct import_field none[] = {{0}};
    import_report(import, rest, where, others ? others : none);
}

void import_replica(struct import *import, const json_t *replica, const char *where) {
    static const struct import_field fields[] = {
        {"replicas", NULL},
        {"template", NULL},
        {"restartPolicy", "restart and retry say what follows when a program ends"},
        {0},
    };
    import_report(import, replica, where, fields);
}

int import_workers(struct import *import, int64_t workers, const char *where, struct error *err) {
    if (workers < 1 || workers > WORKERS_MAX) {
        return error_set(err, ERROR_INVALID, "%s: 1 to %d are possible", where, WORKERS_MAX);
    }
    json_object_set_new(import->spec, "workers", json_integer(workers));
    return 0;
}
