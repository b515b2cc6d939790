// SPDX-License-Identifier: Apache-2.0
#include "operator/local/pod.h"

#include "lib/child.h"
#include "lib/file.h"
#include "lib/time/clock.h"
#include "operator/local/environment.h"
#include "operator/local/gpus.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MESSAGE_MAX = 4096, LOG_MESSAGE_MAX = 2048, GRACE_DEFAULT_S = 30, GRACE_MAX_S = 3600 };

struct local_pod {
    char *uid, *container_name, *message_path, *log_path, *work_folder;
    struct local_environment environment; /* without words */
    char *why;              /* why it was ended: its liveness probe; NULL: it was not */
    bool falls_back_to_log; /* terminationMessagePolicy: FallbackToLogsOnError */
    pid_t pid;
    int fd; /* pidfd */
    int64_t grace_ms, kill_at_ms;
    struct local_gpus *gpus; /* of which the pod may hold some; NULL: none */
    char started_at[21], finished_at[21];
    bool ended;
    int wait_status;
};

/* The child's data, prepared before the fork, because after it only system calls are safe. */
struct launch {
    struct local_environment environment;
    char *program; /* a path, or a name to search in PATH */
    char *folder, *work_folder, *log_path, *message_path;
    rlim_t memory_max;  /* bytes; RLIM_INFINITY: none */
    bool is_soft_limit; /* the program may lift it, for a child that is another container */
};

static void launch_release(struct launch *launch) {
    local_environment_release(&launch->environment);
    free(launch->program);
    free(launch->folder);
    free(launch->work_folder);
    free(launch->log_path);
    free(launch->message_path);
}

struct lookup {
    const json_t *object;
    const struct local_pod_settings *settings;
    json_t *folders; /* volume name -> folder on this machine */
};

static const char *find_secret(void *context, const char *name, const char *key) {
    const struct lookup *lookup = context;
    const struct local_pod_settings *settings = lookup->settings;
    return settings->secret(settings->secret_context,
                            tree_text(lookup->object, "metadata.namespace", "default"), name, key);
}

static const char *find_field(void *context, const char *path) {
    const struct lookup *lookup = context;
    static const char *const of_object[] = {"metadata.name", "metadata.namespace", "metadata.uid"};
    for (size_t i = 0; i < ARRAY_LEN(of_object); i++) {
        if (strcmp(path, of_object[i]) == 0) {
            return tree_text(lookup->object, path, NULL);
        }
    }
    return strcmp(path, "status.podIP") == 0 || strcmp(path, "status.hostIP") == 0 ? "127.0.0.1"
                                                                                   : NULL;
}

static const char *find_folder(void *context, const char *volume_name) {
    const struct lookup *lookup = context;
    return json_string_value(json_object_get(lookup->folders, volume_name));
}

static int find_folders(const json_t *object, const struct local_pod_settings *settings,
                        json_t *folders, struct error *err) {
    size_t i;
    json_t *volume;
    json_array_foreach(tree_get(object, "spec.volumes"), i, volume) {
        AUTO(text_freep) char *folder = NULL;
        /* Stores' keys are in WINDLASS_STORES_FOLDER, and this machine has a passwd file. */
        if (json_object_get(volume, "secret") || json_object_get(volume, "downwardAPI")) {
            continue;
        }
        if (volume_find(&settings->places, volume, &folder, err) < 0) {
            return -1;
        }
        json_object_set_new(folders, tree_text(volume, "name", ""), json_string(folder));
    }
    return 0;
}

/* A quantity of Kubernetes: 512Mi, 1.5G, 4096. 0 when it is invalid. */
static rlim_t quantity_bytes(const json_t *quantity) {
    if (json_is_integer(quantity)) {
        return (rlim_t)MAX(0, json_integer_value(quantity));
    }
    static const struct {
        const char *unit;
        double bytes;
    } units[] = {{"", 1},          {"k", 1e3},          {"M", 1e6},
                 {"G", 1e9},       {"T", 1e12},         {"Ki", 1024.},
                 {"Mi", 1048576.}, {"Gi", 1073741824.}, {"Ti", 1099511627776.}};
    const char *text = json_string_value(quantity);
    char *end = NULL;
    double number = text ? strtod(text, &end) : 0;
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        double bytes = number * units[i].bytes;
        if (text && strcmp(end, units[i].unit) == 0 && bytes >= 1 && bytes < 1e18) {
            return (rlim_t)bytes;
        }
    }
    return 0;
}

/* The first container that asks for GPUs: of a worker with a model server, the server's, which here
 * is a child of the agent. */
