// SPDX-License-Identifier: Apache-2.0
#include "lib/net/server.h"

#include "lib/digest.h"
#include "lib/net/address.h"
#include "lib/net/preauth.h"
#include "lib/net/server_state.h"
#include "lib/net/tls_identity.h"
#include "lib/net/tls_limit.h"
#include "lib/secret.h"
#include "lib/time/clock.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>

enum {
    AUTHORIZATION_MAX = 16 << 10,
    HEAD_MAX = 2048,        /* of an answer */
    SHORT_MAX = 256,        /* of the headers Host and If-None-Match */
    LENGTH_MAX = 18,        /* of Content-Length: digits that a number has room for */
    OTHER_FILES_MAX = 4096, /* of the process, besides connections */
    KEY_UPDATES_MAX = 8,    /* of a connection; no client of ours, nor Go's or curl's, begins one */
};

static int add_header(struct lws *wsi, const char *name, const char *value, unsigned char **at,
                      unsigned char *end) {
    return lws_add_http_header_by_name(wsi, (const unsigned char *)name,
                                       (const unsigned char *)value, (int)strlen(value), at, end);
}

static int add_headers(struct lws *wsi, const struct server_page *page, unsigned char **at,
                       unsigned char *end) {
    const char *const *pair = page->headers;
    int result = *page->tag ? add_header(wsi, "etag:", page->tag, at, end) : 0;
    for (; result == 0 && pair && *pair; pair += 2) {
        result = add_header(wsi, pair[0], pair[1], at, end);
    }
    return result;
}

/* Takes ownership of page.body. */
static int answer(struct lws *wsi, struct server_connection *connection, struct server_page page) {
    unsigned char head[LWS_PRE + HEAD_MAX];
    unsigned char *at = head + LWS_PRE, *end = head + sizeof head - 1;
    const char *type = page.content_type ? page.content_type : "application/json";
    unsigned status = page.status ? (unsigned)page.status : HTTP_STATUS_OK;
    free(connection->body);
    connection->body = page.body;
    connection->body_size = page.body_size ? page.body_size : strlen(page.body);
    if (lws_add_http_common_headers(wsi, status, type, connection->body_size, &at, end) ||
        add_headers(wsi, &page, &at, end) ||
        lws_finalize_write_http_header(wsi, head + LWS_PRE, &at, end)) {
        return 1;
    }
    lws_callback_on_writable(wsi);
    return 0;
}

struct server_page server_page_closed(void) {
    return (struct server_page){.body = x_strdup("{\"message\": \"the header " SERVER_READ_HEADER
                                                 " is missing or wrong\"}\n"),
                                .status = HTTP_STATUS_FORBIDDEN};
}

struct server_page server_page_of_readers(const struct server_request *request, char *body_new) {
    if (request->may_read) {
        return (struct server_page){.body = body_new};
    }
    free(body_new);
    return server_page_closed();
}

static bool may_read(const struct server *server, struct lws *wsi) {
    static const char name[] = "windlass-read-token:"; /* as libwebsockets keeps it */
    char token[256] = "";
    if (!server->read_token) {
        return true;
    }
    bool is_given = lws_hdr_custom_copy(wsi, token, sizeof token, name, sizeof name - 1) > 0;
    bool is_right = is_given && digest_equal(token, server->read_token);
    OPENSSL_cleanse(token, sizeof token);
    return is_right;
}

/* The caller owns it; NULL: there is none, or it is longer. */
static char *header_of(struct lws *wsi, enum lws_token_indexes name, int length_max) {
    int length = lws_hdr_total_length(wsi, name);
    if (length <= 0 || length > length_max) {
        return NULL;
    }
    char *text = x_calloc((size_t)length + 1, 1);
    lws_hdr_copy(wsi, text, length + 1, name);
    return text;
}

/* The header Windlass-Action, which a page of another origin cannot send. */
static bool is_meant(struct lws *wsi) {
    static const char name[] = "windlass-action:"; /* as libwebsockets keeps it */
    char value[8] = "";
    return lws_hdr_custom_copy(wsi, value, sizeof value, name, sizeof name - 1) > 0 &&
           strcmp(value, "1") == 0;
}

