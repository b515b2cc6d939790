// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/hub_progress.h"

#include "lib/net/tls.h"
#include "operator/kinds/job/conditions.h"

#include <string.h>

enum { PROGRESS_MAX_BYTES = 64 << 10 };

static bool hub_runs(const struct job_ops *ops, const json_t *pods) {
    size_t i;
    json_t *pod;
    json_array_foreach(pods, i, pod) {
        if (ops->is_hub(pod) && strcmp(tree_text(pod, "status.phase", ""), "Running") == 0) {
            return true;
        }
    }
    return false;
}

/* Whether the certificate is the one of the status, or the Service is known to be ours. */
static bool is_recorded(const json_t *object, const json_t *service, const char *certificate) {
    const char *recorded = tree_text(object, "status.credentials.certificateSHA256",
                                     owned_annotation(service, ANNOTATION_CERTIFICATE_SHA256));
    struct error ignored = {0};
    char sha256[65];
    return recorded && tls_certificate_sha256(certificate, sha256, &ignored) == 0 &&
           strcmp(sha256, recorded) == 0;
}

json_t *hub_progress_ask(const struct job_ops *ops, struct reconcile *request,
                         const json_t *service, const json_t *pods) {
    const char *ip = tree_text(service, "spec.clusterIP", NULL);
    const char *certificate = owned_annotation(service, ANNOTATION_CERTIFICATE);
    int64_t port = tree_integer(service, "spec.ports[0].port", 0);
    if (!ip || !certificate || port < 1 || conditions_is_finished(request->object) ||
        !hub_runs(ops, pods) || !is_recorded(request->object, service, certificate)) {
        return NULL;
    }
    bool is_v6 = strchr(ip, ':') != NULL;
    AUTO(text_freep)
    char *url = x_printf("https://%s%s%s:%lld/progress", is_v6 ? "[" : "", ip, is_v6 ? "]" : "",
                         (long long)port);
    bool is_first = ops->is_first && ops->is_first(request->object);
    const struct poller_target place = {url, certificate, owned_read_token(service)};
    const char *body = reconcile_poll(request, &place, is_first);
    struct error ignored = {0};
    json_t *progress = NULL;
    if (!body || tree_parse(body, strlen(body), PROGRESS_MAX_BYTES, &progress, &ignored) < 0) {
        return NULL;
    }
    return progress;
}
