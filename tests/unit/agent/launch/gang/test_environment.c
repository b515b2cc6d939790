// SPDX-License-Identifier: Apache-2.0
/* Tables, and the environment of every kind of process against golden files (tests/data/launch/;
 * LAUNCH_UPDATE=1 writes them anew: review the diff). The rows for Open MPI 5 and Intel MPI in
 * these have not been run. */
#include "agent/launch/gang/environment.h"
#include "lib/contract.h"
#include "lib/file.h"
#include "lib/text/text_list.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>

static struct gang_table_row rows[] = {
    {.index = 0, .slots = 2, .port = 41000, .address = "10.1.0.5"},
    {.index = 1, .slots = 2, .port = 41001, .address = "10.1.0.6"},
    {.index = 3, .slots = 2, .port = 41003, .address = "fd00::7"},
};
static const struct gang_table table = {.round = (2 << 20) | 5, .count = 3, .rows = rows};

static void ranks_of_a_table(void) {
    CHECK_INT(gang_table_place(&table, 3), 2);
    CHECK_INT(gang_table_place(&table, 2), -1); /* not there in this round */
    CHECK_INT(gang_table_rank(&table, 0, 1), 1);
    CHECK_INT(gang_table_rank(&table, 3, 0), 4);
    CHECK_INT(gang_table_rank(&table, 3, 2), -1);
    CHECK_INT(gang_table_rank(&table, 3, -1), -1);
    CHECK_INT(gang_table_rank(&table, 2, 0), -1);
    CHECK_INT(gang_table_ranks(&table), 6);
}

