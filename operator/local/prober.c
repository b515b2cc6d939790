// SPDX-License-Identifier: Apache-2.0
#include "operator/local/prober.h"

#include "lib/net/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SECONDS_MAX = 86400, /* of the numbers of a probe */
    ANSWER_BYTES_MAX = 64 << 10,
    EXEC_LOOK_MS = 50, /* how often a command that runs is looked at */
};

struct probe {
    struct prober *prober;
    struct probe *next;
    char *uid, *url;
    int64_t period_ms, timeout_ms, due_ms;
    int failures, failures_max; /* in a row */
    struct http_call *call;     /* NULL: none runs */
    struct probe_exec *exec;    /* NULL: by httpGet */
    int64_t exec_until_ms;      /* of the command that runs */
    char why[256];              /* the last failure */
};

struct prober {
    struct http *http;
    struct probe *probes;
    prober_dead *dead;
    void *context;
    int64_t stepped_ms; /* the last time; 0: never */
};

static void probe_free(struct probe *probe) {
    if (probe->call) {
        http_cancel(probe->prober->http, probe->call);
    }
    probe_exec_free(probe->exec);
    free(probe->uid);
    free(probe->url);
    free(probe);
}

int prober_open(prober_dead *dead, void *context, struct prober **ret_prober, struct error *err) {
    struct prober *prober = x_calloc(1, sizeof *prober);
    prober->dead = dead;
    prober->context = context;
    if (http_open(&prober->http, err) < 0) {
        free(prober);
        return -1;
    }
    *ret_prober = prober;
    return 0;
}

void prober_free(struct prober *prober) {
    if (!prober) {
        return;
    }
    while (prober->probes) {
        struct probe *next = prober->probes->next;
        probe_free(prober->probes);
        prober->probes = next;
    }
    http_free(prober->http);
    free(prober);
}

/* A number of the probe, in seconds or failures. */
static int64_t number(const json_t *probe, const char *name, int64_t least, int64_t fallback) {
    return MIN(MAX(tree_integer(probe, name, fallback), least), (int64_t)SECONDS_MAX);
}

/* NULL: the pod is not probed. */
static struct probe *make(struct prober *prober, const json_t *pod, const struct probe_place *place,
                          int64_t now_ms) {
    const json_t *given = tree_get(pod, "spec.containers[0].livenessProbe");
    const json_t *get = json_object_get(given, "httpGet");
    int64_t port = tree_integer(get, "port", 0);
    struct probe_exec *exec =
        get ? NULL : probe_exec_new(pod, tree_get(given, "exec.command"), place);
    if (!exec && (port < 1 || port > 65535)) {
        return NULL;
    }
    bool is_tls = strcmp(tree_text(get, "scheme", "HTTP"), "HTTPS") == 0;
    struct probe *probe = x_calloc(1, sizeof *probe);
    *probe = (struct probe){
        .prober = prober,
        .uid = x_strdup(tree_text(pod, "metadata.uid", "")),
        .exec = exec,
        .url = x_printf("%s://127.0.0.1:%lld%.512s", is_tls ? "https" : "http", (long long)port,
                        tree_text(get, "path", "/")),
        .period_ms = 1000 * number(given, "periodSeconds", 1, 10),
        .timeout_ms = 1000 * number(given, "timeoutSeconds", 1, 1),
        .failures_max = (int)number(given, "failureThreshold", 1, 3),
    };
    probe->due_ms = now_ms + 1000 * number(given, "initialDelaySeconds", 0, 0) + probe->period_ms;
    return probe;
}

void prober_add(struct prober *prober, const json_t *pod, const struct probe_place *place,
                int64_t now_ms) {
    struct probe *probe = make(prober, pod, place, now_ms);
    if (probe) {
        probe->next = prober->probes;
        prober->probes = probe;
    }
}

void prober_remove(struct prober *prober, const char *uid) {
    for (struct probe **at = &prober->probes; *at; at = &(*at)->next) {
        if (strcmp((*at)->uid, uid) == 0) {
            struct probe *found = *at;
            *at = found->next;
            probe_free(found);
            return;
        }
    }
}

static void on_answer(void *context, const struct http_answer *answer, bool is_sent UNUSED,
                      const struct error *err) {
    struct probe *probe = context;
    probe->call = NULL;
    if (answer && answer->status >= 200 && answer->status < 400) {
        probe->failures = 0;
        return;
    }
    probe->failures++;
    if (answer) {
        snprintf(probe->why, sizeof probe->why, "status %d", answer->status);
    } else {
        snprintf(probe->why, sizeof probe->why, "%.200s", err->text);
    }
}

static void fail(struct probe *probe, const char *why) {
    probe->failures++;
    snprintf(probe->why, sizeof probe->why, "%.200s", why);
}