/* A POST that may be answered: its body is not too long. */
static bool is_post(struct lws *wsi) {
    const struct server *server = server_of(wsi);
    AUTO(text_freep) char *length = header_of(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH, LENGTH_MAX);
    bool is_number = length && length[strspn(length, "0123456789")] == 0;
    return server->takes_posts && lws_hdr_total_length(wsi, WSI_TOKEN_POST_URI) > 0 && is_number &&
           strtoull(length, NULL, 10) <= server->body_max;
}

/* Of one that has left already: all zeros. */
static struct preauth_source source_of(struct lws *wsi) {
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof address;
    (void)!getpeername(lws_get_socket_fd(wsi), (struct sockaddr *)&address, &size);
    return preauth_source_of((struct sockaddr *)&address);
}

static void forget_asked(struct server_connection *connection) {
    struct server_asked *asked = TAKE(connection->asked);
    if (asked) {
        secret_forget(&asked->authorization);
        free(asked->path);
        free(asked->host);
        free(asked->known_tag);
        buffer_release(&asked->body);
        free(asked);
    }
}

static struct server_asked *read_asked(struct lws *wsi, const char *path, bool is_post) {
    const struct server *server = server_of(wsi);
    struct server_asked *asked = x_calloc(1, sizeof *asked);
    asked->path = x_strdup(path);
    asked->authorization = header_of(wsi, WSI_TOKEN_HTTP_AUTHORIZATION, AUTHORIZATION_MAX);
    asked->host = header_of(wsi, WSI_TOKEN_HOST, SHORT_MAX);
    asked->known_tag = header_of(wsi, WSI_TOKEN_HTTP_IF_NONE_MATCH, SHORT_MAX);
    buffer_init(&asked->body, server->body_max);
    asked->request = (struct server_request){.path = asked->path,
                                             .may_read = may_read(server, wsi),
                                             .authorization = asked->authorization,
                                             .source = source_of(wsi),
                                             .host = asked->host,
                                             .known_tag = asked->known_tag,
                                             .is_post = is_post,
                                             .is_meant = is_meant(wsi)};
    return asked;
}

static int answer_asked(struct lws *wsi, struct server_connection *connection) {
    const struct server *server = server_of(wsi);
    if (!connection || !connection->asked) {
        return -1;
    }
    struct server_asked *asked = connection->asked;
    asked->request.body = asked->body.size ? asked->body.data : NULL;
    asked->request.body_size = asked->body.size;
    struct server_page page = server->events->page(server->context, &asked->request);
    forget_asked(connection);
    if (!page.body) {
        page = (struct server_page){.body = x_strdup("{\"message\": \"page not found\"}\n"),
                                    .status = HTTP_STATUS_NOT_FOUND};
    }
    return answer(wsi, connection, page);
}

static int begin_request(struct lws *wsi, struct server_connection *connection, const char *path) {
    bool posts = is_post(wsi);
    if (!connection || (!posts && lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI) <= 0)) {
        return 1;
    }
    forget_asked(connection);
    connection->asked = read_asked(wsi, path, posts);
    return posts ? 0 : answer_asked(wsi, connection);
}

/* Also called for a POST without a body, with 0 bytes. */
static int add_body(struct server_connection *connection, const char *data, size_t size) {
    struct error ignored = {0};
    bool is_taken = connection && connection->asked &&
                    buffer_append(&connection->asked->body, data, size, &ignored) == 0;
    return is_taken ? 0 : -1;
}

static int write_page(struct lws *wsi, struct server_connection *connection) {
    if (!connection || !connection->body) {
        return 0;
    }
    size_t size = connection->body_size;
    unsigned char *frame = x_malloc(LWS_PRE + size);
    memcpy(frame + LWS_PRE, connection->body, size);
    int wrote = size ? lws_write(wsi, frame + LWS_PRE, size, LWS_WRITE_HTTP_FINAL) : 0;
    free(frame);
    free(TAKE(connection->body));
    return wrote < 0 || lws_http_transaction_completed(wsi) ? -1 : 0;
}