static void hosts_of_a_table(void) {
    struct error err = {0};
    AUTO(buffer_release) struct buffer text;
    buffer_init(&text, 1000);
    CHECK_OK(gang_table_hostfile(&table, false, &text, &err), &err);
    CHECK_STR(text.data, "10.1.0.5 slots=2\n10.1.0.6 slots=2\nfd00::7 slots=2\n");
    buffer_clear(&text);
    CHECK_OK(gang_table_hosts(&table, true, &text, &err), &err);
    CHECK_STR(text.data, "10.1.0.5:41000,10.1.0.6:41001,[fd00::7]:41003");
    CHECK(gang_table_find_host(&table, "10.1.0.6") == &rows[1]);
    CHECK(gang_table_find_host(&table, "[fd00:0::7]") == &rows[2]);
    CHECK(gang_table_find_host(&table, "10.1.0.7") == NULL);
    CHECK(gang_table_find_host(&table, "10.1.0.60") == NULL);
    CHECK(gang_table_find_host(&table, "") == NULL);
    CHECK(gang_table_find_host(&table, "localhost") == NULL);
    /* `windlass run`: all pods have one address. */
    struct gang_table_row same[] = {{0, 2, 1, 0, 0, "127.0.0.1"}, {1, 2, 2, 0, 0, "127.0.0.1"}};
    struct gang_table here = {.round = 1, .count = 2, .rows = same};
    buffer_clear(&text);
    CHECK_OK(gang_table_hostfile(&here, false, &text, &err), &err);
    CHECK_STR(text.data, "127.0.0.1 slots=4\n");
    buffer_clear(&text);
    CHECK_OK(gang_table_hosts(&here, false, &text, &err), &err);
    CHECK_STR(text.data, "127.0.0.1");
    buffer_clear(&text);
    CHECK_OK(gang_table_hostfile(&here, true, &text, &err), &err);
    CHECK_STR(text.data, "127.0.0.1:4\n");
    struct buffer small;
    buffer_init(&small, 10);
    CHECK(gang_table_hostfile(&table, false, &small, &err) < 0);
    buffer_release(&small);
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void golden(const char *name, const struct launch_context *context, enum launch_role role) {
    struct error err = {0};
    struct launch_variables variables;
    AUTO(buffer_release) struct buffer text;
    AUTO(text_freep) char *path = x_printf("tests/data/launch/%s.txt", name);
    AUTO(text_freep) char *wanted = NULL;
    buffer_init(&text, 1 << 20);
    launch_make_variables(context, role, &variables);
    qsort(variables.items, variables.count, sizeof *variables.items, by_name);
    for (size_t i = 0; i < variables.count; i++) {
        CHECK_OK(buffer_printf(&text, &err, "%s\n", variables.items[i]), &err);
        CHECK(strstr(variables.items[i], "secret-token") == NULL);
    }
    if (getenv("LAUNCH_UPDATE")) {
        CHECK_OK(file_write(path, text.data, text.size, &err), &err);
    }
    CHECK_OK(file_read(path, 1 << 20, &wanted, NULL, &err), &err);
    CHECK_STR(text.data, wanted);
    launch_variables_release(&variables);
}

static void environments(void) {
    static const char *const base[] = {"PATH=/opt/conda/bin:/usr/bin",
                                       "WINDLASS_TOKEN=secret-token",
                                       "WINDLASS_SPEC={}",
                                       "WANDB_API_KEY=hidden",
                                       "OMPI_MCA_btl=tcp,self",
                                       "I_MPI_PIN=1",
                                       "HOME=/home/user",
                                       "POD_IP=10.1.0.9",
                                       "no variable",
                                       NULL};
    static const char *const secrets[] = {"WANDB_API_KEY", NULL};
    static const struct launch_path inputs[] = {{"TRAIN", "/windlass/volumes/in/imagenet"}};
    static const struct launch_path outputs[] = {{"MODEL", "/windlass/volumes/out/models"}};
    struct launch_context context = {.pod_environment = base,
                                     .table = &table,
                                     .launcher = GANG_LAUNCHER_MPI,
                                     .index = 3,
                                     .slot = -1,
                                     .gpus = 4,
                                     .master_port = 29500,
                                     .job = "imagenet",
                                     .worker = "imagenet-3-1",
                                     .logs = "/windlass/volumes/out/logs",
                                     .bin = "/windlass/bin",
                                     .run = "/windlass/run",
                                     .secrets = secrets,
                                     .inputs = inputs,
                                     .outputs = outputs,
                                     .input_count = 1,
                                     .output_count = 1};
    golden("mpi-rank", &context, LAUNCH_PROCESS);
    context.index = 0;
    golden("mpi-command", &context, LAUNCH_COMMAND);
    context.launcher = GANG_LAUNCHER_TORCHRUN;
    context.is_torchrun = true;
    context.index = 1;
    golden("torchrun", &context, LAUNCH_PROCESS);
    context.is_torchrun = false;
    context.slot = 1;
    context.logs = NULL;
    golden("torch-process", &context, LAUNCH_PROCESS);
    context.launcher = GANG_LAUNCHER_NONE;
    context.slot = -1;
    golden("none", &context, LAUNCH_PROCESS);
    context.table = NULL;
    context.index = 3;
    golden("prepare", &context, LAUNCH_PREPARE);
}

static const char *of(const struct launch_context *context, enum launch_role role,
                      const char *name) {
    static char text[256];
    struct launch_variables variables;
    launch_make_variables(context, role, &variables);
    const char *value = launch_variable(&variables, name);
    snprintf(text, sizeof text, "%s", value ? value : "(none)");
    launch_variables_release(&variables);
    return text;
}

/* $NAME in the user's variables: expands from the variables of the process, in one pass, without
 * secrets. */
static void variables_in_variables(void) {
    static const char *const base[] = {"TIMELINE=$AZ_BATCHAI_OUTPUT_MODEL/${NAME}-$INDEX.json",
                                       "NAME=$KEY$$HOME$UNKNOWN",
                                       "INDEX=$AZ_BATCHAI_TASK_INDEX",
                                       "AGAIN=$AGAIN:x",
                                       "OTHER=$NAME",
                                       "KEY=hidden",
                                       "HOME=/root",
                                       NULL};
    static const char *const secrets[] = {"KEY", NULL};
    static const char *const names[] = {"TIMELINE", "NAME", "INDEX", "AGAIN", "ABSENT", NULL};
    static const struct launch_path outputs[] = {{"MODEL", "/out"}};
    struct launch_context context = {.pod_environment = base,
                                     .table = &table,
                                     .launcher = GANG_LAUNCHER_MPI,
                                     .index = 3,
                                     .slot = -1,
                                     .job = "j",
                                     .worker = "j-3",
                                     .bin = "/windlass/bin",
                                     .run = "/windlass/run",
                                     .secrets = secrets,
                                     .environment = names,
                                     .outputs = outputs,
                                     .output_count = 1};
    CHECK_STR(of(&context, LAUNCH_PROCESS, "TIMELINE"), "/out/$KEY$HOME$UNKNOWN-2.json");
    CHECK_STR(of(&context, LAUNCH_PROCESS, "NAME"), "$KEY$HOME$UNKNOWN");
    CHECK_STR(of(&context, LAUNCH_PROCESS, "AGAIN"), "$AGAIN:x");
    CHECK_STR(of(&context, LAUNCH_PROCESS, "OTHER"),
              "$NAME"); /* from the image, not from the spec */
    CHECK_STR(of(&context, LAUNCH_PROCESS, "ABSENT"), "(none)");
    CHECK_STR(of(&context, LAUNCH_PROCESS, "KEY"), "hidden");
    CHECK_STR(of(&context, LAUNCH_COMMAND, "KEY"), "(none)");
    CHECK_STR(of(&context, LAUNCH_COMMAND, "INDEX"), "$AZ_BATCHAI_TASK_INDEX");
}

/* Ranks get where to post their status, but for a user who has set it; mpirun does not, since each
 * pod has its own. */
static void test_where_to_post_a_status(void) {
    static const char *const none[] = {"HOME=/root", NULL};
    static const char *const users[] = {"KUBEFLOW_TRAINER_STATUS_URL=https://own", NULL};
    struct launch_context context = {.pod_environment = none,
                                     .table = &table,
                                     .launcher = GANG_LAUNCHER_MPI,
                                     .slot = -1,
                                     .job = "j",
                                     .worker = "j-0",
                                     .bin = "/windlass/bin",
                                     .run = "/windlass/run"};
    CHECK_STR(of(&context, LAUNCH_PROCESS, "KUBEFLOW_TRAINER_SERVER_URL"), "(none)");
    context.status = (struct status_server_place){"https://127.0.0.1:1/status", "/token", "/ca"};
    CHECK_STR(of(&context, LAUNCH_PROCESS, "KUBEFLOW_TRAINER_SERVER_URL"),
              "https://127.0.0.1:1/status/2097157");
    CHECK_STR(of(&context, LAUNCH_PROCESS, "KUBEFLOW_TRAINER_SERVER_TOKEN"), "/token");
    CHECK_STR(of(&context, LAUNCH_PROCESS, "KUBEFLOW_TRAINER_STATUS_CA_CERT"), "/ca");
    CHECK_STR(of(&context, LAUNCH_COMMAND, "KUBEFLOW_TRAINER_SERVER_URL"), "(none)");
    CHECK_STR(of(&context, LAUNCH_PREPARE, "KUBEFLOW_TRAINER_SERVER_URL"), "(none)");
    CHECK_STR(of(&context, LAUNCH_PROCESS, "no_proxy"), "(none)");
    context.pod_environment = users;
    CHECK_STR(of(&context, LAUNCH_PROCESS, "KUBEFLOW_TRAINER_STATUS_URL"), "https://own");
    CHECK_STR(of(&context, LAUNCH_PROCESS, "KUBEFLOW_TRAINER_SERVER_URL"), "(none)");
}

/* Member 0's environment before any process of it is chosen. */
static struct launch_context world_of_mpi(const char *const *base) {
    return (struct launch_context){.pod_environment = base,
                                   .table = &table,
                                   .launcher = GANG_LAUNCHER_MPI,
                                   .slot = -1,
                                   .job = "j",
                                   .worker = "j-0",
                                   .bin = "/windlass/bin",
                                   .run = "/windlass/run"};
}

/* Behind a proxy this machine is reached without it; all processes have the same list. */
static void test_no_proxy_for_this_machine(void) {
    static const struct {
        const char *base[4], *name, *wanted;
    } cases[] = {
        {{"https_proxy=http://p", NULL}, "no_proxy", "127.0.0.1"},
        {{"HTTPS_PROXY=http://p", "NO_PROXY=.svc", NULL}, "NO_PROXY", ".svc,127.0.0.1"},
        {{"HTTPS_PROXY=http://p", "NO_PROXY=.svc", NULL}, "no_proxy", "(none)"},
        {{"http_proxy=http://p", "no_proxy=127.0.0.1,a", NULL}, "no_proxy", "127.0.0.1,a"},
        {{"http_proxy=http://p", "no_proxy=a, 127.0.0.1", NULL}, "no_proxy", "a, 127.0.0.1"},
        {{"http_proxy=http://p", "no_proxy=127.0.0.10", NULL}, "no_proxy", "127.0.0.10,127.0.0.1"},
        {{"http_proxy=http://p", "no_proxy=*", NULL}, "no_proxy", "*"},
        {{"NO_PROXY=.svc", NULL}, "NO_PROXY", ".svc"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct launch_context context = world_of_mpi(cases[i].base);
        context.status.url = "https://127.0.0.1:1/status";
        CHECK_STR(of(&context, LAUNCH_PROCESS, cases[i].name), cases[i].wanted);
        CHECK_STR(of(&context, LAUNCH_COMMAND, cases[i].name), cases[i].wanted);
    }
    /* Without the agent's server there is nothing to reach. */
    struct launch_context context = world_of_mpi(cases[0].base);
    CHECK_STR(of(&context, LAUNCH_PROCESS, "no_proxy"), "(none)");
}

static char *expand(const struct launch_context *context, enum launch_role role, char *const *words,
                    struct error *err) {
    struct launch_variables variables;
    char **expanded = NULL;
    launch_make_variables(context, role, &variables);
    AUTO(buffer_release) struct buffer text;
    buffer_init(&text, 1 << 16);
    if (launch_variables_expand(context, &variables, words, &expanded, err) == 0) {
        for (char **word = expanded; *word; word++) {
            CHECK_OK(buffer_printf(&text, err, "%s%s", word == expanded ? "" : " ", *word), err);
        }
    }
    text_list_free(expanded);
    launch_variables_release(&variables);
    return buffer_take(&text, NULL);
}

/* A command's words have the variables of the process that it becomes, and no $WINDLASS_ name is
 * passed on as it is, where it would become a folder of that name. */
static void variables_in_commands(void) {
    static const char *const base[] = {"KEY=hidden", "HOME=/root", NULL};
    static const char *const secrets[] = {"KEY", NULL};
    static const struct launch_path outputs[] = {{"MODEL", "/out"}}, inputs[] = {{"DATA", "/in"}};
    static const struct {
        enum gang_launcher launcher;
        const char *words[8];
        const char *wanted, *refused;
    } commands[] = {
        {GANG_LAUNCHER_MPI,
         {"mpirun", "train", "--out=$WINDLASS_OUTPUT_MODEL", "${WINDLASS_INPUT_DATA}/x", "$HOME"},
         "mpirun train --out=/out /in/x /root",
         NULL},
        {GANG_LAUNCHER_MPI, {"mpirun", "train", "$KEY", "$$A"}, "mpirun train $KEY $A", NULL},
        {GANG_LAUNCHER_MPI,
         {"mpirun", "train", "r$WINDLASS_RANK"},
         "",
         "[2]: $WINDLASS_RANK has no value where this command starts"},
        {GANG_LAUNCHER_MPI, {"mpirun", "train", "$WINDLASS_OUTPUT_ID"}, "", "$WINDLASS_OUTPUT_ID"},
        {GANG_LAUNCHER_MPI,
         {"mpirun", "/bin/sh", "-ec", "train $WINDLASS_RANK $WINDLASS_JOB"},
         "mpirun /bin/sh -ec train $WINDLASS_RANK j",
         NULL},
        {GANG_LAUNCHER_MPI, {"sh", "$WINDLASS_RANK"}, "", "[1]: $WINDLASS_RANK"},
        {GANG_LAUNCHER_NONE,
         {"train", "$WINDLASS_RANK", "$WINDLASS_INDEX/$WINDLASS_WORLD"},
         "train 2 3/3",
         NULL},
        {GANG_LAUNCHER_TORCHRUN, {"train", "$LOCAL_RANK"}, "train $LOCAL_RANK", NULL},
    };
    struct launch_context context = {.pod_environment = base,
                                     .table = &table,
                                     .index = 3,
                                     .slot = -1,
                                     .job = "j",
                                     .worker = "j-3",
                                     .bin = "/windlass/bin",
                                     .run = "/windlass/run",
                                     .secrets = secrets,
                                     .inputs = inputs,
                                     .outputs = outputs,
                                     .input_count = 1,
                                     .output_count = 1};
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        struct error err = {0};
        context.launcher = commands[i].launcher;
        context.is_torchrun = context.launcher == GANG_LAUNCHER_TORCHRUN;
        AUTO(text_freep)
        char *seen = expand(&context,
                            context.launcher == GANG_LAUNCHER_MPI ? LAUNCH_COMMAND : LAUNCH_PROCESS,
                            (char *const *)commands[i].words, &err);
        CHECK_STR(seen ? seen : "", commands[i].wanted);
        CHECK(commands[i].refused ? strstr(err.text, commands[i].refused) != NULL : !err.kind);
    }
}

/* The same in the user's own variables; what is prepared has no ranks yet. */
static void unknown_names_in_variables(void) {
    static const char *const names[] = {"OUT", NULL};
    static const struct launch_path outputs[] = {{"MODEL", "/out"}};
    static const struct {
        const char *base[2];
        enum launch_role role;
        const char *wanted, *refused;
    } cases[] = {
        {{"OUT=$WINDLASS_OUTPUT_MODEL/$A"}, LAUNCH_PROCESS, "/out/$A", NULL},
        {{"OUT=$$WINDLASS_OUTPUT_ODEL"}, LAUNCH_PROCESS, "$WINDLASS_OUTPUT_ODEL", NULL},
        {{"OUT=${WINDLASS_OUTPUT_ODEL}/x"},
         LAUNCH_PROCESS,
         "",
         "spec.environment.OUT: $WINDLASS_OUTPUT_ODEL has no value where this command starts"},
        {{"OUT=$WINDLASS_RANK"}, LAUNCH_PREPARE, "$WINDLASS_RANK", NULL},
        {{"OUT=$WINDLASS_RANK"}, LAUNCH_PROCESS, "2", NULL},
    };
    char *const words[] = {(char[]){"train"}, NULL};
    struct launch_context context = {.table = &table,
                                     .launcher = GANG_LAUNCHER_NONE,
                                     .index = 3,
                                     .slot = -1,
                                     .job = "j",
                                     .worker = "j-3",
                                     .bin = "/windlass/bin",
                                     .run = "/windlass/run",
                                     .environment = names,
                                     .outputs = outputs,
                                     .output_count = 1};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct launch_variables variables;
        struct error err = {0};
        char **expanded = NULL;
        context.pod_environment = cases[i].base;
        launch_make_variables(&context, cases[i].role, &variables);
        int result = launch_variables_expand(&context, &variables, words, &expanded, &err);
        CHECK_INT(result, cases[i].refused ? -1 : 0);
        CHECK_STR(err.text, cases[i].refused ? cases[i].refused : "");
        CHECK(cases[i].refused || strcmp(launch_variable(&variables, "OUT"), cases[i].wanted) == 0);
        text_list_free(expanded);
        launch_variables_release(&variables);
    }
}

