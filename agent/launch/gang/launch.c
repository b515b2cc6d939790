// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/gang/launch.h"

#include "agent/launch/gang/hub.h"
#include "agent/launch/gang/member.h"
#include "agent/result/result_folder.h"
#include "lib/file.h"
#include "lib/log.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;

static void on_signal(int number) {
    (void)number;
    interrupted = 1;
}

/* The kernel ignores signals without a handler for PID 1. */
static void catch_signals(void) {
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        sigaction(numbers[i], &action, NULL);
    }
}

/* True in our own images, which have windlass-agent with more commands. */
static bool has_agent(const struct launch_job *job) {
    const char *path = getenv("PATH");
    for (const char *at = path ? path : ""; *at;) {
        size_t size = strcspn(at, ":");
        AUTO(text_freep) char *folder = x_strndup(at, size);
        AUTO(text_freep) char *program = file_join(folder, "windlass-agent");
        if (*folder == '/' && strcmp(folder, job->bin) != 0 && access(program, X_OK) == 0) {
            return true;
        }
        at += size + (at[size] == ':');
    }
    return false;
}

/* `ssh`, `rsh` and `rank` are links to this program, found in PATH or by MPI's settings; so is
 * `windlass-agent`, for its command `metric`. The folder may be of an earlier run (windlass run
 * --keep), with links to a program that no longer exists. */
static void make_links(const struct launch_job *job) {
    static const char *const names[] = {"ssh", "rsh", "rank", "windlass-agent"};
    struct error err = {0};
    char self[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    if (size < 0 || file_make_folders(job->bin, &err) < 0) {
        log_event(LOG_WARNING, "%s: cannot make links to this program: %s", job->bin, err.text);
        return;
    }
    self[size] = 0;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        AUTO(text_freep) char *path = file_join(job->bin, names[i]);
        unlink(path);
        if (strcmp(names[i], "windlass-agent") == 0 && has_agent(job)) {
            continue;
        }
        if (symlink(self, path) < 0) {
            log_event(LOG_WARNING, "%s: %s", path, strerror(errno));
        }
    }
}

/* A training refuses the output of another kind of job itself, but its logs would be there by then,
 * and that job's output not complete any more. */
static int check_trainers_output(const struct launch_job *job, struct error *err) {
    AUTO(store_freep) struct store *store = NULL;
    struct error why = {0};
    if (!job->result_path ||
        (store_open(job->result_path, /* writes= */ false, &store, &why) == 0 &&
         result_folder_check(store, RESULT_TRAINER, &why) == 0) ||
        why.kind != ERROR_INVALID) {
        return 0;
    }
    *err = why;
    return error_context(err, "spec.trainer.output.path");
}

/* The results of an earlier run must not remain as if they were of this one. */
static int forget_results(const struct launch_job *job, struct error *err) {
    const struct result_folder_job of = {RESULT_DISTTRAIN, job->uid, job->run_name};
    for (size_t i = 0; job->result_outputs && job->result_outputs[i]; i++) {
        AUTO(store_freep) struct store *store = NULL;
        if (strchr(job->result_outputs[i], '/') &&
            (store_open(job->result_outputs[i], /* writes= */ true, &store, err) < 0 ||
             result_folder_begin(store, &of, err) < 0)) {
            return error_context(err, "spec.outputs[%zu]", i);
        }
    }
    return 0;
}

/* The training's output, or the first output of a command that is a folder of its own. */
static const char *ended_path(const struct launch_job *job) {
    if (job->result_path) {
        return job->result_path;
    }
    for (size_t i = 0; job->result_outputs && job->result_outputs[i]; i++) {
        if (strchr(job->result_outputs[i], '/')) {
            return job->result_outputs[i];
        }
    }
    return NULL;
}

/* Whether all ranks have ended under an earlier hub. A training that may start again finds what it
 * has finished, so it does not depend on the record. */
static int find_ended(const struct launch_job *job, const struct ended_place *place,
                      struct ended **ret_ended, struct error *err) {
    struct error why = {0};
    if (!place->path || ended_find(place, ret_ended, &why) == 0) {
        return 0;
    }
    if (!job->is_trainer || job->only_finishes) {
        *err = why;
        return -1;
    }
    log_event(LOG_WARNING, "cannot check whether all ranks have ended already: %s", why.text);
    return 0;
}

/* The end of a pod that only had to read what the ranks had left is not a restart of theirs. */
static void take_back_restart(const struct launch_job *job, struct gang_options *gang) {
    const char *last_end = job->last_end ? job->last_end : "";
    gang->counted_restarts -= strcmp(last_end, "counted") == 0 && gang->counted_restarts > 0;
    gang->uncounted_restarts -= strcmp(last_end, "disrupted") == 0 && gang->uncounted_restarts > 0;
    gang->forgiven = MIN(gang->forgiven, gang->counted_restarts);
}

/* What NAME-0 needs of the storage before its hub starts. */
static int prepare_hub(const struct launch_job *job, struct hub_options *options,
                       struct ended **ret_ended, struct error *err) {
    if (job->gang.checks_result && job->run_name && job->uid) {
        options->ended_place = (struct ended_place){.path = ended_path(job),
                                                    .run = job->run_name,
                                                    .uid = job->uid,
                                                    .token = job->token,
                                                    .attempt = job->attempt};
    }
    if (result_origin_new(&options->origin, err) < 0 ||
        find_ended(job, &options->ended_place, ret_ended, err) < 0) {
        return -1;
    }
    options->ended = *ret_ended;
    if (*ret_ended) {
        log_event(LOG_INFO, "all ranks had ended with 0 under an earlier pod");
        take_back_restart(job, &options->gang);
        return 0;
    }
    if (job->only_finishes) {
        return error_set(err, ERROR_FAILED,
                         "the ranks had not all ended with 0 under the pod before, and "
                         "spec.restart.maxRestarts allows no further start");
    }
    return check_trainers_output(job, err) < 0 ? -1 : forget_results(job, err);
}

int launch_run(const struct launch_job *job, char **ret_message) {
    struct error err = {0};
    struct hub *hub = NULL;
    int code = 3;
    struct hub_options options = {.bind = job->bind,
                                  .certificate_pem = job->certificate_pem,
                                  .key_pem = job->key_pem,
                                  .token = job->token,
                                  .read_token = job->read_token,
                                  .pod = job->worker,
                                  .gang = job->gang,
                                  .objective = job->objective,
                                  .saved_objective = job->saved_objective,
                                  .is_trainer = job->is_trainer,
                                  .result_path = job->result_path,
                                  .run = job->run_name,
                                  .result_outputs = job->result_outputs};
    AUTO(ended_freep) struct ended *ended = NULL;
    *ret_message = NULL;
    if (job->index == 0 && prepare_hub(job, &options, &ended, &err) < 0) {
        log_event(LOG_ERROR, "%s", err.text);
        result_origin_free(options.origin);
        if (job->only_finishes && err.kind == ERROR_FAILED) { /* the plan knows the pod before */
            *ret_message = x_strdup("{\"state\":\"Failed\",\"reason\":\"NothingToFinish\"}");
        }
        return error_exit_code(&err);
    }
    catch_signals();
    make_links(job);
    if ((job->index == 0 && hub_start(&options, &hub, &err) < 0) ||
        member_run(job, hub, &interrupted, &code, &err) < 0) {
        log_event(LOG_ERROR, "%s", err.text);
        code = error_exit_code(&err);
    }
    if (hub) {
        *ret_message = hub_progress(hub);
        hub_free(hub);
    }
    result_origin_free(options.origin);
    return code;
}