/* 0: the upgrade may go on; 1: answered with a refusal. */
static int check_upgrade(struct lws *wsi, const char *protocol) {
    struct server *server = server_of(wsi);
    char path[256] = "", authorization[512] = "";
    bool path_fits = lws_hdr_copy(wsi, path, sizeof path, WSI_TOKEN_GET_URI) > 0;
    bool has_token =
        lws_hdr_copy(wsi, authorization, sizeof authorization, WSI_TOKEN_HTTP_AUTHORIZATION) > 0;
    unsigned status = 0;
    if (strcasecmp(protocol, "websocket") != 0 || !path_fits || !server->socket_path ||
        strcmp(path, server->socket_path) != 0) {
        status = HTTP_STATUS_NOT_FOUND;
    } else if (!has_token || !digest_equal(authorization, server->authorization)) {
        status = HTTP_STATUS_UNAUTHORIZED;
    }
    OPENSSL_cleanse(authorization, sizeof authorization);
    return status ? (lws_return_http_status(wsi, status, NULL), 1) : 0;
}

/* A kill is only scheduled, and lost when the connection is readable in the same turn
 * (libwebsockets sets timeouts of its own then); after a shutdown it reads its end and is closed
 * all the same. */
static void hang_up(struct server *server, struct lws *wsi) {
    preauth_remove(&server->preauth, wsi);
    shutdown(lws_get_socket_fd(wsi), SHUT_RDWR);
    lws_set_timeout(wsi, PENDING_TIMEOUT_USER_REASON_BASE, LWS_TO_KILL_ASYNC);
}

static void on_expiry(lws_sorted_usec_list_t *expiry) {
    struct server *server = lws_container_of(expiry, struct server, expiry);
    int64_t limit_s = !server->is_plain     ? SERVER_HANDSHAKE_S
                      : server->takes_posts ? SERVER_USER_S
                                            : SERVER_READER_S;
    struct lws *late = NULL;
    while ((late = preauth_older_than(&server->preauth, clock_monotonic_ms() - limit_s * 1000))) {
        hang_up(server, late);
    }
    if (server->preauth.count > 0) {
        lws_sul_schedule(server->lws, 0, &server->expiry, on_expiry, LWS_US_PER_SEC);
    }
}

/* 0: may stay. Before libwebsockets has spent any memory on the connection. */
static int check_newcomer(struct server *server, const struct lws_filter_network_conn_args *from) {
    const struct preauth_newcomer newcomer = {
        .source = preauth_source_of((const struct sockaddr *)&from->cli_addr),
        .now_ms = clock_monotonic_ms(),
        .chance = arc4random()};
    void *evicted = NULL;
    if (!preauth_admits(&server->preauth, &newcomer, &evicted)) {
        return 1;
    }
    if (evicted) {
        hang_up(server, evicted);
    }
    return 0;
}

static int add_newcomer(struct server *server, struct lws *wsi) {
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof address;
    if (getpeername(lws_get_socket_fd(wsi), (struct sockaddr *)&address, &size) < 0) {
        return 1; /* has left already */
    }
    struct preauth_source source = preauth_source_of((struct sockaddr *)&address);
    bool is_first = server->preauth.count == 0;
    if (!preauth_add(&server->preauth, &source, clock_monotonic_ms(), wsi)) {
        return 1;
    }
    if (is_first) {
        lws_sul_schedule(server->lws, 0, &server->expiry, on_expiry, LWS_US_PER_SEC);
    }
    return 0;
}

static int show_identity(SSL *tls, void *context) {
    const struct server *server = context;
    return tls_identity_show(server->identity, tls);
}