/* If processes may not read each other's memory, Open MPI does not try; a user's value wins. */
static void what_seccomp_forbids(void) {
    static const char name[] = "OMPI_MCA_btl_vader_single_copy_mechanism";
    static const char *const none[] = {NULL};
    static const char *const own[] = {"OMPI_MCA_btl_vader_single_copy_mechanism=cma", NULL};
    for (int role = LAUNCH_COMMAND; role <= LAUNCH_PROCESS; role++) {
        struct launch_context context = world_of_mpi(none);
        CHECK_STR(of(&context, (enum launch_role)role, name), "(none)");
        context.forbids_memory_reads = true;
        CHECK_STR(of(&context, (enum launch_role)role, name), "none");
        context.pod_environment = own;
        CHECK_STR(of(&context, (enum launch_role)role, name), "cma");
    }
}

/* On one machine ranks that wait leave it to the others. */
static void what_one_machine_gets(void) {
    static const char name[] = "OMPI_MCA_mpi_yield_when_idle";
    static const char *const none[] = {NULL}, *const own[] = {"OMPI_MCA_mpi_yield_when_idle=0",
                                                              NULL};
    struct gang_table_row together[] = {{.index = 0, .slots = 2, .address = "127.0.0.1"},
                                        {.index = 1, .slots = 2, .address = "127.0.0.1"}};
    const struct gang_table near = {.round = 1, .count = 2, .rows = together};
    const struct gang_table one = {.round = 1, .count = 1, .rows = together};
    struct launch_context context = world_of_mpi(none);
    CHECK_STR(of(&context, LAUNCH_COMMAND, name), "(none)");
    context.table = &one;
    CHECK_STR(of(&context, LAUNCH_COMMAND, name), "(none)");
    context.table = &near;
    CHECK_STR(of(&context, LAUNCH_COMMAND, name), "1");
    context.pod_environment = own;
    CHECK_STR(of(&context, LAUNCH_COMMAND, name), "0");
}

