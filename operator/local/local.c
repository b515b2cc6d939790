// SPDX-License-Identifier: Apache-2.0
#include "operator/local/local.h"

#include "lib/file.h"
#include "lib/time/clock.h"
#include "operator/local/objects.h"
#include "operator/local/orphans.h"
#include "operator/local/pod.h"
#include "operator/local/prober.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

struct running {
    struct local_pod *pod;
    json_t *object; /* as it was at the start; identifies it */
};

/* A socket that is bound and never listens. The kernel does not assign its port to others, and a
 * program that sets SO_REUSEADDR, as servers do, can still listen there, any number of times. */
struct reservation {
    char *uid; /* of the Service */
    int fd;
};

/* How a write ended; wait reports it to the caller of the write. */
struct result {
    cluster_done *done;
    void *context;
    json_t *stored; /* NULL after a failure or a deletion */
    struct error err;
};

struct local {
    struct cluster base;
    struct local_objects *objects;
    json_t *watches; /* kind -> label or null */
    struct prober *prober;
    struct local_pod_settings settings;
    struct running *running;
    size_t running_count;
    struct reservation *reservations;
    size_t reservation_count;
    struct result *results; /* in the order of the writes */
    size_t result_count;
    int epoll_fd;
    int event_fd;     /* readable while there is something to report or to start */
    int timer_fd;     /* the next SIGKILL or liveness probe */
    bool has_pending; /* some pods may not be started yet */
};

static struct local *local_of(struct cluster *cluster) {
    return (struct local *)cluster;
}

