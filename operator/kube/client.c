// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/client.h"

#include "lib/net/tls.h"
#include "lib/time/clock.h"
#include "operator/kube/stream.h"
#include "operator/operator_metrics.h"

#include <stdlib.h>
#include <string.h>

struct client_call {
    struct client *client;
    struct client_call *next, **link;
    const char *verb;
    int64_t started_ms;
    struct http_call *http; /* NULL: waits for a credential, or for its error to be reported */
    char *method, *path, *content_type, *header, *own_body;
    const char *body; /* own_body, or borrowed; NULL: none */
    int timeout_ms, silence_ms;
    bool is_text, is_brief, is_repeated;
    unsigned credential_number;
    http_received *received;
    client_done *done;
    void *context;
};

struct client {
    const struct config *config;
    struct loop *loop;
    struct kube_credential *credential;
    struct client_call *calls;
    struct loop_timer flush; /* sends waiting calls */
    struct server_warnings warnings;
    server_warnings_each *warn;
    void *warn_context;
    bool is_doubtful; /* a call timed out: open connections may be dead */
};

int client_error(int status, const json_t *tree, struct error *err) {
    enum error_kind kind = ERROR_UNAVAILABLE;
    switch (status) {
    case 401:
    case 403:
        kind = ERROR_DENIED;
        break;
    case 404:
        kind = ERROR_NOT_FOUND;
        break;
    case 409:
        kind = ERROR_CONFLICT;
        break;
    case 410:
        kind = ERROR_GONE;
        break;
    case 400:
    case 413:
    case 422:
        kind = ERROR_INVALID;
        break;
    case 405:
    case 406:
    case 415:
        kind = ERROR_UNSUPPORTED;
        break;
    case 408:
    case 504:
        kind = ERROR_TIMEOUT;
        break;
    case 429:
        kind = ERROR_BUSY;
        break;
    default:
        break;
    }
    const char *sentence = tree_text(tree, "message", "");
    if (!*sentence && status == 404) { /* not even a Status: the path is unknown */
        sentence = "the server has no such kind: is its CustomResourceDefinition installed?";
    }
    return *sentence ? error_set(err, kind, "%s", sentence)
                     : error_set(err, kind, "the server answered %d", status);
}

bool client_is_unserved(const struct client_answer *answer) {
    return answer->status == 404 && !*tree_text(answer->tree, "details.name", "");
}

/* Says which of the server's queues was full: flow schema and priority level, by their uids. */
static void name_queue(const struct http_answer *http, struct error *err) {
    const char *schema = http_answer_header(http, "X-Kubernetes-PF-FlowSchema-UID");
    const char *level = http_answer_header(http, "X-Kubernetes-PF-PriorityLevel-UID");
    if (http->status == 429 && schema && level) {
        AUTO(text_freep) char *said = x_strdup(err->text);
        error_clear(err);
        error_set(err, ERROR_BUSY, "%s (flow schema %.64s, priority level %.64s)", said, schema,
                  level);
    }
}

static void read_warnings(struct client *client, const struct http_answer *http) {
    const char *value;
    for (size_t i = 0; client->warn && i < SERVER_WARNINGS_OF_ANSWER &&
                       (value = http_answer_header_at(http, "Warning", i));
         i++) {
        server_warnings_read(&client->warnings, value, client->warn, client->warn_context);
    }
}

void client_on_warning(struct client *client, server_warnings_each *each, void *context) {
    client->warn = each;
    client->warn_context = context;
}

static void flush(void *context);

static void on_credential(void *context) {
    struct client *client = context;
    loop_set(client->loop, &client->flush, 0);
}

int client_open(const struct config *config, struct loop *loop, struct client **ret_client,
                struct error *err) {
    AUTO(client_freep) struct client *client = x_calloc(1, sizeof *client);
    client->config = config;
    client->loop = loop;
    client->flush.fire = flush;
    client->flush.context = client;
    uint8_t *authority = NULL;
    size_t size = 0;
    if (config->authorities_pem &&
        tls_pem_to_der(config->authorities_pem, false, &authority, &size, err) < 0) {
        return error_context(err, "%s: certificate-authority", config->name);
    }
    free(authority); /* it was only checked */
    if (kube_credential_new(config, loop, on_credential, client, &client->credential, err) < 0) {
        return -1;
    }
    *ret_client = TAKE(client);
    return 0;
}

static void call_free(struct client_call *call) {
    if (call->link) {
        *call->link = call->next;
        if (call->next) {
            call->next->link = call->link;
        }
    }
    if (call->http) {
        http_cancel(loop_http(call->client->loop), call->http);
    }
    free(call->method);
    free(call->path);
    free(call->content_type);
    free(call->header);
    free(call->own_body);
    free(call);
}

void client_free(struct client *client) {
    if (!client) {
        return;
    }
    while (client->calls) {
        call_free(client->calls);
    }
    loop_unset(client->loop, &client->flush);
    kube_credential_free(client->credential);
    free(client);
}

void client_freep(struct client **client) {
    client_free(*client);
    *client = NULL;
}

void client_cancel(struct client *client, struct client_call *call) {
    (void)client;
    call_free(call);
}