/* The library of the launchers comes before the user's own; it is for mpirun alone. */
static void what_is_preloaded(void) {
    static const struct {
        const char *own, *library;
        enum gang_launcher launcher;
        enum launch_role role;
        const char *wanted;
    } rows_of_it[] = {
        {"PATH=/bin", "/w/bin/preload.so", GANG_LAUNCHER_MPI, LAUNCH_COMMAND, "/w/bin/preload.so"},
        {"PATH=/bin", "/w/bin/preload.so", GANG_LAUNCHER_MPI, LAUNCH_PROCESS, "/w/bin/preload.so"},
        {"LD_PRELOAD=/a.so:/b.so", "/w/bin/preload.so", GANG_LAUNCHER_MPI, LAUNCH_COMMAND,
         "/w/bin/preload.so:/a.so:/b.so"},
        {"LD_PRELOAD=/a.so", NULL, GANG_LAUNCHER_MPI, LAUNCH_COMMAND, "/a.so"},
        {"LD_PRELOAD=/a.so", "/w/bin/preload.so", GANG_LAUNCHER_MPI, LAUNCH_PREPARE, "/a.so"},
        {"PATH=/bin", "/w/bin/preload.so", GANG_LAUNCHER_TORCHRUN, LAUNCH_PROCESS, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows_of_it); i++) {
        const char *const base[] = {rows_of_it[i].own, NULL};
        const struct launch_context context = {.pod_environment = base,
                                               .table = &table,
                                               .launcher = rows_of_it[i].launcher,
                                               .slot = 0,
                                               .preload = rows_of_it[i].library,
                                               .job = "resnet",
                                               .worker = "resnet-0-1",
                                               .bin = "/w/bin",
                                               .run = "/w/run"};
        struct launch_variables variables;
        launch_make_variables(&context, rows_of_it[i].role, &variables);
        const char *seen = launch_variable(&variables, "LD_PRELOAD");
        CHECK_STR(seen ? seen : "none", rows_of_it[i].wanted ? rows_of_it[i].wanted : "none");
        launch_variables_release(&variables);
    }
}