/* Sets the descriptors that wait_fd watches according to the pending work. */
static void arm(struct local *local) {
    uint64_t one = 1, old;
    ssize_t ignored = read(local->event_fd, &old, sizeof old);
    if (local->has_pending || local->result_count || local_objects_have_events(local->objects)) {
        ignored = write(local->event_fd, &one, sizeof one);
    }
    (void)ignored;
    int64_t next_ms = prober_next_ms(local->prober);
    for (size_t i = 0; i < local->running_count; i++) {
        next_ms = MIN(next_ms, local_pod_kill_at_ms(local->running[i].pod));
    }
    struct itimerspec at = {0}; /* zero disarms */
    if (next_ms != INT64_MAX) {
        at.it_value = (struct timespec){next_ms / 1000, next_ms % 1000 * 1000000 + 1};
    }
    timerfd_settime(local->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
}

static const char *find_secret(void *context, const char *namespace, const char *name,
                               const char *key) {
    const struct local *local = context;
    const json_t *secret = local_objects_find(local->objects, "Secret", namespace, name);
    return json_string_value(json_object_get(json_object_get(secret, "stringData"), key));
}

static int reserve_port(struct local *local, const char *uid, int *ret_port, struct error *err) {
    AUTO(fd_closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int on = 1;
    /* Bound without SO_REUSEADDR, so that the port is really free; the option is set afterwards, so
     * that the server may bind to it, too. */
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0) {
        return error_from_errno(err, errno, "cannot get a port on 127.0.0.1");
    }
    local->reservations = x_realloc_array(local->reservations, local->reservation_count + 1,
                                          sizeof *local->reservations);
    local->reservations[local->reservation_count++] =
        (struct reservation){.uid = x_strdup(uid), .fd = fd};
    fd = -1;
    *ret_port = ntohs(address.sin_port);
    return 0;
}

static void give_back_port(struct local *local, const char *uid) {
    for (size_t i = 0; i < local->reservation_count; i++) {
        struct reservation *reservation = &local->reservations[i];
        if (strcmp(reservation->uid, uid) == 0) {
            close(reservation->fd);
            free(reservation->uid);
            *reservation = local->reservations[--local->reservation_count];
            return;
        }
    }
}

/* Gives a new Service an address, and its first port a free port of this machine. */
static int place_service(struct local *local, json_t **service, struct error *err) {
    if (tree_text(*service, "spec.clusterIP", NULL)) {
        return 0;
    }
    int port = 0;
    if (reserve_port(local, tree_text(*service, "metadata.uid", ""), &port, err) < 0) {
        return -1;
    }
    AUTO(tree_freep) json_t *spec = json_deep_copy(json_object_get(*service, "spec"));
    spec = spec ? spec : json_object();
    json_object_set_new(spec, "clusterIP", json_string("127.0.0.1"));
    json_t *first = tree_get(spec, "ports[0]");
    json_object_set_new(first, "port", json_integer(port));
    json_object_set_new(first, "targetPort", json_integer(port));
    AUTO(tree_freep) json_t *change = json_pack("{s:O}", "spec", spec);
    *service = local_objects_amend(local->objects, *service, change);
    return 0;
}

/* A Service keeps the ports that place_service has set; a Pod's spec never changes. */
static json_t *admissible(const json_t *object, const json_t *old, struct error *err) {
    json_t *wanted = json_deep_copy(object);
    if (old && strcmp(tree_text(object, "kind", ""), "Service") == 0) {
        json_object_del(json_object_get(wanted, "spec"), "ports");
    }
    if (strcmp(tree_text(object, "kind", ""), "Pod") != 0) {
        return wanted;
    }
    const char *name = tree_text(object, "metadata.name", "");
    if (old && json_object_get(object, "spec") &&
        !json_equal(json_object_get(object, "spec"), json_object_get(old, "spec"))) {
        error_set(err, ERROR_INVALID, "Pod %s: spec cannot be changed", name);
    } else if (!old && strcmp(tree_text(object, "spec.restartPolicy", "Always"), "Never") != 0) {
        error_set(err, ERROR_INVALID, "Pod %s: spec.restartPolicy must be Never here", name);
    } else if (!old && !json_is_object(tree_get(object, "spec.containers[0]"))) {
        error_set(err, ERROR_INVALID, "Pod %s: spec.containers is empty", name);
    }
    if (err->kind) {
        json_decref(wanted);
        return NULL;
    }
    return wanted;
}

/* Events (of events.k8s.io) are for people who watch a cluster; here they are dropped. */
static int apply(struct local *local, const json_t *object, json_t **ret_stored,
                 struct error *err) {
    if (strcmp(tree_text(object, "kind", ""), "Event") == 0) {
        *ret_stored = (json_t *)object;
        return 0;
    }
    const json_t *old = local_objects_find_like(local->objects, object);
    AUTO(tree_freep) json_t *wanted = admissible(object, old, err);
    json_t *stored = NULL;
    if (!wanted || local_objects_apply(local->objects, wanted, &stored, err) < 0) {
        return -1;
    }
    const char *kind = tree_text(stored, "kind", "");
    if (!old && strcmp(kind, "Pod") == 0) {
        AUTO(tree_freep) json_t *status = json_pack("{s:{s:s}}", "status", "phase", "Pending");
        stored = local_objects_amend(local->objects, stored, status);
        local->has_pending = true;
    }
    if (strcmp(kind, "Service") == 0 && place_service(local, &stored, err) < 0) {
        local_objects_remove(local->objects, wanted);
        return -1;
    }
    *ret_stored = stored;
    return 0;
}

static int create(struct local *local, const json_t *object, json_t **ret_stored,
                  struct error *err) {
    if (local_objects_find_like(local->objects, object)) {
        return error_set(err, ERROR_CONFLICT, "%s %s: exists already",
                         tree_text(object, "kind", ""), tree_text(object, "metadata.name", ""));
    }
    return apply(local, object, ret_stored, err);
}

static struct running *find_running(struct local *local, const char *uid) {
    for (size_t i = 0; i < local->running_count; i++) {
        if (strcmp(local_pod_uid(local->running[i].pod), uid) == 0) {
            return &local->running[i];
        }
    }
    return NULL;
}

/* Borrows object, which stays valid as long as the caller holds it. */
static void delete_one(struct local *local, const json_t *object) {
    const char *uid = tree_text(object, "metadata.uid", "");
    struct running *running = find_running(local, uid);
    if (!running) {
        give_back_port(local, uid);
        local_objects_remove(local->objects, object);
    } else if (!tree_get(object, "metadata.deletionTimestamp")) {
        char now[21];
        clock_format(clock_wall_ms(), now);
        AUTO(tree_freep)
        json_t *change = json_pack("{s:{s:s}}", "metadata", "deletionTimestamp", now);
        local_objects_amend(local->objects, object, change);
        local_pod_stop(running->pod, clock_monotonic_ms());
    }
}

/* An object's owner is always older than the object, so there are no cycles. */
static void delete_with_owned(struct local *local, const json_t *object) {
    AUTO(tree_freep)
    json_t *owned =
        local_objects_select(local->objects, NULL, tree_text(object, "metadata.uid", ""));
    delete_one(local, object);
    size_t i;
    json_t *child;
    json_array_foreach(owned, i, child) {
        delete_with_owned(local, child);
    }
}

static void delete (struct local *local, const json_t *object) {
    AUTO(tree_freep) json_t *stored = json_incref(local_objects_find_like(local->objects, object));
    const char *uid = tree_text(object, "metadata.uid", NULL);
    if (stored && (!uid || strcmp(uid, tree_text(stored, "metadata.uid", "")) == 0)) {
        delete_with_owned(local, stored);
    }
}

/* Carried out at once; only the answer is delayed. */
static void local_write(struct cluster *cluster, enum cluster_verb verb, const json_t *object,
                        cluster_done *done, void *context) {
    struct local *local = local_of(cluster);
    struct result result = {.done = done, .context = context};
    json_t *stored = NULL;
    int failed = 0;
    switch (verb) {
    case CLUSTER_CREATE:
        failed = create(local, object, &stored, &result.err);
        break;
    case CLUSTER_APPLY:
        failed = apply(local, object, &stored, &result.err);
        break;
    case CLUSTER_STATUS:
        failed = local_objects_set_status(local->objects, object, &stored, &result.err);
        break;
    case CLUSTER_DELETE:
        delete (local, object);
        break;
    case CLUSTER_MERGE:
        failed = local_objects_merge(local->objects, object, &stored, &result.err);
        break;
    }
    if (done) {
        result.stored = failed < 0 ? NULL : json_incref(stored);
        local->results = x_realloc_array(local->results, local->result_count + 1, sizeof result);
        local->results[local->result_count++] = result;
    }
    arm(local);
}

/* Finds one object by its name; there is nothing else to list, as no kubelet writes Events. */
static void local_list(struct cluster *cluster, const json_t *like, const char *fields,
                       cluster_done *done, void *context) {
    struct local *local = local_of(cluster);
    struct result result = {
        .done = done, .context = context, .stored = json_pack("{s:[]}", "items")};
    json_t *there = text_starts(fields, "metadata.name=")
                        ? local_objects_find_like(local->objects, like)
                        : NULL;
    if (there) {
        json_array_append(json_object_get(result.stored, "items"), there);
    }
    local->results = x_realloc_array(local->results, local->result_count + 1, sizeof result);
    local->results[local->result_count++] = result;
    arm(local);
}

/* A done may write again: the next wait reports that result. */
static void deliver_results(struct local *local) {
    struct result *results = TAKE(local->results);
    size_t count = local->result_count;
    local->result_count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct error *err = results[i].err.kind ? &results[i].err : NULL;
        results[i].done(results[i].context, results[i].stored, err);
        json_decref(results[i].stored);
    }
    free(results);
}

