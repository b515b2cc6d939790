// SPDX-License-Identifier: Apache-2.0
/* Connects the local cluster, the controller and the kinds, and waits until the job has ended. */
#include "operator/commands/run.h"

#include "lib/cgroup.h"
#include "lib/digest.h"
#include "lib/file.h"
#include "lib/options.h"
#include "lib/time/clock.h"
#include "operator/commands/run_help.h"
#include "operator/commands/run_made.h"
#include "operator/commands/run_secrets.h"
#include "operator/commands/run_series.h"
#include "operator/commands/run_state.h"
#include "operator/control/controller.h"
#include "operator/kinds/kinds.h"
#include "operator/local/gpus.h"
#include "operator/local/left_files.h"
#include "operator/local/local.h"
#include "operator/object.h"
#include "operator/resource_files.h"
#include "operator/show/ending.h"
#include "operator/show/progress_line.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum {
    WORKERS_MAX = 1024,
    REDRAW_MS = 500,
    LEAVE_MS = 1000, /* for pods to end by themselves after the job has ended */
    STOP_MS = 5000,  /* for pods to end after SIGTERM */
    FAILURES_MAX = 6 /* passes in a row, about 3 s */
};

#define STORES_FOLDER "WINDLASS_STORES_FOLDER" /* agent/store/azure/azure_place.h */

struct run {
    const char *state_option, *stores, *secrets;
    char *file; /* with the manifest; "standard input" */
    struct option_list files, volumes;
    int64_t workers, gpus;
    struct local_gpus *machine_gpus; /* if the kind can use them */
    bool keep, restart, restart_by_old_name, once;
    bool is_usage; /* the user can correct the error: exit code 2 */
    const struct kind_row *row;

    json_t *object;  /* the manifest; after the start, the object as last seen in the cluster */
    json_t *folders; /* {volume: its folder} */
    json_t *secret_objects;
    struct job_options kind_options;
    struct kind_set *kinds;
    struct run_made made;
    const char *name, *unit; /* borrowed from `object` of the manifest */
    char *manifest_folder, *state_folder;
    int signal_fd;
    struct cluster *cluster;
    struct controller *controller;
    struct progress_line progress;
    bool is_series;                    /* it makes runs, until Ctrl-C */
    struct run_series series;          /* how they are shown */
    struct error failure;              /* of the controller, permanent */
    char *failed_pod[2];               /* the last coordinator and the last worker that failed */
    int64_t start_ms, end_ms, stop_ms; /* stop_ms: when SIGTERM was sent; 0: not yet */
    int signals;
};

/* 1: the help was printed. */
static int read_options(struct run *run, int argc, char **argv, struct error *err) {
    AUTO(run_help_release) struct run_help texts = {0};
    run_help_make(&texts);
    const struct command_help help = {
        .usage = "windlass run -f FILE [options]",
        .about = texts.about,
        .examples = "windlass run -f examples/style-transfer/batchscore.yaml\n"
                    "windlass run -f job.yaml --volume media=/data/films --workers 4",
    };
    const struct option options[] = {
        {"file", 'f', OPTION_LIST, "FILE", texts.file, &run->files},
        {"volume", 0, OPTION_LIST, "NAME=DIR", "The folder of a volume; may be repeated.",
         &run->volumes},
        {"stores", 0, OPTION_TEXT, "DIR",
         "Keys of spec.stores: DIR/ACCOUNT/azurestorageaccountkey or azurestorageaccountsastoken "
         "(WINDLASS_STORES_FOLDER).",
         &run->stores},
        {"secrets", 0, OPTION_TEXT, "DIR", texts.secrets, &run->secrets},
        {"workers", 'w', OPTION_INTEGER, "N", texts.workers, &run->workers},
        {"gpus", 0, OPTION_INTEGER, "N",
         "GPUs for each worker; workers share them where this machine has too few "
         "(default: spec.workers.gpus; 0 where this machine has none).",
         &run->gpus},
        {"state", 0, OPTION_TEXT, "DIR",
         "Folder for logs, emptyDir and temporary files (default: "
         "~/.local/state/windlass/NAME-TIME).",
         &run->state_option},
        {"restart", 0, OPTION_FLAG, NULL,
         "Start from the beginning: first discard what earlier runs of this job have done.",
         &run->restart},
        {"anew", 0, OPTION_FLAG, NULL, NULL, &run->restart_by_old_name}, /* hidden */
        {"once", 0, OPTION_FLAG, NULL,
         "Make one run now and ignore trigger, schedule and rerun; its output is in "
         "OUTPUT/runs/TIME-RUN.",
         &run->once},
        {"keep", 0, OPTION_FLAG, NULL, "Keep the working folders of the processes.", &run->keep},
        {0},
    };
    struct option_list words = {0};
    run->workers = run->gpus = KIND_UNASKED;
    int result = options_read(argc, argv, &help, options, &words, err);
    if (result != 0) {
        return result;
    }
    if (run->restart_by_old_name) {
        fprintf(
            stderr,
            "windlass: --anew is now called --restart, and will be removed in the next release\n");
        run->restart = true;
    }
    if (run->files.count == 0) {
        return error_set(err, ERROR_INVALID, "-f FILE is missing: give a manifest (--help)");
    }
    if (run->workers != KIND_UNASKED && (run->workers < 1 || run->workers > WORKERS_MAX)) {
        return error_set(err, ERROR_INVALID, "--workers %lld: expected 1 to %d",
                         (long long)run->workers, WORKERS_MAX);
    }
    if (run->gpus != KIND_UNASKED && (run->gpus < 0 || run->gpus > KIND_GPUS_OF_WORKER_MAX)) {
        return error_set(err, ERROR_INVALID, "--gpus %lld: expected 0 to %d", (long long)run->gpus,
                         KIND_GPUS_OF_WORKER_MAX);
    }
    return 0;
}

