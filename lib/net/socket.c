// SPDX-License-Identifier: Apache-2.0
#include "lib/net/socket.h"

#include "lib/buffer.h"
#include "lib/digest.h"
#include "lib/net/address.h"
#include "lib/net/tls_limit.h"
#include "lib/time/clock.h"

#include <libwebsockets.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

enum { TLS_MESSAGES_MAX = 64 /* of a connection, without data; our server sends two */ };

struct message {
    struct message *next;
    size_t size;
    unsigned char data[]; /* LWS_PRE bytes that libwebsockets writes its header into, then text */
};

struct socket_client {
    struct lws_context *lws;
    struct lws *wsi; /* while connecting or connected */
    lws_sorted_usec_list_t alarm, again, silence;
    const struct socket_events *events;
    void *context;
    struct address address;
    char *path, *authorization;
    char sha256[65], where[64];
    struct buffer incoming; /* fragments of an incomplete message */
    struct message *first, *last;
    int64_t lost_at_ms;                  /* time of the last connection, or of the start */
    bool open, waits, other_certificate; /* waits: for the next attempt */
};

static struct socket_client *client_of(struct lws *wsi) {
    return lws_context_user(lws_get_context(wsi));
}

static void drop_messages(struct socket_client *socket) {
    while (socket->first) {
        struct message *next = socket->first->next;
        free(socket->first);
        socket->first = next;
    }
    buffer_clear(&socket->incoming);
}

/* True when the certificate has the pinned digest. */
static bool is_ours(const struct socket_client *socket, X509 *certificate) {
    unsigned char *der = NULL;
    int size = certificate ? i2d_X509(certificate, &der) : -1;
    if (size <= 0) {
        return false;
    }
    char sha256[65];
    digest_sha256(der, (size_t)size, sha256);
    OPENSSL_free(der);
    return digest_equal(sha256, socket->sha256);
}

/* OpenSSL rejects a self-signed certificate; we trust its digest instead. */
static int verify(struct lws *wsi, X509_STORE_CTX *chain) {
    struct socket_client *socket = client_of(wsi);
    if (X509_STORE_CTX_get_error_depth(chain) != 0 ||
        !is_ours(socket, X509_STORE_CTX_get_current_cert(chain))) {
        socket->other_certificate = true;
        return 1;
    }
    X509_STORE_CTX_set_error(chain, X509_V_OK);
    return 0;
}

/* Called just before the request is sent: adds the token only for the right certificate. */
static int add_token(struct lws *wsi, unsigned char **at, size_t room) {
    struct socket_client *socket = client_of(wsi);
    SSL *tls = lws_get_ssl(wsi);
    X509 *certificate = tls ? SSL_get1_peer_certificate(tls) : NULL;
    bool ours = is_ours(socket, certificate);
    X509_free(certificate);
    if (!ours) {
        socket->other_certificate = true;
        return -1;
    }
    return lws_add_http_header_by_token(wsi, WSI_TOKEN_HTTP_AUTHORIZATION,
                                        (const unsigned char *)socket->authorization,
                                        (int)strlen(socket->authorization), at, *at + room);
}

static void connect_again(lws_sorted_usec_list_t *again);

/* The share of the time without a connection that a pause may take. */
static int64_t share_ms(const struct socket_client *socket, int64_t least_ms) {
    int64_t ms = (clock_monotonic_ms() - socket->lost_at_ms) / SOCKET_PAUSE_DIVISOR;
    return MIN(MAX(ms, least_ms), SOCKET_PAUSE_MAX_MS);
}

static void plan_attempt(struct socket_client *socket, bool denied) {
    uint32_t random = 0;
    lws_get_random(socket->lws, &random, sizeof random);
    int64_t pause_ms = share_ms(socket, denied ? SOCKET_PAUSE_DENIED_MIN_MS : SOCKET_PAUSE_MIN_MS);
    int64_t jitter_ms = random % (pause_ms / 2 + 1);
    lws_sul_schedule(socket->lws, 0, &socket->again, connect_again,
                     (pause_ms + jitter_ms) * LWS_US_PER_MS);
    socket->waits = true;
}

