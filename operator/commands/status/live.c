// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/status/live.h"

#include "lib/buffer.h"
#include "lib/net/server.h"
#include "lib/time/clock.h"
#include "operator/kinds/job/owned.h"
#include "operator/kinds/kinds.h"
#include "operator/object.h"
#include "operator/show/ending.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SERVICES_MAX_BYTES = 4 << 20, SELECTOR_MAX = 2048 };

struct live {
    struct remote *remote;
    json_t *services; /* uid of a job -> {"name", "port"} of its hub's Service */
    int64_t again_ms; /* monotonic; not asked before, after a missing right */
    char why[LIVE_WHY_MAX];
};

struct live *live_new(struct remote *remote) {
    struct live *live = x_calloc(1, sizeof *live);
    live->remote = remote;
    live->services = json_object();
    return live;
}

void live_free(struct live *live) {
    if (live) {
        json_decref(live->services);
        free(live);
    }
}

void live_freep(struct live **live) {
    live_free(*live);
}

/* ---- requests, several at a time ---- */

struct ask {
    json_t *job; /* borrowed; NULL: of several jobs */
    struct client_call *call;
    struct buffer body;
    bool is_done;
    struct error err;
};

static void ask_release(struct ask *ask) {
    buffer_release(&ask->body);
}

static int on_bytes(void *context, const char *data, size_t size, struct error *err) {
    struct ask *ask = context;
    return buffer_append(&ask->body, data, size, err);
}

static void on_done(void *context, const struct client_answer *answer) {
    struct ask *ask = context;
    ask->is_done = true;
    if (answer->err) {
        ask->err = *answer->err;
    }
}

/* header: NULL: none. */
static void start(struct live *live, struct ask *ask, const char *path, const char *header,
                  int64_t end_ms) {
    const char *verb = ask->job ? "get" : "list";
    struct client_request request = {.verb = verb,
                                     .path = path,
                                     .timeout_ms = (int)MAX(end_ms - clock_monotonic_ms(), 1),
                                     .header = header,
                                     .is_text = true,
                                     .received = on_bytes,
                                     .done = on_done,
                                     .context = ask};
    ask->call = client_start(live->remote->client, &request);
}

/* Until all have ended; those that have not by end_ms are given up. */
static void wait_for_all(struct live *live, struct ask *asks, size_t count, int64_t end_ms) {
    struct error ignored = {0};
    size_t done = 0;
    while (done < count) {
        int64_t left_ms = end_ms - clock_monotonic_ms();
        if (left_ms <= 0 || loop_wait(live->remote->loop, (int)left_ms, &ignored) < 0) {
            break;
        }
        for (done = 0; done < count && asks[done].is_done; done++) {
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (!asks[i].is_done) {
            client_cancel(live->remote->client, asks[i].call);
            error_set(&asks[i].err, ERROR_TIMEOUT, "no answer");
        }
    }
}

static json_t *read_answer(struct ask *ask) {
    json_t *tree = NULL;
    struct error err = {0};
    if (!ask->err.kind &&
        (tree_parse(ask->body.data ?: "", ask->body.size, ask->body.max, &tree, &err) < 0 ||
         !json_is_object(tree))) {
        json_decref(TAKE(tree));
        error_set(&ask->err, ERROR_INVALID, "the answer is not a JSON object");
    }
    return tree;
}

/* ---- the jobs that can be asked ---- */

/* It runs: nothing keeps it from that, so its hub should answer. */
static bool is_running(const json_t *job) {
    const json_t *status = json_object_get(job, "status");
    const char *state = tree_text(object_succeeded(status), "reason", "Pending");
    return kinds_of(job) && kinds_of(job)->merge_progress && tree_get(status, "credentials") &&
           !ending_is_final(status) && strcmp(state, "Pending") != 0 &&
           strcmp(state, "Suspended") != 0 &&
           strcmp(tree_text(object_condition(status, "Waiting"), "status", ""), "True") != 0;
}

static size_t choose(const json_t *jobs, json_t *chosen[static LIVE_JOBS_MAX]) {
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(jobs) && count < LIVE_JOBS_MAX; i++) {
        if (is_running(json_array_get(jobs, i))) {
            chosen[count++] = json_array_get(jobs, i);
        }
    }
    return count;
}

static const json_t *service_of(const struct live *live, const json_t *job) {
    return json_object_get(live->services, tree_text(job, "metadata.uid", ""));
}

/* Anybody who may create Services can give one to a job. */
static bool is_recorded(json_t *const *jobs, size_t count, const char *uid, const json_t *service) {
    for (size_t i = 0; i < count; i++) {
        const json_t *recorded = tree_get(jobs[i], "status.credentials");
        const char *secret = tree_text(recorded, "secret", NULL);
        if (strcmp(tree_text(jobs[i], "metadata.uid", ""), uid) == 0) {
            return secret && owned_is_service_of(service, secret,
                                                 tree_text(recorded, "certificateSHA256", NULL));
        }
    }
    return false;
}

/* Several Services may have a job's label; the one with its uid as the controller's, and the Secret
 * and the certificate that its status has, is its own. */