static bool can_run_once(const struct kind_row *row) {
    return row->local.take_one_run;
}

static bool can_use_gpus(const struct kind_row *row) {
    return row->local.fit_gpus;
}

/* Refuses an option that only some kinds have. */
static int check_option(struct run *run, const char *option, bool is_given, kinds_filter *has,
                        struct error *err) {
    if (!is_given || has(run->row)) {
        return 0;
    }
    AUTO(text_freep) char *names = kinds_names(has, "a %s", "or");
    run->is_usage = true;
    return error_set(err, ERROR_INVALID, "--%s is for %s; %s is a %s", option, names, run->file,
                     run->row->loop->name);
}

static int check_kind(struct run *run, struct error *err) {
    const struct kind_row *row = kinds_of(run->object);
    run->row = row;
    if (!row->local.fit) {
        return error_set(err, ERROR_INVALID, "%s: a %s cannot be run on this machine", run->file,
                         row->loop->name);
    }
    if (check_option(run, "once", run->once, can_run_once, err) < 0 ||
        check_option(run, "gpus", run->gpus != KIND_UNASKED, can_use_gpus, err) < 0) {
        return -1;
    }
    if (row->local.workers_max && run->workers > row->local.workers_max) {
        run->is_usage = true;
        return error_set(err, ERROR_INVALID, "--workers %lld: a %s has at most %lld",
                         (long long)run->workers, row->loop->name,
                         (long long)row->local.workers_max);
    }
    return 0;
}

/* A text that no earlier run had. */
static void mark_restart(struct run *run) {
    AUTO(text_freep) char *text = digest_random(16);
    json_t *metadata = json_object_get(run->object, "metadata");
    json_t *annotations = json_object_get(metadata, "annotations");
    if (!annotations) {
        annotations = json_object();
        json_object_set_new(metadata, "annotations", annotations);
    }
    json_object_set_new(annotations, ANNOTATION_RESTART, json_string(text));
    fprintf(stderr,
            "windlass: %s: --restart: what earlier runs have made in its output is thrown "
            "away\n",
            tree_text(metadata, "name", ""));
}

static int load(struct run *run, struct error *err) {
    AUTO(resource_files_release) struct resource_files files = {0};
    if (resource_files_read(&run->files, /* today= */ true, &files, err) < 0 ||
        resource_files_take_only(&files, &run->file, &run->object, err) < 0) {
        run->is_usage = true; /* also when it is missing or unreadable */
        return -1;
    }
    if (check_kind(run, err) < 0) {
        return -1;
    }
    if (run->restart) {
        mark_restart(run);
    }
    run->name = tree_text(run->object, "metadata.name", "");
    run->unit = run->row->unit(run->object);
    const char *slash = strrchr(run->file, '/');
    run->manifest_folder =
        slash ? x_strndup(run->file, MAX(1, (size_t)(slash - run->file))) : x_strdup(".");
    return 0;
}

static struct volume_places places_of(const struct run *run) {
    return (struct volume_places){.given = run->volumes.values,
                                  .given_count = run->volumes.count,
                                  .manifest_folder = run->manifest_folder,
                                  .state_folder = run->state_folder};
}

/* Keys of spec.stores are in a folder here, as in a pod; the pods inherit the variable with its
 * path. */
