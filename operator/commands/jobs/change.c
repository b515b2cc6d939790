// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/jobs/change.h"

#include "lib/file.h"
#include "operator/commands/cli_command.h"
#include "operator/commands/jobs/change_remote.h"
#include "operator/commands/jobs/job_where.h"
#include "operator/commands/run/run.h"
#include "operator/object.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { END_MS = 60000 };

struct request {
    struct job_where where;
    enum change change;
    bool dry;
};

static const char *const done[] = {[CHANGE_CANCEL] = "cancelled",
                                   [CHANGE_SUSPEND] = "suspended",
                                   [CHANGE_RESUME] = "resumed",
                                   [CHANGE_RERUN] = "runs again from the beginning",
                                   [CHANGE_DELETE] = "deleted"};

static void print_change(const char *name, const struct request *request) {
    printf("%s %s%s\n", name, done[request->change], request->dry ? " (dry run)" : "");
    fflush(stdout);
}

static int end_run(const struct run_item *run, const char *outcome, struct error *err) {
    if (run->is_alive &&
        (run_list_signal(run, SIGTERM, err) < 0 || run_list_wait(run, END_MS, err) < 0)) {
        return -1;
    }
    return outcome ? run_list_set_outcome(run, outcome, err) : 0;
}

static int stop_run(const struct job_found *found, const struct request *request,
                    struct error *err) {
    static const char *const outcomes[] = {
        [CHANGE_CANCEL] = "Cancelled", [CHANGE_SUSPEND] = "Suspended"};
    const json_t *status = json_object_get(found->job, "status");
    bool is_suspended = strcmp(object_state(status), outcomes[CHANGE_SUSPEND]) == 0;
    if (!found->run->is_alive && !(is_suspended && request->change == CHANGE_CANCEL)) {
        return error_set(err, ERROR_INVALID, "%s does not run: it is %s", found->run->id,
                         object_state(status));
    }
    return request->dry ? 0 : end_run(found->run, outcomes[request->change], err);
}

/* All runs of that name, or the one of that ID. */
static int delete_runs(const struct job_found *found, const char *name, bool dry,
                       struct error *err) {
    for (size_t i = 0; i < found->runs.count; i++) {
        const struct run_item *run = &found->runs.at[i];
        bool is_meant =
            strcmp(run->id, name) == 0 || strcmp(tree_text(run->record, "name", ""), name) == 0;
        if (is_meant && !dry && (end_run(run, NULL, err) < 0 || run_list_forget(run, err) < 0)) {
            return -1;
        }
    }
    return 0;
}

/* A manifest that came by a pipe, or whose file is gone, is written anew: beside the record, where
 * only the user can write. The next run is recorded with that file. */
static int write_manifest(const struct run_item *run, char **ret_path, struct error *err) {
    AUTO(text_freep) char *text = tree_compact(json_object_get(run->record, "manifest"));
    AUTO(text_freep) char *path = x_printf("%s.again", run->path);
    if (file_write(path, text, strlen(text), err) < 0) {
        return -1;
    }
    *ret_path = TAKE(path);
    return 0;
}

static bool is_given(const json_t *arguments, const char *volume) {
    AUTO(text_freep) char *start = x_printf("%s=", volume);
    for (size_t i = 1; i < json_array_size(arguments); i++) {
        const char *option = json_string_value(json_array_get(arguments, i - 1));
        if (strcmp(option, "--volume") == 0 &&
            text_starts(json_string_value(json_array_get(arguments, i)), start)) {
            return true;
        }
    }
    return false;
}

/* An emptyDir of that run, in the folder of its logs: the next run has its own. */
static bool is_own(const json_t *record, const char *folder) {
    AUTO(text_freep) char *state = realpath(tree_text(record, "state", ""), NULL);
    AUTO(text_freep) char *own = x_printf("%s/volumes/", state ? state : "");
    return state && text_starts(folder, own);
}

/* The words of `windlass run`: an array of texts, owned. written: the manifest was written anew, so
 * that what was beside it must be named. */