/* Ends the connection or attempt: reports why and plans the next attempt. */
static void lose(struct socket_client *socket, const char *reason) {
    struct error why = {0};
    bool was_open = socket->open;
    lws_sul_cancel(&socket->silence);
    if (was_open) {
        socket->lost_at_ms = clock_monotonic_ms();
    }
    socket->wsi = NULL;
    socket->open = false;
    drop_messages(socket);
    if (socket->other_certificate) {
        error_set(&why, ERROR_DENIED, "%s has another certificate than expected", socket->where);
    } else if (reason && strstr(reason, "unauthorized")) {
        error_set(&why, ERROR_DENIED, "%s refused the token", socket->where);
    } else if (was_open) {
        error_set(&why, ERROR_UNAVAILABLE, "lost the connection to %s", socket->where);
    } else {
        error_set(&why, ERROR_UNAVAILABLE, "cannot connect to %s: %s", socket->where,
                  reason && *reason ? reason : "no answer");
    }
    plan_attempt(socket, why.kind == ERROR_DENIED);
    socket->events->closed(socket->context, &why);
}

/* Ends the attempt if none of its SYNs was answered. */
static void abandon_attempt(lws_sorted_usec_list_t *silence) {
    struct socket_client *socket = lws_container_of(silence, struct socket_client, silence);
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    if (socket->wsi && !socket->open &&
        getsockopt(lws_get_socket_fd(socket->wsi), IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
        info.tcpi_state == TCP_SYN_SENT) {
        lws_set_timeout(socket->wsi, PENDING_TIMEOUT_AWAITING_CONNECT_RESPONSE, LWS_TO_KILL_ASYNC);
    }
}

static void connect_again(lws_sorted_usec_list_t *again) {
    struct socket_client *socket = lws_container_of(again, struct socket_client, again);
    static const lws_retry_bo_t keep_alive = {
        .secs_since_valid_ping = SOCKET_PING_S,
        .secs_since_valid_hangup = SOCKET_SILENCE_S,
    };
    struct lws_client_connect_info info = {
        .context = socket->lws,
        .address = socket->address.host,
        .port = socket->address.port,
        .ssl_connection = LCCSCF_USE_SSL | LCCSCF_SKIP_SERVER_CERT_HOSTNAME_CHECK |
                          LCCSCF_HTTP_NO_FOLLOW_REDIRECT,
        .path = socket->path,
        .host = socket->address.host,
        .local_protocol_name = "windlass",
        .alpn = "http/1.1",
        .retry_and_idle_policy = &keep_alive,
        .pwsi = &socket->wsi,
    };
    lws_sul_schedule(socket->lws, 0, &socket->silence, abandon_attempt,
                     share_ms(socket, SOCKET_SYN_MIN_MS) * LWS_US_PER_MS);
    socket->other_certificate = socket->waits = false;
    /* A failure arrives as an event, maybe before this returns; report it only without one. */
    if (!lws_client_connect_via_info(&info) && !socket->waits) {
        lose(socket, "out of memory or descriptors for a connection");
    }
}

static int receive(struct lws *wsi, struct socket_client *socket, const char *data, size_t size) {
    struct error err = {0};
    if (lws_frame_is_binary(wsi) || buffer_append(&socket->incoming, data, size, &err) < 0) {
        return -1;
    }
    if (lws_remaining_packet_payload(wsi) || !lws_is_final_fragment(wsi)) {
        return 0;
    }
    size_t length = 0;
    AUTO(text_freep) char *text = buffer_take(&socket->incoming, &length);
    socket->events->received(socket->context, text, length);
    return 0;
}

static int send_next(struct lws *wsi, struct socket_client *socket) {
    struct message *message = socket->first;
    if (!message) {
        return 0;
    }
    socket->first = message->next;
    int wrote = lws_write(wsi, message->data + LWS_PRE, message->size, LWS_WRITE_TEXT);
    bool failed = wrote < (int)message->size;
    free(message);
    if (socket->first && !failed) {
        lws_callback_on_writable(wsi);
    }
    return failed ? -1 : 0;
}

/* Any program at that address may send such messages before it has shown a certificate. */
static int set_up_tls(SSL_CTX *tls) {
    tls_limit_set(tls, TLS_MESSAGES_MAX);
    return SSL_CTX_set_min_proto_version(tls, TLS1_3_VERSION) == 1 ? 0 : -1;
}

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                    size_t size) {
    struct socket_client *socket = NULL;
    switch (reason) {
    case LWS_CALLBACK_OPENSSL_LOAD_EXTRA_CLIENT_VERIFY_CERTS:
        return set_up_tls(user);
    case LWS_CALLBACK_OPENSSL_PERFORM_SERVER_CERT_VERIFICATION:
        return verify(wsi, user);
    case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER:
        return add_token(wsi, in, size);
    case LWS_CALLBACK_CLIENT_ESTABLISHED:
        socket = client_of(wsi);
        socket->open = true;
        socket->events->opened(socket->context);
        return 0;
    case LWS_CALLBACK_CLIENT_RECEIVE:
        return receive(wsi, client_of(wsi), in, size);
    case LWS_CALLBACK_CLIENT_WRITEABLE:
        return send_next(wsi, client_of(wsi));
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
    case LWS_CALLBACK_CLIENT_CLOSED:
        socket = client_of(wsi);
        if (socket->lws) { /* not while the client itself is freed */
            lose(socket, reason == LWS_CALLBACK_CLIENT_CLOSED ? NULL : in);
        }
        return 0;
    default:
        return 0;
    }
}

