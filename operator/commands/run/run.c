// SPDX-License-Identifier: Apache-2.0
/* Connects the local cluster, the controller and the kinds, and waits until the job has ended. */
#include "operator/commands/run/run.h"

#include "lib/cgroup.h"
#include "lib/digest.h"
#include "lib/file.h"
#include "lib/time/clock.h"
#include "operator/commands/run/run_children.h"
#include "operator/commands/run/run_graph.h"
#include "operator/commands/run/run_options.h"
#include "operator/commands/run/run_record.h"
#include "operator/commands/run/run_secrets.h"
#include "operator/commands/run/run_series.h"
#include "operator/commands/run/run_state.h"
#include "operator/commands/run/run_steps.h"
#include "operator/commands/run/run_stores.h"
#include "operator/commands/stop_signals.h"
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum {
    REDRAW_MS = 500,
    LEAVE_MS = 1000, /* for pods to end by themselves after the job has ended */
    STOP_MS = 5000,  /* for pods to end after SIGTERM */
    FAILURES_MAX = 6 /* passes in a row, about 3 s */
};

struct run {
    struct run_options options;
    char *file;                      /* with the manifest; "standard input" */
    struct local_gpus *machine_gpus; /* if the kind can use them */
    bool is_usage;                   /* the user can correct the error: exit code 2 */
    const struct kind_row *row;
    struct run_record *record; /* by which other commands find it */

