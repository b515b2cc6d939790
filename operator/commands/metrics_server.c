// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/metrics_server.h"

#include "lib/digest.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/net/http.h"
#include "lib/net/tls.h"
#include "lib/net/verdicts.h"
#include "lib/prometheus.h"
#include "lib/time/clock.h"
#include "lib/tree.h"
#include "operator/commands/page_server.h"
#include "operator/operator_metrics.h"

#include <stdlib.h>
#include <string.h>

enum {
    ANSWER_BYTES_MAX = 256 << 10,
    TOKEN_BYTES_MAX = 16 << 10,
    RENEWAL_MS = 10000, /* how often the files of a certificate are looked at */
};

struct metrics_server {
    struct page_server *pages;
    const struct config *config;
    struct verdicts verdicts;
    char *tls_folder;     /* NULL: a certificate of our own */
    char seen_digest[65]; /* of the certificate and key that were read last */
    int64_t seen_ms;
};

/* ---- the API server ---- */

/* A pod's token is replaced every hour. */
static int read_token(const struct config *config, char **ret_token, struct error *err) {
    size_t size = 0;
    if (!config->token_file) {
        *ret_token = x_strdup(config->token);
        return 0;
    }
    if (file_read(config->token_file, TOKEN_BYTES_MAX, ret_token, &size, err) < 0) {
        return -1;
    }
    (*ret_token)[strcspn(*ret_token, " \r\n")] = 0;
    return 0;
}

static int ask(const struct config *config, const char *path, json_t *review_new,
               json_t **ret_status, struct error *err) {
    static const char *const headers[] = {"Content-Type: application/json",
                                          "Accept: application/json", NULL};
    AUTO(tree_freep) json_t *review = review_new;
    AUTO(text_freep) char *body = json_dumps(review, JSON_COMPACT);
    AUTO(text_freep) char *url = x_printf("%s%s", config->server, path);
    AUTO(text_freep) char *token = NULL;
    AUTO(text_freep) char *text = NULL;
    AUTO(tree_freep) json_t *answer = NULL;
    int status = 0;
    if (!body) {
        return error_set(err, ERROR_INVALID, "%s: the review is not valid UTF-8", path);
    }
    if (read_token(config, &token, err) < 0) {
        return -1;
    }
    struct http_request request = {.url = url,
                                   .method = "POST",
                                   .headers = headers,
                                   .bearer_token = token,
                                   .body = body,
                                   .body_size = strlen(body),
                                   .authorities_pem = config->authorities_pem,
                                   .server_name = config->server_name,
                                   .is_insecure = config->is_insecure,
                                   .client_certificate_pem = config->client_certificate_pem,
                                   .client_key_pem = config->client_key_pem,
                                   .proxy = config->proxy,
                                   .timeout_ms = METRICS_REVIEW_WAIT_MS,
                                   .bytes_max = ANSWER_BYTES_MAX};
    int result = http_get(&request, &status, &text, err);
    explicit_bzero(body, strlen(body)); /* a TokenReview has the token */
    if (result < 0) {
        return -1;
    }
    if (status != 201 || tree_parse(text, strlen(text), ANSWER_BYTES_MAX, &answer, err) < 0) {
        return error_set(err, ERROR_UNAVAILABLE, "%s answered %d", path, status);
    }
    *ret_status = json_incref(json_object_get(answer, "status"));
    return 0;
}

static int review_token(const struct config *config, const char *token, json_t **ret_status,
                        struct error *err) {
    return ask(config, "/apis/authentication.k8s.io/v1/tokenreviews",
               json_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "authentication.k8s.io/v1", "kind",
                         "TokenReview", "spec", "token", token),
               ret_status, err);
}

static int review_access(const struct config *config, const json_t *user, json_t **ret_status,
                         struct error *err) {
    json_t *spec =
        json_pack("{s:{s:s, s:s}, s:s, s:O?, s:O?, s:O?}", "nonResourceAttributes", "path",
                  "/metrics", "verb", "get", "user", tree_text(user, "username", ""), "groups",
                  json_object_get(user, "groups"), "uid", json_object_get(user, "uid"), "extra",
                  json_object_get(user, "extra"));
    return ask(config, "/apis/authorization.k8s.io/v1/subjectaccessreviews",
               json_pack("{s:s, s:s, s:o}", "apiVersion", "authorization.k8s.io/v1", "kind",
                         "SubjectAccessReview", "spec", spec),
               ret_status, err);
}

/* 200, 401 or 403. */
static int check_token(const struct config *config, const char *token, int *ret_status,
                       struct error *err) {
    AUTO(tree_freep) json_t *who = NULL;
    AUTO(tree_freep) json_t *may = NULL;
    if (review_token(config, token, &who, err) < 0) {
        return -1;
    }
    const json_t *user = json_object_get(who, "user");
    if (!tree_bool(who, "authenticated", false) || !*tree_text(user, "username", "")) {
        *ret_status = 401;
        return 0;
    }
    if (review_access(config, user, &may, err) < 0) {
        return -1;
    }
    *ret_status = tree_bool(may, "allowed", false) ? 200 : 403;
    return 0;
}

/* ---- verdicts ---- */

/* RFC 6750: a token is of visible ASCII characters. Others come from strangers, and are not JSON.
 */
static bool is_token(const char *text) {
    for (const char *at = text; *at; at++) {
        if (*at <= ' ' || *at > '~') {
            return false;
        }
    }
    return *text != 0;
}

