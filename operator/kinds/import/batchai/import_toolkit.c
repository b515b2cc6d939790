// SPDX-License-Identifier: Apache-2.0
/* Each toolkit of Batch AI knew how to start its program; this file converts that to a command. A
 * shell read the command lines there, and does here, too. */
#include "operator/kinds/import/batchai/import_job.h"

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
    AUTO(text_freep) char *here = import_line(import, line);
    json_object_set_new(import->spec, field, json_pack("[s, s, s]", "bash", "-c", here));
}

/* As many processes as requested, or one per node, each in a shell of its own. */
static void by_mpirun(struct import *import, const json_t *settings, const char *line) {
    int64_t processes = MAX(tree_integer(settings, "processCount", nodes(import)), 1);
    AUTO(text_freep) char *here = import_line(import, line);
    json_object_set_new(import->spec, "command",
                        json_pack("[s, s, o, s, s, s]", "mpirun", "-np",
                                  json_sprintf("%lld", (long long)processes), "bash", "-c", here));
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

/* Writes `to` for each `from` of *text, which it replaces. */
static void replace(char **text, const char *from, const char *to) {
    char *made = x_strdup("");
    const char *at = *text;
    for (const char *found; (found = strstr(at, from)); at = found + strlen(from)) {
        AUTO(text_freep) char *before = made;
        made = x_printf("%s%.*s%s", before, (int)(found - at), at, to);
    }
    AUTO(text_freep) char *before = made;
    AUTO(text_freep) char *old = *text;
    *text = x_printf("%s%s", before, at);
}

/* A line with parameter servers before it. Batch AI started them beside the workers, and both lists
 * of hosts had ports. In Windlass the list of hosts has none, and the agent fills in its variables
 * before the shell reads the line: hence other names. Owned. */
static char *with_servers(const json_t *settings, int64_t servers, const char *line) {
    AUTO(text_freep) char *server = python_line(settings, "parameterServerCommandLineArgs");
    char *all = x_printf("(%s) & %s", server, line);
    replace(&all, "${AZ_BATCHAI_PS_HOSTS}", "$ps_hosts");
    replace(&all, "$AZ_BATCHAI_PS_HOSTS", "$ps_hosts");
    replace(&all, "${AZ_BATCHAI_WORKER_HOSTS}", "$worker_hosts");
    replace(&all, "$AZ_BATCHAI_WORKER_HOSTS", "$worker_hosts");
    AUTO(text_freep) char *body = all;
    return x_printf(
        "at() { echo \"$AZ_BATCHAI_WORKER_HOSTS\" | tr , '\\n' | head -n $1 | sed s/\\$/:$2/ | "
        "paste -sd, -; }; worker_hosts=$(at 1000 2223); ps_hosts=$(at %lld 2222); "
        "[ $AZ_BATCHAI_TASK_INDEX -ge %lld ] || %s",
        (long long)servers, (long long)servers, body);
}

/* TensorFlow's master was a separate process: here it is the first worker. */
static void take_tensorflow(struct import *import, const json_t *settings) {
    bool has_master = json_object_get(settings, "masterCommandLineArgs") != NULL;
    bool has_workers = json_object_get(settings, "workerCommandLineArgs") != NULL;
    bool has_servers = json_object_get(settings, "parameterServerCommandLineArgs") != NULL;
    int64_t servers = tree_integer(settings, "parameterServerCount", has_servers);
    AUTO(text_freep) char *master = python_line(settings, "masterCommandLineArgs");
    AUTO(text_freep) char *worker = python_line(settings, "workerCommandLineArgs");
    AUTO(text_freep)
    char *both = x_printf("if [ \"$AZ_BATCHAI_TASK_INDEX\" = 0 ]; then %s; fi; %s", master, worker);
    const char *line = has_master && has_workers ? both : has_workers ? worker : master;
    json_object_set_new(import->spec, "launcher", json_string("None"));
    if (has_servers && servers > 0) {
        AUTO(text_freep) char *all = with_servers(settings, MIN(servers, nodes(import)), line);
        set_line(import, "command", all);
        import_note(import, "command",
                    "the first workers also run a parameter server, as there: it ends with them "
                    "(ports 2222 and 2223; `windlass run` has one address for all workers, so "
                    "only a cluster runs it)");
    } else {
        set_line(import, "command", line);
    }
    if (servers > nodes(import)) {
        import_leave_out(import, "tensorFlowSettings.parameterServerCount: one a node at most");
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