    json_t *object;  /* the manifest; after the start, the object as last seen in the cluster */
    json_t *folders; /* {volume: its folder} */
    json_t *secret_objects;
    const json_t *earlier;    /* borrowed; run_record.h */
    const json_t *parameters; /* the same; resource_files.h */
    struct job_options kind_options;
    struct kind_set *kinds;
    struct run_children children;
    const char *name, *unit; /* borrowed from `object` of the manifest */
    char *manifest_folder, *state_folder;
    int signal_fd;
    struct cluster *cluster;
    struct controller *controller;
    struct progress_line progress;
    bool is_series;                    /* it makes runs, until Ctrl-C */
    struct run_series series;          /* how they are shown */
    struct error failure;              /* of the controller, permanent */
    char *failed_pod[2];               /* the last hub and the last worker that failed */
    int64_t start_ms, end_ms, stop_ms; /* stop_ms: when SIGTERM was sent; 0: not yet */
    int signals;
};

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
    if (check_option(run, "once", run->options.once, can_run_once, err) < 0 ||
        check_option(run, "gpus", run->options.gpus != KIND_UNSET, can_use_gpus, err) < 0) {
        return -1;
    }
    if (row->local.workers_max && run->options.workers > row->local.workers_max) {
        run->is_usage = true;
        return error_set(err, ERROR_INVALID, "--workers %lld: a %s has at most %lld",
                         (long long)run->options.workers, row->loop->name,
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
    bool (*discards)(const json_t *) = run->row->local.restart_discards;
    fprintf(stderr, "windlass: %s: --restart: %s\n", tree_text(metadata, "name", ""),
            !discards || discards(run->object)
                ? "what earlier runs have made in its output is thrown away"
                : "it begins anew; what earlier runs have made stays");
}

static int load(struct run *run, struct error *err) {
    run->record = run_record_new(run->object, run->file);
    if (check_kind(run, err) < 0) {
        return -1;
    }
    if (run->options.restart) {
        mark_restart(run);
    }
    run->name = tree_text(run->object, "metadata.name", "");
    run->unit = run->row->unit(run->object);
    run->manifest_folder = volume_manifest_folder(run->file);
    return 0;
}

static struct volume_places places_of(const struct run *run) {
    return (struct volume_places){.given = run->options.volumes.values,
                                  .given_count = run->options.volumes.count,
                                  .manifest_folder = run->manifest_folder,
                                  .state_folder = run->state_folder};
}

/* Checks before any process starts, so that a missing folder is a one-line error and exit code 2.
 */
static int find_volumes(struct run *run, struct error *err) {
    if (run_stores_find(run->options.stores, run->object, run->row->local.within, err) < 0) {
        return error_context(err, "%s", run->file);
    }
    if (run_secrets_read(run->options.secrets, run->object, run->row->local.within,
                         &run->secret_objects, err) < 0) {
        return error_context(err, "%s", run->file);
    }
    struct volume_places places = places_of(run);
    const json_t *volumes =
        json_object_get(tree_get(run->object, run->row->local.within), "volumes");
    if (volume_check_given(&places, volumes, err) < 0) {
        return -1;
    }
    return volume_find_all(&places, run->object, run->row->local.within, &run->folders, err) < 0
               ? error_context(err, "%s", run->file)
               : 0;
}

static void on_failure(void *context, const char *key, const struct error *err, int64_t retry_ms,
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

static int start(struct run *run, struct error *err) {
    const struct kind_local *local = &run->row->local;
    int processors = cgroup_usable_processors(NULL);
    bool has_gpus = false; /* each worker has GPUs of its own */
    run->kind_options.folders = run->folders;
    left_files_clear(run->state_folder);
    if (run->options.once && local->take_one_run(run->object, &run->kind_options, err) < 0) {
        return -1;
    }
    run->is_series = local->is_series && local->is_series(run->object);
    json_t *spec = json_object_get(run->object, "spec");
    int64_t workers = local->fit(spec, run->options.workers, processors);
    if (local->fit_gpus) {
        run->machine_gpus = local_gpus_find();
        has_gpus = local->fit_gpus(spec, run->options.gpus, local_gpus_count(run->machine_gpus),
                                   run->name);
    }
    if (local->check_fit && local->check_fit(spec, err) < 0) {
        return -1;
    }
    struct local_options options = {.places = places_of(run),
                                    .threads = (int)MAX(1, processors / workers),
                                    .gpus = has_gpus ? run->machine_gpus : NULL};
    if (kind_set_new(run->row, &run->kind_options, &run->kinds, err) < 0 ||
        stop_signals_open(/* hangup= */ true, &run->signal_fd, err) < 0 ||
        local_open(&options, &run->cluster, err) < 0 ||
        controller_new(run->cluster, kind_set_kinds(run->kinds), on_failure, run, &run->controller,
                       err) < 0) {
        return -1;
    }
    run->start_ms = clock_monotonic_ms();
    progress_line_init(&run->progress, run->name, run->unit, run->row->read_progress,
                       run->start_ms);
    run->series.ending = (struct ending){.unit = run->unit,
                                         .kind = kinds_ending(run->row),
                                         .folders = run->folders,
                                         .state_folder = run->state_folder};
    run->series.read = run->row->read_progress;
    for (size_t i = 0; i < json_array_size(run->secret_objects); i++) {
        run->cluster->ops->write(run->cluster, CLUSTER_APPLY,
                                 json_array_get(run->secret_objects, i), on_applied, run);
    }
    run->cluster->ops->write(run->cluster, CLUSTER_APPLY, run->object, on_applied, run);
    AUTO(tree_freep) json_t *arguments = run_options_again(&run->options, run->parameters);
    const struct run_record_facts facts = {.state_folder = run->state_folder,
                                           .owns_state = !run->options.state,
                                           .folders = run->folders,
                                           .arguments = arguments,
                                           .earlier = run->earlier};
    run_record_start(run->record, &facts);
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
static void note_failed_pods(struct run *run, const json_t *pods) {
    const char *last[2] = {"", ""}; /* times in a format that sorts as text */
    size_t i;
    json_t *pod;
    json_array_foreach((json_t *)pods, i, pod) {
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
        run_children_update(&run->children, run->cluster, controller_cache(run->controller),
                            find_job(run), run->state_folder);
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
    AUTO(tree_freep)
    json_t *pods = cache_owned(controller_cache(run->controller), "Pod", find_job(run));
    note_failed_pods(run, pods);
    run_record_update(run->record, find_job(run), pods);
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

/* What is to be deleted with the run is not deleted unseen: a success without it does not count. */
static int finish_ended(struct run *run, const struct ending *ending) {
    struct left_files left = {0};
    bool is_success =
        strcmp(tree_text(object_succeeded(ending->status), "status", ""), "True") == 0;
    if (is_success && !run->options.keep) {
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
    const char *failed = run->children.failed_pod ? run->children.failed_pod : run->failed_pod[0];
    const struct kind_children *children = run->row->children;
    bool has_file = strcmp(run->file, "standard input") != 0;
    struct ending ending = {.kind = kinds_ending(run->row),
                            .file = has_file ? run->file : NULL,
                            .name = run->name,
                            .unit = run->unit,
                            .spec = json_object_get(run->object, "spec"),
                            .status = json_object_get(run->object, "status"),
                            .folders = run->folders,
                            .state_folder = run->state_folder,
                            .failed_hub = failed,
                            .failed_worker = run->failed_pod[1],
                            .table = run->children.table,
                            .page = run->children.page,
                            .page_label = children ? children->page_label : NULL,
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
    bool has_pods = run->cluster; /* otherwise those in the folder are another run's */
    controller_free(run->controller);
    if (run->cluster) {
        run->cluster->ops->free(run->cluster); /* kills running pods */
    }
    local_gpus_free(run->machine_gpus);
    if (run->state_folder && !run->options.keep) {
        struct error ignored = {0};
        AUTO(text_freep) char *pods = file_join(run->state_folder, "pods");
        int removed = has_pods ? file_remove_tree(pods, &ignored) : 0;
        (void)removed;
        if (!run->options.state && run->options.dry_run) {
            removed = file_remove_tree(run->state_folder, &ignored);
        } else if (!run->options.state) {
            rmdir(run->state_folder); /* only an empty folder is removed: nothing was started */
        }
    }
    run_record_free(run->record);
    run_series_release(&run->series);
    run_children_release(&run->children);
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

/* --dry-run. */
static int print_dry_run(struct run *run) {
    const char *name;
    json_t *folder;
    printf("%s: %s %s would run here\n", run->file, run->row->loop->name, run->name);
    json_object_foreach(run->folders, name, folder) {
        printf("  volume   %s is %s\n", name, json_string_value(folder));
    }
    return fflush(stdout) == 0 ? 0 : 3;
}

static int run_job(struct run *run) {
    struct error err = {0};
    int code = 0;
    bool is_fine = load(run, &err) == 0 &&
                   run_state_make(run->options.state, run->name, &run->state_folder, &err) == 0 &&
                   find_volumes(run, &err) == 0;
    if (is_fine && run->options.dry_run) {
        return print_dry_run(run);
    }
    if (!is_fine || start(run, &err) < 0 || watch(run, &err) < 0) {
        progress_line_clear(&run->progress);
        fprintf(stderr, "windlass: %s\n", err.text);
        code = run->is_usage ? 2 : error_exit_code(&err);
        run_record_end(run->record, code, err.text);
        return code;
    }
    code = finish(run);
    run_record_set(run->record, "table", run->children.table);
    run_record_set(run->record, "page", run->children.page);
    run_record_set_tree(run->record, "made", run->children.tree);
    run_record_end(run->record, code,
                   run->end_ms    ? NULL
                   : run->signals ? "it was asked to end"
                                  : run->failure.text);
    return code;
}

/* --only. */
static int choose(struct resource_files *files, const char *only, struct error *err) {
    AUTO(text_freep) char *path = x_strdup(files->count ? files->at[0].path : "");
    if (only) {
        resource_files_keep(files, only);
    }
    return files->count ? 0
                        : error_set(err, ERROR_INVALID, "%s has no job %s any more", path, only);
}

static void print_error(void *context, const char *text, const char *lines) {
    int *code = context;
    fprintf(stderr, "windlass: %s\n%s", text, isatty(STDERR_FILENO) ? lines : "");
    *code = 2; /* also when it is missing or unreadable */
}

static int run_one(const struct run_options *options, const struct resource_file *file,
                   json_t *object_new, const json_t *earlier) {
    struct run run = {.signal_fd = -1,
                      .options = *options,
                      .file = x_strdup(file->path),
                      .parameters = file->parameters,
                      .object = object_new,
                      .earlier = earlier};
    int code = run_job(&run);
    release(&run);
    return code;
}

/* One after the other; all that are refused are said before the first starts. */
static int run_all(const struct run_options *options, struct resource_files *files) {
    int code = 0;
    run_graph_check(files);
    for (size_t i = 0; i < files->count; i++) {
        resource_file_errors(&files->at[i], print_error, &code);
    }
    resource_files_fill(files);
    if (code == 0 && run_graph_is(files)) {
        return run_steps(options, files, run_one);
    }
    for (size_t i = 0; i < files->count && code == 0; i++) {
        code = run_one(options, &files->at[i], TAKE(files->at[i].object), NULL);
    }
    return code;
}

int run_command(int argc, char **argv) {
    AUTO(resource_files_release) struct resource_files files = {0};
    struct run_options options = {0};
    struct error err = {0};
    int result = run_options_read(&options, argc, argv, &err);
    if (result > 0) {
        return 0;
    }
    if (result < 0 ||
        resource_files_read(&options.files, RESOURCE_LOCAL, &options.sets, &files, &err) < 0 ||
        (!options.only && resource_files_check_sets(&files, &options.sets, &err) < 0) ||
        choose(&files, options.only, &err) < 0) {
        fprintf(stderr, "windlass: %s\n", err.text);
        return 2;
    }
    return run_all(&options, &files);
}
