// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/remote.h"

#include "lib/buffer.h"
#include "lib/time/clock.h"
#include "operator/cluster.h"
#include "operator/kinds/job/pod_phase.h"
#include "operator/kinds/kinds.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 500, ITEMS_MAX = 100000, CONTINUE_MAX = 4096 };

bool remote_is_configured(const struct remote_options *options) {
    const struct config_options config = {.kubeconfig = options->kubeconfig,
                                          .context = options->context};
    return config_is_there(&config);
}

int remote_open(const struct remote_options *options, struct remote *ret_remote,
                struct error *err) {
    struct config_options config = {.kubeconfig = options->kubeconfig, .context = options->context};
    struct remote remote = {0};
    if (options->all && options->namespace) {
        return error_set(err, ERROR_INVALID, "-A is all namespaces, -n one: give one of them");
    }
    if (config_load(&config, &remote.config, err) < 0 || loop_open(&remote.loop, err) < 0 ||
        client_open(remote.config, remote.loop, &remote.client, err) < 0) {
        remote_release(&remote);
        return -1;
    }
    client_on_warning(remote.client, server_warnings_log, NULL);
    const char *own = options->namespace ? options->namespace : remote.config->namespace;
    remote.namespace = options->all ? NULL : own;
    *ret_remote = remote;
    return 0;
}

void remote_release(struct remote *remote) {
    client_free(TAKE(remote->client));
    loop_free(TAKE(remote->loop));
    config_free(TAKE(remote->config));
}

struct question {
    bool is_done, is_unserved;
    json_t *tree;
    struct buffer text; /* of an answer that is not JSON; without a maximum: it is JSON */
    struct error err;
};

static void on_answer(void *context, const struct client_answer *answer) {
    struct question *question = context;
    question->is_done = true;
    question->is_unserved = client_is_unserved(answer);
    if (answer->err) {
        question->err = *answer->err;
    } else if (!answer->tree && !question->text.max) {
        error_set(&question->err, ERROR_UNAVAILABLE, "the API server's answer is not JSON");
    } else {
        question->tree = json_incref((json_t *)answer->tree);
    }
}