struct client_call *client_start(struct client *client, const struct client_request *request) {
    struct client_call *call = x_calloc(1, sizeof *call);
    *call = (struct client_call){
        .client = client,
        .next = client->calls,
        .link = &client->calls,
        .verb = request->verb,
        .method = x_strdup(request->method ? request->method : "GET"),
        .path = x_strdup(request->path),
        .content_type =
            x_strdup(request->content_type ? request->content_type : "application/json"),
        .header = x_strdup(request->header),
        .own_body = request->body_new,
        .body = request->body_new ? request->body_new : request->body,
        .timeout_ms = request->timeout_ms ? MAX(request->timeout_ms, 0) : CLIENT_TIMEOUT_MS,
        .silence_ms = request->silence_ms,
        .is_text = request->is_text,
        .is_brief = request->is_brief,
        .received = request->received,
        .done = request->done,
        .context = request->context,
    };
    if (call->next) {
        call->next->link = &call->next;
    }
    client->calls = call;
    loop_set(client->loop, &client->flush, 0);
    return call;
}

/* Reports how a call ended; the call is freed when this returns. */
static void finish(struct client_call *call, struct client_answer *answer, struct error *err) {
    if (err->kind) {
        error_context(err, "%s %.*s", call->method, (int)strcspn(call->path, "?"), call->path);
        answer->err = err;
    }
    client_done *done = call->done;
    void *context = call->context;
    call_free(call);
    if (done) {
        done(context, answer);
    }
}

static void on_answer(void *context, const struct http_answer *http, bool is_sent,
                      const struct error *http_err) {
    struct client_call *call = context;
    struct client *client = call->client;
    struct client_answer answer = {.is_sent = is_sent};
    struct error err = {0};
    call->http = NULL;
    operator_metrics_request(call->verb, http ? http->status : 0,
                             clock_monotonic_ms() - call->started_ms);
    client->is_doubtful = http_err && http_err->kind == ERROR_TIMEOUT;
    if (http_err) {
        err = *http_err;
        finish(call, &answer, &err);
        return;
    }
    if (http->status == 401 && !call->is_repeated &&
        kube_credential_refused(client->credential, call->credential_number)) {
        call->is_repeated = true;
        loop_set(client->loop, &client->flush, 0);
        return;
    }
    read_warnings(client, http);
    AUTO(tree_freep) json_t *tree = NULL;
    if (http->size && !(call->is_text && http->status < 300)) {
        json_error_t ignored;
        tree = stream_json_parse(http->body, http->size, &ignored);
        json_object_del(json_object_get(tree, "metadata"), "managedFields");
    }
    answer.status = http->status;
    answer.retry_after_s = http->retry_after_s;
    answer.tree = tree;
    if (http->status >= 300) {
        client_error(http->status, tree, &err);
        name_queue(http, &err);
    } else if (!tree && !call->received) {
        error_set(&err, ERROR_UNAVAILABLE, "the answer is not JSON");
    }
    finish(call, &answer, &err);
}

static int on_received(void *context, const char *data, size_t size, struct error *err) {
    struct client_call *call = context;
    return call->received(call->context, data, size, err);
}

static const char *accept_of(const struct client_call *call) {
    return call->is_text ? "Accept: */*"
           : call->is_brief
               ? "Accept: application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, "
                 "application/json"
               : "Accept: application/json";
}

static int send_call(struct client_call *call, const struct kube_credential_view *credential,
                     struct error *err) {
    struct client *client = call->client;
    const struct config *config = client->config;
    AUTO(text_freep) char *url = x_printf("%s%s", config->server, call->path);
    /* A watch's query is another one each time, and its error would be: it is logged once. */
    AUTO(text_freep) char *shown_url = x_strndup(url, strcspn(url, "?"));
    AUTO(text_freep) char *type = x_printf("Content-Type: %s", call->content_type);
    const char *headers[4] = {accept_of(call)};
    int count = 1;
    if (call->body) {
        headers[count++] = type;
    }
    headers[count] = call->header;
    struct http_request request = {
        .url = url,
        .shown_url = shown_url,
        .method = call->method,
        .headers = headers,
        .bearer_token = credential->token,
        .body = call->body,
        .body_size = call->body ? strlen(call->body) : 0,
        .authorities_pem = config->authorities_pem,
        .server_name = config->server_name,
        .is_insecure = config->is_insecure,
        .client_certificate_pem = credential->certificate_pem,
        .client_key_pem = credential->key_pem,
        .proxy = config->proxy,
        .reuse = client->is_doubtful ? HTTP_FRESH : HTTP_SHARE,
        .connect_ms = CLIENT_CONNECT_MS,
        .timeout_ms = call->timeout_ms,
        .silence_ms = call->silence_ms,
        .bytes_max = CLIENT_ANSWER_MAX,
        .received = call->received ? on_received : NULL,
        .done = on_answer,
        .context = call,
    };
    call->credential_number = credential->number;
    call->started_ms = clock_monotonic_ms();
    return http_start(loop_http(client->loop), &request, &call->http, err);
}

static struct client_call *find_waiting(struct client *client) {
    struct client_call *found = NULL;
    for (struct client_call *call = client->calls; call; call = call->next) {
        found = call->http ? found : call; /* the oldest is the last */
    }
    return found;
}

static void flush(void *context) {
    struct client *client = context;
    struct client_call *call;
    while ((call = find_waiting(client))) {
        struct kube_credential_view credential = {0};
        struct client_answer answer = {0};
        struct error err = {0};
        enum kube_credential_state state =
            kube_credential_get(client->credential, &credential, &err);
        if (state == CREDENTIAL_PENDING) {
            return;
        }
        if (state == CREDENTIAL_FAILED || send_call(call, &credential, &err) < 0) {
            finish(call, &answer, &err);
        }
    }
}