static int find_stores(const struct run *run, struct error *err) {
    const json_t *stores = json_object_get(tree_get(run->object, run->row->local.within), "stores");
    const char *given = run->stores ? run->stores : getenv(STORES_FOLDER);
    if (run->stores) {
        AUTO(text_freep) char *folder = realpath(run->stores, NULL);
        if (!folder || setenv(STORES_FOLDER, folder, 1) < 0) {
            return error_set(err, ERROR_INVALID, "--stores %s: %m", run->stores);
        }
    }
    for (size_t i = 0; !given && i < json_array_size(stores); i++) {
        const json_t *store = json_array_get(stores, i);
        if (json_object_get(store, "secretName")) {
            return error_set(err, ERROR_INVALID,
                             "%s: %s.stores[%zu]: a Secret is not known on this machine; give "
                             "--stores DIR, with the file DIR/%s/azurestorageaccountkey or "
                             "azurestorageaccountsastoken",
                             run->file, run->row->local.within, i, tree_text(store, "account", ""));
        }
    }
    return 0;
}

/* Checks before any process starts, so that a missing folder is a one-line error and exit code 2.
 */
static int find_volumes(struct run *run, struct error *err) {
    if (find_stores(run, err) < 0) {
        return -1;
    }
    if (run_secrets_read(run->secrets, run->object, run->row->local.within, &run->secret_objects,
                         err) < 0) {
        return error_context(err, "%s", run->file);
    }
    struct volume_places places = places_of(run);
    const json_t *volumes =
        json_object_get(tree_get(run->object, run->row->local.within), "volumes");
    run->folders = json_object();
    if (volume_check_given(&places, volumes, err) < 0) {
        return -1;
    }
    size_t i;
    json_t *volume;
    json_array_foreach(volumes, i, volume) {
        AUTO(text_freep) char *folder = NULL;
        if (volume_find(&places, volume, &folder, err) < 0) {
            return error_context(err, "%s: %s.volumes[%zu]", run->file, run->row->local.within, i);
        }
        json_object_set_new(run->folders, tree_text(volume, "name", ""), json_string(folder));
    }
    return 0;
}

static void hear_failure(void *context, const char *key, const struct error *err, int64_t retry_ms,
                         int failures) {
    struct run *run = context;
    (void)key;
    if (retry_ms < 0 || failures >= FAILURES_MAX) {
        run->failure = *err;
    }
}

static void on_applied(void *context, const json_t *stored, const struct error *err) {
    struct run *run = context;
    (void)stored;
    if (err) {
        run->failure = *err;
    }
}

static int open_signals(struct run *run, struct error *err) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    run->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return run->signal_fd < 0 ? error_from_errno(err, errno, "cannot watch signals") : 0;
}

static int start(struct run *run, struct error *err) {
    const struct kind_local *local = &run->row->local;
    int processors = cgroup_usable_processors(NULL);
    bool has_gpus = false; /* each worker has GPUs of its own */
    run->kind_options.folders = run->folders;
    left_files_clear(run->state_folder);
    if (run->once && local->take_one_run(run->object, &run->kind_options, err) < 0) {
        return -1;
    }
    run->is_series = local->is_series && local->is_series(run->object);
    json_t *spec = json_object_get(run->object, "spec");
    run->workers = local->fit(spec, run->workers, processors);
    if (local->fit_gpus) {
        run->machine_gpus = local_gpus_find();
        has_gpus = local->fit_gpus(spec, run->gpus, local_gpus_count(run->machine_gpus), run->name);
    }
    if (local->check_fit && local->check_fit(spec, err) < 0) {
        return -1;
    }
    struct local_options options = {.places = places_of(run),
                                    .threads = (int)MAX(1, processors / run->workers),
                                    .gpus = has_gpus ? run->machine_gpus : NULL};
    if (kind_set_new(run->row, &run->kind_options, &run->kinds, err) < 0 ||
        open_signals(run, err) < 0 || local_open(&options, &run->cluster, err) < 0 ||
        controller_new(run->cluster, kind_set_kinds(run->kinds), hear_failure, run,
                       &run->controller, err) < 0) {
        return -1;
    }
    run->start_ms = clock_monotonic_ms();
    progress_line_init(&run->progress, run->name, run->unit, run->row->numbers, run->start_ms);
    run->series.ending = (struct ending){.unit = run->unit,
                                         .folders = run->folders,
                                         .state_folder = run->state_folder,
                                         .print_success = run->row->local.print_success};
    run->series.read = run->row->numbers;
    for (size_t i = 0; i < json_array_size(run->secret_objects); i++) {
        run->cluster->ops->write(run->cluster, CLUSTER_APPLY,
                                 json_array_get(run->secret_objects, i), on_applied, run);
    }
    run->cluster->ops->write(run->cluster, CLUSTER_APPLY, run->object, on_applied, run);
    return 0;
}

