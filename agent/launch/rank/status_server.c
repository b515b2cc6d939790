// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/rank/status_server.h"

#include "agent/launch/pod/agent_socket.h"
#include "agent/launch/rank/status_report.h"
#include "lib/digest.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/net/server.h"
#include "lib/net/tls.h"
#include "lib/secret.h"
#include "lib/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TOKEN_BYTES = 32, SERVICE_MS = 60000 };

struct status_server {
    struct server *server;
    char *socket;        /* the path of the agent's */
    char *authorization; /* "Bearer TOKEN" */
    char *url, *token_path, *authority_path;
    struct status_report_before before;
    int64_t round; /* the newest that was posted, of which `before` is; 0: none yet */
    pthread_t thread;
    bool has_thread;
    atomic_bool is_leaving;
};

/* ---- answers -------------------------------------------------------------------------------- */

/* As the API server would refuse it. */
static struct server_page refuse(int code, const char *reason, const char *message) {
    AUTO(tree_freep)
    json_t *status =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:i}", "kind", "Status", "apiVersion", "v1", "status",
                  "Failure", "reason", reason, "message", message, "code", code);
    return (struct server_page){.body = tree_compact(status), .status = code};
}

/* The agent takes the lines as reports of rank 0 (member_requests.c). TIMEOUT: it has them, but the
 * link to the hub is full. */
static int hand_on(const struct status_server *server, int64_t round, const char *lines,
                   struct error *err) {
    const struct agent_request request = {
        .kind = AGENT_REQUEST_POSTED, .round = round, .text = lines};
    AUTO(text_freep) char *words = NULL;
    int code = 0;
    if (agent_socket_ask(server->socket, &request, &code, &words, err) < 0) {
        return err->kind == ERROR_TIMEOUT ? error_set(err, ERROR_TIMEOUT, "the hub is away") : -1;
    }
    return code == 0 ? 0
                     : error_set(err, ERROR_UNAVAILABLE,
                                 "the agent of this pod has not taken it: %s", words);
}

static struct server_page take(struct status_server *server, int64_t round,
                               const struct server_request *request) {
    struct error err = {0};
    AUTO(text_freep) char *lines = NULL;
    const char *body = request->body ? request->body : "";
    if (round < server->round) {
        return refuse(410, "Gone", "the round in which this program was started has ended");
    }
    if (round > server->round) {
        status_report_forget(&server->before);
        server->round = round;
    }
    if (status_report_read(body, request->body_size, &server->before, &lines, &err) < 0) {
        return refuse(422, "Invalid", err.text);
    }
    if (hand_on(server, round, lines, &err) < 0) {
        if (err.kind != ERROR_TIMEOUT) { /* what is posted again is new */
            status_report_forget(&server->before);
        }
        return refuse(503, "ServiceUnavailable", err.text);
    }
    return (struct server_page){.body = x_strndup(body, request->body_size)};
}

/* PATH/ROUND; 0: another path. */
static int64_t round_of(const char *path) {
    static const char prefix[] = "/status/";
    const char *digits = text_starts(path, prefix) ? path + strlen(prefix) : "";
    bool is_number = *digits >= '1' && *digits <= '9' && !digits[strspn(digits, "0123456789")];
    return is_number && strlen(digits) <= 18 ? strtoll(digits, NULL, 10) : 0;
}

static struct server_page page(void *context, const struct server_request *request) {
    struct status_server *server = context;
    const char *shown = request->authorization ? request->authorization : "";
    int64_t round = round_of(request->path);
    if (round == 0) {
        return refuse(404, "NotFound", "Not found");
    }
    if (!request->is_post) {
        return refuse(405, "MethodNotAllowed", "a status is posted");
    }
    return digest_equal(shown, server->authorization)
               ? take(server, round, request)
               : refuse(403, "Forbidden",
                        "the token is not the one in the file $KUBEFLOW_TRAINER_SERVER_TOKEN");
}

static void *serve(void *context) {
    struct status_server *server = context;
    struct error err = {0};
    while (!atomic_load(&server->is_leaving)) {
        if (server_service(server->server, SERVICE_MS, &err) < 0) {
            log_event(LOG_WARNING, "no status can be posted any more: %s", err.text);
            return NULL;
        }
    }
    return NULL;
}

/* ---- opening -------------------------------------------------------------------------------- */

/* The file belongs to this user alone, whatever is there. */
static int write_own(const char *path, const char *text, struct error *err) {
    unlink(path);
    AUTO(fd_closep)
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    size_t size = strlen(text);
    ssize_t written = fd < 0 ? -1 : write(fd, text, size);
    if (written == (ssize_t)size) {
        return 0;
    }
    return error_from_errno(err, written < 0 ? errno : ENOSPC, "%s", path);
}

static int listen_and_write(struct status_server *server, struct error *err) {
    static const struct server_events events = {.page = page};
    AUTO(text_freep) char *certificate = NULL;
    char *key = NULL, *token = digest_random(TOKEN_BYTES);
    struct server_options options = {.bind = "127.0.0.1:0",
                                     .events = &events,
                                     .context = server,
                                     .takes_posts = true,
                                     .body_max = STATUS_REPORT_BODY_MAX};
    server->authorization = x_printf("Bearer %s", token);
    int result = tls_make_certificate(&certificate, &key, NULL, err);
    if (result == 0) {
        options.certificate_pem = certificate;
        options.key_pem = key;
        result = server_open(&options, &server->server, err);
    }
    secret_forget(&key);
    if (result == 0) {
        server->url = x_printf("https://127.0.0.1:%d/status", server_port(server->server));
        result = write_own(server->token_path, token, err) < 0 ||
                         write_own(server->authority_path, certificate, err) < 0
                     ? -1
                     : 0;
    }
    secret_forget(&token);
    return result;
}

int status_server_open(const char *folder, const char *socket, struct status_server **ret_server,
                       struct error *err) {
    struct status_server *server = x_calloc(1, sizeof *server);
    server->before = STATUS_REPORT_NOTHING;
    server->socket = x_strdup(socket);
    server->token_path = file_join(folder, "status-token");
    server->authority_path = file_join(folder, "status-ca.crt");
    int result = listen_and_write(server, err);
    if (result == 0) {
        server->has_thread = pthread_create(&server->thread, NULL, serve, server) == 0;
        result =
            server->has_thread ? 0 : error_set(err, ERROR_UNAVAILABLE, "cannot start a thread");
    }
    if (result < 0) {
        status_server_free(server);
        return error_context(err, "posted statuses");
    }
    *ret_server = server;
    return 0;
}

struct status_server_place status_server_find(const struct status_server *server) {
    return server ? (struct status_server_place){server->url, server->token_path,
                                                 server->authority_path}
                  : (struct status_server_place){0};
}

void status_server_free(struct status_server *server) {
    if (!server) {
        return;
    }
    if (server->has_thread) {
        atomic_store(&server->is_leaving, true);
        server_wake(server->server);
        pthread_join(server->thread, NULL);
    }
    server_free(server->server);
    status_report_forget(&server->before);
    unlink(server->token_path);
    unlink(server->authority_path);
    secret_forget(&server->authorization);
    free(server->socket);
    free(server->url);
    free(server->token_path);
    free(server->authority_path);
    free(server);
}