/* metadata.labels has keys with dots, which tree_get cannot read. */
static bool is_watched(const struct local *local, const json_t *object) {
    const json_t *label = json_object_get(local->watches, tree_text(object, "kind", ""));
    return json_is_null(label) || (label && (json_object_get(tree_get(object, "metadata.labels"),
                                                             json_string_value(label)) ||
                                             !json_object_get(object, "metadata")));
}

static int local_watch(struct cluster *cluster, const char *api_version, const char *kind,
                       const char *label, bool may_be_absent, struct error *err) {
    (void)may_be_absent;
    (void)err;
    struct local *local = local_of(cluster);
    json_object_set_new(local->watches, kind, label ? json_string(label) : json_null());
    AUTO(tree_freep)
    json_t *mark = json_pack("{s:s, s:s}", "apiVersion", api_version, "kind", kind);
    AUTO(tree_freep)
    json_t *existing = local_objects_select(local->objects, kind, /* owner_uid= */ NULL);
    local_objects_report(local->objects, CLUSTER_LISTING, mark);
    size_t i;
    json_t *object;
    json_array_foreach(existing, i, object) {
        local_objects_report(local->objects, CLUSTER_APPLIED, object);
    }
    local_objects_report(local->objects, CLUSTER_LISTED, mark);
    arm(local);
    return 0;
}

static void set_pod_status(struct local *local, const json_t *object, json_t *status) {
    AUTO(tree_freep) json_t *change = json_pack("{s:o}", "status", status);
    if (local_objects_find_like(local->objects, object)) {
        local_objects_amend(local->objects, object, change);
    }
}