/* A command that cannot be started is a failure, as for a kubelet. */
static void begin_exec(struct probe *probe, int64_t now_ms) {
    struct error why = {0};
    probe->due_ms = now_ms + probe->period_ms;
    probe->exec_until_ms = now_ms + probe->timeout_ms;
    if (probe_exec_start(probe->exec, &why) < 0) {
        fail(probe, why.text);
    }
}

static void check_exec(struct probe *probe, int64_t now_ms) {
    struct error why = {0};
    int ended = probe_exec_look(probe->exec, &why);
    if (ended > 0) {
        probe->failures = 0;
    } else if (ended < 0) {
        fail(probe, why.text);
    } else if (now_ms >= probe->exec_until_ms) {
        probe_exec_kill(probe->exec);
        AUTO(text_freep)
        char *late = x_printf("no answer within %lld s", (long long)probe->timeout_ms / 1000);
        fail(probe, late);
    }
}

static int begin(struct probe *probe, int64_t now_ms, struct error *err) {
    struct http_request request = {
        .url = probe->url,
        .is_http1 = true,
        .is_insecure = text_starts(probe->url, "https:"),
        .reuse = HTTP_ONCE,
        .connect_ms = (int)probe->timeout_ms,
        .timeout_ms = (int)probe->timeout_ms,
        .bytes_max = ANSWER_BYTES_MAX,
        .done = on_answer,
        .context = probe,
    };
    probe->due_ms = now_ms + probe->period_ms;
    return http_start(probe->prober->http, &request, &probe->call, err);
}

/* This process stood still: that no answer came says nothing about the pods. */
static void begin_anew(struct prober *prober, int64_t now_ms) {
    for (struct probe *probe = prober->probes; probe; probe = probe->next) {
        if (probe->call) {
            http_cancel(prober->http, TAKE(probe->call));
        }
        if (probe_exec_runs(probe->exec)) {
            probe_exec_kill(probe->exec);
        }
        probe->failures = 0;
        probe->due_ms = now_ms + probe->period_ms;
    }
}

/* `dead` may end pods, but removes none here: one at a time, from the start of the list. */
static bool report_dead(struct prober *prober) {
    for (struct probe **at = &prober->probes; *at; at = &(*at)->next) {
        struct probe *probe = *at;
        if (probe->failures >= probe->failures_max) {
            char why[sizeof probe->why + 100];
            snprintf(why, sizeof why, "its liveness probe failed %d times: %s", probe->failures,
                     probe->why);
            *at = probe->next;
            prober->dead(prober->context, probe->uid, why);
            probe_free(probe);
            return true;
        }
    }
    return false;
}

int prober_step(struct prober *prober, int64_t now_ms, struct error *err) {
    if (prober->stepped_ms > 0 && now_ms - prober->stepped_ms > PROBER_GAP_MS) {
        begin_anew(prober, now_ms);
    }
    prober->stepped_ms = now_ms;
    if (http_wait(prober->http, 0, err) < 0) {
        return -1;
    }
    for (struct probe *probe = prober->probes; probe; probe = probe->next) {
        if (probe_exec_runs(probe->exec)) {
            check_exec(probe, now_ms);
        }
    }
    while (report_dead(prober)) {
    }
    for (struct probe *probe = prober->probes; probe; probe = probe->next) {
        if (probe->exec && !probe_exec_runs(probe->exec) && now_ms >= probe->due_ms) {
            begin_exec(probe, now_ms);
        } else if (!probe->exec && !probe->call && now_ms >= probe->due_ms &&
                   begin(probe, now_ms, err) < 0) {
            return -1;
        }
    }
    return 0;
}

int64_t prober_next_ms(const struct prober *prober) {
    int64_t next_ms = INT64_MAX;
    for (const struct probe *probe = prober->probes; probe; probe = probe->next) {
        next_ms = MIN(next_ms, probe_exec_runs(probe->exec) ? prober->stepped_ms + EXEC_LOOK_MS
                               : probe->call                ? INT64_MAX
                                                            : probe->due_ms);
    }
    /* Steps that come seldom would look as if this process had been stopped. */
    return prober->probes ? MIN(next_ms, prober->stepped_ms + PROBER_GAP_MS / 2) : INT64_MAX;
}

size_t prober_pids(const struct prober *prober, pid_t *pids, size_t room) {
    size_t count = 0;
    for (const struct probe *probe = prober->probes; probe; probe = probe->next) {
        if (probe_exec_runs(probe->exec)) {
            if (count < room) {
                pids[count] = probe_exec_pid(probe->exec);
            }
            count++;
        }
    }
    return count;
}

int prober_fd(const struct prober *prober) {
    return http_fd(prober->http);
}
