// SPDX-License-Identifier: Apache-2.0
/* Starts a member's programs: prepare and ranks, with their environment. */
#include "agent/launch/gang/member_state.h"

#include "agent/launch/tunnel/preload_file.h"
#include "agent/launch/tunnel/preload_frame.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/text/text_list.h"
#include "lib/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

extern char **environ;

/* Seccomp profiles of containers often forbid it, even for a process's own memory. */
static bool may_read_memory(void) {
    char from = 1, to = 0;
    struct iovec local = {&to, 1}, remote = {&from, 1};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1;
}

static struct launch_context context_of(const struct member *member, int slot) {
    const struct launch_job *job = member->job;
    return (struct launch_context){.pod_environment = (const char *const *)environ,
                                   .table = &member->table,
                                   .launcher = job->launcher,
                                   .is_torchrun = job->is_torchrun,
                                   .is_trainer = job->is_trainer,
                                   .forbids_memory_reads = !may_read_memory(),
                                   .index = job->index,
                                   .slot = slot,
                                   .gpus = job->gpus,
                                   .master_port = member->master_port,
                                   .job = job->name,
                                   .worker = job->worker,
                                   .logs = job->logs,
                                   .logs_location = job->logs_location,
                                   .pattern = job->pattern,
                                   .metrics_file = job->metrics_file,
                                   .preload = member->preload,
                                   .status = status_server_find(member->status),
                                   .bin = job->bin,
                                   .run = job->run,
                                   .environment = job->environment,
                                   .secrets = job->secrets,
                                   .inputs = job->inputs,
                                   .outputs = job->outputs,
                                   .input_count = job->input_count,
                                   .output_count = job->output_count};
}

/* True if the program's output may contain metrics. */
static bool wants_reports(const struct launch_job *job, int id) {
    return (job->pattern || job->metrics_file) && (id == MEMBER_COMMAND || id == 0);
}

/* If logs are kept or metrics are read, `rank` wraps the program (rank.h). Ranks that mpirun starts
 * have one each, by mpirun's launch setting. */
static int start_wrapped(struct member *member, int id, char *const *words, char **variables,
                         struct error *err) {
    bool reports = wants_reports(member->job, id);
    if ((!member->job->logs && !reports) || id == MEMBER_PREPARE || id >= MEMBER_SPAWNED) {
        return process_group_start(member->group, id, (const char *const *)words, variables, err);
    }
    size_t count = 0;
    while (words[count]) {
        count++;
    }
    AUTO(text_freep) char *program = file_join(member->job->bin, "rank");
    AUTO(text_freep)
    char *name = id == MEMBER_COMMAND ? x_strdup("command") : x_printf("rank.%03d", id);
    const char **all = x_calloc(count + 5, sizeof *all);
    all[0] = program;
    all[1] = "--log";
    all[2] = name;
    all[3] = "--reports";
    memcpy(all + (reports ? 4 : 3), words, count * sizeof *all);
    int result = process_group_start(member->group, id, all, variables, err);
    free(all);
    return result;
}

int member_start(struct member *member, int id, int slot, char *const *words, size_t assigned,
                 struct error *err) {
    struct launch_context context = context_of(member, slot);
    struct launch_variables variables;
    launch_make_variables(&context,
                          id == MEMBER_COMMAND   ? LAUNCH_COMMAND
                          : id == MEMBER_PREPARE ? LAUNCH_PREPARE
                                                 : LAUNCH_PROCESS,
                          &variables);
    if (id >= MEMBER_SPAWNED && member->preload && tunnel_variable(member->tunnel)) { /* orted */
        launch_variable_set(&variables, PRELOAD_VARIABLE, "%s", tunnel_variable(member->tunnel));
    }
    if (id >= MEMBER_SPAWNED) {
        AUTO(text_freep) char *ends = member_rank_ends(member, id);
        launch_variable_set(&variables, PRELOAD_ENDS, "%s", ends);
    }
    for (size_t i = 0; i < assigned; i++) {
        const char *value = strchr(words[i], '=');
        AUTO(text_freep) char *name = x_strndup(words[i], (size_t)(value - words[i]));
        launch_variable_set(&variables, name, "%s", value + 1);
    }
    /* A command that another pod asked for is started as it is: its shell there has read it. */
    char **expanded = NULL;
    int result = id >= MEMBER_SPAWNED
                     ? 0
                     : launch_variables_expand(&context, &variables, words, &expanded, err);
    if (result == 0) {
        result =
            start_wrapped(member, id, expanded ? expanded : words + assigned, variables.items, err);
    }
    text_list_free(expanded);
    launch_variables_release(&variables);
    return result;
}

char *member_rank_ends(const struct member *member, int id) {
    return x_printf("%s/rank-ends-%d", member->job->run, id);
}

char *member_variables(struct member *member) {
    struct launch_context context = context_of(member, -1);
    struct launch_variables here, everywhere;
    if (!member->round) {
        return x_strdup("{}");
    }
    launch_make_variables(&context, LAUNCH_PROCESS, &here);
    launch_make_variables(&context, LAUNCH_COMMAND, &everywhere);
    AUTO(tree_freep) json_t *tree = json_object();
    bool is_text = true;
    for (size_t i = 0; i < here.count; i++) {
        const char *value = strchr(here.items[i], '=');
        AUTO(text_freep) char *name = x_strndup(here.items[i], (size_t)(value - here.items[i]));
        if (!launch_variable(&everywhere, name)) {
            is_text &= json_object_set_new(tree, name, json_string(value + 1)) == 0;
        }
    }
    launch_variables_release(&here);
    launch_variables_release(&everywhere);
    return is_text ? json_dumps(tree, JSON_COMPACT) : NULL;
}

void member_prepare(struct member *member) {
    struct error err = {0};
    bool is_over = member->hub && hub_is_over(member->hub); /* it could change what is being read */
    if (!member->job->prepare[0] || is_over) {
        member->is_prepared = true;
        return;
    }
    member->is_preparing = true;
    if (member_start(member, MEMBER_PREPARE, -1, member->job->prepare, 0, &err) < 0) {
        member->is_preparing = false;
        member_fail(member, 1, "spec.prepare", err.text);
    }
}

/* The text of an error of one of spec.environment names that field itself. */
static void fail_start(struct member *member, const struct error *err) {
    int code = err->kind == ERROR_INVALID ? GANG_CODE_NOT_FOUND : 1;
    bool has_field = text_starts(err->text, "spec.environment.");
    member_fail(member, code, has_field ? err->text : "spec.command", has_field ? "" : err->text);
    process_group_kill(member->group);
}

void member_start_round(struct member *member, int64_t round) {
    const struct launch_job *job = member->job;
    struct error err = {0};
    if (round != member->round || !round) {
        return;
    }
    bool is_one = job->launcher == GANG_LAUNCHER_NONE || job->is_torchrun;
    bool is_mpi = job->launcher == GANG_LAUNCHER_MPI;
    int count = is_mpi ? job->index == 0 : is_one ? 1 : job->gang.slots;
    for (int slot = 0; slot < count; slot++) {
        int rank = is_mpi   ? MEMBER_COMMAND
                   : is_one ? gang_table_place(&member->table, job->index)
                            : gang_table_rank(&member->table, job->index, slot);
        if (member_start(member, rank, is_one || is_mpi ? -1 : slot, job->command, 0, &err) < 0) {
            fail_start(member, &err);
            return;
        }
    }
    log_event(LOG_INFO, "round %lld: %d processes run", (long long)round, count);
}
