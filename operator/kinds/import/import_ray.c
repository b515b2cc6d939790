// SPDX-License-Identifier: Apache-2.0
/* RayJob (ray.io): its cluster of Ray lives as long as the entry point, in the workers of a
 * DistTrain. */
#include "operator/kinds/import/import_kubeflow.h"
#include "operator/kinds/import/import_pod.h"
#include "operator/kinds/import/import_policy.h"

#include <string.h>

/* The first worker is the head; the others serve it until it is gone. The head's address is the
 * first of WINDLASS_HOSTS. */
static const char script[] =
    "head=${WINDLASS_HOSTS%%,*}\n"
    "if [ \"$WINDLASS_RANK\" = 0 ]; then\n"
    "  ray start --head --node-ip-address=\"$head\" --port=6379 --temp-dir=/tmp/ray || exit 1\n"
    "  export RAY_ADDRESS=\"$head:6379\"\n"
    "  sh -c \"$1\"; code=$?\n"
    "  ray stop; exit $code\n"
    "fi\n"
    "for i in $(seq 60); do ray health-check --address \"$head:6379\" && break; sleep 1; done\n"
    "ray start --address=\"$head:6379\" || exit 1\n"
    "while ray health-check --address \"$head:6379\"; do sleep 5; done\n"
    "ray stop; exit 0";

static const struct import_field of_spec[] = {
    {"entrypoint", NULL},
    {"rayClusterSpec", NULL},
    {"runtimeEnvYAML", NULL},
    {"shutdownAfterJobFinishes", "the cluster ends with the job"},
    {"submissionMode", "the first worker runs the entry point"},
    {"submitterPodTemplate", "the first worker runs the entry point"},
    {"submitterConfig", "the first worker runs the entry point"},
    {"clusterSelector", "the job has a cluster of its own"},
    {"jobId", "the job's name says it"},
    {"entrypointNumCpus", "the first worker runs the entry point"},
    {"entrypointNumGpus", "the first worker runs the entry point"},
    {"entrypointResources", "the first worker runs the entry point"},
    {0},
};
static const struct import_field of_group[] = {
    {"replicas", NULL},
    {"template", NULL},
    {"groupName", NULL},
    {"minReplicas", "see minWorkers"},
    {"maxReplicas", "workers is the most there are"},
    {"rayStartParams", "ray start is in the command"},
    {"numOfHosts", "one pod a replica"},
    {0},
};

static const struct import_field of_cluster[] = {
    {"headGroupSpec", NULL},
    {"workerGroupSpecs", NULL},
    {"rayVersion", "the image has its own"},
    {"enableInTreeAutoscaling", "workers says how many there are"},
    {"autoscalerOptions", "workers says how many there are"},
    {0},
};

/* The head's variables and volumes become those of all pods; the rest of it is the workers'. */
static void take_head(struct import *import, const json_t *head, const json_t *group) {
    static const char *const fields[] = {"image", "resources"};
    const json_t *one = json_array_get(tree_get(head, "template.spec.containers"), 0);
    const json_t *other = json_array_get(tree_get(group, "spec.containers"), 0);
    const struct import_pod pod = {.template = json_object_get(head, "template"),
                                   .where = "headGroupSpec."};
    import_report(import, head, "headGroupSpec.", of_group);
    if (!group) {
        return; /* the head is the only pod, whose place was taken */
    }
    import_take_pod(import, &pod);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const json_t *a = json_object_get(one, fields[i]), *b = json_object_get(other, fields[i]);
        if (a && !(b && json_equal(a, b))) {
            import_leave_out(import, "headGroupSpec.%s: the head has the workers'", fields[i]);
        }
    }
}

/* Working folder and packages, which Ray installs when the program connects. */
static void take_runtime(struct import *import, const char *yaml) {
    if (yaml) {
        import_leave_out(import,
                         "spec.runtimeEnvYAML: give it to ray.init(runtime_env=...), or install "
                         "its packages by prepare");
    }
}

int import_rayjob(struct import *import, const json_t *object, struct error *err) {
    const json_t *spec = json_object_get(object, "spec");
    const json_t *cluster = json_object_get(spec, "rayClusterSpec");
    const json_t *groups = json_object_get(cluster, "workerGroupSpecs");
    const json_t *head = tree_get(cluster, "headGroupSpec.template");
    const char *entry = tree_text(spec, "entrypoint", NULL);
    int64_t workers = 1;
    for (size_t i = 0; i < json_array_size(groups); i++) {
        const json_t *group = json_array_get(groups, i);
        int64_t replicas = import_integer(import, group, "minReplicas", 0);
        replicas = import_integer(import, group, "replicas", replicas);
        workers += MAX(0, MIN(replicas, INT32_MAX));
        AUTO(text_freep) char *where = x_printf("workerGroupSpecs[%zu].", i);
        import_report(import, group, where, of_group);
        if (i > 0) {
            import_leave_out(import, "%stemplate: all workers are like the first group's", where);
        }
    }
    if (!entry) {
        return error_set(err, ERROR_INVALID, "spec.entrypoint: missing");
    }
    if (import_workers(import, workers, "spec.rayClusterSpec: replicas and the head", err) < 0) {
        return -1;
    }
    const json_t *group = tree_get(json_array_get(groups, 0), "template");
    const struct import_pod pod = {
        .template = group ? group : head, .where = "pod.", .has_place = true};
    import_metadata(import, object);
    import_take_pod(import, &pod);
    take_head(import, json_object_get(cluster, "headGroupSpec"), group);
    import_report(import, cluster, "rayClusterSpec.", of_cluster);
    json_object_set_new(import->spec, "launcher", json_string("None"));
    json_object_set_new(import->spec, "command",
                        json_pack("[s, s, s, s, s]", "bash", "-c", script, "ray", entry));
    import_note(import, "workers", "the head, which runs the entry point, and the workers of Ray");
    take_runtime(import, tree_text(spec, "runtimeEnvYAML", NULL));
    import_policy(import, spec, "spec.", of_spec);
    return 0;
}
