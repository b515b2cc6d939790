// SPDX-License-Identifier: Apache-2.0
/* MPIJob of Kubeflow, kubeflow.org/v1 and v2beta1: the launcher's command runs on the first
 * worker. */
#include "operator/kinds/import/import_kubeflow.h"
#include "operator/kinds/import/import_pod.h"
#include "operator/kinds/import/import_policy.h"

#include <string.h>

#define HOST_FILE "/etc/mpi/hostfile"

/* The operator's file of hosts, where a command names it, and names of pods. */
static void take_hosts(struct import *import) {
    json_t *words = json_object_get(import->spec, "command");
    for (size_t i = 0; i < json_array_size(words); i++) {
        AUTO(text_freep) char *word = x_strdup(json_string_value(json_array_get(words, i)));
        char *found = strstr(word, HOST_FILE);
        if (found) {
            json_array_set_new(words, i,
                               json_sprintf("%.*s$AZ_BATCHAI_MPI_HOST_FILE%s", (int)(found - word),
                                            word, found + strlen(HOST_FILE)));
        } else if (strstr(word, "-worker-")) {
            import_note(import, "command",
                        "it names the pods of an MPIJob: here the hosts are in "
                        "$AZ_BATCHAI_MPI_HOST_FILE, which mpirun knows by itself");
        }
    }
}

static void leave_out_launcher(struct import *import, const json_t *launcher) {
    const json_t *container = json_array_get(tree_get(launcher, "template.spec.containers"), 0);
    const json_t *worker = tree_get(import->spec, "image");
    const char *image = tree_text(container, "image", NULL);
    if (json_object_get(container, "resources")) {
        import_leave_out(import, "Launcher.resources: the first worker is the launcher, too");
    }
    if (image && json_is_string(worker) && strcmp(image, json_string_value(worker)) != 0) {
        import_note(import, "image", "the launcher had another, %.200s: its program must be here",
                    image);
    }
}

static const struct import_field of_spec[] = {
    {"slotsPerWorker", NULL},
    {"mpiReplicaSpecs", NULL},
    {"runPolicy", NULL},
    {"runLauncherAsWorker", NULL},
    {"sshAuthMountPath", "there is no ssh"},
    {"launcherCreationPolicy", "all workers are there before the command starts"},
    {"mpiImplementation", "Open MPI, MPICH and Intel MPI are all set up"},
    {"mainContainer", "see the containers"},
    {0},
};

int import_mpi(struct import *import, const json_t *object, struct error *err) {
    const json_t *spec = json_object_get(object, "spec");
    const json_t *launcher = tree_get(spec, "mpiReplicaSpecs.Launcher");
    const json_t *worker = tree_get(spec, "mpiReplicaSpecs.Worker");
    bool leads = tree_bool(spec, "runLauncherAsWorker", false);
    int64_t workers = worker ? import_integer(import, worker, "replicas", 1) + leads : 1;
    if (!launcher) {
        return error_set(err, ERROR_INVALID, "spec.mpiReplicaSpecs.Launcher: missing");
    }
    if (import_workers(import, workers, "spec.mpiReplicaSpecs.Worker.replicas", err) < 0) {
        return -1;
    }
    import_metadata(import, object);
    import_set(import, "slotsPerWorker", json_object_get(spec, "slotsPerWorker"));
    const json_t *place = json_object_get(worker ? worker : launcher, "template");
    const struct import_pod pods[] = {
        {.template = place, .where = worker ? "Worker." : "Launcher.", .has_place = true},
        {.template = json_object_get(launcher, "template"),
         .where = "Launcher.",
         .has_program = true}};
    import_take_pod(import, &pods[0]);
    import_take_pod(import, &pods[1]);
    import_replica(import, worker, "Worker.");
    import_replica(import, launcher, "Launcher.");
    if (tree_get(worker, "template.spec.containers[0].command")) {
        import_leave_out(import, "Worker.command: no sshd is needed");
    }
    leave_out_launcher(import, worker ? launcher : NULL);
    take_hosts(import);
    import_policy(import, json_object_get(spec, "runPolicy"), "runPolicy.", NULL);
    import_policy(import, spec, "spec.", of_spec);
    return 0;
}
