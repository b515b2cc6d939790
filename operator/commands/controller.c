// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/controller.h"

#include "lib/log.h"
#include "lib/options.h"
#include "lib/time/clock.h"
#include "operator/commands/health_server.h"
#include "operator/commands/metrics_server.h"
#include "operator/commands/stop_signals.h"
#include "operator/control/controller.h"
#include "operator/kinds/job/guard/job_policy.h"
#include "operator/kinds/job/guard/network_policy.h"
#include "operator/kinds/job/spec.h"
#include "operator/kinds/kinds.h"
#include "operator/kube/elector.h"
#include "operator/kube/kube.h"
#include "operator/operator_metrics.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum {
    TURN_MS = 10000,    /* the loop runs at least this often, for /healthz */
    FINISH_MS = 800,    /* how long a stop waits for the writes under way */
    GIVE_BACK_MS = 800, /* and then for the release of the lease: less than 2 s together */
    TROUBLE_MS = 3000,  /* an error that disappears within this time is not logged */
    PEERS_MAX_BYTES = 16 << 10,
    LOGGED_MAX = 4096,  /* jobs whose last error is remembered, so that it is logged once */
    QUIET_FAILURES = 3, /* a conflict is logged only after this many in a row */
};

static const char about[] =
    "Runs the jobs of a Kubernetes cluster: watches its %s,\n"
    "creates their pods and writes their status, until SIGTERM. In a cluster the chart\n"
    "charts/windlass starts it; outside of one it reads the same kubeconfig as kubectl.\n\n"
    "Replicas elect a leader with a Lease; the others stand by. HTTP endpoints: /healthz (the\n"
    "control loop runs), /readyz (it leads and the cluster answers, or it stands by), /metrics\n"
    "(Prometheus).\n\n"
    "Exit codes: 0 stopped by a signal, 2 usage, 3 lost the cluster or the Lease.";

struct replica {
    const char *namespace, *kubeconfig, *context, *listen, *lease_namespace, *lease_name;
    bool no_election, no_policy;
    const char *peers_text;
    json_t *peers;
    const char *job_policy_text;
    json_t *job_policy;
    struct network_policy_options policy;
    bool is_usage; /* the error is a wrong command line */
    struct job_options jobs;
    struct kind_set *kinds;
    int signal_fd;
    bool is_stopped;
    struct health_server *health;
    struct metrics_server_options metrics;
    struct metrics_server *metrics_server; /* NULL: health has the metrics */
    struct cluster *cluster;
    struct elector *elector;                         /* NULL: no election */
    struct controller *controller;                   /* NULL while another replica leads */
    json_t *logged;                                  /* job -> its last logged error */
    char trouble[sizeof(((struct error *)0)->text)]; /* of the watches, as last logged */
    int64_t trouble_ms; /* since when there is an error; 0: there is none */
    char holder[256];   /* of the lease, as last logged */
    bool is_ready, is_listed;
    int64_t lead_ms; /* since when it leads */
};

static int set_log(const char *level_name, const char *format_name, struct error *err) {
    enum log_level level;
    enum log_format format;
    if (!log_level_parse(level_name, &level)) {
        return error_set(err, ERROR_INVALID,
                         "--log-level %s: expected error, warning, info or debug", level_name);
    }
    if (!log_format_parse(format_name, &format)) {
        return error_set(err, ERROR_INVALID, "--log-format %s: expected text or json", format_name);
    }
    log_set_level(level);
    log_set_format(format);
    return 0;
}

static int read_peers(struct replica *replica, struct error *err) {
    const char *text = replica->peers_text;
    if (text && (tree_parse(text, strlen(text), PEERS_MAX_BYTES, &replica->peers, err) < 0 ||
                 !json_is_array(replica->peers))) {
        return error_set(err, ERROR_INVALID,
                         "--network-policy-peers: expected a JSON list of NetworkPolicyPeers, as "
                         "[{\"namespaceSelector\": {}}]");
    }
    return 0;
}