int socket_open(const struct socket_options *options, struct socket_client **ret_socket,
                struct error *err) {
    static const struct lws_protocols protocols[] = {
        {"windlass", on_event, 0, 64 << 10, 0, NULL, 0},
        {NULL, NULL, 0, 0, 0, NULL, 0},
    };
    AUTO(socket_freep) struct socket_client *socket = x_calloc(1, sizeof *socket);
    buffer_init(&socket->incoming, CONTRACT_MESSAGE_MAX);
    if (address_parse(options->address, &socket->address, err) < 0) {
        return -1;
    }
    if (strlen(options->sha256) != 64 || strspn(options->sha256, "0123456789abcdef") != 64) {
        return error_set(err, ERROR_INVALID,
                         "the certificate's SHA-256 is not 64 lower-case "
                         "hexadecimal digits");
    }
    socket->events = options->events;
    socket->context = options->context;
    socket->path = x_strdup(options->path);
    socket->authorization = x_printf("Bearer %s", options->token);
    memcpy(socket->sha256, options->sha256, sizeof socket->sha256);
    snprintf(socket->where, sizeof socket->where, "%.63s", options->address);
    socket->lost_at_ms = clock_monotonic_ms();
    struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN,
        .protocols = protocols,
        .user = socket,
        .fd_limit_per_thread = 64,
        .connect_timeout_secs = 5,
        .timeout_secs = 5,
        .gid = -1,
        .uid = -1,
        .options = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT | LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS,
    };
    lws_set_log_level(0, NULL);
    socket->lws = lws_create_context(&info);
    if (!socket->lws) {
        return error_set(err, ERROR_UNAVAILABLE, "libwebsockets cannot start");
    }
    lws_sul_schedule(socket->lws, 0, &socket->again, connect_again, 1);
    *ret_socket = TAKE(socket);
    return 0;
}

void socket_free(struct socket_client *socket) {
    if (!socket) {
        return;
    }
    struct lws_context *lws = TAKE(socket->lws);
    if (lws) {
        lws_sul_cancel(&socket->again);
        lws_sul_cancel(&socket->silence);
        lws_context_destroy(lws);
    }
    drop_messages(socket);
    buffer_release(&socket->incoming);
    free(socket->path);
    free(socket->authorization);
    free(socket);
}

void socket_freep(struct socket_client **socket) {
    socket_free(*socket);
}

static void on_alarm(lws_sorted_usec_list_t *alarm) {
    (void)alarm; /* its only use is that lws_service returns */
}

int socket_service(struct socket_client *socket, int timeout_ms, struct error *err) {
    /* lws_service ignores its own timeout: it waits for the next event or timer. */
    lws_sul_schedule(socket->lws, 0, &socket->alarm, on_alarm,
                     (lws_usec_t)timeout_ms * LWS_US_PER_MS);
    int result = lws_service(socket->lws, 0);
    lws_sul_cancel(&socket->alarm);
    return result < 0 ? error_set(err, ERROR_UNAVAILABLE, "the client's event loop failed") : 0;
}

void socket_wake(struct socket_client *socket) {
    lws_cancel_service(socket->lws);
}

bool socket_is_open(const struct socket_client *socket) {
    return socket->open;
}

void socket_send(struct socket_client *socket, const char *text) {
    size_t size = strlen(text);
    if (!socket->open || size > CONTRACT_MESSAGE_MAX) {
        return;
    }
    struct message *message = x_malloc(sizeof *message + LWS_PRE + size);
    *message = (struct message){.size = size};
    memcpy(message->data + LWS_PRE, text, size);
    *(socket->first ? &socket->last->next : &socket->first) = message;
    socket->last = message;
    lws_callback_on_writable(socket->wsi);
}