/* All that a job can have: a trainer with metrics and logs. */
static void environment_of_a_trainer(void) {
    static const char *const names[] = {CONTRACT_TRAINER_VARIABLES};
    static const struct launch_path inputs[] = {{"TRAIN", "/in"}}, outputs[] = {{"MODEL", "/out"}};
    char *base[ARRAY_LEN(names) + 1] = {NULL};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        base[i] = x_printf("%s=x", names[i]);
    }
    struct launch_context context = world_of_mpi((const char *const *)base);
    context.is_trainer = true;
    context.logs = "/out/logs";
    context.logs_location = "out/logs";
    context.pattern = "loss=(.*)";
    context.metrics_file = "/out/metrics";
    context.inputs = inputs;
    context.outputs = outputs;
    context.input_count = context.output_count = 1;
    golden("trainer", &context, LAUNCH_COMMAND);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        free(base[i]);
    }
}

/* Ranks of a trainer are our programs, and read their pod's variables; the user's programs do not
 * get these. */
static void what_is_ours(void) {
    static const char *const base[] = {"WINDLASS_SPEC={}",
                                       "WINDLASS_RUN=0123456789abcdef",
                                       "WINDLASS_STORES=[]",
                                       "WINDLASS_BUCKETS=[{}]",
                                       "WINDLASS_BLOB_ENDPOINT=https://private:1/ACCOUNT",
                                       "WINDLASS_S3_ENDPOINT=https://private:2",
                                       "WINDLASS_GS_ENDPOINT=https://private:3",
                                       "WINDLASS_AUTHORITIES=/ours.crt",
                                       "WINDLASS_NAME_SERVERS=127.0.0.1:53",
                                       "WINDLASS_SANDBOX=required",
                                       "WINDLASS_LOG_FORMAT=json",
                                       "WINDLASS_TOKEN=t",
                                       "data=/data",
                                       NULL};
    static const char *const names[] = {
        "WINDLASS_SPEC",        "WINDLASS_RUN",           "WINDLASS_STORES",
        "WINDLASS_BUCKETS",     "WINDLASS_BLOB_ENDPOINT", "WINDLASS_S3_ENDPOINT",
        "WINDLASS_GS_ENDPOINT", "WINDLASS_AUTHORITIES",   "WINDLASS_NAME_SERVERS",
        "WINDLASS_SANDBOX",     "WINDLASS_LOG_FORMAT"};
    struct launch_context context = world_of_mpi(base);
    for (int role = LAUNCH_COMMAND; role <= LAUNCH_PROCESS; role++) {
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
            context.is_trainer = false;
            CHECK_STR(of(&context, (enum launch_role)role, names[i]), "(none)");
            context.is_trainer = true;
            CHECK_STR(of(&context, (enum launch_role)role, names[i]), strchr(base[i], '=') + 1);
        }
        CHECK_STR(of(&context, (enum launch_role)role, "WINDLASS_TOKEN"), "(none)");
        CHECK_STR(of(&context, (enum launch_role)role, "data"), "/data");
    }
}

