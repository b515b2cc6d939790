// SPDX-License-Identifier: Apache-2.0
/* Each toolkit of Batch AI knew how to start its program; this file converts that to a command. A
 * shell read the command lines there, and does here, too. */
#include "operator/kinds/disttrain/import/import_job.h"

#include <stdlib.h>
#include <string.h>

static int64_t nodes(const struct import *import) {
    return MAX(tree_integer(import->properties, "nodeCount", 1), 1);
}

static void set_slots(struct import *import, int64_t processes) {
    int64_t slots = (processes + nodes(import) - 1) / nodes(import);
    if (slots > 1) {
        json_object_set_new(import->spec, "slotsPerWorker", json_integer(MIN(slots, 64)));
    }
}

static void set_line(struct import *import, const char *field, const char *line) {
    json_object_set_new(import->spec, field, json_pack("[s, s, s]", "bash", "-c", line));
}

/* As many processes as requested, or one per node, each in a shell of its own. */
static void by_mpirun(struct import *import, const json_t *settings, const char *line) {
    int64_t processes = MAX(tree_integer(settings, "processCount", nodes(import)), 1);
    json_object_set_new(import->spec, "command",
                        json_pack("[s, s, o, s, s, s]", "mpirun", "-np",
                                  json_sprintf("%lld", (long long)processes), "bash", "-c", line));
    set_slots(import, processes);
}

/* "python script arguments"; owned. */
static char *python_line(const json_t *settings, const char *arguments_field) {
    const char *arguments = tree_text(settings, arguments_field, "");
    return x_printf("exec %s %s%s%s", tree_text(settings, "pythonInterpreterPath", "python"),
                    tree_text(settings, "pythonScriptFilePath", "SCRIPT"), *arguments ? " " : "",
                    arguments);
}

static void take_python(struct import *import, const json_t *settings) {
    AUTO(text_freep) char *line = python_line(settings, "commandLineArgs");
    by_mpirun(import, settings, line);
}

/* The number after -np or -n; 0: there is none. */
static int64_t find_processes(const char *line) {
    static const char *const flags[] = {" -np ", " -n ", " --np "};
    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        const char *at = strstr(line, flags[i]);
        long number = at ? strtol(at + strlen(flags[i]), NULL, 10) : 0;
        if (number > 0 && number <= 64000) {
            return number;
        }
    }
    return 0;
}

static void take_custom(struct import *import, const json_t *settings) {
    const char *line = tree_text(settings, "commandLine", "");
    set_line(import, "command", line);
    int64_t processes = find_processes(line);
    set_slots(import, processes);
    if (processes == 0) {
        import_note(import, "command",
                    "slotsPerWorker says how many processes mpirun may place in each worker (1 "
                    "where not given)");
    }
    if (strstr(line, "I_MPI_") || strstr(line, "eth0") || strstr(line, "openib")) {
        import_note(import, "command",
                    "it names networks of those machines (eth0, openib, I_MPI_FABRICS): take out "
                    "what the nodes do not have");
    }
}

static void take_mpi(struct import *import, const json_t *settings) {
    by_mpirun(import, settings, tree_text(settings, "commandLine", ""));
}

/* CNTK and Caffe run configurations in languages of their own, with their own programs. */
static void take_configured(struct import *import, const json_t *settings, const char *format) {
    if (json_object_get(settings, "pythonScriptFilePath")) {
        take_python(import, settings);
        return;
    }
    const char *arguments = tree_text(settings, "commandLineArgs", "");
    AUTO(text_freep)
    char *line = x_printf("exec %s%s%s%s", format, tree_text(settings, "configFilePath", "CONFIG"),
                          *arguments ? " " : "", arguments);
    by_mpirun(import, settings, line);
}

static void take_cntk(struct import *import, const json_t *settings) {
    take_configured(import, settings, "cntk configFile=");
}

static void take_caffe(struct import *import, const json_t *settings) {
    take_configured(import, settings, "caffe train --solver=");
}

static void take_pytorch(struct import *import, const json_t *settings) {
    if (strcasecmp(tree_text(settings, "communicationBackend", "Gloo"), "MPI") == 0) {
        take_python(import, settings);
        return;
    }
    AUTO(text_freep) char *line = python_line(settings, "commandLineArgs");
    json_object_set_new(import->spec, "launcher", json_string("Torchrun"));
    set_line(import, "command", line);
    set_slots(import, tree_integer(settings, "processCount", nodes(import)));
    import_note(import, "command",
                "each process has RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, and "
                "AZ_BATCHAI_PYTORCH_INIT_METHOD as before");
}

/* TensorFlow's master was a separate process, and so were parameter servers: here all are workers.
 */
static void take_tensorflow(struct import *import, const json_t *settings) {
    bool has_master = json_object_get(settings, "masterCommandLineArgs") != NULL;
    bool has_workers = json_object_get(settings, "workerCommandLineArgs") != NULL;
    AUTO(text_freep) char *master = python_line(settings, "masterCommandLineArgs");
    AUTO(text_freep) char *worker = python_line(settings, "workerCommandLineArgs");
    AUTO(text_freep)
    char *both = x_printf("if [ \"$AZ_BATCHAI_TASK_INDEX\" = 0 ]; then %s; fi; %s", master, worker);
    json_object_set_new(import->spec, "launcher", json_string("None"));
    set_line(import, "command", has_master && has_workers ? both : has_workers ? worker : master);
    if (json_object_get(settings, "parameterServerCommandLineArgs") ||
        json_object_get(settings, "parameterServerCount")) {
        import_leave_out(import,
                         "tensorFlowSettings: parameter servers; let the workers add up gradients "
                         "among themselves (MultiWorkerMirroredStrategy reads TF_CONFIG, or "
                         "Horovod)");
    }
    if (tree_integer(settings, "workerCount", nodes(import)) != nodes(import)) {
        import_leave_out(import, "tensorFlowSettings.workerCount: one worker a node");
    }
}

int import_toolkit(struct import *import, struct error *err) {
    static const struct {
        const char *name;
        void (*take)(struct import *import, const json_t *settings);
    } toolkits[] = {
        {"customToolkitSettings", take_custom},
        {"customMpiSettings", take_mpi},
        {"horovodSettings", take_python},
        {"chainerSettings", take_python},
        {"pyTorchSettings", take_pytorch},
        {"tensorFlowSettings", take_tensorflow},
        {"cntkSettings", take_cntk},
        {"caffeSettings", take_caffe},
        {"caffe2Settings", take_caffe},
    };
    size_t found = ARRAY_LEN(toolkits);
    for (size_t i = 0; i < ARRAY_LEN(toolkits); i++) {
        if (json_is_object(json_object_get(import->properties, toolkits[i].name))) {
            if (found < ARRAY_LEN(toolkits)) {
                return error_set(err, ERROR_INVALID,
                                 "properties: has %s and %s; a job has exactly one toolkit",
                                 toolkits[found].name, toolkits[i].name);
            }
            found = i;
        }
    }
    if (found == ARRAY_LEN(toolkits)) {
        return error_set(
            err, ERROR_INVALID,
            "properties: has no toolkit (customToolkitSettings, horovodSettings, ...)");
    }
    toolkits[found].take(import, json_object_get(import->properties, toolkits[found].name));
    return 0;
}
