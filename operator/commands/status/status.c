// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/status/status.h"

#include "operator/commands/cli_command.h"
#include "operator/commands/jobs/job_print.h"
#include "operator/commands/status/job_list.h"
#include "operator/commands/status/status_job.h"
#include "operator/commands/status/status_list.h"
#include "operator/commands/status/status_local.h"
#include "operator/kinds/kinds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    struct job_where where;
    struct status_request request;
};

/* For the help: "of a KIND its trials, ..." of the kinds that show more than pods; owned. */
static char *about_made(void) {
    char *all = x_strdup("");
    for (const struct kind_row *const *row = kind_rows; *row; row++) {
        if ((*row)->status_about) {
            char *longer =
                x_printf("%s; for a %s %s", all, (*row)->loop->name, (*row)->status_about);
            free(all);
            all = longer;
        }
    }
    return all;
}

static char *about_page(void) {
    char *all = x_strdup("The job as the API has it, or only its kind and name;");
    for (const struct kind_row *const *row = kind_rows; *row; row++) {
        if (status_has_page(*row)) {
            char *longer = x_printf("%s html, for a %s: %s.", all, (*row)->loop->name,
                                    (*row)->children->page_about);
            free(all);
            all = longer;
        }
    }
    return all;
}

static int check_request(const struct options *options, struct error *err) {
    const struct status_request *request = &options->request;
    struct error ignored = {0};
    enum job_form form;
    if (request->name && request->all) {
        return error_set(err, ERROR_INVALID, "NAME is one job, -A all: give one of them");
    }
    if (request->output && !request->name) {
        return error_set(err, ERROR_INVALID,
                         "-o %s: the NAME of a job is missing (windlass list -o is for all)",
                         request->output);
    }
    if (request->output && strcmp(request->output, "html") != 0 &&
        job_form_read(request->output, &form, &ignored) < 0) {
        return error_set(err, ERROR_INVALID, "-o %s: expected one of %s|html", request->output,
                         JOB_FORMS);
    }
    return 0;
}

static bool is_tree(const char *output) {
    return output && strcmp(output, "html") != 0 && strcmp(output, "wide") != 0;
}

static int show_found(struct options *options, int *ret_code, struct error *err) {
    struct status_request *request = &options->request;
    AUTO(job_found_release) struct job_found found = {0};
    if (job_where_find(&options->where, request->name, &found, err) < 0) {
        return -1;
    }
    if (found.run && status_local_show(&found, request, ret_code, err) < 0) {
        return -1;
    }
    if (is_tree(request->output)) {
        enum job_form form;
        AUTO(tree_freep) json_t *jobs = json_pack("[O]", found.job);
        return job_form_read(request->output, &form, err) < 0
                   ? -1
                   : job_print(jobs, /* is_list= */ false, form, err);
    }
    return found.run ? 0 : status_job_show(&found.remote, found.job, request, ret_code, err);
}

static int run(void *context, const struct option_list *words, int *ret_code, struct error *err) {
    struct options *options = context;
    struct status_request *request = &options->request;
    AUTO(remote_release) struct remote remote = {0};
    request->name = words->count ? words->values[0] : NULL;
    request->all = options->where.remote.all;
    if (check_request(options, err) < 0) {
        return -1;
    }
    if (request->name) {
        return show_found(options, ret_code, err);
    }
    if (options->where.here || (!job_where_is_remote(&options->where) && !request->watch &&
                                !remote_is_configured(&options->where.remote))) {
        fprintf(stderr, "%s", options->where.here ? "" : "no cluster is configured; runs here:\n");
        return job_list_here(err);
    }
    return remote_open(&options->where.remote, &remote, err) < 0
               ? -1
               : status_list_show(&remote, request, err);
}

int status_command(int argc, char **argv) {
    struct options chosen = {0};
    AUTO(text_freep) char *page_help = about_page();
    AUTO(text_freep) char *made = about_made();
    AUTO(text_freep)
    char *about = x_printf(
        "Lists the jobs of a cluster with their progress, or without a cluster the runs of this\n"
        "machine. With NAME: one job and its pods, with\n"
        "the reason and the remedy for each pod that does not run%s. NAME is\n"
        "the newest run of that name on this machine, else a job of the cluster; with -n,\n"
        "--context or --kubeconfig only the cluster is searched.\n\n"
        "-w follows one job until its end (exit code 0 succeeded, 1 failed), or the list of\n"
        "jobs, with a line for every change.\n\n"
        "Figures of one job are live, read through the API server's service proxy (needs get on\n"
        "services/proxy, which the role edit has). If that fails, the last reported figures and\n"
        "the reason are shown.",
        made);
    const struct command_help help = {
        .usage = "windlass status [NAME] [options]",
        .about = about,
        .examples = "windlass status -A\n"
                    "windlass status style-transfer -w",
        .words_max = 1,
    };
    const struct option options[] = {
        {"all-namespaces", 'A', OPTION_FLAG, NULL, "The jobs of all namespaces.",
         &chosen.where.remote.all},
        {"watch", 'w', OPTION_FLAG, NULL, "Follow changes.", &chosen.request.watch},
        {"output", 'o', OPTION_TEXT, JOB_FORMS "|html", page_help, &chosen.request.output},
        JOB_WHERE_ROWS(&chosen.where),
        {0},
    };
    const struct cli_command command = {
        .name = "status", .help = &help, .options = options, .run = run, .context = &chosen};
    return cli_command_run(&command, argc, argv);
}