static int read_job_policy(struct replica *replica, struct error *err) {
    if (replica->job_policy_text &&
        job_policy_read(replica->job_policy_text, &replica->job_policy, err) < 0) {
        err->kind = ERROR_INVALID; /* a file that is not there, too, is a wrong argument */
        return -1;
    }
    replica->jobs.policy = replica->job_policy;
    return 0;
}

static int check_sandbox(const char *policy, struct error *err) {
    return !policy || strcmp(policy, "auto") == 0 || strcmp(policy, "required") == 0 ||
                   strcmp(policy, "off") == 0
               ? 0
               : error_set(err, ERROR_INVALID, "--sandbox %s: expected auto, required or off",
                           policy);
}

static int apply_options(struct replica *replica, const char *level_name, const char *format_name,
                         struct error *err) {
    replica->jobs.secret_files = true;
    replica->jobs.logs_json = strcmp(format_name, "json") == 0;
    return read_peers(replica, err) < 0 || read_job_policy(replica, err) < 0 ||
                   check_sandbox(replica->jobs.sandbox, err) < 0
               ? -1
               : set_log(level_name, format_name, err);
}

static int read_options(struct replica *replica, int argc, char **argv, struct error *err) {
    const char *level_name = "info", *format_name = "text";
    const struct option options[] = {
        {"namespace", 'n', OPTION_TEXT, "NS", "Only the jobs of this namespace (default: all).",
         &replica->namespace},
        {"kubeconfig", 0, OPTION_TEXT, "FILE",
         "The kubeconfig file (default: the pod's service account, else $KUBECONFIG, else "
         "~/.kube/config).",
         &replica->kubeconfig},
        {"context", 0, OPTION_TEXT, "NAME", "Context in the kubeconfig (default: current-context).",
         &replica->context},
        {"listen", 0, OPTION_TEXT, "ADDRESS:PORT",
         "Address of the HTTP endpoints (default [::]:8080).", &replica->listen},
        {"metrics-listen", 0, OPTION_TEXT, "ADDRESS:PORT",
         "Serve /metrics there alone, over TLS, to tokens that the API server admits "
         "(docs/operate/metrics.md).",
         &replica->metrics.bind},
        {"metrics-tls", 0, OPTION_TEXT, "FOLDER",
         "The files tls.crt and tls.key of --metrics-listen (default: a certificate of its own).",
         &replica->metrics.tls_folder},
        {"agent-image", 0, OPTION_TEXT, "IMAGE",
         "Image for jobs without spec.image (default " JOB_AGENT_IMAGE ").",
         &replica->jobs.agent_image},
        {"trainer-image", 0, OPTION_TEXT, "IMAGE",
         "Image for trainers without spec.image (default " JOB_TRAINER_IMAGE ").",
         &replica->jobs.trainer_image},
        {"trainer-gpu-image", 0, OPTION_TEXT, "IMAGE",
         "Image for trainers with GPUs (default " JOB_TRAINER_GPU_IMAGE ").",
         &replica->jobs.trainer_gpu_image},
        {"no-leader-election", 0, OPTION_FLAG, NULL, "Lead at once. Use it only with one replica.",
         &replica->no_election},
        {"no-network-policy", 0, OPTION_FLAG, NULL, "Make no NetworkPolicy for each job.",
         &replica->no_policy},
        {"network-policy-peers", 0, OPTION_TEXT, "JSON",
         "Who else may connect to jobs' pods, at every port: a list of NetworkPolicyPeers.",
         &replica->peers_text},
        {"job-policy", 0, OPTION_TEXT, "JSON|FILE",
         "What jobs must not ask for: hostPath, hostNamespaces, privileged, images, "
         "serviceAccounts, secrets (docs/operate/security.md).",
         &replica->job_policy_text},
        {"lease-namespace", 0, OPTION_TEXT, "NS",
         "Namespace of the Lease (default: the pod's, or the context's).",
         &replica->lease_namespace},
        {"lease-name", 0, OPTION_TEXT, "NAME", "Name of the Lease (default windlass-controller).",
         &replica->lease_name},
        {"log-level", 0, OPTION_TEXT, "LEVEL",
         "The level: error, warning, info or debug (default info).", &level_name},
        {"log-format", 0, OPTION_TEXT, "FORMAT",
         "The form: text, or json: one object a line; also of the pods' agents (default text).",
         &format_name},
        {"sandbox", 0, OPTION_TEXT, "POLICY",
         "How the agents confine what decodes pictures and videos: auto, required or off "
         "(default auto; docs/operate/decoding.md).",
         &replica->jobs.sandbox},
        {0},
    };
    struct option_list words = {0};
    AUTO(text_freep) char *names = kinds_names(NULL, "%ss", "and");
    AUTO(text_freep) char *text = x_printf(about, names);
    const struct command_help help = {
        .usage = "windlass controller [options]",
        .about = text,
        .examples = "windlass controller --namespace batch --no-leader-election\n"
                    "windlass controller --context my-cluster --listen 127.0.0.1:8080 "
                    "--log-level debug",
    };
    replica->is_usage = true;
    int result = options_read(argc, argv, &help, options, &words, err);
    return result != 0 ? result : apply_options(replica, level_name, format_name, err);
}