static void note_services(struct live *live, json_t *const *jobs, size_t count,
                          const json_t *list) {
    size_t i;
    const json_t *service;
    json_array_foreach(json_object_get(list, "items"), i, service) {
        size_t at;
        const json_t *owner;
        json_array_foreach(tree_get(service, "metadata.ownerReferences"), at, owner) {
            const char *uid = tree_text(owner, "uid", "");
            if (tree_bool(owner, "controller", false) && is_recorded(jobs, count, uid, service)) {
                json_object_set_new(
                    live->services, uid,
                    json_pack("{s:s, s:I, s:s*}", "name", tree_text(service, "metadata.name", ""),
                              "port",
                              (json_int_t)tree_integer(service, "spec.ports[0].port", JOB_PORT),
                              "readToken", owned_read_token(service)));
            }
        }
    }
}

/* Lists the Services of the jobs that were not asked before. */
static int find_services(struct live *live, json_t *const *jobs, size_t count, int64_t end_ms,
                         struct error *err) {
    char names[SELECTOR_MAX] = "";
    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(names);
        if (!service_of(live, jobs[i])) {
            snprintf(names + used, sizeof names - used, "%s%s", used ? "," : "",
                     tree_text(jobs[i], "metadata.name", ""));
        }
    }
    if (!*names) {
        return 0;
    }
    const struct rest_place place = {
        .api_version = "v1", .kind = "Service", .namespace = live->remote->namespace};
    AUTO(text_freep) char *path = NULL;
    AUTO(text_freep) char *selector = x_printf("%s in (%s)", LABEL_JOB, names);
    AUTO(text_freep) char *quoted = remote_quote(selector);
    if (rest_path(&place, &path, err) < 0) {
        return -1;
    }
    AUTO(text_freep) char *url = x_printf("%s?labelSelector=%s", path, quoted);
    AUTO(ask_release) struct ask ask = {0};
    buffer_init(&ask.body, SERVICES_MAX_BYTES);
    start(live, &ask, url, NULL, end_ms);
    wait_for_all(live, &ask, 1, end_ms);
    AUTO(tree_freep) json_t *list = read_answer(&ask);
    if (!list) {
        *err = ask.err;
        return -1;
    }
    note_services(live, jobs, count, list);
    return 0;
}

/* ---- the answers ---- */

static void note_failure(struct live *live, const struct error *err) {
    char *why = live->why;
    if (err->kind == ERROR_DENIED && strstr(err->text, SERVER_READ_HEADER)) {
        snprintf(why, LIVE_WHY_MAX, "its hub refuses the read token of its Service");
    } else if (err->kind == ERROR_DENIED) {
        snprintf(why, LIVE_WHY_MAX,
                 "no right to ask (get services/proxy, as in the role edit): %.300s", err->text);
        live->again_ms = clock_monotonic_ms() + LIVE_AGAIN_MS;
    } else if (err->kind == ERROR_TIMEOUT) {
        snprintf(why, LIVE_WHY_MAX, "no answer within %d s", LIVE_WAIT_MS / 1000);
    } else {
        snprintf(why, LIVE_WHY_MAX, "%.400s", err->text);
    }
}

static bool take_answer(struct live *live, struct ask *ask) {
    AUTO(tree_freep) json_t *progress = read_answer(ask);
    if (!progress) {
        note_failure(live, &ask->err);
        /* Another Service, perhaps, or its token is another one. */
        if (ask->err.kind == ERROR_NOT_FOUND || ask->err.kind == ERROR_DENIED) {
            json_object_del(live->services, tree_text(ask->job, "metadata.uid", ""));
        }
        return false;
    }
    kinds_of(ask->job)->merge_progress(json_object_get(ask->job, "status"), progress);
    return true;
}

static size_t ask_hubs(struct live *live, json_t *const *jobs, size_t count, int64_t end_ms) {
    struct ask asks[LIVE_JOBS_MAX] = {0};
    size_t started = 0, answered = 0;
    for (size_t i = 0; i < count; i++) {
        const json_t *service = service_of(live, jobs[i]);
        AUTO(text_freep)
        char *path =
            x_printf("/api/v1/namespaces/%s/services/https:%s:%lld/proxy/progress",
                     tree_text(jobs[i], "metadata.namespace", ""), tree_text(service, "name", ""),
                     (long long)tree_integer(service, "port", 0));
        if (service) {
            asks[started].job = jobs[i];
            buffer_init(&asks[started].body, LIVE_ANSWER_MAX);
            const char *token = tree_text(service, "readToken", NULL);
            AUTO(text_freep)
            char *header = token ? x_printf(SERVER_READ_HEADER ": %s", token) : NULL;
            start(live, &asks[started++], path, header, end_ms);
        } else {
            snprintf(live->why, sizeof live->why, "its Service is not there");
        }
    }
    wait_for_all(live, asks, started, end_ms);
    for (size_t i = 0; i < started; i++) {
        answered += take_answer(live, &asks[i]);
        ask_release(&asks[i]);
    }
    return answered;
}

size_t live_update(struct live *live, json_t *jobs, char ret_why[static LIVE_WHY_MAX]) {
    json_t *chosen[LIVE_JOBS_MAX];
    size_t count = choose(jobs, chosen), answered = 0;
    int64_t now_ms = clock_monotonic_ms(), end_ms = now_ms + LIVE_WAIT_MS;
    struct error err = {0};
    if (live->remote->end_ms) {
        end_ms = MIN(end_ms, live->remote->end_ms);
    }
    if (count > 0 && now_ms >= live->again_ms) {
        live->why[0] = 0;
        if (find_services(live, chosen, count, end_ms, &err) < 0) {
            note_failure(live, &err);
        } else {
            answered = ask_hubs(live, chosen, count, end_ms);
        }
    }
    snprintf(ret_why, LIVE_WHY_MAX, "%s", count > 0 ? live->why : "");
    return answered;
}