/* mpirun passes its variables to all ranks: none of them may belong to one pod. */
static void what_mpirun_gets_is_the_same_everywhere(void) {
    static const char *const base[] = {"A=1", NULL};
    struct launch_context context = world_of_mpi(base);
    struct launch_variables here, there;
    launch_make_variables(&context, LAUNCH_COMMAND, &here);
    context.index = 1;
    context.worker = "j-1";
    launch_make_variables(&context, LAUNCH_COMMAND, &there);
    CHECK_INT(here.count, there.count);
    for (size_t i = 0; i < here.count; i++) {
        CHECK_STR(here.items[i], there.items[i]);
    }
    CHECK_STR(launch_variable(&here, "A"), "1");
    CHECK(launch_variable(&here, "WINDLASS_INDEX") == NULL);
    launch_variables_release(&here);
    launch_variables_release(&there);
}

int main(void) {
    TEST(ranks_of_a_table);
    TEST(hosts_of_a_table);
    TEST(environments);
    TEST(variables_in_variables);
    TEST(variables_in_commands);
    TEST(unknown_names_in_variables);
    TEST(test_where_to_post_a_status);
    TEST(test_no_proxy_for_this_machine);
    TEST(what_seccomp_forbids);
    TEST(what_one_machine_gets);
    TEST(what_is_preloaded);
    TEST(environment_of_a_trainer);
    TEST(what_is_ours);
    TEST(what_mpirun_gets_is_the_same_everywhere);
    return TEST_END();
}