static int set_up_tls(struct server *server, SSL_CTX *tls) {
    tls_limit_set(tls, KEY_UPDATES_MAX); /* a stranger needs no token for them */
    SSL_CTX_set_cert_cb(tls, show_identity, server);
    bool is_set = SSL_CTX_set_min_proto_version(tls, TLS1_3_VERSION) == 1 &&
                  tls_identity_use(server->identity, tls, &server->refusal) == 0;
    server->tls = is_set ? tls : NULL;
    return is_set ? 0 : -1;
}

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                    size_t size) {
    struct server_connection *connection = user;
    struct server_peer *peer = NULL;
    switch (reason) {
    case LWS_CALLBACK_OPENSSL_LOAD_EXTRA_SERVER_VERIFY_CERTS:
        return set_up_tls(lws_vhost_user(in), user);
    case LWS_CALLBACK_FILTER_NETWORK_CONNECTION:
        return check_newcomer(server_of(wsi), user);
    case LWS_CALLBACK_SERVER_NEW_CLIENT_INSTANTIATED:
        return add_newcomer(server_of(wsi), wsi);
    case LWS_CALLBACK_WSI_DESTROY:
        preauth_remove(&server_of(wsi)->preauth, wsi);
        return 0;
    case LWS_CALLBACK_HTTP:
        return begin_request(wsi, connection, in);
    case LWS_CALLBACK_HTTP_WRITEABLE:
        return write_page(wsi, connection);
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
        return check_upgrade(wsi, in);
    case LWS_CALLBACK_ESTABLISHED:
        server_peer_open(wsi, connection);
        return 0;
    case LWS_CALLBACK_RECEIVE:
        peer = connection->peer;
        return peer ? server_peer_receive(peer, in, size) : -1;
    case LWS_CALLBACK_RECEIVE_PONG:
        if (connection->peer) {
            server_peer_heard(connection->peer);
        }
        return 0;
    case LWS_CALLBACK_SERVER_WRITEABLE:
        peer = connection->peer;
        return peer ? server_peer_write(peer) : 0;
    case LWS_CALLBACK_CLOSED:
        server_peer_free(connection);
        return 0;
    case LWS_CALLBACK_CLOSED_HTTP:
    case LWS_CALLBACK_HTTP_DROP_PROTOCOL:
        if (connection) {
            free(TAKE(connection->body));
            forget_asked(connection);
        }
        return 0;
    case LWS_CALLBACK_HTTP_BODY_COMPLETION:
        return answer_asked(wsi, connection);
    case LWS_CALLBACK_HTTP_BODY:
        return add_body(connection, in, size);
    default:
        return 0;
    }
}

/* libwebsockets has tables with a place for each number that a file may have: for the limit of open
 * files, which may be 1,024 or a billion. (A smaller table by its own option is searched from end
 * to end for each event.) So the limit is what is wanted while it looks, and stays there if it was
 * lower. */
static struct lws_context *create_context(const struct server *server,
                                          const struct lws_context_creation_info *info) {
    struct rlimit before = {0}, during;
    rlim_t wanted =
        OTHER_FILES_MAX + (server->socket_path ? SERVER_PEERS_MAX : 0) + 4 * PREAUTH_MAX;
    bool is_known = getrlimit(RLIMIT_NOFILE, &before) == 0;
    during = (struct rlimit){.rlim_cur = MIN(wanted, before.rlim_max), .rlim_max = before.rlim_max};
    bool is_set = is_known && setrlimit(RLIMIT_NOFILE, &during) == 0;
    struct lws_context *context = lws_create_context(info);
    if (is_set && before.rlim_cur > during.rlim_cur) {
        (void)!setrlimit(RLIMIT_NOFILE, &before);
    }
    return context;
}

static uint64_t options_of(const struct server *server, const struct address *address) {
    uint64_t tls = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT | LWS_SERVER_OPTION_CREATE_VHOST_SSL_CTX |
                   LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS;
    return LWS_SERVER_OPTION_EXPLICIT_VHOSTS | LWS_SERVER_OPTION_FAIL_UPON_UNABLE_TO_BIND |
           (address->is_ipv6 ? 0 : LWS_SERVER_OPTION_DISABLE_IPV6) | (server->is_plain ? 0 : tls);
}

