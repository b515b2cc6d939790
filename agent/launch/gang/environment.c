// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/gang/environment.h"

#include "agent/launch/pod/variables.h"
#include "lib/contract.h"
#include "lib/file.h"
#include "lib/text/text_list.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 128 << 10 /* of one variable: Linux's limit */ };

void launch_variables_release(struct launch_variables *variables) {
    for (size_t i = 0; i < variables->count; i++) {
        free(variables->items[i]);
    }
    free(variables->items);
    free(variables->refused);
    *variables = (struct launch_variables){0};
}

static char **find(const struct launch_variables *variables, const char *name) {
    size_t size = strcspn(name, "=");
    for (size_t i = 0; i < variables->count; i++) {
        if (strncmp(variables->items[i], name, size) == 0 && variables->items[i][size] == '=') {
            return &variables->items[i];
        }
    }
    return NULL;
}

const char *launch_variable(const struct launch_variables *variables, const char *name) {
    char **found = find(variables, name);
    return found ? *found + strlen(name) + 1 : NULL;
}

/* Takes ownership of the text. */
static void put(struct launch_variables *variables, char *variable) {
    char **found = find(variables, variable);
    if (found) {
        free(*found);
        *found = variable;
        return;
    }
    variables->items =
        x_realloc_array(variables->items, variables->count + 2, sizeof *variables->items);
    variables->items[variables->count++] = variable;
    variables->items[variables->count] = NULL;
}

void launch_variable_set(struct launch_variables *variables, const char *name, const char *format,
                         ...) {
    char *value = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&value, format, arguments) < 0) {
        abort();
    }
    va_end(arguments);
    put(variables, x_printf("%s=%s", name, value));
    free(value);
}

/* Sets our value, unless the user has set the variable. */
static void set_default(struct launch_variables *variables, const char *name, const char *value) {
    if (!launch_variable(variables, name)) {
        launch_variable_set(variables, name, "%s", value);
    }
}

static bool is_listed(const char *const *names, const char *variable) {
    size_t size = strcspn(variable, "=");
    for (; names && *names; names++) {
        if (strlen(*names) == size && strncmp(*names, variable, size) == 0) {
            return true;
        }
    }
    return false;
}

/* Starts with the pod's environment without our variables, one of which is the token. Ranks of a
 * trainer are our programs, too, and read variables that their pods do not have. */
static void begin(const struct launch_context *context, enum launch_role role,
                  struct launch_variables *variables) {
    static const char *const trainers[] = {CONTRACT_TRAINER_VARIABLES, NULL};
    for (const char *const *one = context->pod_environment; one && *one; one++) {
        bool is_secret = role == LAUNCH_COMMAND && is_listed(context->secrets, *one);
        bool is_ours =
            text_starts(*one, "WINDLASS_") && !(context->is_trainer && is_listed(trainers, *one));
        bool is_address = role == LAUNCH_COMMAND && text_starts(*one, "POD_IP=");
        if (!is_ours && !is_secret && !is_address && strchr(*one, '=')) {
            put(variables, x_strdup(*one));
        }
    }
    set_default(variables, "HOME", "/tmp");
    set_default(variables, "USER", "windlass");
    const char *path = launch_variable(variables, "PATH");
    launch_variable_set(variables, "PATH", "%s:%s", context->bin,
                        path && *path ? path : "/usr/local/bin:/usr/bin:/bin");
}

/* ---- variables of the gang ------------------------------------------------------------------ */

