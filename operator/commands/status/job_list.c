// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/status/job_list.h"

#include "lib/time/clock.h"
#include "operator/commands/cli_command.h"
#include "operator/commands/jobs/job_print.h"
#include "operator/commands/jobs/job_where.h"
#include "operator/commands/status/status_list.h"
#include "operator/object.h"
#include "operator/show/text_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
    struct job_where where;
    const char *output;
    bool all_runs;
};

static bool is_newest(const struct run_list *runs, size_t index) {
    const char *name = tree_text(runs->at[index].record, "name", "");
    return run_list_find(runs, name) == &runs->at[index];
}

static char *progress_of(const json_t *status) {
    long long total = tree_integer(status, "items.total", 0);
    const char *said = tree_text(status, "progress", NULL);
    return total > 0
               ? x_printf("%lld/%lld", (long long)tree_integer(status, "items.done", 0), total)
               : x_strdup(said ? said : "");
}

static void add_run(struct text_table *table, const struct run_item *run, bool is_wide) {
    AUTO(tree_freep) json_t *job = run_list_job(run);
    const json_t *status = json_object_get(job, "status");
    AUTO(text_freep) char *progress = progress_of(status);
    int64_t start_ms = clock_parse(tree_text(run->record, "startTime", ""));
    int64_t end_ms = clock_parse(tree_text(run->record, "endTime", ""));
    char age[32], took[32] = "";
    text_table_age(MAX(clock_wall_ms() - start_ms, 0), age);
    if (run->is_alive || end_ms >= 0) {
        text_table_age(MAX((run->is_alive ? clock_wall_ms() : end_ms) - start_ms, 0), took);
    }
    const char *const cells[] = {tree_text(run->record, "name", ""),
                                 tree_text(run->record, "manifest.kind", ""),
                                 object_state(status),
                                 progress,
                                 age,
                                 took,
                                 run->id,
                                 tree_text(run->record, "state", ""),
                                 tree_text(run->record, "file", "")};
    text_table_add(table, cells, is_wide ? 9 : 7);
}

static void print_runs(const struct run_list *runs, const struct request *request, bool is_wide) {
    static const char *const head[] = {"NAME", "KIND", "STATE", "DONE",    "AGE",
                                       "TOOK", "RUN",  "LOGS",  "MANIFEST"};
    struct text_table *table = text_table_new();
    text_table_add(table, head, is_wide ? 9 : 7);
    for (size_t i = 0; i < runs->count; i++) {
        if (request->all_runs || is_newest(runs, i)) {
            add_run(table, &runs->at[i], is_wide);
        }
    }
    AUTO(text_freep) char *text = text_table_format(table, "", text_table_width());
    fputs(text, stdout);
    fflush(stdout);
    text_table_free(table);
}

static int list_here(const struct request *request, enum job_form form, struct error *err) {
    AUTO(run_list_release) struct run_list runs = {0};
    AUTO(tree_freep) json_t *jobs = json_array();
    if (run_list_read(&runs, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < runs.count; i++) {
        if (request->all_runs || is_newest(&runs, i)) {
            json_array_append_new(jobs, run_list_job(&runs.at[i]));
        }
    }
    if (form != JOB_FORM_TABLE && form != JOB_FORM_WIDE) {
        return job_print(jobs, /* is_list= */ true, form, err);
    }
    if (runs.count == 0) {
        fprintf(stderr, "no runs on this machine (windlass list -A: all jobs of a cluster)\n");
        return 0;
    }
    print_runs(&runs, request, form == JOB_FORM_WIDE);
    return 0;
}

int job_list_here(struct error *err) {
    const struct request request = {0};
    return list_here(&request, JOB_FORM_TABLE, err);
}

static int list_remote(const struct request *request, enum job_form form, struct error *err) {
    AUTO(remote_release) struct remote remote = {0};
    AUTO(tree_freep) json_t *jobs = json_array();
    if (remote_open(&request->where.remote, &remote, err) < 0 ||
        status_list_read(&remote, jobs, err) < 0) {
        return -1;
    }
    if (form != JOB_FORM_TABLE && form != JOB_FORM_WIDE) {
        return job_print(jobs, /* is_list= */ true, form, err);
    }
    if (json_array_size(jobs) == 0) {
        fprintf(stderr, "no jobs in %s%s\n", remote.namespace ? "namespace " : "any namespace",
                remote.namespace ? remote.namespace : "");
        return 0;
    }
    status_list_print(jobs, request->where.remote.all);
    return 0;
}

static int run(void *context, const struct option_list *words, int *ret_code, struct error *err) {
    const struct request *request = context;
    enum job_form form;
    (void)words, (void)ret_code;
    if (job_form_read(request->output, &form, err) < 0) {
        return -1;
    }
    return job_where_is_remote(&request->where) ? list_remote(request, form, err)
                                                : list_here(request, form, err);
}

int job_list_command(int argc, char **argv) {
    struct request request = {0};
    static const struct command_help help = {
        .usage = "windlass list [options]",
        .about = "Lists the runs of this machine, the newest of each name first. With -n, -A,\n"
                 "--context or --kubeconfig it lists the jobs of a cluster.",
        .examples = "windlass list\n"
                    "windlass list -A -o name"};
    const struct option options[] = {
        {"all", 'a', OPTION_FLAG, NULL, "Earlier runs of a name, too.", &request.all_runs},
        {"all-namespaces", 'A', OPTION_FLAG, NULL, "The jobs of all namespaces of a cluster.",
         &request.where.remote.all},
        {"output", 'o', OPTION_TEXT, JOB_FORMS,
         "As JSON or YAML, with more columns, or names only.", &request.output},
        JOB_WHERE_ROWS(&request.where),
        {0},
    };
    const struct cli_command command = {
        .name = "list", .help = &help, .options = options, .run = run, .context = &request};
    return cli_command_run(&command, argc, argv);
}