/* The reconcilers read it when jobs begin, long after the cluster is known. */
static void set_policy(struct replica *replica, const struct config *config) {
    replica->policy = (struct network_policy_options){.peers = replica->peers,
                                                      .controller_namespace = config->namespace};
    replica->jobs.network_policy = replica->no_policy ? NULL : &replica->policy;
}

static int start(struct replica *replica, struct error *err) {
    struct kube_options options = {
        .config = {.kubeconfig = replica->kubeconfig, .context = replica->context},
        .namespace = replica->namespace,
        .skips_answered = true};
    if (kind_set_new(NULL, &replica->jobs, &replica->kinds, err) < 0 ||
        stop_signals_open(/* hangup= */ false, &replica->signal_fd, err) < 0 ||
        health_server_open(replica->listen, !replica->metrics.bind, &replica->health, err) < 0 ||
        kube_open(&options, &replica->cluster, err) < 0) {
        return -1;
    }
    replica->metrics.config = kube_config(replica->cluster);
    if (replica->metrics.bind &&
        metrics_server_open(&replica->metrics, &replica->metrics_server, err) < 0) {
        return -1;
    }
    replica->is_usage = false;
    client_on_warning(kube_client(replica->cluster), server_warnings_log, NULL);
    const struct config *config = kube_config(replica->cluster);
    set_policy(replica, config);
    AUTO(text_freep) char *address = health_server_address(replica->health);
    log_pairs(LOG_INFO, "windlass controller starts", "version", WINDLASS_VERSION, "cluster",
              config->name, "namespace", replica->namespace ? replica->namespace : "(all)", "pages",
              address, NULL);
    if (replica->no_election) {
        return 0;
    }
    struct elector_options candidate = {
        .namespace = replica->lease_namespace ? replica->lease_namespace : config->namespace,
        .name = replica->lease_name};
    return elector_open(&candidate, kube_client(replica->cluster), kube_loop(replica->cluster),
                        &replica->elector, err);
}

/* Logs an error once for each job, and again when it changes. */
static void report(void *context, const char *key, const struct error *err, int64_t retry_ms,
                   int failures) {
    struct replica *replica = context;
    const char *last = json_string_value(json_object_get(replica->logged, key));
    bool is_new = failures == 1 && retry_ms >= 0;
    bool is_other = !last || strcmp(last, err->text) != 0;
    enum log_level level = is_other || is_new ? LOG_WARNING : LOG_DEBUG;
    if (err->kind == ERROR_CONFLICT && failures < QUIET_FAILURES) {
        level = LOG_DEBUG; /* another writer was first: the next pass sees its version */
    } else {
        if (json_object_size(replica->logged) >= LOGGED_MAX) {
            json_object_clear(replica->logged);
        }
        json_object_set_new(replica->logged, key, json_string(err->text));
    }
    char retry[32] = "", count[16];
    snprintf(retry, sizeof retry, "%lldms", (long long)retry_ms);
    snprintf(count, sizeof count, "%d", failures);
    log_pairs(level, "reconcile failed", "job", key, "error", err->text, "kind",
              error_kind_name(err->kind), "retry", retry_ms < 0 ? "when-it-changes" : retry,
              "failures", count, NULL);
}

