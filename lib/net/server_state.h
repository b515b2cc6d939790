/* server_state.h: what server.c and server_peer.c share. */
#pragma once

#include "lib/buffer.h"
#include "lib/net/server.h"

#include <libwebsockets.h>
#include <openssl/ssl.h>

struct server_message {
    struct server_message *next;
    size_t size;
    unsigned char data[]; /* LWS_PRE bytes that libwebsockets writes its header into, then text */
};

struct server_peer {
    struct server *server;
    struct lws *wsi;
    struct server_peer *previous, *next;
    int64_t heard_ms, pinged_ms; /* when its last bytes came, and when it was pinged */
    bool wants_ping;             /* a ping is to be sent */
    bool is_pinged;              /* nothing has come since */
    struct buffer incoming;      /* fragments of an incomplete message */
    struct server_message *first, *last;
    size_t queued_bytes;
    bool closing;
    void *own;
};

/* A request with its texts, which it owns. */
struct server_asked {
    struct server_request request;
    char *path, *authorization, *host, *known_tag;
    struct buffer body;
};

/* Our data in each of libwebsockets' connections. */
struct server_connection {
    struct server_peer *peer; /* after the upgrade */
    char *body;               /* before it: the rest of the answer */
    size_t body_size;
    struct server_asked *asked; /* until it is answered: a POST when its body is complete */
};

struct server {
    struct lws_context *lws;
    struct lws_vhost *vhost;
    lws_sorted_usec_list_t alarm, expiry, pulse;
    struct server_peer *peers;
    int64_t pulse_ms;       /* when the timer of all peers last fired */
    struct preauth preauth; /* connections without the token, by their struct lws */
    const struct server_events *events;
    void *context;
    char *socket_path, *authorization, *read_token;
    struct tls_identity *identity; /* of connections that begin from now on */
    SSL_CTX *tls;                  /* of the vhost; NULL: its identity was refused */
    struct error refusal;
    bool is_plain; /* pages alone, no TLS */
    bool takes_posts;
    size_t body_max;
};

static inline struct server *server_of(struct lws *wsi) {
    return lws_context_user(lws_get_context(wsi));
}

/* What the events of an open WebSocket do; their results are those of libwebsockets' callback. */
void server_peer_open(struct lws *wsi, struct server_connection *connection);
void server_peer_free(struct server_connection *connection);
/* Something came from it. */
void server_peer_heard(struct server_peer *peer);
int server_peer_receive(struct server_peer *peer, const char *data, size_t size);
int server_peer_write(struct server_peer *peer);
