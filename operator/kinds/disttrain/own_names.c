// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/disttrain/own_names.h"

#include "lib/contract.h"
#include "lib/text/text_list.h"
#include "operator/kinds/job/own_variables.h"

#include <stdlib.h>
#include <string.h>

/* Ends with NULL; owned. */
struct names {
    char **at;
    size_t count;
};

static void add(struct names *names, char *name) {
    names->at = x_realloc_array(names->at, names->count + 2, sizeof *names->at);
    names->at[names->count++] = name;
    names->at[names->count] = NULL;
}

static void add_all(struct names *names, const char *const *more) {
    for (; *more; more++) {
        add(names, x_strdup(*more));
    }
}

/* One for the folder of each input or output. */
static void add_folders(struct names *names, const json_t *folders, const char *prefix) {
    for (size_t i = 0; i < json_array_size(folders); i++) {
        const char *id = tree_text(json_array_get(folders, i), "id", "");
        add(names, x_printf("%s%s", prefix, id));
    }
}

static void add_job(struct names *names, const json_t *spec) {
    static const char *const of_job[] = {"WINDLASS_JOB", "WINDLASS_NOTICE", "WINDLASS_SOCKET",
                                         "WINDLASS_METRICS", NULL};
    static const char *const of_metrics[] = {"WINDLASS_PATTERN", "WINDLASS_METRICS_FILE", NULL};
    static const char *const of_logs[] = {"WINDLASS_LOGS", NULL};
    static const char *const of_trainer[] = {"WINDLASS_LOGS", CONTRACT_TRAINER_VARIABLES, NULL};
    add_all(names, of_job);
    add_folders(names, json_object_get(spec, "inputs"), "WINDLASS_INPUT_");
    add_folders(names, json_object_get(spec, "outputs"), "WINDLASS_OUTPUT_");
    if (json_object_get(spec, "metrics")) {
        add_all(names, of_metrics);
    }
    if (tree_get(spec, "logs.path")) {
        add_all(names, of_logs);
    }
    if (json_object_get(spec, "trainer")) {
        add_all(names, of_trainer);
    }
}

char **own_names_list(const json_t *spec, bool prepares) {
    static const char *const of_pod[] = {"WINDLASS_INDEX", "WINDLASS_WORKER", NULL};
    static const char *const of_gang[] = {"WINDLASS_HOSTS", "WINDLASS_ROUND", "WINDLASS_WORLD",
                                          NULL};
    static const char *const of_rank[] = {"WINDLASS_RANK", NULL};
    bool is_mpi = strcmp(tree_text(spec, "launcher", ""), "MPI") == 0; /* it runs in one pod */
    struct names names = {0};
    add_job(&names, spec);
    if (!prepares) {
        add_all(&names, of_gang);
    }
    if (prepares || !is_mpi) {
        add_all(&names, of_pod);
    }
    if (!prepares && !is_mpi) {
        add_all(&names, of_rank);
    }
    return names.at;
}

int own_names_check(const json_t *spec, struct error *err) {
    char **prepares = own_names_list(spec, true), **starts = own_names_list(spec, false);
    const char *const *prepared = (const char *const *)prepares;
    const char *const *started = (const char *const *)starts;
    int result = own_variables_check_command(spec, "prepare", prepared, err) < 0 ||
                         own_variables_check_command(spec, "command", started, err) < 0
                     ? -1
                     : own_variables_check_tree(spec, "environment", started, err);
    text_list_free(prepares);
    text_list_free(starts);
    return result;
}