static int listen_at(struct server *server, const struct address *address, struct error *err) {
    static const struct lws_protocols protocols[] = {
        {"windlass", on_event, sizeof(struct server_connection), 64 << 10, 0, NULL, 0},
        {NULL, NULL, 0, 0, 0, NULL, 0},
    };
    static const lws_retry_bo_t none = {0}; /* on_pulse pings */
    struct lws_context_creation_info info = {
        .port = address->port,
        .iface = address->is_any ? NULL : address->host,
        .protocols = protocols,
        .user = server,
        .alpn = "http/1.1",
        .server_string = "windlass",
        .retry_and_idle_policy = &none,
        .timeout_secs = !server->is_plain     ? 0
                        : server->takes_posts ? SERVER_USER_S
                                              : SERVER_READER_S,
        .gid = -1,
        .uid = -1,
        .options = options_of(server, address),
    };
    lws_set_log_level(0, NULL);
    server->lws = create_context(server, &info);
    server->vhost = server->lws ? lws_create_vhost(server->lws, &info) : NULL;
    if (server->vhost && (server->is_plain || server->tls)) {
        return 0;
    }
    return server->refusal.kind ? error_set(err, server->refusal.kind, "%s", server->refusal.text)
                                : error_set(err, ERROR_UNAVAILABLE, "libwebsockets cannot listen");
}

int server_open(const struct server_options *options, struct server **ret_server,
                struct error *err) {
    AUTO(server_freep) struct server *server = x_calloc(1, sizeof *server);
    server->events = options->events;
    server->context = options->context;
    server->is_plain = !options->certificate_pem;
    assert(!server->is_plain || !options->socket_path); /* a token is never sent in the clear */
    server->socket_path = x_strdup(options->socket_path);
    server->authorization = options->socket_path ? x_printf("Bearer %s", options->token) : NULL;
    server->read_token = x_strdup(options->read_token);
    server->takes_posts = options->takes_posts;
    server->body_max = options->body_max;
    struct address address;
    if (address_parse(options->bind, &address, err) < 0 || address_probe(&address, err) < 0 ||
        (!server->is_plain && tls_identity_read(options->certificate_pem, options->key_pem,
                                                &server->identity, err) < 0) ||
        listen_at(server, &address, err) < 0) {
        return error_context(err, "listen on %s", options->bind);
    }
    *ret_server = TAKE(server);
    return 0;
}

int server_renew(struct server *server, const char *certificate_pem, const char *key_pem,
                 struct error *err) {
    AUTO(tls_identity_freep) struct tls_identity *identity = NULL;
    if (tls_identity_read(certificate_pem, key_pem, &identity, err) < 0 ||
        tls_identity_use(identity, server->tls, err) < 0) {
        return -1;
    }
    tls_identity_freep(&server->identity);
    server->identity = TAKE(identity);
    return 0;
}

void server_free(struct server *server) {
    if (!server) {
        return;
    }
    struct lws_context *lws = TAKE(server->lws);
    if (lws) {
        lws_context_destroy(lws);
    }
    free(server->socket_path);
    free(server->authorization);
    free(server->read_token);
    tls_identity_freep(&server->identity);
    free(server);
}

void server_freep(struct server **server) {
    server_free(*server);
}

int server_port(const struct server *server) {
    return lws_get_vhost_listen_port(server->vhost);
}

static void on_alarm(lws_sorted_usec_list_t *alarm) {
    (void)alarm; /* its only use is that lws_service returns */
}

int server_service(struct server *server, int timeout_ms, struct error *err) {
    /* lws_service ignores its own timeout: it waits for the next event or timer. */
    lws_sul_schedule(server->lws, 0, &server->alarm, on_alarm,
                     (lws_usec_t)timeout_ms * LWS_US_PER_MS);
    int result = lws_service(server->lws, 0);
    lws_sul_cancel(&server->alarm);
    return result < 0 ? error_set(err, ERROR_UNAVAILABLE, "the server's event loop failed") : 0;
}

void server_wake(struct server *server) {
    lws_cancel_service(server->lws);
}
