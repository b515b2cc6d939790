/* server.h: a server with a few GET pages and one WebSocket path over HTTPS (libwebsockets, TLS 1.3
 * only), or with pages alone over plain HTTP. One thread: every function but server_wake is called
 * from the thread that services, and the events come out of server_service. Text messages only; a
 * peer that answers no ping for SERVER_PING_S + SERVER_SILENCE_S is gone. */
#pragma once

#include "lib/error.h"

enum {
    SERVER_MESSAGE_MAX = 1 << 20, /* bytes of one message, both ways */
    SERVER_QUEUE_MAX = 8 << 20,   /* unsent bytes of one peer; a slower one is cut off */
    SERVER_PEERS_MAX = 8192,      /* open connections */
    SERVER_READERS_MAX = 256,     /* open connections where there are pages alone */
    SERVER_READER_S = 5,          /* such a connection has to say what it wants within this */
    SERVER_PING_S = 3,            /* an idle connection is pinged after this */
    SERVER_SILENCE_S = 6,         /* and closed after so much more without a sign of life */
};

struct server;
struct server_peer; /* one open WebSocket; valid from `opened` until `closed` returned */

struct server_page {
    char *body;               /* the caller frees; NULL: 404 */
    const char *content_type; /* NULL: application/json */
    int status;               /* 0: 200 */
};

/* All are called with server_options.context. All must be given; where there is no WebSocket
 * (socket_path is NULL) only page. */
struct server_events {
    /* The answer to GET path. No token is asked for. */
    struct server_page (*page)(void *context, const char *path);
    void (*opened)(void *context, struct server_peer *peer);
    /* text is NUL-terminated, `size` bytes, borrowed; may hold anything, NULs too. */
    void (*received)(void *context, struct server_peer *peer, const char *text, size_t size);
    void (*closed)(void *context, struct server_peer *peer);
};

struct server_options {
    const char *bind; /* "IP:PORT", "[IPv6]:PORT"; port 0: the system picks one */
    const char *certificate_pem, *key_pem; /* both NULL: plain HTTP, and then no WebSocket */
    const char *socket_path;               /* the WebSocket's path, "/work"; NULL: there is none */
    const char *token; /* a peer must send "Authorization: Bearer TOKEN", else 401 */
    const struct server_events *events;
    void *context;
};

/* Listens. Fails with INVALID (bind, certificate or key are no such thing) or with what the system
 * said about the address. The texts are copied; events must live on. */
NODISCARD int server_open(const struct server_options *options, struct server **ret_server,
                          struct error *err);
/* Cuts all connections (without `closed` events). */
void server_free(struct server *server);
void server_freep(struct server **server);

int server_port(const struct server *server);

/* Handles what came in, or waits for it for at most timeout_ms. Fails when the event loop does. */
NODISCARD int server_service(struct server *server, int timeout_ms, struct error *err);
/* Makes server_service return soon. From any thread. */
void server_wake(struct server *server);

/* Queues a text message (copied). A peer that does not take its messages is closed. */
void server_send(struct server_peer *peer, const char *text);
/* Closes when everything queued was sent; `closed` comes later, from server_service. */
void server_close(struct server_peer *peer);

/* The caller's own pointer, NULL at first. */
void server_peer_set(struct server_peer *peer, void *own);
void *server_peer_get(const struct server_peer *peer);