static void set_hosts(const struct launch_context *context, struct launch_variables *variables) {
    struct error err = {0};
    AUTO(buffer_release) struct buffer hosts, ports;
    buffer_init(&hosts, TEXT_MAX);
    buffer_init(&ports, TEXT_MAX);
    /* A list that has no room (with some 3,000 pods) is omitted, since half a list would be
     * wrong. */
    if (gang_table_hosts(context->table, false, &hosts, &err) == 0) {
        launch_variable_set(variables, "WINDLASS_HOSTS", "%s", hosts.data);
        launch_variable_set(variables, "AZ_BATCH_HOST_LIST", "%s", hosts.data);
    }
    if (gang_table_hosts(context->table, true, &ports, &err) == 0) {
        launch_variable_set(variables, "AZ_BATCHAI_WORKER_HOSTS", "%s", ports.data);
    }
    launch_variable_set(variables, "AZ_BATCHAI_MPI_HOST_FILE", "%s/hosts", context->run);
    const char *master = context->table->rows[0].address;
    launch_variable_set(variables, "AZ_BATCHAI_PYTORCH_INIT_METHOD",
                        strchr(master, ':') ? "tcp://[%s]:%d" : "tcp://%s:%d", master,
                        context->master_port);
    launch_variable_set(variables, "WINDLASS_ROUND", "%lld", (long long)context->table->round);
}

static void set_paths(const struct launch_context *context, struct launch_variables *variables) {
    char name[300];
    for (size_t i = 0; i < context->input_count; i++) {
        snprintf(name, sizeof name, "AZ_BATCHAI_INPUT_%s", context->inputs[i].id);
        launch_variable_set(variables, name, "%s", context->inputs[i].path);
        snprintf(name, sizeof name, "WINDLASS_INPUT_%s", context->inputs[i].id);
        launch_variable_set(variables, name, "%s", context->inputs[i].path);
    }
    for (size_t i = 0; i < context->output_count; i++) {
        /* The second is a misspelling in the documentation of Batch AI, which scripts have
         * copied. */
        static const char *const forms[] = {"AZ_BATCHAI_OUTPUT_%s", "AZ_BATCHIA_OUTPUT_%s",
                                            "WINDLASS_OUTPUT_%s"};
        for (size_t form = 0; form < ARRAY_LEN(forms); form++) {
            AUTO(text_freep) char *prefix = x_strndup(forms[form], strlen(forms[form]) - 2);
            snprintf(name, sizeof name, "%s%s", prefix, context->outputs[i].id);
            launch_variable_set(variables, name, "%s", context->outputs[i].path);
        }
    }
}

static void set_batch_ai(const struct launch_context *context, struct launch_variables *variables) {
    static const char *const gpus[] = {"AZ_BATCHAI_NUM_GPUS", "AZ_BATCHAI_NUM_GPUS_PER_NODE",
                                       "AZ_BATCHAI_GPU_COUNT_FOUND"};
    for (size_t i = 0; i < ARRAY_LEN(gpus); i++) {
        launch_variable_set(variables, gpus[i], "%d", context->gpus);
    }
    set_default(variables, "AZ_BATCHAI_MOUNT_ROOT", "/mnt");
    set_default(variables, "AZ_BATCHAI_JOB_MOUNT_ROOT", "/mnt");
    set_default(variables, "AZ_BATCHAI_JOB_TEMP", "/tmp");
    set_default(variables, "AZ_BATCHAI_JOB_TEMP_DIR", "/tmp");
    launch_variable_set(variables, "AZ_BATCHAI_STDOUTERR_DIR", "%s",
                        context->logs ? context->logs : "/tmp");
    if (context->logs) {
        launch_variable_set(variables, "AZ_BATCHAI_SHARED_JOB_TEMP", "%s/shared", context->logs);
    }
    set_default(variables, "AZ_BATCHAI_PYTORCH_BACKEND", "gloo");
}

static void set_job(const struct launch_context *context, struct launch_variables *variables) {
    launch_variable_set(variables, "WINDLASS_JOB", "%s", context->job);
    launch_variable_set(variables, "WINDLASS_NOTICE", "%s/notice", context->run);
    launch_variable_set(variables, "WINDLASS_SOCKET", "%s/agent", context->run);
    launch_variable_set(variables, "WINDLASS_METRICS", "%s/metrics", context->run);
    if (context->logs_location) {
        launch_variable_set(variables, "WINDLASS_LOGS", "%s", context->logs_location);
    }
    if (context->pattern) {
        launch_variable_set(variables, "WINDLASS_PATTERN", "%s", context->pattern);
    }
    if (context->metrics_file) {
        launch_variable_set(variables, "WINDLASS_METRICS_FILE", "%s", context->metrics_file);
    }
}