static const char *gpus_of(const json_t *object) {
    const json_t *containers = tree_get(object, "spec.containers");
    for (size_t i = 0; i < json_array_size(containers); i++) {
        const json_t *limits = tree_get(json_array_get(containers, i), "resources.limits");
        const char *count = json_string_value(json_object_get(limits, "nvidia.com/gpu"));
        if (count) {
            return count;
        }
    }
    return NULL;
}

static int prepare_limits(const json_t *container, struct launch *launch, struct error *err) {
    const json_t *memory = tree_get(container, "resources.limits.memory");
    launch->memory_max = memory ? quantity_bytes(memory) : RLIM_INFINITY;
    if (launch->memory_max == 0) {
        AUTO(text_freep) char *text = tree_canonical(memory);
        return error_set(err, ERROR_INVALID,
                         "resources.limits.memory: invalid amount %s, expected for example 512Mi",
                         text);
    }
    return 0;
}

/* Reserves GPUs if they are divided among pods and enough are free; otherwise the pod sees all GPUs
 * of this machine. */
static void take_gpus(struct local_pod *pod, const json_t *object, struct local_gpus *gpus,
                      struct launch *launch) {
    const char *count = gpus_of(object);
    if (!gpus || !count) {
        return;
    }
    pod->gpus = gpus;
    AUTO(text_freep) char *list = local_gpus_take(gpus, (size_t)strtoul(count, NULL, 10), pod);
    if (list) {
        local_environment_set(&launch->environment, "CUDA_VISIBLE_DEVICES", list);
    }
}

char *local_pod_program(const char *program_folder, const char *word) {
    if (strcmp(word, "windlass-trainer") == 0) {
        return file_join(program_folder, word);
    }
    bool is_ours = strcmp(word, "windlass-agent") == 0 || text_ends(word, "/windlass-shim");
    return is_ours ? file_join(program_folder, "windlass-agent") : x_strdup(word);
}

static int prepare(const json_t *object, const struct local_pod_settings *settings,
                   struct launch *launch, struct error *err) {
    const char *name = tree_text(object, "metadata.name", "");
    const char *state = settings->places.state_folder;
    const json_t *container = tree_get(object, "spec.containers[0]");
    AUTO(tree_freep) json_t *folders = json_object();
    if (find_folders(object, settings, folders, err) < 0) {
        return -1;
    }
    struct lookup lookup = {object, settings, folders};
    struct local_environment_source source = {find_secret, find_field, find_folder, &lookup};
    if (local_environment_build(container, &source, &launch->environment, err) < 0 ||
        prepare_limits(container, launch, err) < 0) {
        return -1;
    }
    launch->is_soft_limit = tree_get(object, "spec.containers[1]") != NULL;
    launch->folder = x_printf("%s/pods/%s", state, name);
    launch->work_folder = file_join(launch->folder, "work");
    AUTO(text_freep) char *temporary = file_join(launch->folder, "tmp");
    launch->log_path = x_printf("%s/%s.log", state, name);
    launch->message_path = x_printf("%s/termination-log", launch->folder);
    AUTO(text_freep) char *threads = x_printf("%d", settings->threads);
    local_environment_set(&launch->environment, "WINDLASS_THREADS", threads);
    local_environment_set(&launch->environment, "WINDLASS_TERMINATION_LOG", launch->message_path);
    local_environment_set(&launch->environment, "HOSTNAME", name);
    /* For a gang's pod: its own temporary files, and its time after SIGTERM. */
    AUTO(text_freep) char *grace = x_printf("%d", LOCAL_GRACE_S);
    local_environment_set(&launch->environment, "WINDLASS_FOLDER", launch->folder);
    local_environment_set(&launch->environment, "WINDLASS_GRACE", grace);
    /* Like a pod's /tmp: it is removed with the pod, whatever kills the pod. */
    local_environment_set(&launch->environment, "TMPDIR", temporary);
    /* A replacement for the address where Azure announces the removal of spot machines. */
    const char *events = getenv("WINDLASS_EVENTS");
    if (events && tree_find(json_object_get(container, "env"), "name", "WINDLASS_EVENTS")) {
        local_environment_set(&launch->environment, "WINDLASS_EVENTS", events);
    }
    launch->program = local_pod_program(settings->program_folder, launch->environment.words[0]);
    unlink(launch->message_path); /* from an earlier pod of that name */
    return file_make_folders(launch->work_folder, err) < 0 ? -1 : file_make_folders(temporary, err);
}