static const json_t *find_job(const struct run *run) {
    return local_find(run->cluster, run->row->loop->name,
                      tree_text(run->object, "metadata.namespace", "default"), run->name);
}

static bool is_worker(const json_t *pod) {
    const json_t *role = json_object_get(tree_get(pod, "metadata.labels"), LABEL_ROLE);
    return role && strcmp(json_string_value(role), "worker") == 0;
}

/* Remembers which pods failed last, because they may be deleted before the job fails. */
static void note_failed_pods(struct run *run) {
    const char *last[2] = {"", ""}; /* times in a format that sorts as text */
    AUTO(tree_freep)
    json_t *pods = cache_owned(controller_cache(run->controller), "Pod", find_job(run));
    size_t i;
    json_t *pod;
    json_array_foreach(pods, i, pod) {
        const char *ended =
            tree_text(pod, "status.containerStatuses[0].state.terminated.finishedAt", "");
        int role = is_worker(pod);
        if (strcmp(tree_text(pod, "status.phase", ""), "Failed") == 0 &&
            strcmp(ended, last[role]) >= 0) {
            last[role] = ended;
            free(run->failed_pod[role]);
            run->failed_pod[role] = x_strdup(tree_text(pod, "metadata.name", ""));
        }
    }
}

/* Reads the jobs that the job has made, before any of them is deleted. */
static void read_made(struct run *run) {
    if (!run->stop_ms) {
        run_made_update(&run->made, run->cluster, controller_cache(run->controller), find_job(run),
                        run->state_folder);
    }
}

/* Sends SIGTERM to every pod by deleting the job in the cluster: the objects that it owns are
 * deleted with it. */
static void stop(struct run *run) {
    if (run->stop_ms == 0) {
        run->stop_ms = clock_monotonic_ms();
        run->cluster->ops->write(run->cluster, CLUSTER_DELETE, run->object, NULL, NULL);
    }
}

static void take_signals(struct run *run) {
    struct signalfd_siginfo info;
    while (read(run->signal_fd, &info, sizeof info) == sizeof info) {
        if (run->signals++) {
            local_kill_all(run->cluster);
            continue;
        }
        size_t pods = local_pod_count(run->cluster);
        progress_line_clear(&run->progress);
        run_series_clear(&run->series);
        fprintf(stderr, "windlass: stopping %zu process%s (Ctrl-C again kills them at once)\n",
                pods, pods == 1 ? "" : "es");
        read_made(run);
        stop(run);
    }
}

/* Ends the run: first the job ends or fails, then its pods. True while the run goes on. */
static bool goes_on(struct run *run) {
    int64_t now_ms = clock_monotonic_ms();
    bool is_over = run->signals || run->failure.kind || run->end_ms;
    if (!is_over) {
        return true;
    }
    if (local_pod_count(run->cluster) == 0) {
        return false;
    }
    if (run->failure.kind || (run->end_ms && now_ms - run->end_ms >= LEAVE_MS)) {
        stop(run);
    }
    int64_t stop_ms = run->row->local.stop_ms ? run->row->local.stop_ms : STOP_MS;
    if (run->stop_ms && now_ms - run->stop_ms >= stop_ms) {
        local_kill_all(run->cluster);
    }
    return true;
}

/* Copies the status to run->object, because the job is deleted before its pods have ended. */
static void read_status(struct run *run) {
    const json_t *status = json_object_get(find_job(run), "status");
    if (!status || run->end_ms) {
        return;
    }
    json_object_set(run->object, "status", (json_t *)status);
    note_failed_pods(run);
    if (ending_is_final(status)) {
        run->end_ms = clock_monotonic_ms();
        read_made(run);
    } else if (run->is_series && !run->signals) {
        run_series_show(&run->series, run->cluster, controller_cache(run->controller),
                        find_job(run), clock_monotonic_ms());
    } else if (!run->signals) {
        progress_line_show(&run->progress, status, clock_monotonic_ms());
    }
}

static int watch(struct run *run, struct error *err) {
    while (goes_on(run)) {
        struct pollfd fds[] = {
            {.fd = run->signal_fd, .events = POLLIN},
            {.fd = controller_fd(run->controller), .events = POLLIN},
        };
        int timeout_ms = MIN(REDRAW_MS, controller_idle_ms(run->controller));
        if (poll(fds, ARRAY_LEN(fds), timeout_ms) < 0 && errno != EINTR) {
            return error_from_errno(err, errno, "cannot wait");
        }
        take_signals(run);
        if (controller_step(run->controller, 0, err) < 0) {
            return -1;
        }
        read_status(run);
    }
    return 0;
}