static int wait_for_answer(struct remote *remote, struct client_call *call,
                           const struct question *question, struct error *err) {
    while (!question->is_done) {
        int64_t left_ms = remote->end_ms ? remote->end_ms - clock_monotonic_ms() : -1;
        if (remote->end_ms && left_ms <= 0) {
            client_cancel(remote->client, call);
            return error_set(err, ERROR_TIMEOUT, "the API server does not answer in time");
        }
        if (loop_wait(remote->loop, (int)left_ms, err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Sends the request, whose done and context are set here, and waits for the answer. */
static int ask(struct remote *remote, struct client_request *request, struct question *ret_question,
               struct error *err) {
    struct buffer text = ret_question->text;
    *ret_question = (struct question){.text = text};
    request->done = on_answer;
    request->context = ret_question;
    struct client_call *call = client_start(remote->client, request);
    if (wait_for_answer(remote, call, ret_question, err) < 0) {
        return -1;
    }
    if (ret_question->err.kind) {
        *err = ret_question->err;
        return -1;
    }
    return 0;
}

static int get(struct remote *remote, const struct rest_place *place, const char *query,
               struct question *ret_question, struct error *err) {
    struct rest_place here = *place;
    here.namespace = remote->namespace;
    AUTO(text_freep) char *path = NULL;
    if (rest_path(&here, &path, err) < 0) {
        return -1;
    }
    AUTO(text_freep) char *url = query ? x_printf("%s?%s", path, query) : x_strdup(path);
    struct client_request request = {.verb = place->name ? "get" : "list", .path = url};
    return ask(remote, &request, ret_question, err);
}

static int on_bytes(void *context, const char *data, size_t size, struct error *err) {
    struct question *question = context;
    return buffer_append(&question->text, data, size, err);
}

int remote_text(struct remote *remote, const struct rest_place *place, const char *query,
                size_t bytes_max, char **ret_text, struct error *err) {
    struct rest_place here = *place;
    here.namespace = remote->namespace;
    AUTO(text_freep) char *path = NULL;
    if (rest_path(&here, &path, err) < 0) {
        return -1;
    }
    AUTO(text_freep) char *url = x_printf("%s?%s", path, query);
    struct client_request request = {
        .verb = "get", .path = url, .is_text = true, .received = on_bytes};
    struct question question = {0};
    buffer_init(&question.text, bytes_max);
    if (ask(remote, &request, &question, err) < 0) {
        buffer_release(&question.text);
        return -1;
    }
    *ret_text = buffer_take(&question.text, NULL);
    return 0;
}

int remote_apply_dry(struct remote *remote, const json_t *object, json_t **ret_stored,
                     struct error *err) {
    const struct rest_place place = {.api_version = tree_text(object, "apiVersion", ""),
                                     .kind = tree_text(object, "kind", ""),
                                     .namespace =
                                         tree_text(object, "metadata.namespace", remote->namespace),
                                     .name = tree_text(object, "metadata.name", "")};
    AUTO(text_freep) char *path = NULL;
    if (rest_path(&place, &path, err) < 0) {
        return -1;
    }
    AUTO(text_freep)
    char *url = x_printf("%s?dryRun=All&force=true&fieldManager=windlass-check"
                         "&fieldValidation=Strict",
                         path);
    struct client_request request = {.verb = "apply",
                                     .method = "PATCH",
                                     .path = url,
                                     .content_type = "application/apply-patch+yaml",
                                     .body_new = json_dumps(object, JSON_COMPACT)};
    struct question question = {0};
    if (ask(remote, &request, &question, err) < 0) {
        return -1;
    }
    *ret_stored = question.tree;
    return 0;
}

int remote_pause(struct remote *remote, int64_t pause_ms, struct error *err) {
    int64_t end_ms = clock_monotonic_ms() + pause_ms, now_ms;
    while ((now_ms = clock_monotonic_ms()) < end_ms) {
        if (loop_wait(remote->loop, (int)(end_ms - now_ms), err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* A request that changes something; body: taken over; NULL: none. */
static int change(struct remote *remote, const struct rest_place *place,
                  struct client_request *request, bool dry, struct error *err) {
    struct rest_place here = *place;
    here.namespace = remote->namespace;
    AUTO(text_freep) char *path = NULL;
    if (rest_path(&here, &path, err) < 0) {
        free(TAKE(request->body_new));
        return -1;
    }
    AUTO(text_freep)
    char *url = x_printf("%s?fieldManager=windlass-cli%s", path, dry ? "&dryRun=All" : "");
    request->path = url;
    struct question question = {0};
    if (ask(remote, request, &question, err) < 0) {
        return -1;
    }
    json_decref(question.tree);
    return 0;
}

int remote_merge(struct remote *remote, const struct rest_place *place, const json_t *merged,
                 bool dry, struct error *err) {
    struct client_request request = {.verb = "patch",
                                     .method = "PATCH",
                                     .content_type = "application/merge-patch+json",
                                     .body_new = tree_compact(merged)};
    return change(remote, place, &request, dry, err);
}

int remote_delete(struct remote *remote, const struct rest_place *place, bool waits_for_owned,
                  bool dry, struct error *err) {
    AUTO(tree_freep)
    json_t *how = json_pack("{s:s, s:s, s:s, s:o*}", "apiVersion", "v1", "kind", "DeleteOptions",
                            "propagationPolicy", waits_for_owned ? "Foreground" : "Background",
                            "dryRun", dry ? json_pack("[s]", "All") : NULL);
    struct client_request request = {
        .verb = "delete", .method = "DELETE", .body_new = tree_compact(how)};
    return change(remote, place, &request, dry, err);
}

int remote_create(struct remote *remote, const json_t *object, bool dry, struct error *err) {
    const struct rest_place place = {.api_version = tree_text(object, "apiVersion", ""),
                                     .kind = tree_text(object, "kind", "")};
    struct client_request request = {
        .verb = "create", .method = "POST", .body_new = tree_compact(object)};
    return change(remote, &place, &request, dry, err);
}

/* A definition that was not upgraded serves the same objects under an older version, only. Where
 * only the object is missing, the older version has no more, and the server warns of it. */
int remote_get(struct remote *remote, const struct rest_place *place, const char *query,
               json_t **ret_tree, struct error *err) {
    struct question question = {0};
    int result = get(remote, place, query, &question, err);
    struct rest_place older = *place;
    older.api_version = rest_older_version(place->api_version);
    struct error ignored = {0};
    if (result < 0 && question.is_unserved && older.api_version &&
        get(remote, &older, query, &question, &ignored) == 0) {
        error_clear(err);
        result = 0;
    }
    if (result == 0) {
        *ret_tree = question.tree;
    }
    return result;
}

/* A list's continue token is base64, whose characters +, / and = have another meaning in a query.
 */
char *remote_quote(const char *text) {
    AUTO(text_freep) char *quoted = x_calloc(strlen(text) * 3 + 1, 1);
    char *at = quoted;
    for (; *text; text++) {
        static const char digits[] = "0123456789ABCDEF";
        bool is_plain = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
                        (*text >= '0' && *text <= '9') || strchr("-_.~", *text);
        if (is_plain) {
            *at++ = *text;
        } else {
            *at++ = '%';
            *at++ = digits[(unsigned char)*text >> 4];
            *at++ = digits[*text & 15];
        }
    }
    return TAKE(quoted);
}

int remote_list(struct remote *remote, const struct rest_place *place, const char *query,
                json_t **ret_items, struct error *err) {
    AUTO(tree_freep) json_t *items = json_array();
    AUTO(text_freep) char *next = x_strdup("");
    do {
        AUTO(text_freep)
        char *page = x_printf("limit=%d%s%s%s%s", PAGE, query ? "&" : "", query ? query : "",
                              *next ? "&continue=" : "", next);
        AUTO(tree_freep) json_t *list = NULL;
        if (remote_get(remote, place, page, &list, err) < 0) {
            return -1;
        }
        json_array_extend(items, json_object_get(list, "items"));
        const char *more = tree_text(list, "metadata.continue", "");
        if (strlen(more) > CONTINUE_MAX || json_array_size(items) > ITEMS_MAX) {
            return error_set(err, ERROR_EXHAUSTED, "more than %d objects", ITEMS_MAX);
        }
        free(next);
        next = remote_quote(more);
    } while (*next);
    *ret_items = TAKE(items);
    return 0;
}

int remote_job(struct remote *remote, const char *name, json_t **ret_job, struct error *err) {
    /* The error to report: a missing permission comes before a missing job. */
    struct error first = {0};
    for (const struct kind_row *const *row = kind_rows; *row; row++) {
        const struct rest_place place = {
            .api_version = (*row)->loop->api_version, .kind = (*row)->loop->name, .name = name};
        struct error failure = {0};
        if (remote_get(remote, &place, NULL, ret_job, &failure) == 0) {
            return 0;
        }
        bool is_absent = failure.kind == ERROR_NOT_FOUND;
        if (row == kind_rows || (!is_absent && first.kind == ERROR_NOT_FOUND)) {
            first = failure;
        }
        if (!is_absent && failure.kind != ERROR_DENIED) {
            break;
        }
    }
    *err = first;
    return err->kind == ERROR_NOT_FOUND
               ? error_context(err, "namespace %s (windlass status -A lists all jobs)",
                               remote->namespace)
               : -1;
}

bool remote_is_final(const struct error *err) {
    return err->kind == ERROR_NOT_FOUND || err->kind == ERROR_DENIED;
}

static int by_role(const void *a, const void *b) {
    struct pod_phase one = pod_phase_read(*(json_t *const *)a),
                     two = pod_phase_read(*(json_t *const *)b);
    return one.index != two.index ? one.index - two.index : one.attempt - two.attempt;
}

int remote_made(struct remote *remote, const struct rest_place *place, const char *job,
                json_t **ret_items, struct error *err) {
    AUTO(text_freep) char *selector = x_printf("%s=%s", LABEL_JOB, job);
    AUTO(text_freep) char *quoted = remote_quote(selector);
    AUTO(text_freep) char *query = x_printf("labelSelector=%s", quoted);
    return remote_list(remote, place, query, ret_items, err);
}

int remote_pods(struct remote *remote, const char *job, json_t **ret_pods, struct error *err) {
    const struct rest_place place = {.api_version = "v1", .kind = "Pod"};
    AUTO(tree_freep) json_t *pods = NULL;
    if (remote_made(remote, &place, job, &pods, err) < 0) {
        return -1;
    }
    size_t count = json_array_size(pods);
    json_t **sorted = x_calloc(count + 1, sizeof *sorted);
    for (size_t i = 0; i < count; i++) {
        sorted[i] = json_array_get(pods, i);
    }
    qsort(sorted, count, sizeof *sorted, by_role);
    *ret_pods = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append(*ret_pods, sorted[i]);
    }
    free(sorted);
    return 0;
}

const char *remote_short_name(const char *pod, const char *job) {
    size_t length = strlen(job);
    bool is_of_job = strncmp(pod, job, length) == 0 && pod[length] == '-' && pod[length + 1];
    return is_of_job ? pod + length + 1 : pod;
}