/* Runs in the child, up to exec. Reports an error through the pipe. */
static _Noreturn void become(const struct launch *launch, pid_t parent, int pipe_fd) {
    child_begin();
    struct rlimit limit = {launch->memory_max,
                           launch->is_soft_limit ? RLIM_INFINITY : launch->memory_max};
    int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int out = open(launch->log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (in >= 0 && out >= 0 && dup2(in, 0) == 0 && dup2(out, 1) == 1 && dup2(out, 2) == 2 &&
        close_range(3, UINT_MAX, CLOSE_RANGE_CLOEXEC) == 0 && chdir(launch->work_folder) == 0 &&
        (launch->memory_max == RLIM_INFINITY || setrlimit(RLIMIT_DATA, &limit) == 0) &&
        child_dies_with(parent)) {
        execvpe(launch->program, launch->environment.words, launch->environment.variables);
    }
    child_fail(pipe_fd);
}

static int spawn(const struct launch *launch, struct local_pod *pod, struct error *err) {
    int pipe_fds[2];
    if (pipe2(pipe_fds, O_CLOEXEC) < 0) {
        return error_from_errno(err, errno, "cannot make a pipe");
    }
    AUTO(fd_closep) int reader = pipe_fds[0];
    AUTO(fd_closep) int writer = pipe_fds[1];
    pid_t parent = getpid(), pid = fork();
    if (pid < 0) {
        return error_from_errno(err, errno, "cannot start a process");
    }
    if (pid == 0) {
        become(launch, parent, writer);
    }
    setpgid(pid, pid); /* both processes call it, so that it is done whichever runs first */
    fd_closep(&writer);
    int why = 0;
    ssize_t got;
    do {
        got = read(reader, &why, sizeof why);
    } while (got < 0 && errno == EINTR);
    int fd = got == 0 ? pidfd_open(pid, 0) : -1;
    if (fd < 0) {
        why = got == 0 ? errno : why;
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        return error_from_errno(err, why, "cannot start %s", launch->program);
    }
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    pod->pid = pid;
    pod->fd = fd;
    return 0;
}

int local_pod_start(const json_t *object, const struct local_pod_settings *settings,
                    struct local_pod **ret_pod, struct error *err) {
    struct launch launch = {0};
    struct local_pod *pod = x_calloc(1, sizeof *pod);
    pod->fd = -1;
    pod->uid = x_strdup(tree_text(object, "metadata.uid", ""));
    pod->container_name = x_strdup(tree_text(object, "spec.containers[0].name", "main"));
    pod->falls_back_to_log =
        strcmp(tree_text(object, "spec.containers[0].terminationMessagePolicy", ""),
               "FallbackToLogsOnError") == 0;
    int64_t grace_s = tree_integer(object, "spec.terminationGracePeriodSeconds", GRACE_DEFAULT_S);
    pod->grace_ms = 1000 * MAX(0, MIN(grace_s, GRACE_MAX_S));
    pod->kill_at_ms = INT64_MAX;
    int result = prepare(object, settings, &launch, err);
    if (result == 0) {
        take_gpus(pod, object, settings->gpus, &launch);
        result = spawn(&launch, pod, err);
    }
    pod->message_path = TAKE(launch.message_path);
    pod->log_path = TAKE(launch.log_path);
    pod->work_folder = TAKE(launch.work_folder);
    pod->environment.variables = TAKE(launch.environment.variables);
    launch_release(&launch);
    if (result < 0) {
        local_pod_free(pod);
        return -1;
    }
    clock_format(clock_wall_ms(), pod->started_at);
    *ret_pod = pod;
    return 0;
}

void local_pod_free(struct local_pod *pod) {
    if (!pod) {
        return;
    }
    if (pod->pid && !pod->ended) {
        local_pod_kill(pod);
        waitpid(pod->pid, NULL, 0);
    }
    local_gpus_give(pod->gpus, pod);
    fd_closep(&pod->fd);
    free(pod->uid);
    free(pod->container_name);
    free(pod->message_path);
    free(pod->why);
    free(pod->log_path);
    free(pod->work_folder);
    local_environment_release(&pod->environment);
    free(pod);
}

const char *local_pod_uid(const struct local_pod *pod) {
    return pod->uid;
}

char *const *local_pod_variables(const struct local_pod *pod) {
    return pod->environment.variables;
}

const char *local_pod_work_folder(const struct local_pod *pod) {
    return pod->work_folder;
}

pid_t local_pod_pid(const struct local_pod *pod) {
    return pod->pid;
}

int local_pod_fd(const struct local_pod *pod) {
    return pod->fd;
}

int64_t local_pod_kill_at_ms(const struct local_pod *pod) {
    return pod->kill_at_ms;
}

void local_pod_stop(struct local_pod *pod, int64_t now_ms) {
    if (!pod->ended && pod->kill_at_ms == INT64_MAX) {
        pod->kill_at_ms = now_ms + pod->grace_ms;
        kill(-pod->pid, SIGTERM);
    }
}

void local_pod_end(struct local_pod *pod, int64_t now_ms, const char *why) {
    if (!pod->ended && pod->kill_at_ms == INT64_MAX) {
        pod->kill_at_ms = now_ms + MIN(pod->grace_ms, (int64_t)1000 * LOCAL_HUNG_S);
        free(pod->why);
        pod->why = x_strdup(why);
        kill(-pod->pid, SIGTERM);
    }
}

void local_pod_kill(struct local_pod *pod) {
    if (!pod->ended) {
        kill(-pod->pid, SIGKILL);
        pod->kill_at_ms = INT64_MAX;
    }
}

bool local_pod_has_ended(struct local_pod *pod) {
    siginfo_t info = {0};
    /* First only look: while the leader is a zombie, its group's number cannot be reused. */
    if (!pod->ended && waitid(P_PIDFD, (id_t)pod->fd, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == pod->pid) {
        kill(-pod->pid, SIGKILL); /* the rest of its group, as in a container */
        waitpid(pod->pid, &pod->wait_status, 0);
        pod->ended = true;
        clock_format(clock_wall_ms(), pod->finished_at);
    }
    return pod->ended;
}

/* The last bytes of a file, at most `room`; 0 when there are none. */
static size_t read_end(const char *path, char *text, size_t room) {
    AUTO(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
        return 0;
    }
    ssize_t size = pread(fd, text, room, MAX(0, status.st_size - (off_t)room));
    return (size_t)MAX(0, size);
}

/* The termination message, as text that JSON can hold. NULL when there is none. */
static json_t *read_message(const struct local_pod *pod, int exit_code) {
    char text[MESSAGE_MAX];
    size_t size = read_end(pod->message_path, text, sizeof text);
    if (size == 0 && pod->why) {
        return json_string(pod->why);
    }
    if (size == 0 && exit_code && pod->falls_back_to_log) {
        size = read_end(pod->log_path, text, LOG_MESSAGE_MAX);
    }
    if (size == 0) {
        return NULL;
    }
    for (size_t i = 0; i < size; i++) {
        text[i] = text[i] ? text[i] : ' ';
    }
    json_t *message = json_stringn(text, size);
    for (size_t i = 0; !message && i < size; i++) { /* bytes that are not UTF-8 */
        text[i] = (unsigned char)text[i] < 128 ? text[i] : '?';
    }
    return message ? message : json_stringn(text, size);
}

static json_t *terminated(const struct local_pod *pod) {
    int exit_code = WIFEXITED(pod->wait_status) ? WEXITSTATUS(pod->wait_status)
                                                : 128 + WTERMSIG(pod->wait_status);
    json_t *state = json_pack("{s:i, s:s, s:s, s:s}", "exitCode", exit_code, "reason",
                              exit_code ? "Error" : "Completed", "startedAt", pod->started_at,
                              "finishedAt", pod->finished_at);
    if (WIFSIGNALED(pod->wait_status)) {
        json_object_set_new(state, "signal", json_integer(WTERMSIG(pod->wait_status)));
    }
    json_t *message = read_message(pod, exit_code);
    if (message) {
        json_object_set_new(state, "message", message);
    }
    return json_pack("{s:o}", "terminated", state);
}

/* Takes state over. */
static json_t *make_status(const char *phase, const char *started_at, const char *container_name,
                           json_t *state) {
    bool running = strcmp(phase, "Running") == 0;
    return json_pack("{s:s, s:s, s:s, s:s, s:[{s:s, s:b, s:i, s:o}]}", "phase", phase, "startTime",
                     started_at, "hostIP", "127.0.0.1", "podIP", "127.0.0.1", "containerStatuses",
                     "name", container_name, "ready", running, "restartCount", 0, "state", state);
}

json_t *local_pod_status(const struct local_pod *pod) {
    if (!pod->ended) {
        return make_status("Running", pod->started_at, pod->container_name,
                           json_pack("{s:{s:s}}", "running", "startedAt", pod->started_at));
    }
    bool succeeded = WIFEXITED(pod->wait_status) && WEXITSTATUS(pod->wait_status) == 0;
    return make_status(succeeded ? "Succeeded" : "Failed", pod->started_at, pod->container_name,
                       terminated(pod));
}

json_t *local_pod_status_not_started(const json_t *object, const struct error *err) {
    char now[21];
    clock_format(clock_wall_ms(), now);
    return make_status("Failed", now, tree_text(object, "spec.containers[0].name", "main"),
                       json_pack("{s:{s:i, s:s, s:s, s:s, s:s}}", "terminated", "exitCode", 128,
                                 "reason", "StartError", "message", err->text, "startedAt", now,
                                 "finishedAt", now));
}
