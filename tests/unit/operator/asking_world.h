/* asking_world.h: the whole controller on an api_double.h, in stepped time. One world at a time. */
#pragma once

#include "lib/file.h"
#include "operator/control/controller.h"
#include "operator/kinds/job/guard/network_policy.h"
#include "operator/kinds/kinds.h"
#include "operator/kube/kube.h"
#include "operator/operator_metrics.h"
#include "operator/resource.h"
#include "tests/kube/api_double.h"
#include "tests/kube/stepped_clock.h"
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct api_double *api;
static struct cluster *cluster;
static struct controller *controller;
static struct kind_set *kinds;
static int64_t start_ms; /* of the world */

/* The text with n0n replaced by the number. The caller frees it. */
static inline char *asking_numbered(const char *text, int number) {
    char *result = x_strdup(""), *at;
    while ((at = strstr(text, "n0n"))) {
        AUTO(text_freep) char *before = result;
        result = x_printf("%s%.*s%d", before, (int)(at - text), text, number);
        text = at + 2;
    }
    AUTO(text_freep) char *before = result;
    return x_printf("%s%s", before, text);
}

static inline void asking_report(void *context UNUSED, const char *key UNUSED,
                                 const struct error *err UNUSED, int64_t retry_ms UNUSED,
                                 int failures UNUSED) {
}

static inline void asking_open(api_hook *hook) {
    struct error err = {0};
    api = api_double_new(hook, NULL);
    start_ms = stepped_clock_ms();
    char path[] = "/tmp/test-asking-XXXXXX";
    int fd = mkstemp(path);
    AUTO(text_freep)
    char *text = x_printf("apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                          "clusters: [{name: c, cluster: {server: \"http://127.0.0.1:%d\"}}]\n"
                          "users: [{name: u, user: {token: t}}]\n"
                          "contexts: [{name: c, context: {cluster: c, user: u}}]\n",
                          script_server_port(api_double_server(api)));
    CHECK_OK(file_write(path, text, strlen(text), &err), &err);
    struct kube_options options = {.config.kubeconfig = path, .skips_answered = true};
    CHECK_OK(kube_open(&options, &cluster, &err), &err);
    static const struct network_policy_options policy = {0};
    static const struct job_options jobs = {.network_policy = &policy};
    CHECK_OK(kind_set_new(NULL, &jobs, &kinds, &err), &err);
    CHECK_OK(controller_new(cluster, kind_set_kinds(kinds), asking_report, NULL, &controller, &err),
             &err);
    unlink(path);
    close(fd);
}

/* Jobs in that namespace (NULL: default), with n0n in the manifest as their numbers. The
 * definitions are read once for all of them. */
static inline void asking_put(const char *plural, const char *manifest, const char *namespace,
                              int count) {
    struct error err = {0};
    AUTO(tree_freep) json_t *object = NULL;
    CHECK_OK(resource_parse("job", manifest, strlen(manifest), &object, &err), &err);
    AUTO(text_freep) char *pattern = json_dumps(object, JSON_COMPACT);
    for (int i = 0; i < count; i++) {
        AUTO(text_freep) char *text = asking_numbered(pattern, i);
        json_t *made = json_loads(text, 0, NULL);
        json_t *metadata = json_object_get(made, "metadata");
        json_object_set_new(metadata, "generation", json_integer(1));
        if (namespace) {
            json_object_set_new(metadata, "namespace", json_string(namespace));
        }
        api_double_put(api, plural, made);
    }
}

/* Reconcile passes so far, of all worlds. */
static inline int64_t asking_passes(void) {
    AUTO(text_freep) char *page = operator_metrics_page();
    static const char row[] = "\nwindlass_reconcile_total{";
    int64_t passes = 0;
    for (const char *at = strstr(page, row); at; at = strstr(at + 1, row)) {
        passes += strtoll(strstr(at, "} ") + 2, NULL, 10);
    }
    return passes;
}

static inline int asking_events_of(const char *reason) {
    int found = 0;
    const char *name;
    json_t *event;
    json_object_foreach(api_double_all(api, "events"), name, event) {
        found += strcmp(tree_text(event, "reason", ""), reason) == 0;
    }
    return found;
}

static inline void asking_settle(void) {
    struct error err = {0};
    for (int quiet = 0; quiet < 6; quiet++) {
        bool any = script_server_poll(api_double_server(api));
        CHECK_OK(controller_step(controller, 0, &err), &err);
        quiet = any || controller_idle_ms(controller) == 0 ? 0 : quiet;
    }
}

static inline void asking_run(int64_t ms) {
    int64_t end_ms = stepped_clock_ms() + ms, left_ms;
    asking_settle();
    while ((left_ms = end_ms - stepped_clock_ms()) > 0) {
        int64_t next_ms = stepped_clock_next_ms();
        next_ms = MIN(next_ms < 0 ? left_ms : next_ms, controller_idle_ms(controller));
        stepped_clock_advance(MIN(MAX(next_ms, 1), left_ms));
        asking_settle();
    }
}

static inline void asking_close(void) {
    controller_free(controller);
    cluster->ops->free(cluster);
    kind_set_free(kinds);
    api_double_free(api);
}
