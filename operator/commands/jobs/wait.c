// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/jobs/wait.h"

#include "lib/time/clock.h"
#include "operator/commands/cli_command.h"
#include "operator/commands/jobs/job_where.h"
#include "operator/object.h"
#include "operator/show/ending.h"
#include "operator/show/shown_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_HERE_MS = 200, LOOK_REMOTE_MS = 1000 };

struct request {
    struct job_where where;
    const char *state;
    int64_t timeout_s; /* -1: none */
};

static bool is_reached(const struct request *request, const json_t *job) {
    const json_t *status = json_object_get(job, "status");
    return ending_is_final(status) ||
           (strcmp(request->state, "running") == 0 && tree_integer(status, "items.done", 0) > 0) ||
           strcasecmp(request->state, object_state(status)) == 0;
}

/* A look at the job, after a pause of the place. */
static int poll_job(const char *name, struct job_found *found, struct error *err) {
    struct error why = {0};
    if (found->run) {
        if (run_list_wait(found->run, LOOK_HERE_MS, &why) < 0 && why.kind != ERROR_TIMEOUT) {
            *err = why;
            return -1;
        }
        return job_found_look_again(found, err);
    }
    json_t *next = NULL;
    if (remote_pause(&found->remote, LOOK_REMOTE_MS, err) < 0) {
        return -1;
    }
    if (remote_job(&found->remote, name, &next, &why) == 0) {
        json_decref(found->job);
        found->job = next;
    } else if (remote_is_final(&why)) {
        *err = why;
        return -1;
    }
    return 0;
}

static int run(void *context, const struct option_list *words, int *ret_code, struct error *err) {
    const struct request *request = context;
    const char *name = words->values[0];
    AUTO(job_found_release) struct job_found found = {0};
    int64_t start_ms = clock_monotonic_ms();
    if (strcmp(request->state, "ended") != 0 && strcmp(request->state, "running") != 0) {
        return error_set(err, ERROR_INVALID, "--for %s: expected ended or running", request->state);
    }
    if (job_where_find(&request->where, name, &found, err) < 0) {
        err->kind = err->kind == ERROR_NOT_FOUND ? ERROR_INVALID : err->kind; /* a wrong name */
        return -1;
    }
    while (!is_reached(request, found.job)) {
        if (request->timeout_s >= 0 &&
            clock_monotonic_ms() - start_ms >= request->timeout_s * 1000) {
            return error_set(err, ERROR_TIMEOUT, "%s is %s after %lld s", name,
                             object_state(json_object_get(found.job, "status")),
                             (long long)request->timeout_s);
        }
        if (poll_job(name, &found, err) < 0) {
            return -1;
        }
    }
    const json_t *status = json_object_get(found.job, "status");
    AUTO(tree_freep) json_t *shown = shown_tree(status);
    const char *message = tree_text(object_succeeded(shown), "message", "");
    printf("%s: %s%s%s\n", name, object_state(shown), *message ? ": " : "", message);
    *ret_code = strcmp(tree_text(object_succeeded(status), "status", ""), "False") == 0;
    return 0;
}

int wait_command(int argc, char **argv) {
    struct request request = {.state = "ended", .timeout_s = -1};
    static const struct command_help help = {
        .usage = "windlass wait NAME [options]",
        .about = "Waits until a job has ended, here or on a cluster, and prints how.\n\n"
                 "Exit codes: 0 it succeeded (or runs, with --for running), 1 it failed or was\n"
                 "ended, 2 usage or no such job, 3 --timeout is over, or the cluster.",
        .examples = "windlass wait style-transfer --timeout 3600 && windlass verify data/painted",
        .words_min = 1,
        .words_max = 1};
    const struct option options[] = {
        {"for", 0, OPTION_TEXT, "ended|running", "What to wait for (default: ended).",
         &request.state},
        {"timeout", 0, OPTION_INTEGER, "SECONDS", "Give up after that (default: never).",
         &request.timeout_s},
        JOB_WHERE_ROWS(&request.where),
        {0},
    };
    const struct cli_command command = {
        .name = "wait", .help = &help, .options = options, .run = run, .context = &request};
    return cli_command_run(&command, argc, argv);
}