static void start_pod(struct local *local, json_t *object) {
    struct error err = {0};
    struct local_pod *pod = NULL;
    if (local_pod_start(object, &local->settings, &pod, &err) < 0) {
        set_pod_status(local, object, local_pod_status_not_started(object, &err));
        return;
    }
    struct epoll_event readable = {.events = EPOLLIN};
    if (epoll_ctl(local->epoll_fd, EPOLL_CTL_ADD, local_pod_fd(pod), &readable) < 0) {
        error_from_errno(&err, errno, "cannot watch a process");
        local_pod_free(pod);
        set_pod_status(local, object, local_pod_status_not_started(object, &err));
        return;
    }
    local->running =
        x_realloc_array(local->running, local->running_count + 1, sizeof *local->running);
    local->running[local->running_count++] = (struct running){pod, json_incref(object)};
    const struct probe_place place = {local_pod_variables(pod), local_pod_work_folder(pod),
                                      local->settings.program_folder};
    prober_add(local->prober, object, &place, clock_monotonic_ms());
    set_pod_status(local, object, local_pod_status(pod));
}

/* A pod that hangs is ended as by a kubelet, and the plan replaces it. */
static void on_dead(void *context, const char *uid, const char *why) {
    struct running *running = find_running(context, uid);
    if (running) {
        local_pod_end(running->pod, clock_monotonic_ms(), why);
    }
}

static void start_pods(struct local *local) {
    if (!local->has_pending) {
        return;
    }
    local->has_pending = false;
    AUTO(tree_freep)
    json_t *pods = local_objects_select(local->objects, "Pod", /* owner_uid= */ NULL);
    size_t i;
    json_t *object;
    json_array_foreach(pods, i, object) {
        if (strcmp(tree_text(object, "status.phase", ""), "Pending") == 0) {
            start_pod(local, object);
        }
    }
}

/* Our other children are orphans: no living pod owns them, and they are not probes. */
static void end_orphans(const struct local *local) {
    size_t probes = prober_pids(local->prober, NULL, 0), count = local->running_count;
    pid_t *pods = x_calloc(count + probes + 1, sizeof *pods);
    for (size_t i = 0; i < count; i++) {
        pods[i] = local_pod_pid(local->running[i].pod);
    }
    count += prober_pids(local->prober, pods + count, probes);
    orphans_end(pods, count);
    free(pods);
}

static void record_ended(struct local *local, struct running *ended) {
    set_pod_status(local, ended->object, local_pod_status(ended->pod));
    const json_t *object = local_objects_find_like(local->objects, ended->object);
    if (tree_get(object, "metadata.deletionTimestamp")) {
        local_objects_remove(local->objects, object);
    }
    local_pod_free(ended->pod);
    json_decref(ended->object);
}

static void collect_pods(struct local *local) {
    struct running *ended = x_calloc(local->running_count + 1, sizeof *ended);
    size_t count = 0;
    for (size_t i = local->running_count; i-- > 0;) {
        struct running one = local->running[i];
        if (local_pod_has_ended(one.pod)) {
            prober_remove(local->prober, local_pod_uid(one.pod));
            ended[count++] = one;
            local->running[i] = local->running[--local->running_count];
        } else if (local_pod_kill_at_ms(one.pod) <= clock_monotonic_ms()) {
            local_pod_kill(one.pod);
        }
    }
    if (count) { /* before the end of a pod is reported: no round meets processes of an earlier one
                  */
        end_orphans(local);
    }
    for (size_t i = 0; i < count; i++) {
        record_ended(local, &ended[i]);
    }
    free(ended);
}

static int local_wait(struct cluster *cluster, int timeout_ms, cluster_listener *listener,
                      void *context, struct error *err) {
    struct local *local = local_of(cluster);
    struct epoll_event ready[8];
    if (epoll_wait(local->epoll_fd, ready, ARRAY_LEN(ready), timeout_ms) < 0 && errno != EINTR) {
        return error_from_errno(err, errno, "cannot wait for processes");
    }
    collect_pods(local);
    if (prober_step(local->prober, clock_monotonic_ms(), err) < 0) {
        return -1;
    }
    start_pods(local);
    deliver_results(local);
    enum cluster_event event;
    json_t *object;
    while (local_objects_next_event(local->objects, &event, &object)) {
        if (is_watched(local, object)) {
            listener(context, event, object);
        }
        json_decref(object);
    }
    arm(local);
    return 0;
}

static int local_wait_fd(struct cluster *cluster) {
    return local_of(cluster)->epoll_fd;
}