/* Finds the log of the pod that made the job fail, if its kind can name it: the last attempt of
 * that index. */
static void note_failed_index(struct run *run) {
    if (!run->row->local.failed_index) {
        return;
    }
    int64_t index = run->row->local.failed_index(json_object_get(run->object, "status"));
    free(TAKE(run->failed_pod[0]));
    for (int attempt = 1;; attempt++) {
        AUTO(text_freep) char *first = x_printf("%s-%lld", run->name, (long long)index);
        AUTO(text_freep)
        char *name = attempt > 1 ? x_printf("%s-%d", first, attempt) : x_strdup(first);
        AUTO(text_freep) char *path = local_log_path(run->cluster, name);
        if (access(path, F_OK) < 0) {
            return;
        }
        free(run->failed_pod[0]);
        run->failed_pod[0] = TAKE(name);
    }
}

/* What is to be deleted with the run is not deleted unseen: a success without it is none. */
static int finish_ended(struct run *run, const struct ending *ending) {
    struct left_files left = {0};
    bool is_success =
        strcmp(tree_text(object_succeeded(ending->status), "status", ""), "True") == 0;
    if (is_success && !run->keep) {
        left_files_find(run->state_folder, &left);
    }
    int code = left.count ? left_files_print(&left, run->name) : ending_print(ending);
    left_files_release(&left);
    return code;
}

static int finish(struct run *run) {
    progress_line_clear(&run->progress);
    run_series_clear(&run->series);
    note_failed_index(run);
    const char *failed = run->made.failed_pod ? run->made.failed_pod : run->failed_pod[0];
    const struct kind_made *made = run->row->made;
    struct ending ending = {.file = run->file,
                            .name = run->name,
                            .unit = run->unit,
                            .spec = json_object_get(run->object, "spec"),
                            .status = json_object_get(run->object, "status"),
                            .folders = run->folders,
                            .state_folder = run->state_folder,
                            .failed_coordinator = failed,
                            .failed_worker = run->failed_pod[1],
                            .table = run->made.table,
                            .page = run->made.page,
                            .page_label = made ? made->page_label : NULL,
                            .print_success = run->row->local.print_success,
                            .elapsed_ms = run->end_ms - run->start_ms};
    if (run->end_ms) { /* a Ctrl-C after the end has no effect */
        return finish_ended(run, &ending);
    }
    if (run->signals) {
        ending_print_interrupted(&ending);
        ending_print_page(&ending);
        return 130;
    }
    fprintf(stderr, "windlass: %s: %s\n  logs: %s\n", run->name, run->failure.text,
            run->state_folder);
    return error_exit_code(&run->failure);
}

static void release(struct run *run) {
    controller_free(run->controller);
    if (run->cluster) {
        run->cluster->ops->free(run->cluster); /* kills running pods */
    }
    local_gpus_free(run->machine_gpus);
    if (run->state_folder && !run->keep) {
        struct error ignored = {0};
        AUTO(text_freep) char *pods = file_join(run->state_folder, "pods");
        int removed = file_remove_tree(pods, &ignored);
        (void)removed;
        if (!run->state_option) {
            rmdir(run->state_folder); /* only an empty folder is removed: nothing was started */
        }
    }
    run_series_release(&run->series);
    run_made_release(&run->made);
    kind_set_free(run->kinds);
    fd_closep(&run->signal_fd);
    json_decref(run->object);
    json_decref(run->folders);
    json_decref(run->secret_objects);
    free(run->file);
    free(run->manifest_folder);
    free(run->state_folder);
    free(run->failed_pod[0]);
    free(run->failed_pod[1]);
}

int run_command(int argc, char **argv) {
    struct run run = {.signal_fd = -1};
    struct error err = {0};
    int result = read_options(&run, argc, argv, &err);
    if (result > 0) {
        return 0;
    }
    int exit_code = 0;
    if (result < 0 || load(&run, &err) < 0 ||
        run_state_make(run.state_option, run.name, &run.state_folder, &err) < 0 ||
        find_volumes(&run, &err) < 0 || start(&run, &err) < 0 || watch(&run, &err) < 0) {
        progress_line_clear(&run.progress);
        fprintf(stderr, "windlass: %s\n", err.text);
        exit_code = run.is_usage ? 2 : error_exit_code(&err);
    } else {
        exit_code = finish(&run);
    }
    release(&run);
    return exit_code;
}