static json_t *words_of(const json_t *record, const char *manifest, bool written) {
    json_t *words = json_pack("[s, s, s, s, s]", "run", "-f", manifest, "--only",
                              tree_text(record, "name", ""));
    const json_t *arguments = json_object_get(record, "arguments");
    const char *volume;
    json_t *folder;
    json_array_extend(words, (json_t *)arguments);
    json_object_foreach(json_object_get(record, "folders"), volume, folder) {
        const char *path = json_string_value(folder);
        if (written && path && !is_given(arguments, volume) && !is_own(record, path) &&
            access(path, F_OK) == 0) {
            AUTO(text_freep) char *given = x_printf("%s=%s", volume, path);
            json_array_append_new(words, json_string("--volume"));
            json_array_append_new(words, json_string(given));
        }
    }
    return words;
}

static int start_again(const struct run_item *run, bool restart, int *ret_code, struct error *err) {
    const char *file = tree_text(run->record, "file", NULL);
    bool is_there = file && access(file, R_OK) == 0;
    AUTO(text_freep) char *path = NULL;
    if (!is_there && write_manifest(run, &path, err) < 0) {
        return -1;
    }
    if (chdir(tree_text(run->record, "folder", "/")) < 0) {
        return error_set(err, ERROR_INVALID, "%s: its working folder %s is gone", run->id,
                         tree_text(run->record, "folder", "/"));
    }
    AUTO(tree_freep) json_t *words = words_of(run->record, is_there ? file : path, !is_there);
    if (restart) {
        json_array_append_new(words, json_string("--restart"));
    }
    size_t count = json_array_size(words);
    const char **argv = x_calloc(count + 1, sizeof *argv);
    for (size_t i = 0; i < count; i++) {
        argv[i] = json_string_value(json_array_get(words, i));
    }
    *ret_code = run_command((int)count, (char **)(uintptr_t)argv);
    free(argv);
    return 0;
}

static int run_again(const struct job_found *found, const struct request *request, int *ret_code,
                     struct error *err) {
    const char *name = tree_text(found->run->record, "name", "");
    const json_t *status = json_object_get(found->job, "status");
    bool is_resumed = request->change == CHANGE_RESUME;
    if (found->run->is_alive) {
        return error_set(err, ERROR_INVALID, "%s runs already: windlass logs %s -f follows it",
                         found->run->id, name);
    }
    if (is_resumed && strcmp(tree_text(object_succeeded(status), "status", ""), "True") == 0) {
        return error_set(err, ERROR_INVALID,
                         "%s has succeeded: windlass rerun %s runs it from the beginning", name,
                         name);
    }
    print_change(name, request);
    return request->dry ? 0 : start_again(found->run, !is_resumed, ret_code, err);
}

/* What cannot be undone is done to a job of a cluster only where the options say so: a mistyped
 * name must not reach the cluster that the kubeconfig happens to name. */
static int find(const struct request *request, const char *name, struct job_found *found,
                struct error *err) {
    struct job_where where = request->where;
    bool is_lasting = request->change == CHANGE_DELETE || request->change == CHANGE_RERUN;
    bool is_only_here = is_lasting && !where.here && !job_where_is_remote(&where);
    where.here |= is_only_here;
    if (job_where_find(&where, name, found, err) == 0) {
        return 0;
    }
    if (!is_only_here || err->kind != ERROR_INVALID) {
        return -1;
    }
    error_clear(err);
    return error_set(err, ERROR_INVALID,
                     "no run of this machine is named %s (windlass list); for the job of the "
                     "cluster add -n NAMESPACE",
                     name);
}

static int change_one(const struct request *request, const char *name, int *ret_code,
                      struct error *err) {
    AUTO(job_found_release) struct job_found found = {0};
    int result = 0;
    if (find(request, name, &found, err) < 0) {
        return -1;
    }
    if (!found.run) {
        result = change_remote(&found, request->change, request->dry, err);
    } else if (request->change == CHANGE_RESUME || request->change == CHANGE_RERUN) {
        return run_again(&found, request, ret_code, err);
    } else if (request->change == CHANGE_DELETE) {
        result = delete_runs(&found, name, request->dry, err);
    } else {
        result = stop_run(&found, request, err);
    }
    if (result == 0) {
        print_change(name, request);
    }
    return result;
}