/* ---- MPI ------------------------------------------------------------------------------------ */

/* `windlass run`: all pods have one address. */
static bool shares_machine(const struct gang_table *table) {
    return table->count > 1 && strcmp(table->rows[0].address, table->rows[1].address) == 0;
}

/* The library comes first; the user's own ones stay. */
static void set_preload(const struct launch_context *context, struct launch_variables *variables) {
    const char *own = launch_variable(variables, "LD_PRELOAD");
    AUTO(text_freep) char *before = x_strdup(own ? own : "");
    if (context->preload) {
        launch_variable_set(variables, "LD_PRELOAD", "%s%s%s", context->preload, *before ? ":" : "",
                            before);
    }
}

/* The settings by which each MPI finds our remote shell. Their names do not clash, so all are set.
 * Sources: ompi_info --all of Open MPI 4.1.4; mpiexec -info and hydra's README of MPICH 4.0.2; for
 * Open MPI 5 its source and prte_info (PRRTE 3.0.8), run on one machine; Intel MPI Library's
 * Developer Reference, "Hydra Environment Variables", which has not been run. */
static void set_mpi(const struct launch_context *context, struct launch_variables *variables) {
    AUTO(text_freep) char *ssh = x_printf("%s/ssh", context->bin);
    AUTO(text_freep) char *rank = x_printf("%s/rank", context->bin);
    AUTO(text_freep) char *hosts = x_printf("%s/hosts", context->run);
    AUTO(text_freep) char *hydra = x_printf("%s/hosts.hydra", context->run);
    const char *const rows[][2] = {
        {"OMPI_MCA_plm_rsh_agent", ssh},
        {"OMPI_MCA_plm_rsh_no_tree_spawn", "1"},       /* all starts come from member 0 */
        {"OMPI_MCA_orte_leave_session_attached", "1"}, /* no orted detaches itself */
        {"OMPI_MCA_orte_default_hostfile", hosts},
        {"OMPI_MCA_orte_fork_agent", rank},
        {"OMPI_MCA_hwloc_base_binding_policy", "none"}, /* pods of one node share its cores */
        {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
        {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
        {"PRTE_MCA_plm_ssh_agent", ssh},
        {"PRTE_MCA_plm_ssh_no_tree_spawn", "1"},
        {"PRTE_MCA_prte_default_hostfile", hosts},
        {"PRTE_MCA_odls_base_exec_agent", rank},
        {"PRTE_MCA_hwloc_default_binding_policy", "none"},
        {"PRTE_ALLOW_RUN_AS_ROOT", "1"},
        {"PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
        {"HYDRA_LAUNCHER", "rsh"}, /* "ssh" would limit the rate of connections */
        {"HYDRA_LAUNCHER_EXEC", ssh},
        {"HYDRA_LAUNCHER_AUTOFORK", "0"}, /* member 0's proxy is also started by our shell */
        {"HYDRA_HOST_FILE", hydra},
        {"I_MPI_HYDRA_BOOTSTRAP", "rsh"},
        {"I_MPI_HYDRA_BOOTSTRAP_EXEC", ssh},
        {"I_MPI_HYDRA_HOST_FILE", hydra},
        {"I_MPI_PIN", "0"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        set_default(variables, rows[i][0], rows[i][1]);
    }
    if (context->is_trainer) { /* without it no rank's end is known, and no training succeeds */
        launch_variable_set(variables, "OMPI_MCA_orte_fork_agent", "%s", rank);
    }
    /* Of ranks that share cores with others' a waiting one would take the time of the one that it
     * waits for. Open MPI sees that only where a host has fewer slots than ranks. */
    if (shares_machine(context->table)) {
        set_default(variables, "OMPI_MCA_mpi_yield_when_idle", "1");
    }
    if (context->forbids_memory_reads) { /* otherwise Open MPI 4 tries it for every message, and
                               logs an error each time */
        set_default(variables, "OMPI_MCA_btl_vader_single_copy_mechanism", "none");
    }
}

/* ---- what differs between pods -------------------------------------------------------------- */

/* Sets a pod's index and task; a smaller gang has gaps between indices, but not between tasks. */
static void set_index(const struct launch_context *context, int task,
                      struct launch_variables *variables) {
    launch_variable_set(variables, "WINDLASS_INDEX", "%d", context->index);
    launch_variable_set(variables, "WINDLASS_WORKER", "%s", context->worker);
    launch_variable_set(variables, "AZ_BATCHAI_TASK_INDEX", "%d", task);
}

static void set_rank(const struct launch_context *context, int place,
                     struct launch_variables *variables) {
    int slots = gang_table_ranks(context->table);
    bool is_one = context->slot < 0; /* one process per pod */
    int size = is_one ? (int)context->table->count : slots;
    int rank = is_one ? place : gang_table_rank(context->table, context->index, context->slot);
    launch_variable_set(variables, "WINDLASS_RANK", "%d", rank);
    launch_variable_set(variables, "WINDLASS_WORLD", "%d", size);
}

static void set_tensorflow(const struct launch_context *context,
                           struct launch_variables *variables) {
    struct error err = {0};
    AUTO(buffer_release) struct buffer list;
    buffer_init(&list, TEXT_MAX);
    int result = 0;
    for (size_t i = 0; i < context->table->count && result == 0; i++) {
        const struct gang_table_row *row = &context->table->rows[i];
        result =
            buffer_printf(&list, &err, strchr(row->address, ':') ? "%s\"[%s]:%d\"" : "%s\"%s:%d\"",
                          i ? ", " : "", row->address, row->port);
    }
    if (result == 0) {
        launch_variable_set(
            variables, "TF_CONFIG",
            "{\"cluster\": {\"worker\": [%s]}, \"task\": {\"type\": \"worker\", \"index\": %d}}",
            list.data, gang_table_place(context->table, context->index));
    }
}

static void set_torch(const struct launch_context *context, struct launch_variables *variables) {
    const struct gang_table *table = context->table;
    int place = gang_table_place(table, context->index), slots = table->rows[place].slots;
    const struct {
        const char *name;
        int value;
    } torchrun[] = {{"PET_NNODES", (int)table->count},
                    {"PET_NODE_RANK", place},
                    {"PET_NPROC_PER_NODE", slots},
                    {"PET_MASTER_PORT", context->master_port}},
      process[] = {{"RANK", gang_table_rank(table, context->index, context->slot)},
                   {"LOCAL_RANK", context->slot},
                   {"WORLD_SIZE", gang_table_ranks(table)},
                   {"LOCAL_WORLD_SIZE", slots},
                   {"GROUP_RANK", place},
                   {"MASTER_PORT", context->master_port}};
    for (size_t i = 0; context->is_torchrun && i < ARRAY_LEN(torchrun); i++) {
        launch_variable_set(variables, torchrun[i].name, "%d", torchrun[i].value);
    }
    for (size_t i = 0; !context->is_torchrun && i < ARRAY_LEN(process); i++) {
        launch_variable_set(variables, process[i].name, "%d", process[i].value);
    }
    launch_variable_set(variables, context->is_torchrun ? "PET_MASTER_ADDR" : "MASTER_ADDR", "%s",
                        table->rows[0].address);
}

/* Whether an entry of such a list, between commas, is that address. */
static bool has_entry(const char *list, const char *address) {
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += strspn(at, ", ");
        size_t size = strcspn(at, ", ");
        if (size == strlen(address) && strncmp(at, address, size) == 0) {
            return true;
        }
    }
    return false;
}

/* Programs that go through a proxy would look for the agent there, too. */
static void pass_proxies(struct launch_variables *variables) {
    static const char *const proxies[] = {"http_proxy", "https_proxy", "all_proxy",
                                          "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"};
    static const char *const names[] = {"no_proxy", "NO_PROXY"};
    bool has_proxy = false, has_list = false;
    for (size_t i = 0; i < ARRAY_LEN(proxies); i++) {
        has_proxy |= launch_variable(variables, proxies[i]) != NULL;
    }
    for (size_t i = 0; i < ARRAY_LEN(names) && has_proxy; i++) {
        const char *list = launch_variable(variables, names[i]);
        AUTO(text_freep) char *longer = list ? x_printf("%s,127.0.0.1", list) : NULL;
        has_list |= list != NULL;
        if (longer && strcmp(list, "*") != 0 && !has_entry(list, "127.0.0.1")) {
            launch_variable_set(variables, names[i], "%s", longer);
        }
    }
    if (has_proxy && !has_list) {
        launch_variable_set(variables, names[0], "127.0.0.1");
    }
}

/* Under the names of Kubeflow Trainer, and those that it had before. */
static void set_status(const struct launch_context *context, struct launch_variables *variables) {
    static const char *const families[] = {"KUBEFLOW_TRAINER_SERVER", "KUBEFLOW_TRAINER_STATUS"};
    const struct status_server_place *place = &context->status;
    bool is_users = false;
    for (size_t i = 0; i < ARRAY_LEN(families); i++) {
        AUTO(text_freep) char *url = x_printf("%s_URL", families[i]);
        is_users |= launch_variable(variables, url) != NULL;
    }
    if (!place->url || is_users) {
        return;
    }
    AUTO(text_freep)
    char *url = x_printf("%s/%lld", place->url, (long long)context->table->round);
    for (size_t i = 0; i < ARRAY_LEN(families); i++) {
        const char *const rows[][2] = {
            {"URL", url}, {"TOKEN", place->token}, {"CA_CERT", place->authority}};
        for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
            AUTO(text_freep) char *name = x_printf("%s_%s", families[i], rows[k][0]);
            launch_variable_set(variables, name, "%s", rows[k][1]);
        }
    }
}

static void set_gang(const struct launch_context *context, enum launch_role role,
                     struct launch_variables *variables) {
    set_hosts(context, variables);
    if (context->status.url) {
        pass_proxies(variables);
    }
    if (context->launcher == GANG_LAUNCHER_MPI) { /* MPI assigns the ranks */
        set_mpi(context, variables);
        set_preload(context, variables);
        launch_variable_set(variables, "WINDLASS_WORLD", "%d", gang_table_ranks(context->table));
    }
    if (role == LAUNCH_PROCESS) {
        int place = gang_table_place(context->table, context->index);
        set_index(context, place, variables);
        if (context->launcher != GANG_LAUNCHER_MPI) {
            set_rank(context, place, variables);
        }
        set_tensorflow(context, variables);
        set_status(context, variables);
        if (context->launcher == GANG_LAUNCHER_TORCHRUN) {
            set_torch(context, variables);
        }
    }
}

/* ---- the user's own ------------------------------------------------------------------------- */

struct expansion {
    const struct launch_context *context;
    const struct launch_variables *variables;
    const char *own;   /* the variable that is being made */
    char unknown[128]; /* the first WINDLASS_ name without a value; "" if there is none */
};

static const char *look_up(void *context, const char *name) {
    struct expansion *expansion = context;
    bool is_left =
        strcmp(name, expansion->own) == 0 || is_listed(expansion->context->secrets, name);
    const char *value = is_left ? NULL : launch_variable(expansion->variables, name);
    if (!value && text_starts(name, "WINDLASS_") && !expansion->unknown[0]) {
        snprintf(expansion->unknown, sizeof expansion->unknown, "%s", name);
    }
    return value;
}

/* Expands all from their values before, so their order does not matter. A value that becomes too
 * long is left unexpanded; launch_job.c has checked that the pod's variables fit. */
static void expand_own(const struct launch_context *context, struct launch_variables *variables) {
    struct launch_variables made = {0};
    for (const char *const *name = context->environment; name && *name; name++) {
        struct expansion expansion = {.context = context, .variables = variables, .own = *name};
        const char *value = launch_variable(variables, *name);
        AUTO(text_freep) char *text = NULL;
        struct error err = {0};
        if (value && variables_expand(value, look_up, &expansion, &text, &err) == 0) {
            launch_variable_set(&made, *name, "%s", text);
        }
        if (expansion.unknown[0] && !variables->refused) {
            variables->refused =
                x_printf("spec.environment.%s: $%s has no value where this command starts", *name,
                         expansion.unknown);
        }
    }
    for (size_t i = 0; i < made.count; i++) {
        put(variables, x_strdup(made.items[i]));
    }
    launch_variables_release(&made);
}

/* ---- the words of a command ----------------------------------------------------------------- */

static bool is_shell(const char *word) {
    static const char *const shells[] = {"sh",  "bash", "dash",    "ash",
                                         "zsh", "ksh",  "busybox", NULL};
    return is_listed(shells, file_basename(word));
}

/* Whether a shell interprets words[at]: `sh -c WORD`, also behind mpirun; the shell's own variables
 * include those that only its process has. */
static bool is_for_shell(char *const *words, size_t at) {
    bool has_shell = false, has_option = false;
    for (size_t i = 0; i < at; i++) {
        has_option |=
            has_shell && words[i][0] == '-' && words[i][1] != '-' && strchr(words[i], 'c');
        has_shell |= is_shell(words[i]);
    }
    return has_option;
}

static int expand_word(const struct launch_context *context,
                       const struct launch_variables *variables, char *const *words, size_t at,
                       char **ret_word, struct error *err) {
    struct expansion lookup = {.context = context, .variables = variables, .own = ""};
    AUTO(text_freep) char *word = NULL;
    if (variables_expand(words[at], look_up, &lookup, &word, err) < 0) {
        return -1;
    }
    if (lookup.unknown[0] && !is_for_shell(words, at)) {
        return error_set(err, ERROR_INVALID,
                         "$%s has no value where this command starts; a program can read it from "
                         "its environment, or start it with: sh -c",
                         lookup.unknown);
    }
    *ret_word = TAKE(word);
    return 0;
}

int launch_variables_expand(const struct launch_context *context,
                            const struct launch_variables *variables, char *const *words,
                            char ***ret_words, struct error *err) {
    size_t count = 0;
    if (variables->refused) {
        return error_set(err, ERROR_INVALID, "%s", variables->refused);
    }
    while (words[count]) {
        count++;
    }
    char **expanded = x_calloc(count + 1, sizeof *expanded);
    for (size_t i = 0; i < count; i++) {
        if (expand_word(context, variables, words, i, &expanded[i], err) < 0) {
            text_list_free(expanded);
            return error_context(err, "[%zu]", i);
        }
    }
    *ret_words = expanded;
    return 0;
}

void launch_make_variables(const struct launch_context *context, enum launch_role role,
                           struct launch_variables *ret_variables) {
    struct launch_variables variables = {0};
    begin(context, role, &variables);
    set_job(context, &variables);
    set_paths(context, &variables);
    set_batch_ai(context, &variables);
    if (role == LAUNCH_PREPARE) {
        set_index(context, context->index, &variables);
    } else {
        set_gang(context, role, &variables);
    }
    expand_own(context, &variables);
    if (role == LAUNCH_PREPARE) { /* it may not need what only the ranks have */
        free(TAKE(variables.refused));
    }
    *ret_variables = variables;
}