static int lead(struct replica *replica, struct error *err) {
    log_pairs(LOG_INFO, "leading", NULL);
    replica->lead_ms = clock_monotonic_ms();
    operator_metrics_leader(true);
    health_server_set_state(replica->health, false,
                            "leads, but has not seen the whole cluster yet");
    return controller_new(replica->cluster, kind_set_kinds(replica->kinds), report, replica,
                          &replica->controller, err);
}

static void log_leader(struct replica *replica) {
    const char *holder = replica->elector ? elector_holder(replica->elector) : "";
    if (*holder && strcmp(holder, replica->holder) != 0) {
        log_pairs(LOG_INFO, "leader elected", "leader", holder, NULL);
        snprintf(replica->holder, sizeof replica->holder, "%s", holder);
    }
}

/* A broken stream is opened again at once and not logged; an error that persists is logged, once.
 */
static void log_cluster_error(struct replica *replica, const char *text) {
    int64_t now_ms = clock_monotonic_ms();
    if (!*text) {
        if (*replica->trouble) {
            log_pairs(LOG_INFO, "watching the cluster again", NULL);
        }
        replica->trouble[0] = 0;
        replica->trouble_ms = 0;
        return;
    }
    if (replica->trouble_ms == 0) {
        replica->trouble_ms = now_ms;
        log_pairs(LOG_DEBUG, "watch interrupted", "error", text, NULL);
    }
    if (now_ms - replica->trouble_ms >= TROUBLE_MS && strcmp(text, replica->trouble) != 0) {
        log_pairs(LOG_WARNING, "cannot watch the cluster", "error", text, NULL);
        snprintf(replica->trouble, sizeof replica->trouble, "%s", text);
    }
}

static void log_after(const struct replica *replica, const char *what) {
    char took[32];
    int64_t took_ms = clock_monotonic_ms() - replica->lead_ms;
    snprintf(took, sizeof took, "%lldms", (long long)took_ms);
    log_pairs(LOG_INFO, what, "after", took, NULL);
}

/* Logs changes of the errors that separate us from the cluster. */
static void check_cluster_problems(struct replica *replica) {
    log_leader(replica);
    const struct error *trouble = kube_error(replica->cluster);
    if (!trouble && replica->elector) {
        trouble = elector_error(replica->elector);
    }
    log_cluster_error(replica, trouble ? trouble->text : "");
    if (replica->controller && !replica->is_ready && kube_is_answered(replica->cluster)) {
        log_after(replica, "ready");
        health_server_set_state(replica->health, true, "leads");
        replica->is_ready = true;
    }
    if (replica->controller && !replica->is_listed && kube_is_listed(replica->cluster)) {
        log_after(replica, "listed");
        replica->is_listed = true;
    }
}

static bool take_signals(struct replica *replica) {
    struct signalfd_siginfo info;
    while (read(replica->signal_fd, &info, sizeof info) == sizeof info) {
        log_pairs(LOG_INFO, "stopping", "signal", info.ssi_signo == SIGTERM ? "TERM" : "INT", NULL);
        replica->is_stopped = true;
    }
    return replica->is_stopped;
}

static int wait_for_work(struct replica *replica, struct error *err) {
    struct controller *controller = replica->controller;
    struct pollfd fds[] = {
        {.fd = replica->signal_fd, .events = POLLIN},
        {.fd = controller ? controller_fd(controller)
                          : replica->cluster->ops->wait_fd(replica->cluster),
         .events = POLLIN},
    };
    int turn_ms = replica->trouble_ms ? TROUBLE_MS : TURN_MS;
    int timeout_ms = controller ? MIN(turn_ms, controller_idle_ms(controller)) : turn_ms;
    if (poll(fds, ARRAY_LEN(fds), timeout_ms) < 0 && errno != EINTR) {
        return error_from_errno(err, errno, "cannot wait");
    }
    health_server_beat(replica->health);
    return 0;
}