static void local_free(struct cluster *cluster) {
    struct local *local = local_of(cluster);
    local_kill_all(cluster); /* all at once, before waiting for each */
    for (size_t i = 0; i < local->running_count; i++) {
        local_pod_free(local->running[i].pod);
        json_decref(local->running[i].object);
    }
    orphans_end(NULL, 0);
    while (local->reservation_count) {
        give_back_port(local, local->reservations[0].uid);
    }
    free(local->running);
    free(local->reservations);
    for (size_t i = 0; i < local->result_count; i++) {
        json_decref(local->results[i].stored);
    }
    free(local->results);
    prober_free(local->prober);
    local_objects_free(local->objects);
    json_decref(local->watches);
    fd_closep(&local->epoll_fd);
    fd_closep(&local->event_fd);
    fd_closep(&local->timer_fd);
    text_freep((char **)&local->settings.program_folder);
    free(local);
}

static const struct cluster_ops local_ops = {
    .watch = local_watch,
    .figures_ms = 1000,
    .write = local_write,
    .list = local_list,
    .wait = local_wait,
    .wait_fd = local_wait_fd,
    .free = local_free,
};

const json_t *local_find(const struct cluster *cluster, const char *kind, const char *namespace,
                         const char *name) {
    assert(cluster->ops == &local_ops);
    return local_objects_find(((const struct local *)cluster)->objects, kind, namespace, name);
}

size_t local_pod_count(const struct cluster *cluster) {
    assert(cluster->ops == &local_ops);
    return ((const struct local *)cluster)->running_count;
}

void local_kill_all(struct cluster *cluster) {
    assert(cluster->ops == &local_ops);
    struct local *local = local_of(cluster);
    for (size_t i = 0; i < local->running_count; i++) {
        local_pod_kill(local->running[i].pod);
    }
}

char *local_log_path(const struct cluster *cluster, const char *pod_name) {
    assert(cluster->ops == &local_ops);
    const struct local *local = (const struct local *)cluster;
    return x_printf("%s/%s.log", local->settings.places.state_folder, pod_name);
}

/* The folder of this program. */
static int find_own_folder(char **ret_folder, struct error *err) {
    char path[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    if (size < 0) {
        return error_from_errno(err, errno, "cannot read /proc/self/exe");
    }
    path[size] = 0;
    char *slash = strrchr(path, '/');
    *ret_folder = x_strndup(path, slash ? (size_t)(slash - path) : 0);
    return 0;
}

static int find_programs(const char *wanted, char **ret_folder, struct error *err) {
    AUTO(text_freep) char *folder = x_strdup(wanted);
    if (!folder && find_own_folder(&folder, err) < 0) {
        return -1;
    }
    AUTO(text_freep) char *agent = file_join(folder, "windlass-agent");
    if (access(agent, X_OK) < 0) {
        return error_from_errno(err, errno, "cannot run %s, which does the work", agent);
    }
    *ret_folder = TAKE(folder);
    return 0;
}

int local_find_programs(char **ret_folder, struct error *err) {
    return find_programs(NULL, ret_folder, err);
}

int local_open(const struct local_options *options, struct cluster **ret_cluster,
               struct error *err) {
    char *program_folder = NULL;
    if (find_programs(options->program_folder, &program_folder, err) < 0) {
        return -1;
    }
    orphans_adopt();
    struct local *local = x_calloc(1, sizeof *local);
    local->base.ops = &local_ops;
    local->objects = local_objects_new();
    local->watches = json_object();
    local->settings = (struct local_pod_settings){.places = options->places,
                                                  .program_folder = program_folder,
                                                  .threads = options->threads,
                                                  .gpus = options->gpus,
                                                  .secret = find_secret,
                                                  .secret_context = local};
    local->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    local->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    local->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    struct epoll_event readable = {.events = EPOLLIN};
    if (prober_open(on_dead, local, &local->prober, err) < 0) {
        local_free(&local->base);
        return -1;
    }
    if (local->epoll_fd < 0 || local->event_fd < 0 || local->timer_fd < 0 ||
        epoll_ctl(local->epoll_fd, EPOLL_CTL_ADD, local->event_fd, &readable) < 0 ||
        epoll_ctl(local->epoll_fd, EPOLL_CTL_ADD, local->timer_fd, &readable) < 0 ||
        epoll_ctl(local->epoll_fd, EPOLL_CTL_ADD, prober_fd(local->prober), &readable) < 0) {
        error_from_errno(err, errno, "cannot watch processes");
        local_free(&local->base);
        return -1;
    }
    *ret_cluster = &local->base;
    return 0;
}