static int change_all(void *context, const struct option_list *words, int *ret_code,
                      struct error *err) {
    for (size_t i = 0; i < words->count && *ret_code == 0; i++) {
        if (change_one(context, words->values[i], ret_code, err) < 0) {
            if (err->kind == ERROR_NOT_FOUND) {
                err->kind = ERROR_INVALID; /* a wrong name: exit code 2 */
            }
            return -1;
        }
    }
    return 0;
}

static int run_change(enum change change, const struct command_help *help, int argc, char **argv) {
    struct request request = {.change = change};
    const struct option options[] = {
        {"dry-run", 0, OPTION_FLAG, NULL, "Say what would be done, and change nothing.",
         &request.dry},
        JOB_WHERE_ROWS(&request.where),
        {0},
    };
    const struct cli_command command = {
        .name = argv[0], .help = help, .options = options, .run = change_all, .context = &request};
    return cli_command_run(&command, argc, argv);
}

enum { NAMES_MAX = 64 };

int change_cancel(int argc, char **argv) {
    static const struct command_help help = {
        .usage = "windlass cancel NAME... [options]",
        .about =
            "Ends jobs by their names. A run of this machine ends as by Ctrl-C. On a cluster it\n"
            "is the same as suspend (spec.suspend): the pods end. Finished work is kept;\n"
            "windlass resume continues it.",
        .examples = "windlass cancel style-transfer",
        .words_min = 1,
        .words_max = NAMES_MAX};
    return run_change(CHANGE_CANCEL, &help, argc, argv);
}

int change_suspend(int argc, char **argv) {
    static const struct command_help help = {
        .usage = "windlass suspend NAME... [options]",
        .about =
            "Ends the processes or pods of jobs for a while (spec.suspend). On a cluster it is\n"
            "the same as cancel. Finished work is kept; windlass resume continues it.",
        .examples = "windlass suspend style-transfer -n batch",
        .words_min = 1,
        .words_max = NAMES_MAX};
    return run_change(CHANGE_SUSPEND, &help, argc, argv);
}

int change_resume(int argc, char **argv) {
    static const struct command_help help = {
        .usage = "windlass resume NAME... [options]",
        .about = "Continues jobs that were suspended, cancelled or interrupted, or that failed. A\n"
                 "run of this machine runs in this terminal, with its manifest as it is now and\n"
                 "the options that it had.",
        .examples = "windlass resume style-transfer",
        .words_min = 1,
        .words_max = NAMES_MAX};
    return run_change(CHANGE_RESUME, &help, argc, argv);
}

int change_rerun(int argc, char **argv) {
    static const struct command_help help = {
        .usage = "windlass rerun NAME... [options]",
        .about =
            "Deletes the existing results of jobs that have ended, without asking, and runs the\n"
            "jobs once more from the beginning; --dry-run only says so. On a cluster, which -n,\n"
            "--context or --kubeconfig must name, the job is deleted and created again.",
        .examples = "windlass rerun style-transfer\n"
                    "windlass rerun style-transfer -n batch",
        .words_min = 1,
        .words_max = NAMES_MAX};
    return run_change(CHANGE_RERUN, &help, argc, argv);
}

int change_delete(int argc, char **argv) {
    static const struct command_help help = {
        .usage = "windlass delete NAME... [options]",
        .about = "Ends jobs, if they run, and forgets them: on this machine all runs of that name\n"
                 "with their logs (not those of a folder that --state has named), or one run by\n"
                 "its ID; on a cluster, which -n, --context or --kubeconfig must name, the object\n"
                 "with its pods. Outputs stay.",
        .examples = "windlass delete style-transfer\n"
                    "windlass delete style-transfer -n batch",
        .words_min = 1,
        .words_max = NAMES_MAX};
    return run_change(CHANGE_DELETE, &help, argc, argv);
}