static int status_of(struct metrics_server *server, const struct server_request *request) {
    static const char scheme[] = "Bearer ";
    const char *authorization = request->authorization;
    char digest[65];
    struct error err = {0};
    int64_t now_ms = clock_monotonic_ms();
    if (!authorization || !text_starts(authorization, scheme) ||
        !is_token(authorization + sizeof scheme - 1)) {
        return 401;
    }
    const char *token = authorization + sizeof scheme - 1;
    digest_sha256(token, strlen(token), digest);
    int status = verdicts_find(&server->verdicts, digest, now_ms);
    if (status) {
        return status;
    }
    if (!verdicts_take_review(&server->verdicts, digest, &request->source, now_ms)) {
        return 429;
    }
    if (check_token(server->config, token, &status, &err) < 0) {
        log_pairs(LOG_WARNING, "cannot ask who may read metrics", "error", err.text, NULL);
        return 503;
    }
    verdicts_keep(&server->verdicts, digest, status, now_ms);
    return status;
}

/* ---- the server ---- */

static struct server_page on_page(void *context, const struct server_request *request) {
    struct metrics_server *server = context;
    if (strcmp(request->path, "/metrics") != 0) {
        return (struct server_page){0};
    }
    int status = status_of(server, request);
    if (status == 200) {
        return (struct server_page){.body = operator_metrics_page(),
                                    .content_type = PROMETHEUS_CONTENT_TYPE,
                                    .status = 200};
    }
    return (struct server_page){.body =
                                    x_printf("{\"message\": \"%s\"}\n",
                                             status == 401 ? "a bearer token is missing or invalid"
                                             : status == 403 ? "may not get /metrics"
                                             : status == 429 ? "too many unknown tokens"
                                                             : "the API server does not answer"),
                                .status = status};
}

static const struct server_events events = {.page = on_page};

static int read_certificate(const char *folder, char **ret_certificate, char **ret_key,
                            struct error *err) {
    size_t size = 0;
    if (!folder) {
        return tls_make_certificate(ret_certificate, ret_key, NULL, err);
    }
    AUTO(text_freep) char *certificate = file_join(folder, "tls.crt");
    AUTO(text_freep) char *key = file_join(folder, "tls.key");
    if (file_read(certificate, TLS_PEM_MAX, ret_certificate, &size, err) < 0 ||
        file_read(key, TLS_PEM_MAX, ret_key, &size, err) < 0) {
        err->kind = ERROR_INVALID;
        return -1;
    }
    return 0;
}

static void digest_pair(const char *certificate, const char *key, char hex[static 65]) {
    AUTO(text_freep) char *pair = x_printf("%s\n%s", certificate, key);
    digest_sha256(pair, strlen(pair), hex);
    explicit_bzero(pair, strlen(pair));
}

/* Who made the certificate renews it in its file, and may let it end within hours. While the two
 * files are being replaced they may not belong together: the next time they do. */
static void renew(void *context, struct server *pages) {
    struct metrics_server *server = context;
    AUTO(text_freep) char *certificate = NULL;
    AUTO(text_freep) char *key = NULL;
    struct error err = {0};
    int64_t now_ms = clock_monotonic_ms();
    char digest[65];
    if (!server->tls_folder || now_ms - server->seen_ms < RENEWAL_MS) {
        return;
    }
    server->seen_ms = now_ms;
    bool is_read = read_certificate(server->tls_folder, &certificate, &key, &err) == 0;
    if (is_read) {
        digest_pair(certificate, key, digest);
    } else {
        digest_sha256(err.text, strlen(err.text), digest);
    }
    if (strcmp(digest, server->seen_digest) != 0) {
        memcpy(server->seen_digest, digest, sizeof digest);
        if (is_read && server_renew(pages, certificate, key, &err) == 0) {
            log_pairs(LOG_INFO, "metrics have a new certificate", NULL);
        } else {
            log_pairs(LOG_WARNING, "cannot renew the certificate of metrics", "error", err.text,
                      NULL);
        }
    }
    if (key) {
        explicit_bzero(key, strlen(key));
    }
}

static int listen_at(struct metrics_server *server, const struct metrics_server_options *options,
                     struct error *err) {
    AUTO(text_freep) char *certificate = NULL;
    AUTO(text_freep) char *key = NULL;
    if (options->config->exec) {
        return error_set(err, ERROR_INVALID,
                         "--metrics-listen: %s has a credential plug-in; a token, a token file or "
                         "a certificate is expected",
                         options->config->name);
    }
    int result = read_certificate(options->tls_folder, &certificate, &key, err);
    if (result == 0) {
        struct server_options listening = {.bind = options->bind,
                                           .certificate_pem = certificate,
                                           .key_pem = key,
                                           .events = &events,
                                           .context = server};
        digest_pair(certificate, key, server->seen_digest);
        server->seen_ms = clock_monotonic_ms();
        result = page_server_open(&listening, renew, &server->pages, err);
    }
    if (key) {
        explicit_bzero(key, strlen(key));
    }
    return result;
}

int metrics_server_open(const struct metrics_server_options *options,
                        struct metrics_server **ret_server, struct error *err) {
    struct metrics_server *server = x_calloc(1, sizeof *server);
    server->config = options->config;
    server->tls_folder = x_strdup(options->tls_folder);
    if (listen_at(server, options, err) < 0) {
        metrics_server_free(server);
        return -1;
    }
    *ret_server = server;
    return 0;
}

void metrics_server_free(struct metrics_server *server) {
    if (server) {
        page_server_free(server->pages);
        free(server->tls_folder);
        free(server);
    }
}