/* Runs until a signal arrives (0), or until the lease or the cluster is lost (-1). */
static int run(struct replica *replica, struct error *err) {
    struct cluster *cluster = replica->cluster;
    if (replica->elector) {
        log_pairs(LOG_INFO, "waiting for leadership", NULL);
        health_server_set_state(replica->health, true, "stands by");
    } else if (lead(replica, err) < 0) {
        return -1;
    }
    while (!take_signals(replica)) {
        if (wait_for_work(replica, err) < 0) {
            return -1;
        }
        int result = replica->controller ? controller_step(replica->controller, 0, err)
                                         : cluster->ops->wait(cluster, 0, NULL, NULL, err);
        if (result < 0) {
            return -1;
        }
        enum elector_state state =
            replica->elector ? elector_read_state(replica->elector) : ELECTOR_LEADER;
        if (state == ELECTOR_LOST) {
            return error_set(err, ERROR_UNAVAILABLE, "lost leader election%s%s",
                             *elector_holder(replica->elector) ? "; the Lease is held by " : "",
                             elector_holder(replica->elector));
        }
        if (state == ELECTOR_LEADER && !replica->controller && lead(replica, err) < 0) {
            return -1;
        }
        check_cluster_problems(replica);
    }
    return 0;
}

/* Releases the lease when none of our writes is under way any more, so that the next leader is the
 * only writer. Writes that take too long are dropped with the connection, and the lease expires. */
static void finish(struct replica *replica) {
    struct cluster *cluster = replica->cluster;
    struct error ignored = {0};
    int64_t end_ms = clock_monotonic_ms() + FINISH_MS, now_ms;
    while (controller_pending(replica->controller) > 0 &&
           (now_ms = clock_monotonic_ms()) < end_ms &&
           cluster->ops->wait(cluster, (int)(end_ms - now_ms), NULL, NULL, &ignored) == 0) {
    }
    if (replica->elector && controller_pending(replica->controller) == 0) {
        elector_step_down(replica->elector, GIVE_BACK_MS);
    }
}

static void release(struct replica *replica) {
    operator_metrics_leader(false);
    metrics_server_free(replica->metrics_server); /* it has the cluster's configuration */
    elector_free(replica->elector);
    controller_free(replica->controller);
    if (replica->cluster) {
        replica->cluster->ops->free(replica->cluster);
    }
    health_server_free(replica->health);
    json_decref(replica->logged);
    json_decref(replica->peers);
    json_decref(replica->job_policy);
    kind_set_free(replica->kinds);
    fd_closep(&replica->signal_fd);
}

int controller_command(int argc, char **argv) {
    struct replica replica = {.signal_fd = -1,
                              .lease_name = "windlass-controller",
                              .jobs = {.agent_image = JOB_AGENT_IMAGE,
                                       .trainer_image = JOB_TRAINER_IMAGE,
                                       .trainer_gpu_image = JOB_TRAINER_GPU_IMAGE}};
    struct error err = {0};
    int result = read_options(&replica, argc, argv, &err);
    if (result > 0) {
        return 0;
    }
    if (result < 0) {
        fprintf(stderr, "windlass controller: %s\n", err.text);
        return 2;
    }
    replica.logged = json_object();
    int code = 0;
    if (start(&replica, &err) < 0 || run(&replica, &err) < 0) {
        log_pairs(LOG_ERROR, "the controller ends", "error", err.text, NULL);
        code = replica.is_usage && err.kind == ERROR_INVALID ? 2 : 3;
    } else {
        finish(&replica);
    }
    release(&replica);
    log_pairs(LOG_INFO, "stopped", NULL);
    return code;
}
